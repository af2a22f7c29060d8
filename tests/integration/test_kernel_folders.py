"""The memory folder on a real kernel: edited elsewhere, in git, shared by a link, read-only, and forgotten from (G2, G4, G9, P4)."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys

import pytest

from memflush_jupyter.memory.changes import OPEN
from memflush_jupyter.testing import FakeMessagesServer, ServedModel, tool_use
from memflush_jupyter.testing.kernels import start_kernel

pytestmark = [pytest.mark.kernel, pytest.mark.skipif(sys.platform == "win32", reason="POSIX file modes and links")]

LOAD = "%load_ext memflush_jupyter\n%config MemFlush.approve = 'auto'\n"
BOUND = """
import ctypes, os
class _Head(ctypes.Structure):
    _fields_ = [("version", ctypes.c_uint32), ("pid", ctypes.c_int)]
class _Data(ctypes.Structure):
    _fields_ = [("effective", ctypes.c_uint32), ("permitted", ctypes.c_uint32), ("inheritable", ctypes.c_uint32)]
if os.getuid() == 0:  # for root nothing is read-only, unless it gives up that right
    _libc, _head, _data = ctypes.CDLL(None), _Head(0x20080522, 0), (_Data * 2)()
    assert _libc.capget(ctypes.byref(_head), _data) == 0
    _data[0].effective &= ~0b1110
    _data[0].permitted &= ~0b1110
    assert _libc.capset(ctypes.byref(_head), _data) == 0
"""


@pytest.fixture(scope="module")
def environment():
    return {name: value for name, value in os.environ.items() if not name.startswith("ANTHROPIC")}


@pytest.fixture
def server():
    with FakeMessagesServer(models=[ServedModel("fake-model", 200_000, 8_000)]) as running:
        yield running


def point(server) -> str:
    return LOAD + f"%config MemFlush.base_url = {server.url!r}\n%config MemFlush.model = 'local/fake-model'\n"


def say(kernel, server, prompt, *answers, **options):
    server.script([*(answers or ("Good.",))])
    run = kernel.run(f"%%agent\n{prompt}", **options)
    assert run.status == "ok", run.text
    return run


def sentence(run) -> str:
    """What was said; at most one error, and it is a sentence."""
    errors = [output for output in run.outputs if output["kind"] == "error"]
    assert len(errors) <= 1
    assert "Traceback" not in run.text
    for error in errors:
        assert len(error["traceback"]) == 1, error["traceback"]
    return run.text + "".join(line for error in errors for line in error["traceback"])


def raw(folder) -> str:
    return "\n".join(path.read_bytes().decode("utf-8", "replace") for path in folder.rglob("*") if path.is_file())


def git(folder, *arguments) -> str:
    name = ["-c", "user.name=Ana", "-c", "user.email=ana@example.org", "-c", "core.autocrlf=false"]
    return subprocess.run(["git", *name, *arguments], cwd=folder, check=True, capture_output=True, text=True).stdout


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
def test_memory_in_git_edited_elsewhere_and_forgotten_from(tmp_path, environment, server):  # noqa: PLR0915 - one kernel for all of it
    """G2, G4, G9: nothing of ours dirties the repository but the notes; a pull is seen at the next turn; what is forgotten is in no byte of ours."""
    memory = tmp_path / "memory"
    memory.mkdir()
    (memory / "taste.md").write_text("- I like red.\n")
    git(memory, "init", "-q", "-b", "main")
    git(memory, "add", "-A")
    git(memory, "commit", "-qm", "one")
    with start_kernel(tmp_path, env=environment) as kernel:
        kernel.run(point(server) + "%config MemFlush.clock = '2026-01-15T09:00'")
        say(kernel, server, "Hello. My phone is 555-0101-ZEBRA. And I like tea.", "Noted, 555-0101-ZEBRA.")
        assert git(memory, "status", "--porcelain") == ""
        save = tool_use("memory_write", {"notes": ["Ana's phone is 555-0101-ZEBRA.", "Ana likes tea."]})
        say(kernel, server, "Remember that.", save, "Saved.")
        assert git(memory, "status", "--porcelain") == "?? 2026-01-15.md\n"
        git(memory, "add", "-A")
        git(memory, "commit", "-qm", "two")
        (memory / "taste.md").write_text("- I like cobalt.\n")
        git(memory, "commit", "-qam", "three")
        git(memory, "checkout", "-q", "HEAD~1")
        git(memory, "checkout", "-q", "main")
        kernel.run("%%memory topics/tea.md\n- Darjeeling first.")
        say(kernel, server, "What now, quokka?")
        notes = [block["text"] for block in server.requests[-1].body["messages"][-1]["content"] if block.get("text", "").startswith(OPEN)]
        assert len(notes) == 1
        assert "+ - I like cobalt.\n- - I like red." in notes[0]
        assert "+ - Darjeeling first." in notes[0]
        assert "memory_changed" not in "".join(kernel.run(line).text for line in ("%agent show", "%agent show 3"))
        kernel.run("%agent new")
        say(kernel, server, "What is the phone?", "It is 555-0101-ZEBRA.")
        kernel.run("%%memory MEMORY.md\n# Long\n- Call 555-0101-ZEBRA on Mondays.\n- Tea at four.")
        kernel.run("%%memory MEMORY.md\n# Long\n- Tea at four.")
        assert "ZEBRA" in raw(memory / ".memflush")
        asked = sentence(kernel.run("%memory forget zebra"))
        assert "add --yes" in asked
        assert "Ana's phone is 555-0101-ZEBRA." in asked
        assert "MEMORY.md (history)" in asked
        refused = kernel.run("%memory forget zebra", allow_stdin=True, answer=lambda _: "n")
        assert "Nothing was forgotten." in refused.text
        assert "ZEBRA" in raw(memory / ".memflush")
        done = kernel.run("%memory forget zebra --yes")
        assert "Forgot 2 lines and 5 messages." in done.text
        left = raw(memory / ".memflush").lower() + "".join(path.read_text().lower() for path in memory.rglob("*.md"))
        assert "zebra" not in left
        assert "555-0101" not in left
        assert "ana likes tea." in left
        assert (memory / "2026-01-15.md").read_text().splitlines()[-1].startswith("- Ana likes tea.")
        say(kernel, server, "And now?")
        assert "zebra" not in str([request.body for request in server.requests[-1:]]).lower()
        assert "zebra" not in kernel.run("%memory search zebra phone").text.replace("search zebra", "").lower()
        assert "[forgotten]" in kernel.run("%agent show 1").text
        trace = re.search(r"(\w{8}) +\S+ \S+ +\d+ +\S+ +Hello", kernel.run("%agent list", allow_stdin=True).text)
        assert trace, kernel.run("%agent list").text
        assert "quokka" in raw(memory / ".memflush")
        assert "Deleted" in kernel.run(f"%agent delete {trace.group(1)} --yes").text
        assert "quokka" not in raw(memory / ".memflush")


def test_a_folder_shared_by_a_link_and_a_linked_file(tmp_path, environment, server):
    """G4: two notebooks with one memory see each other's notes; a link inside the folder is told as such and never followed."""
    shared = tmp_path / "shared"
    shared.mkdir()
    (tmp_path / "secret.md").write_text("- Not for the agent.\n")
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "memory").symlink_to(shared)
    (shared / "taste.md").symlink_to(tmp_path / "secret.md")
    with start_kernel(tmp_path / "a", env=environment) as one, start_kernel(tmp_path / "b", env=environment) as two:
        for kernel in (one, two):
            kernel.run(point(server) + "%config MemFlush.clock = '2026-01-15T09:00'")
        say(one, server, "Hello from a.")
        assert "Not for the agent" not in str(server.requests[-1].body)
        say(two, server, "Remember the lake.", tool_use("memory_write", {"notes": ["The lake has 41 stations."]}), "Saved.")
        say(one, server, "What is new?")
        assert "+ - The lake has 41 stations." in str(server.requests[-1].body["messages"][-1])
        assert "Hello from a." in two.run("%agent list").text
        refused = say(two, server, "Remember in taste.", tool_use("memory_write", {"notes": ["I like red."], "file": "taste.md"}), "Tried.")
        assert "symbolic link" in refused.text or "symbolic link" in str(server.requests[-1].body)
        assert (tmp_path / "secret.md").read_text() == "- Not for the agent.\n"
        for line in ("%memory show taste.md", "%%memory taste.md\nmine"):
            assert "link" in sentence(two.run(line))
        assert (tmp_path / "secret.md").read_text() == "- Not for the agent.\n"
        (shared / "taste.md").unlink()
        shutil.move(shared, tmp_path / "away")
        assert "is not there" in sentence(two.run("%memory show MEMORY.md")) or "no memory file" in sentence(two.run("%memory show MEMORY.md"))


