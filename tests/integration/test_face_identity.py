"""The conversations of a folder stay with it when it is moved or copied, and two notebooks beside each other share them (G4, G8)."""

from __future__ import annotations

import shutil

import pytest

from memflush_jupyter.config import MemFlush
from memflush_jupyter.memory.identity import by_path
from memflush_jupyter.workspace import Workspace


def opened(folder, **options):
    return Workspace.open(MemFlush(**options), folder, environ={})


def say(space, text="the lake has 41 stations", identity=None):
    trace = space.store.create_trace(identity=identity or space.identity)
    space.store.append(trace.id, role="user", kind="prompt", content=[{"type": "text", "text": text}])
    return trace.id


@pytest.mark.parametrize("way", ["moved", "copied", "renamed and moved"])
def test_a_folder_that_is_moved_or_copied_keeps_its_conversations(tmp_path, way):
    """By `%agent resume`, recall and search alike."""
    space = opened(tmp_path / "a")
    trace, name = say(space), space.identity
    space.close()
    target = tmp_path / ("b" if way != "renamed and moved" else "deep/er/c")
    target.parent.mkdir(parents=True, exist_ok=True)
    (shutil.copytree if way == "copied" else shutil.move)(tmp_path / "a", target)
    space = opened(target)
    assert space.identity == name
    assert [found.id for found in space.store.traces(space.identity)] == [trace]
    assert [hit.trace for hit in space.store.search("lake", identity=space.identity)] == [trace]
    assert space.twin().identity == name
    space.close()
    assert (target / "memory/.memflush/identity").read_text() == f"{name}\n"


def test_a_store_from_before_names_were_kept_goes_on_under_its_name(tmp_path):
    """In its place, and when it was moved since."""
    space = opened(tmp_path / "a")
    old = by_path(space.memory.root)
    trace = say(space, identity=old)
    space.close()
    assert opened(tmp_path / "a").identity == old
    (tmp_path / "a/memory/.memflush/identity").unlink()
    shutil.move(tmp_path / "a", tmp_path / "b")
    space = opened(tmp_path / "b")
    assert space.identity == old != by_path(space.memory.root)
    assert [found.id for found in space.store.traces(space.identity)] == [trace]


def test_a_name_of_ones_own_is_no_folders_name(tmp_path):
    """`MemFlush.identity` wins, and is not adopted when it is taken away again."""
    space = opened(tmp_path, identity="ana")
    assert space.identity == "ana"
    say(space)
    space.close()
    assert not (tmp_path / "memory/.memflush/identity").exists()
    assert opened(tmp_path).identity == by_path(tmp_path.resolve() / "memory")


@pytest.mark.parametrize("damage", ["", "two words", "../../x", "\udcff"])
def test_a_damaged_name_is_passed_over(tmp_path, damage):
    """It is a file anybody may open."""
    space = opened(tmp_path)
    name = space.identity
    say(space)
    space.close()
    (tmp_path / "memory/.memflush/identity").write_bytes(damage.encode("utf-8", "surrogateescape"))
    assert opened(tmp_path).identity == name


def test_notebooks_that_share_a_folder_by_a_link_share_its_conversations(tmp_path):
    """G4."""
    (tmp_path / "shared").mkdir()
    names = set()
    for place in ("a", "b"):
        (tmp_path / place).mkdir()
        (tmp_path / place / "memory").symlink_to(tmp_path / "shared")
        names.add(opened(tmp_path / place).identity)
    assert len(names) == 1
