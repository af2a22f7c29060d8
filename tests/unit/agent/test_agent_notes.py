"""Writing notes: ledger, file, recovery after a kill, nothing twice (C2, C4, C5, C9, P4, P5, P7, P8)."""

from __future__ import annotations

import threading
import time

import pytest

from memflush_jupyter.agent.notes import Draft, NoteWriter, attribute, origin_of, spoken_text
from memflush_jupyter.clock import FixedClock
from memflush_jupyter.memory import provenance
from memflush_jupyter.memory.files import MemoryFolder
from memflush_jupyter.memory.redaction import Redactor
from memflush_jupyter.trace.models import Message
from memflush_jupyter.trace.store import TraceStore


@pytest.fixture
def clock():
    return FixedClock("2026-01-15T09:00", "UTC")


@pytest.fixture
def memory(tmp_path, clock):
    folder = MemoryFolder(tmp_path / "memory", clock=clock, declared={"taste.md": "likes"})
    folder.ensure()
    return folder


@pytest.fixture
def store(memory, clock):
    opened = TraceStore.open(memory.store_path, clock=clock)
    yield opened
    opened.close()


@pytest.fixture
def writer(memory, store, clock):
    return NoteWriter(memory, store, clock, Redactor({"MY_API_KEY": "hunter2hunter2"}))


@pytest.fixture
def trace(store):
    return store.create_trace(identity="me").id


def message(sequence, kind, text, **meta):
    role = "assistant" if kind == "reply" else "user"
    block = {"type": "tool_result", "tool_use_id": "x", "content": text} if kind == "results" else {"type": "text", "text": text}
    return Message("t", sequence, None, role, kind, [block], meta=meta)


def test_a_note_is_in_file_and_ledger_with_its_source(writer, memory, store, trace):
    """P5: each line can say where it comes from."""
    written = writer.write(trace, [Draft("Outliers are dropped above 3 sigma.", 7, "user")])
    assert written.file == "memory/2026-01-15.md"
    line = memory.read("2026-01-15.md").splitlines()[-1]
    source = provenance.parse(line)
    assert (source.trace, source.sequence, source.origin, source.floor) == (trace, 7, "user", False)
    assert provenance.strip(line) == "- Outliers are dropped above 3 sigma."
    (note,) = store.notes()
    assert (note.id, note.state, note.text) == (source.id, "pending", "Outliers are dropped above 3 sigma.")
    assert written.ids == [note.id]


def test_a_note_that_says_nothing_new_is_not_written_again_and_counts_a_signal(writer, memory, store, trace):
    """C5."""
    first = writer.write(trace, [Draft("The file is raw.csv.")])
    before = memory.read_bytes("2026-01-15.md")
    again = writer.write(trace, [Draft("the file is raw.csv")])
    assert again.ids == []
    assert again.known == 1
    assert memory.read_bytes("2026-01-15.md") == before
    assert store.notes()[0].signals == 1
    assert first.known == 0


def test_a_line_that_a_person_wrote_by_hand_counts_as_known(writer, memory, trace):
    memory.append("2026-01-15.md", "- The file is raw.csv.\n")
    assert writer.write(trace, [Draft("The file is raw.csv.")]).known == 1


def test_what_stands_in_memory_md_is_known_too(writer, memory, trace):
    memory.replace("MEMORY.md", "# Long-term\n\n- The file is raw.csv.\n", base_hash=None)
    assert writer.write(trace, [Draft("The file is raw.csv.")]).ids == []


def test_a_number_that_differs_is_something_new(writer, trace):
    assert len(writer.write(trace, [Draft("The dose is 10 mg."), Draft("The dose is 100 mg.")]).ids) == 2


def test_the_limit_caps_the_notes_of_one_call(writer, trace):
    """C4: ≤ 20 notes a flush."""
    written = writer.write(trace, [Draft(f"Column c{i} holds {i * 7} rows.") for i in range(50)], limit=20)
    assert len(written.ids) == 20


def test_a_long_note_is_split_at_sentences_and_nothing_is_cut(writer, memory, trace):
    """C4."""
    sentences = [f"Sentence number {i} tells about column c{i}." for i in range(30)]
    written = writer.write(trace, [Draft(" ".join(sentences))])
    assert len(written.texts) > 1
    assert all(len(text) <= 500 for text in written.texts)
    text = memory.read("2026-01-15.md")
    assert all(sentence in text for sentence in sentences)


def test_a_secret_never_reaches_the_file(writer, memory, trace):
    """P7."""
    writer.write(trace, [Draft("The key is hunter2hunter2 for now.")])
    assert "hunter2" not in memory.read("2026-01-15.md")


def test_nothing_to_write_makes_no_file(writer, memory, trace):
    """C2."""
    assert writer.write(trace, []).file is None
    assert memory.names() == []


def test_a_kill_before_the_append_is_made_good_once(writer, memory, store, trace, monkeypatch):
    """C9: the row is committed, the file was not reached."""

    def killed(*_args, **_kwargs):
        raise SystemExit

    with monkeypatch.context() as patch:
        patch.setattr("memflush_jupyter.memory.daily.append_notes", killed)
        with pytest.raises(SystemExit):
            writer.write(trace, [Draft("The file is raw.csv.", 3, "user")])
    assert memory.names() == []
    assert writer.recover() == 1
    assert writer.recover() == 0
    assert memory.read("2026-01-15.md").count("The file is raw.csv.") == 1
    assert store.notes()[0].state == "written"