def test_a_read_only_folder_and_a_read_only_file_work_as_far_as_they_can(tmp_path, environment, server):
    """G4, B5: memory is read and shown; what cannot be written says so in a sentence, and the turn goes on."""
    memory = tmp_path / "memory"
    memory.mkdir()
    (memory / "MEMORY.md").write_text("- The boat is called Wilhelmina.\n")
    memory.chmod(0o555)
    try:
        with start_kernel(tmp_path, env=environment) as kernel:
            kernel.run(BOUND)
            assert "PermissionError" in kernel.run("open('memory/x.md', 'w')").text + str(kernel.run("open('memory/x.md', 'w')").outputs)
            kernel.run(point(server))
            run = say(kernel, server, "Remember the lake.", tool_use("memory_write", {"notes": ["The lake has 41 stations."]}), "I could not save it.")
            assert "nothing of this session is kept" in run.text
            assert "Wilhelmina" in str(server.requests[0].body["system"])
            assert "read-only" in str(server.requests[-1].body["messages"][-1])
            for line in ("%agent flush", "%%memory MEMORY.md\nx", "%memory forget Wilhelmina --yes", "%agent list", "%agent status", "%memory list"):
                sentence(kernel.run(line))
            assert (memory / "MEMORY.md").read_text() == "- The boat is called Wilhelmina.\n"
            assert kernel.run("print(1 + 1)").text == "2"
            memory.chmod(0o755)
            (memory / "2026-01-15.md").write_text("# 2026-01-15\n")
            (memory / "2026-01-15.md").chmod(0o444)
            kernel.run("%reload_ext memflush_jupyter\n%config MemFlush.clock = '2026-01-15T09:00'\n" + point(server).split("\n", 1)[1])
            say(kernel, server, "Remember the lake.", tool_use("memory_write", {"notes": ["The lake has 41 stations."]}), "I could not save it.")
            assert "read-only" in str(server.requests[-1].body["messages"][-1])
            assert (memory / "2026-01-15.md").read_text() == "# 2026-01-15\n"
            (memory / "2026-01-15.md").chmod(0o644)
            say(kernel, server, "Again.", tool_use("memory_write", {"notes": ["The lake has 41 stations."]}), "Saved.")
            assert (memory / "2026-01-15.md").read_text().count("41 stations") == 1
    finally:
        memory.chmod(0o755)
