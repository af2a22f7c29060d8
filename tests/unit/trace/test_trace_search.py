"""Full text (G5, G6): what is split into which terms, what is found and what is not."""

from __future__ import annotations

import pytest

from memflush_jupyter.trace import fulltext, search
from memflush_jupyter.trace.models import Note
from memflush_jupyter.trace.schema import INDEX_VERSION
from memflush_jupyter.trace.store import TraceStore


def found(store, query, **more) -> list[int | str]:
    return [hit.sequence if hit.source == "message" else hit.note for hit in store.search(query, **({"identity": "me"} | more))]


# -- splitting ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("Plain words stay.", "Plain words stay."),
        ("bill_length_mm", "bill length mm billlengthmm"),
        ("billLength", "bill Length billLength"),
        ("HTTPServer", "HTTP Server HTTPServer"),
        ("df2 Q3", "df2 Q3"),
        ("data/raw.csv", "data raw csv rawcsv datarawcsv"),
        ("df.bill_length", "df bill length billlength dfbilllength"),
        ("2026-01-15", "2026 01 15 20260115"),
        ("1,234,567", "1234567"),
        ("3.14", "3d14"),
        ("10mg", "10 mg 10mg"),
        ("数据分析", "数据 据分 分析 析"),
        ("用pandas读", "用 pandas 读"),
        ("größe_mm", "größe mm größemm"),
        ("हिन्दी", "हिन्दी"),
        ("ｆｕｌｌ", "full"),
        ("“bill_length”—the owner’s, 1,234 ≤ 3.14…", "bill length billlength the owner s, 1234 3d14..."),
        ("größe—1,234,567…", "größe 1234567 "),
        ("a" * 70 + " 1" + ",234" * 20, "a" * 70 + " 1" + "234" * 20),
        ("x" * 70 + "_y", "x" * 64 + " y " + "x" * 64),
    ],
)
def test_text_is_split_into_words_parts_and_wholes(text, terms):
    """G5: Chinese and code identifiers split sensibly."""
    assert fulltext.split(text) == terms


@pytest.mark.parametrize(
    ("query", "terms"),
    [
        ("What is the bill_length?", ["bill", "length", "billlength"]),
        ("Penguins penguins", ["penguins"]),
        ("数据分析", ["数据", "据分", "分析"]),
        ("猫", ["猫*"]),
        ("hello, thanks!", []),
        ("这是什么", ["这是", "是什"]),
        ("", []),
        ('"*() AND OR NEAR', ["near"]),
        ('prize "Nora Fishel" "x"', ["prize", "nora", "fishel", "x", "nora fishel"]),
        ('"bill_length" "of the"', ["bill", "length", "billlength", "bill length billlength"]),
    ],
)
def test_questions_become_distinct_terms_without_common_words(query, terms):
    """G5: a prompt that needs no recall has no terms to search for."""
    assert fulltext.query_terms(query) == terms


def test_only_head_and_tail_of_a_huge_text_are_indexed():
    clipped = fulltext.clipped("a" * 300_000 + "z" * 300_000)
    assert len(clipped) == fulltext.INDEXED_CHARACTERS + 1
    assert clipped.startswith("a" * 150_000 + "\n")
    assert clipped.endswith("\n" + "z" * 50_000)
    assert fulltext.clipped("short") == "short"


def test_searchable_text_is_what_the_message_says_itself():
    """G6: recalled and host text is never found again as if it were new."""
    content = [
        {"type": "text", "text": "question <recalled note='x'>\n- old\n</recalled>"},
        {"type": "text", "text": "memory changed"},
        {"type": "thinking", "thinking": "secret thought", "signature": "s"},
        {"type": "tool_use", "id": "t", "name": "run_python", "input": {"code": "df.head()", "n": [1, {"why": "look"}]}},
        {"type": "tool_result", "tool_use_id": "t", "content": [{"type": "text", "text": "rows"}, {"type": "image", "source": {"data": "QUJD"}}]},
        {"type": "tool_result", "tool_use_id": "u", "content": "plain"},
    ]
    assert fulltext.searchable(content, aside=[1]) == "question \ndf.head()\nlook\nrows\nplain"


