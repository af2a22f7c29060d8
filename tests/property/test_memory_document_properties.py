"""Whatever a person's file holds, its structure is read without loss and notes appended to it are ordinary bullets (C2, G3, P3)."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from memflush_jupyter.clock import FixedClock
from memflush_jupyter.memory import daily, document, edits, provenance, snapshot
from memflush_jupyter.memory.files import MemoryFolder

PIECES = st.sampled_from(
    [
        "\n", "\r\n", "\r", "\x0c", "\u2028", "\x0b", "\x85", "\ufeff", "\x00", "\t", " ", "    ", "\n\n", "\r\n\r\n",
        "# ", "## Title ##", "Title", "===", "---", "- ", "* ", "+ ", "1. ", "2) ", "  - nested", "    code", "> ", "> - ",
        "```", "~~~", "````py", "```\n", "~~~~\n", "<!--", "-->", "<div>", "</div>", "<script>", "<pre>", "<?php", "<![CDATA[", "<!A", "<h2>Old</h2>",
        "| a | b |\n|---|---|\n", "| 1 | 2 |\n", "[x]: http://e.org", "- [ ] task", "*", "_", "\\", "`", "[", "](u)", "&lt;",
        "---\ntitle: x\n---\n", "...", "日本語", "😀", "é", "a", "0", "<!-- mf:8f2c t=4be1#118 o=user -->",
    ]
)  # fmt: skip
MARKDOWN = st.lists(PIECES, max_size=25).map("".join) | st.text(max_size=80)
BOM = "\ufeff"
BLOCKS = MarkdownIt("commonmark").enable("table")


@given(MARKDOWN)
@settings(max_examples=400)
@example("a\rb\x0cc\u2028d\r\n")
@example("---\nnever closed")
@example("\ufeff---\na: 1\n---\n# x\n")
def test_parsing_loses_nothing(text: str) -> None:
    """G3: the lines are the text, and the sections and blocks divide it without gap or overlap."""
    parsed = document.parse(text)
    lines = parsed.lines()
    assert parsed.text == text
    assert [line.number for line in lines] == list(range(len(lines)))
    ends = [0]
    for section in parsed.sections():
        assert ends[-1] == section.start <= section.body_start <= section.end
        ends.append(section.end)
        blocks = parsed.blocks(section.start, section.end)
        assert "".join(parsed.slice(*block) for block in blocks) == parsed.slice(section.start, section.end)
    assert ends[-1] == len(lines)
    for bullet in parsed.bullets():
        assert 0 <= bullet.start < bullet.end <= len(lines)


@given(MARKDOWN, st.data())
@settings(max_examples=200)
def test_changing_lines_keeps_every_other_byte(text: str, data: st.DataObject) -> None:
    """G3."""
    parsed = document.parse(text)
    raw = [line.raw for line in parsed.lines()]
    if not raw:
        return
    number = data.draw(st.integers(0, len(raw) - 1))
    assert parsed.remove_lines({number}).text == "".join(raw[:number] + raw[number + 1 :])
    replaced = parsed.replace_line(number, "new").text
    before, after = "".join(raw[:number]), "".join(raw[number + 1 :])
    ending = raw[number][len(parsed.lines()[number].body) :]
    assert replaced == f"{before}new{ending}{after}"


def _top_bullets(text: str) -> list[str]:
    body = text.removeprefix("\ufeff")
    raw = document.split_lines(body)
    start = document._front_matter(raw)
    tokens = BLOCKS.parse("".join(raw[start:]))
    found = []
    for index, token in enumerate(tokens):
        if token.type == "list_item_open" and token.level == 1 and tokens[index + 1].type == "paragraph_open":
            found.append(tokens[index + 2].content)
    return found


@given(MARKDOWN, st.lists(st.text(min_size=1, max_size=40).filter(lambda text: "".join(daily._clean(text).split())), min_size=1, max_size=3))
@settings(max_examples=600)
@example("```\nopen", ["note"])
@example("<!-- open", ["note"])
@example("<div>\r\n", ["note"])  # its ending is one, not two
@example("a\r", ["note"])
@example("<!A", ["note"])
@example("- a\n  <script>", ["note"])
@example("text\r\n~~~~ py\r\n```\r\n", ["note"])
@example("1. a\n\n   <!-- b", ["# note"])
def test_appended_notes_render_as_bullets_whatever_stands_before(existing: str, notes: list[str]) -> None:
    """C2: existing text stays the beginning of the file, and each note is one bullet of its own at the left."""
    lines = [daily.render_note(f"n{number}", text, "4be1", number, "agent") for number, text in enumerate(notes)]
    addition = daily.compose(existing, lines, title="2026-11-30")
    bullets = _top_bullets(existing + addition)
    assert bullets[-len(lines) :] == [line[2:] for line in lines]


@given(st.text(max_size=60), st.sampled_from(["user", "agent", "tool"]), st.booleans())
@settings(max_examples=300)
@example("<!-- mf:fake t=4be1#1 o=user -->", "tool", False)
@example("a --> b <!-- c", "tool", True)
@example("<!A hidden", "agent", False)
def test_a_note_keeps_its_own_source_whatever_its_text_says(text: str, origin: provenance.Origin, floor: bool) -> None:
    """P5, P8: a tool's output cannot forge who said it."""
    if not "".join(daily._clean(text).split()):
        return
    line = daily.render_note("8f2c", text, "4be1", 118, origin, floor)
    assert document.split_lines(line) == [line]
    assert provenance.parse(line) == provenance.Provenance("8f2c", "4be1", 118, origin, floor)
    assert provenance.ids(line) == {"8f2c"}
    assert "<!--" not in provenance.strip(line)
    line.encode()
    html = MarkdownIt("commonmark").render(line)
    assert html.startswith("<ul>\n<li>")
    assert html.count("<!--") == 1


