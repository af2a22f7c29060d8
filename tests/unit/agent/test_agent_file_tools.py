"""The file tools: what they show, and what they refuse to reach (C3, P8)."""

from __future__ import annotations

import asyncio
import os

import pytest

from memflush_jupyter.agent.tools.base import ToolCall
from memflush_jupyter.agent.tools.file_tools import ListFiles, Reach, ReadFile, SearchFiles
from memflush_jupyter.errors import ToolInputError

CALL = ToolCall("c1", "t1", 1)


@pytest.fixture
def folder(tmp_path):
    home = tmp_path / "work"
    (home / "data").mkdir(parents=True)
    (home / "memory" / ".memflush").mkdir(parents=True)
    (home / "memory" / ".memflush" / "store.sqlite3").write_bytes(b"x")
    (home / "notes.txt").write_text("".join(f"line {i}\n" for i in range(1, 501)), encoding="utf-8")
    (home / "data" / "größe.csv").write_text("a;b\n1;2\n", encoding="utf-8")
    (tmp_path / "outside.txt").write_text("secret", encoding="utf-8")
    return home


async def test_a_file_is_read_by_lines(folder):
    result = await ReadFile(Reach(folder)).run({"path": "notes.txt", "start": 10, "lines": 3}, CALL)
    assert result.text == "notes.txt, lines 10–12 of 500\nline 10\nline 11\nline 12"
    assert not result.is_error


async def test_reading_past_the_end_says_how_many_lines_there_are(folder):
    assert (await ReadFile(Reach(folder)).run({"path": "notes.txt", "start": 900}, CALL)).text.startswith("notes.txt has 500 lines")


async def test_a_binary_file_is_not_dumped(folder):
    (folder / "x.bin").write_bytes(b"\0\1" * 10)
    result = await ReadFile(Reach(folder)).run({"path": "x.bin"}, CALL)
    assert result.is_error
    assert result.text == "x.bin is not text (20 bytes). Load it with run_python."


async def test_a_long_line_is_clipped_and_says_so(folder):
    (folder / "long.txt").write_text("x" * 100_000, encoding="utf-8")
    result = await ReadFile(Reach(folder)).run({"path": "long.txt"}, CALL)
    assert "(the first 20,000 characters of them)" in result.text
    assert len(result.text) < 20_100


async def test_a_folder_is_listed_without_hidden_files(folder):
    (folder / ".hidden").touch()
    assert (await ListFiles(Reach(folder)).run({}, CALL)).text == "data/\nmemory/\nnotes.txt  4,392 bytes"


async def test_text_is_found_with_its_place(folder):
    result = await SearchFiles(Reach(folder)).run({"query": "LINE 42"}, CALL)
    assert result.text.splitlines()[0] == "notes.txt:42: line 42"
    assert (await SearchFiles(Reach(folder)).run({"query": "nowhere"}, CALL)).text == "No file here holds 'nowhere'."
    assert (await SearchFiles(Reach(folder)).run({"query": "1;2"}, CALL)).text == "data/größe.csv:2: 1;2"


@pytest.mark.parametrize(
    "path",
    ["../outside.txt", "/etc/passwd", "data/../../outside.txt", "~/../../etc/passwd", "~root", "/", "..", "data/../..", "//etc/passwd", "./../outside.txt"],
)
async def test_what_lies_outside_is_refused(folder, path):
    for tool in (ReadFile, ListFiles, SearchFiles):
        with pytest.raises(ToolInputError, match=r"lies outside the notebook's folder|not a path that can be read"):
            await tool(Reach(folder)).run({"path": path, "query": "x"}, CALL)


@pytest.mark.parametrize("path", ["memory/.memflush/store.sqlite3", "memory/.memflush", "memory/.MEMFLUSH/store.sqlite3", "memory/x/../.Memflush"])
async def test_the_agents_own_store_is_refused_in_any_case(folder, path):
    with pytest.raises(ToolInputError, match="is the agent's own store"):
        await ReadFile(Reach(folder, ["memory/.memflush"])).run({"path": path}, CALL)


async def test_a_folder_that_is_a_link_out_is_refused(folder, tmp_path):
    (folder / "door").symlink_to(tmp_path, target_is_directory=True)
    for path in ("door", "door/outside.txt", "door/../outside.txt"):
        with pytest.raises(ToolInputError, match=r"lies outside|There is no"):
            await ReadFile(Reach(folder)).run({"path": path}, CALL)
    assert "No file here" in (await SearchFiles(Reach(folder)).run({"query": "secret"}, CALL)).text