# -- finding --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("我们把数据分析完了", "数据"),
        ("我们把数据分析完了", "分析结果"),
        ("她养了一只猫", "猫"),
        ("猫喜欢鱼", "猫"),
        ("データを見る", "データ"),
        ("데이터를 분석", "분석"),
        ("ข้อมูลนี้", "ข้อมูล"),
        ("the column bill_length_mm is odd", "bill_length_mm"),
        ("the column bill_length_mm is odd", "length"),
        ("the column bill_length_mm is odd", "billLengthMm"),
        ("the column billLength is odd", "bill_length"),
        ("read data/raw.csv first", "data/raw.csv"),
        ("read data/raw.csv first", "raw.csv"),
        ("read data/raw.csv first", "raw"),
        ("measuring penguins", "measured penguin"),
        ("a café in Zürich", "cafe zurich"),
        ("it was 1,234 rows", "1234"),
        ("dropped above 3 sigma", "3 sigma"),
    ],
)
def test_search_finds(store, say, text, query):
    """G5: stemming, two-character Chinese words, identifiers by parts and whole."""
    wanted = say(text)
    say("something else entirely")
    say("另外一些文字")
    assert found(store, query) == [wanted]


@pytest.mark.parametrize(
    "query", ["", "   ", "the and of", "ok", "thanks!", '"', "*", "'; DROP TABLE traces", "NOT", "a:b", "\x00", "\ud800", "🐧", "NEAR(", "-x"]
)
def test_odd_questions_find_nothing_and_harm_nothing(store, say, query):
    say("an ordinary message on penguins")
    assert found(store, query) == []
    assert found(store, "penguins") == [1]


def test_best_hit_comes_first_with_positive_scores(store, trace, say):
    say("penguins " + "and other words " * 30)
    best = say("penguins of Biscoe")
    for number in range(10):
        say(f"filler number {number}")
    hits = store.search("penguins Biscoe", identity="me")
    assert [hit.sequence for hit in hits] == [best, 1]
    assert hits[0].score > hits[1].score > 0
    assert (hits[0].source, hits[0].trace, hits[0].origin, hits[0].text, hits[0].note) == ("message", trace, "user", "penguins of Biscoe", None)
    assert hits[0].created_at is not None
    assert hits[0].created_at.hour == 9
    assert [hit.sequence for hit in store.search("penguins Biscoe", identity="me", limit=1)] == [best]


def test_search_is_restricted_to_an_identity(store, say):
    """Whose memory it is."""
    other = store.create_trace(identity="you").id
    mine, theirs = say("penguin one"), say("penguin two", trace=other)
    assert found(store, "penguin") == [mine]
    assert found(store, "penguin", identity="you") == [theirs]
    assert sorted(hit.text for hit in store.search("penguin", identity=None)) == ["penguin one", "penguin two"]


def test_search_goes_on_past_what_is_excluded(store, trace, say):
    """G5: nothing that is in the context already, however many better hits that are."""
    for _ in range(70):
        say("penguin penguin penguin")
    wanted = say("penguin, mentioned once among many other words")
    exclude = {(trace, sequence) for sequence in range(1, 71)}
    assert found(store, "penguin", exclude=exclude, limit=5) == [wanted]


def test_search_is_restricted_to_origins(store, say):
    """P8: who said it."""
    asked = say("penguin a")
    said = say("penguin b", role="assistant", kind="reply")
    seen = store.append(
        store.traces()[0].id, role="user", kind="results", content=[{"type": "tool_result", "tool_use_id": "t", "content": "penguin c"}]
    ).sequence
    assert {origin: found(store, "penguin", origins={origin}) for origin in ("user", "agent", "tool")} == {"user": [asked], "agent": [said], "tool": [seen]}
    assert sorted(found(store, "penguin", origins=("user", "tool"))) == [asked, seen]


def test_side_branches_summaries_and_partials_are_not_found(store, say):
    """C10, D11."""
    say("penguin", branch="flush-1", kind="reply", role="assistant")
    say("penguin", kind="summary")
    say("penguin", kind="partial", role="assistant")
    assert found(store, "penguin") == []


def test_what_was_rewound_away_is_found_only_when_it_is_the_path_again(store, trace, say):
    one, two = say("start"), say("penguin here")
    store.rewind(trace, one)
    assert found(store, "penguin") == []
    three = say("penguin there")
    assert found(store, "penguin") == [three]
    store.rewind(trace, two)
    assert found(store, "penguin") == [two]