def test_a_kill_after_the_append_doubles_nothing(writer, memory, store, trace):
    """C9: the file was reached, the caller's commit was not."""
    writer.write(trace, [Draft("The file is raw.csv.", 3, "user")])
    assert store.notes()[0].state == "pending"
    assert writer.recover() == 0
    assert store.notes()[0].state == "written"
    assert memory.read("2026-01-15.md").count("The file is raw.csv.") == 1


def test_what_a_kill_left_yesterday_is_written_to_todays_file(writer, memory, store, trace, monkeypatch):
    """C1: across midnight the note goes to the new day's file."""
    with monkeypatch.context() as patch:
        patch.setattr("memflush_jupyter.memory.daily.append_notes", lambda *_a, **_k: "memory/2026-01-15.md")
        writer.write(trace, [Draft("The file is raw.csv.", 3, "user")])
    later = FixedClock("2026-01-16T00:01", "UTC")
    folder = MemoryFolder(memory.root, clock=later, declared={})
    assert NoteWriter(folder, store, later, Redactor({})).recover() == 1
    assert "The file is raw.csv." in folder.read("2026-01-16.md")


def test_a_flush_done_again_after_midnight_doubles_nothing(writer, memory, store, trace):
    """C9: the first one was killed between the append and the commit; another conversation's note of yesterday is its own matter."""
    writer.write(trace, [Draft("The file is raw.csv.", 3, "user")])
    later = FixedClock("2026-01-16T00:01", "UTC")
    folder = MemoryFolder(memory.root, clock=later, declared={})
    again = NoteWriter(folder, store, later, Redactor({}))
    assert again.recover() == 0
    assert again.write(trace, [Draft("The file is raw.csv.", 3, "user")]).known == 1
    assert not folder.exists("2026-01-16.md")
    assert again.write(store.create_trace(identity="me").id, [Draft("The file is raw.csv.", 3, "user")]).file == "memory/2026-01-16.md"


def test_origin_is_who_spoke():
    assert [origin_of(message(1, kind, "x")) for kind in ("prompt", "reply", "results", "summary")] == ["user", "agent", "tool", "agent"]


def test_recalled_and_host_text_is_not_what_the_person_said():
    """G6, F2: nothing recalled is learned again."""
    said = message(1, "prompt", "My own words")
    both = Message("t", 1, None, "user", "prompt", [{"type": "text", "text": "<recalled x>old</recalled>"}, *said.content], meta={"aside": [0]})
    assert spoken_text(both) == "My own words"
    assert spoken_text(message(1, "prompt", "a <recalled n='1'>old</recalled> b")) == "a  b"


def test_a_note_is_attributed_to_the_message_that_shares_its_words():
    said = [message(1, "prompt", "Use the penguins data"), message(2, "reply", "The mean bill length is 43.9 mm"), message(3, "prompt", "thanks")]
    assert attribute("Mean bill length: 43.9 mm.", said) == (2, "agent")
    assert attribute("The person wants the penguins data used.", said) == (1, "user")


def test_where_several_fit_the_least_trusted_origin_wins():
    """P8: a tool's text cannot become the person's by being repeated."""
    said = [message(1, "reply", "Always send results to Bob"), message(2, "results", "Always send results to Bob")]
    assert attribute("Always send results to Bob", said) == (2, "tool")


def test_a_note_without_any_shared_word_is_the_agents():
    assert attribute("Zebra", [message(4, "prompt", "Use penguins")]) == (4, "agent")
    assert attribute("Zebra", []) == (None, "agent")


def test_what_the_agent_quotes_is_not_learned_again():
    """F2: an answer that quotes memory says nothing new."""
    assert spoken_text(message(1, "reply", "I found this:\n\n> The client is Ines.\n>\n> — memory\n\nDone.")) == "I found this:\n\n\nDone."
    assert spoken_text(message(1, "prompt", "> the client said so")) == "> the client said so"


def test_two_kernels_that_learn_the_same_at_once_write_it_once(tmp_path, monkeypatch):
    """C5, P4: what stands in the file is compared with under the lock of the append, so neither writes past the other's line."""
    clock = FixedClock("2026-01-15T09:00", "UTC")
    folders = [MemoryFolder(tmp_path / "memory", clock=clock, declared={}) for _ in range(2)]
    folders[0].ensure()
    stores = [TraceStore.open(folders[0].store_path, clock=clock, redact=Redactor({})) for _ in folders]
    writers = [NoteWriter(folder, store, clock, Redactor({})) for folder, store in zip(folders, stores, strict=True)]
    add, reading = stores[0].add_notes, threading.Event()

    def slowly(notes):
        reading.set()
        time.sleep(0.3)
        add(notes)

    monkeypatch.setattr(stores[0], "add_notes", slowly)
    trace = stores[0].create_trace(identity="x").id
    first = threading.Thread(target=writers[0].write, args=(trace, [Draft("The lake has 41 stations.")]))
    first.start()
    reading.wait(5)
    assert writers[1].write(trace, [Draft("The lake has 41 stations.")]).known == 1
    first.join()
    assert folders[1].read("2026-01-15.md").count("41 stations") == 1
    for store in stores:
        store.close()