@pytest.mark.parametrize("swap", ["file", "folder", "pipe"])
async def test_what_is_swapped_after_the_check_is_not_read(folder, tmp_path, swap):
    """A race: between the check and the reading, a link or pipe takes the place of what was checked."""
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "größe.csv").write_text("secret")
    reach = Reach(folder)
    path = reach.resolve("data/größe.csv")
    real = folder / "data" / "größe.csv"
    if swap == "folder":
        real.unlink()
        (folder / "data").rmdir()
        (folder / "data").symlink_to(tmp_path / "elsewhere", target_is_directory=True)
    else:
        real.unlink()
        os.mkfifo(real) if swap == "pipe" else real.symlink_to(tmp_path / "outside.txt")
    with pytest.raises(ToolInputError, match=r"changed while it was being read|a device or a pipe"):
        reach.open(path)


def test_a_folder_swapped_in_the_middle_of_opening_is_not_passed(folder, tmp_path, monkeypatch):
    """The swap hits between the resolving and the opening inside ``open`` itself."""
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "größe.csv").write_text("secret")
    reach = Reach(folder)
    path = reach.resolve("data/größe.csv")
    (folder / "data").rename(folder / "moved")
    (folder / "data").symlink_to(tmp_path / "elsewhere", target_is_directory=True)
    monkeypatch.setattr(type(path), "resolve", lambda self, strict=False: self)
    with pytest.raises(ToolInputError, match="changed while it was being read"):
        reach.open(path)
    with pytest.raises(ToolInputError, match="changed while it was being read"):
        reach.entries(folder / "data")


async def test_what_nobody_waits_for_any_more_ends(folder, monkeypatch):
    """``tool_timeout_s`` ends the work, not only the waiting for it."""
    seen = []
    monkeypatch.setattr(Reach, "walk", lambda _self, top: (seen.append(1) or top / "notes.txt" for _ in range(10_000_000)))
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(SearchFiles(Reach(folder)).run({"query": "nowhere"}, CALL), 0.1)
    await asyncio.sleep(0.1)
    before = len(seen)
    await asyncio.sleep(0.1)
    assert len(seen) == before


async def test_home_and_relative_folders_may_be_allowed(folder, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    assert (await ReadFile(Reach(folder, ["~"])).run({"path": "~/outside.txt"}, CALL)).text.endswith("secret")
    assert (await ReadFile(Reach(folder, [".."])).run({"path": "../outside.txt"}, CALL)).text.endswith("secret")
    assert (await ReadFile(Reach(folder, ["../outside.txt"])).run({"path": "../outside.txt"}, CALL)).text.endswith("secret")


async def test_a_link_that_leads_out_is_refused_and_not_searched(folder, tmp_path):
    (folder / "link.txt").symlink_to(tmp_path / "outside.txt")
    with pytest.raises(ToolInputError, match="lies outside"):
        await ReadFile(Reach(folder)).run({"path": "link.txt"}, CALL)
    assert "No file here" in (await SearchFiles(Reach(folder)).run({"query": "secret"}, CALL)).text


async def test_an_allowed_path_can_be_read(folder, tmp_path):
    reach = Reach(folder, [str(tmp_path)])
    assert (await ReadFile(reach).run({"path": "../outside.txt"}, CALL)).text.endswith("secret")


async def test_pipes_nul_and_loops_are_refused(folder):
    os.mkfifo(folder / "pipe")
    (folder / "loop").symlink_to(folder / "loop")
    with pytest.raises(ToolInputError, match="a device or a pipe"):
        await ReadFile(Reach(folder)).run({"path": "pipe"}, CALL)
    with pytest.raises(ToolInputError, match="NUL"):
        await ReadFile(Reach(folder)).run({"path": "a\0b"}, CALL)
    with pytest.raises(ToolInputError):
        await ReadFile(Reach(folder)).run({"path": "loop"}, CALL)
    assert "No file here" in (await SearchFiles(Reach(folder)).run({"query": "zzz"}, CALL)).text


async def test_a_missing_file_names_what_is_there(folder):
    with pytest.raises(ToolInputError, match=r"There is no 'nots.txt'. The notebook's folder holds: data, memory, notes.txt\."):
        await ReadFile(Reach(folder)).run({"path": "nots.txt"}, CALL)