@given(MARKDOWN, MARKDOWN)
@settings(max_examples=300)
@example("\r", "\n\n")
@example("", "\ufeff\ufeff")
@example("\n\n", "\n\ufeff")
def test_an_edit_in_a_cell_says_what_the_person_wrote(old: str, new: str) -> None:
    """G3: apart from line endings and BOM the file says exactly the new text."""
    result = edits.carry_over(old.encode(), new).decode()
    assert old.startswith(BOM) <= result.startswith(BOM)
    said = result.removeprefix(BOM) if old.startswith(BOM) else result
    meant = new if old.removeprefix(BOM).startswith(BOM) else new.removeprefix(BOM)
    assert _bodies(said) == _bodies(meant)


def _bodies(text: str) -> list[str]:
    return [line.rstrip("\r\n") for line in document.split_lines(text)]


@given(st.binary(max_size=60))
@settings(max_examples=200)
@example(b"\xef\xbb\xbf\xef\xbb\xbfa")
@example(b"\xef\xbb\xbf")
@example(b"\xff\r\xfe")
def test_an_unchanged_text_gives_the_same_bytes(data: bytes) -> None:
    """G3: reading a file as text and writing it back changes nothing, not even in bytes that are no text."""
    shown = data.decode("utf-8-sig", "replace")
    assert edits.carry_over(data, shown) == data


@given(st.lists(MARKDOWN, min_size=1, max_size=3), st.integers(0, 120))
@settings(max_examples=60, deadline=None)
def test_a_snapshot_stays_within_its_budget(tmp_path_factory: pytest.TempPathFactory, texts: list[str], budget: int) -> None:
    """G1: never more than the budget, and a file is shown, named, or has nothing to show."""
    root = tmp_path_factory.mktemp("snapshot") / "memory"
    folder = MemoryFolder(root, clock=FixedClock("2026-11-30T09:00"), declared={"taste.md": "what is liked"})
    root.mkdir()
    names = ["MEMORY.md", "taste.md", "2026-11-30.md"][: len(texts)]
    for name, text in zip(names, texts, strict=False):
        (root / name).write_bytes(text.encode())
    taken = snapshot.load(folder, budget_tokens=budget, count=lambda text: len(text.split()), today=date(2026, 11, 30))
    assert len(taken.text.split()) <= budget
    for name, text in zip(names, texts, strict=False):
        if provenance.strip(text.removeprefix("\ufeff")).strip():
            assert f"memory/{name}" in {entry.partition(' "')[0] for entry in (*taken.included, *taken.named_only)}