def test_notes_are_found_until_retired_and_again_when_written_back(store, trace, say):
    """F5, G9."""
    say("nothing of interest")
    store.add_notes([Note("n1", "MEMORY.md", "drop outliers above 3 sigma", trace, 1, "user")])
    assert found(store, "outliers") == ["n1"]
    hit = store.search("outlier", identity="me")[0]
    assert (hit.source, hit.trace, hit.sequence, hit.note, hit.origin) == ("note", trace, 1, "n1", "user")
    store.mark_notes(["n1"], "written")
    assert found(store, "outliers") == ["n1"]
    store.mark_notes(["n1"], "retired")
    assert found(store, "outliers") == []
    store.mark_notes(["n1"], "retired")
    store.mark_notes(["n1"], "written")
    assert found(store, "outliers") == ["n1"]
    assert found(store, "outliers", exclude={(trace, 1)}) == []


def test_note_without_a_trace_belongs_to_everyone_and_others_to_their_identity(store):
    other = store.create_trace(identity="you").id
    store.add_notes([Note("n1", "a.md", "penguin alpha", None, None, "user"), Note("n2", "a.md", "penguin beta", other, 1, "user")])
    assert found(store, "penguin") == ["n1"]
    assert sorted(found(store, "penguin", identity="you")) == ["n1", "n2"]


def test_text_beyond_the_indexed_part_is_stored_whole(store, trace):
    big = "alpha " * 40_000 + "needle " + "omega " * 40_000
    store.append(trace, role="user", kind="prompt", content=[{"type": "text", "text": big}])
    assert store.message(trace, 1).text == big
    assert found(store, "needle") == []
    assert found(store, "omega") == [1]


# -- which terms choose ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("counts", "chosen"),
    [
        ([5], 1),
        ([5, 10, 20], 3),
        ([5, 200, 395], 3),
        ([5, 200, 396], 2),
        ([199, 801], 2),
        ([199, 802], 1),
        ([200, 400], 2),
        ([200, 401], 1),
        ([50_000, 60_000], 1),
    ],
)
def test_rarest_terms_choose_until_there_are_enough_candidates(counts, chosen):
    assert search._choosing([(count, f"t{number}") for number, count in enumerate(counts)]) == chosen


@pytest.mark.parametrize(
    ("counts", "chosen", "ranking"),
    [([5], 1, 1), ([5, 10_000], 1, 2), ([5, 19_995], 1, 2), ([5, 19_996], 1, 1), ([5, 10_000, 20_000], 1, 2), ([90_000, 90_000], 1, 1)],
)
def test_further_terms_rank_while_they_are_cheap(counts, chosen, ranking):
    assert search._ranking([(count, f"t{number}") for number, count in enumerate(counts)], chosen) == ranking


def test_common_terms_rank_but_do_not_choose():
    assert search._expression(["rare", "often"], 1) == '("rare") AND ("rare" OR "often")'
    assert search._expression(["猫*", "often"], 2) == '"猫"* OR "often"'


def test_question_of_words_that_are_everywhere_looks_through_the_most_recent(store, say, monkeypatch):
    monkeypatch.setattr(search, "MOST_CANDIDATES", 10)
    monkeypatch.setattr(search, "FEW_CANDIDATES", 3)
    monkeypatch.setattr(search, "ENOUGH_CANDIDATES", 5)
    for _ in range(100):
        say("penguin")
    hits = found(store, "penguin", limit=100)
    assert sorted(hits) == list(range(91, 101))


# -- upkeep ---------------------------------------------------------------------------------------------------------------


def test_index_of_another_version_is_rebuilt_when_opened(store, path, clock, trace, say):
    say("penguin alpha")
    say("penguin", branch="flush-1", kind="reply", role="assistant")
    store.add_notes([Note("n1", "a.md", "penguin beta", None, None, "user"), Note("n2", "a.md", "penguin gamma", None, None, "user")])
    store.mark_notes(["n2"], "retired")
    store.set_setting("index_version", "0")
    store.close()
    again = TraceStore.open(path, clock=clock)
    assert sorted(map(str, found(again, "penguin"))) == ["1", "n1"]
    assert again.get_setting("index_version") == INDEX_VERSION
    again.delete_trace(trace)
    assert found(again, "penguin") == ["n1"]
    again.close()
