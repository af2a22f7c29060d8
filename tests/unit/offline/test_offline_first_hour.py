"""What a person meets in a first hour with the offline analyst: names from several frames, short answers, questions about the past."""

from __future__ import annotations

import pandas as pd
import pytest

from memflush_jupyter.context import pruning
from memflush_jupyter.memory.salience import SourceText, extract
from memflush_jupyter.models.offline import sentences
from memflush_jupyter.models.offline.conversation import Conversation
from memflush_jupyter.models.offline.remember import note_of
from memflush_jupyter.models.offline.side import flush_notes
from memflush_jupyter.testing.offline_loop import Loop


@pytest.fixture
def shop():
    odd = pd.DataFrame({"Umsatz (€)": [1.5, 2.5, None, 10.0], "my col": list("abab")})
    sales = pd.DataFrame({"region name": list("NNSSEEWW"), "Net Revenue ($)": [10, 20, 30, 40, 50, 60, 70, 80]})
    return Loop({"odd": odd, "sales": sales})


def test_a_column_that_only_another_frame_has_names_that_frame(shop):
    assert "6.25" in shop.ask("What is the mean of Umsatz (€) by my col in odd?")
    answer = shop.ask("sum of Net Revenue ($) by region name")
    assert answer.startswith("**The sum of `Net Revenue ($)` by `region name`: highest for W (150), lowest for N (30) (`sales`).**")


def test_a_question_without_a_column_stays_with_the_frame_of_before(shop):
    shop.ask("describe odd")
    assert shop.ask("how many missing values does it have?").startswith("**`odd` has 1 missing value in 1 of 2 columns; 3 of 4 rows are complete.**")


def test_missing_values_of_one_column_are_said_of_the_column_not_of_the_frame(shop):
    answer = shop.ask("how many missing values are in Umsatz (€)?")
    assert answer.startswith("**`Umsatz (€)` has 1 missing value; 3 of 4 rows are complete (`odd`).**")


def test_a_short_reply_completes_the_request_that_was_asked_about():
    loop = Loop({"birds": pd.DataFrame({"mass": [3, 1, 2, 5], "wing": [1.0, 2.0, 3.0, 4.0], "kind": list("xyxy")})})
    assert loop.ask("top 2 heaviest birds").startswith("Largest by which column?")
    assert "The 2 rows with the largest `mass`" in loop.ask("mass")
    assert loop.ask("plot it").startswith("**The histogram shows `mass` (`birds`).**")


def test_a_new_request_after_a_question_is_a_request_of_its_own():
    loop = Loop({"birds": pd.DataFrame({"mass": [3, 1, 2, 5], "wing": [1.0, 2.0, 3.0, 4.0]})})
    loop.ask("top 2 heaviest birds")
    assert loop.ask("mean of wing").startswith("**The mean of `wing` is 2.50")


@pytest.mark.parametrize("question", ["What did I ask you to remember?", "what do you remember?", "我之前让你记住了什么？"])
def test_what_was_to_be_remembered_is_listed_without_a_subject(question):
    loop = Loop(system="<memory>\n- The client is Ines.\n</memory>")
    loop.ask("Remember that plots have no grid lines.")
    answer = loop.ask(question)
    assert "> Plots have no grid lines.\n>\n> — your prompt 1 in this context" in answer
    assert "> The client is Ines.\n>\n> — memory" in answer


def test_what_i_said_is_answered_by_my_words_alone():
    loop = Loop({"birds": pd.DataFrame({"mass": [3, 1, 2, 5]})})
    loop.ask("Remember that I want plots without grid lines.")
    loop.ask("Now plot mass.")
    answer = loop.ask("What did I say about plots?")
    assert "Remember that I want plots without grid lines." in answer
    assert "shows `mass`" not in answer
    assert "Now plot" not in answer


def test_a_note_ends_with_one_full_stop_in_any_script():
    assert note_of("报告要用中文写。") == "报告要用中文写。"
    assert note_of("use mm.") == "Use mm."


def test_a_denial_says_how_to_allow_only_where_nobody_was_there_to_ask():
    reason = (
        "run_python was not run: nobody is here to approve it, and the approval policy is 'deny' (declare `%config MemFlush.approve = 'auto'` to allow it)."
    )
    loop = Loop(deny=True)
    assert "%%agent --approve auto" not in loop.ask("load penguins.csv")
    from memflush_jupyter.models.offline.conversation import Outcome

    assert "`%%agent --approve auto`" in sentences.denied("1", Outcome(reason, is_error=True))


def test_what_the_analyst_cannot_do_is_no_memory():
    """C13: refusals, abilities and questions are not facts about the work."""
    replies = [
        sentences.cannot("Tell me a joke", causal=False),
        sentences.unknown("what percentage are female?"),
        sentences.abilities(),
        sentences.denied('import pandas as pd\n\npenguins = pd.read_csv("penguins.csv")'),
        "Largest by which column? The candidates in `penguins` are `bill_length_mm`, `year`.",
    ]
    found = extract([SourceText(reply, "agent", "t", number) for number, reply in enumerate(replies)])
    offered = "\n".join(f"- {candidate.text}" for candidate in found)
    conversation = Conversation(prompts=["x"], instruction=f"<candidates>\n{offered}\n</candidates>", replies=[(0, reply) for reply in replies])
    assert flush_notes(conversation) == []
    assert [candidate.text for candidate in found if candidate.confidence >= 0.7] == []


def test_a_recall_block_taken_out_in_mid_turn_leaves_the_request_what_it_was():
    """G6: the stub of pruned recall is the host's word, not the person's."""
    loop = Loop({"birds": pd.DataFrame({"mass": [3, 1, 2, 5], "wing": [1.0, 2.0, 3.0, 4.0]})})
    loop.ask("top 2 heaviest birds")
    loop.ask("mass")
    loop.messages[-4]["content"].insert(0, {"type": "text", "text": "[Notes recalled for this message are no longer shown.]"})
    answer = loop.ask("plot it")
    assert answer.startswith("**The histogram shows `mass` (`birds`).**")
    assert loop.inspections == 1


def test_findings_are_not_listed_as_what_was_to_be_remembered():
    loop = Loop(system="<memory>\n- The client is Ines.\n- `mass` has 3 missing values.\n</memory>")
    answer = loop.ask("What did I ask you to remember?")
    assert "The client is Ines." in answer
    assert "missing values" not in answer


@pytest.fixture
def orders():
    rows = 60
    return pd.DataFrame({
        "order_id": [f"O{n:04d}" for n in range(rows)], "product": [("Tea", "Coffee", "Cocoa")[n % 3] for n in range(rows)],
        "revenue": [float((n * 37) % 101) for n in range(rows)],
    })  # fmt: skip


def test_the_top_orders_are_rows_though_a_column_names_each(orders):
    answer = Loop({"sales": orders}).ask("Top 5 orders by revenue in sales")
    assert answer.startswith("**The 5 rows with the largest `revenue` (`sales`).**")
    largest = orders.nlargest(5, "revenue")
    assert [line.split("`")[0].split("|")[3].strip() for line in answer.splitlines()[4:]] == list(largest.order_id)


@pytest.mark.parametrize(("prompt", "ascending", "word"), [("Top 2 products by revenue", False, "highest"), ("Bottom 2 products by revenue", True, "lowest")])
def test_the_top_groups_are_as_many_as_were_asked_for(orders, prompt, ascending, word):
    answer = Loop({"sales": orders}).ask(prompt)
    assert answer.startswith(f"**The mean of `revenue` by `product`: the 2 {word} (`sales`).**")
    means = orders.groupby("product").revenue.mean().sort_values(ascending=ascending)
    assert [line.split("|")[2].strip() for line in answer.splitlines()[4:]] == list(means.index[:2])


def test_a_result_that_the_context_has_no_room_for_is_not_read_as_if_it_were_whole(orders):
    """A lowest or a total of what is left would be wrong."""
    mark = '[… 9,000 characters omitted; read_message(trace="4be1", sequence=7) shows the whole …]'
    assert pruning._REFERENCE.fullmatch(mark)

    class Short(Loop):
        def _run(self, name, given):
            text, error = super()._run(name, given)
            return (f"{text[:500]}\n{mark}\n{text[-500:]}" if len(text) > 1_000 else text), error

    answer = Short({"sales": orders}).ask("Mean revenue by order_id")
    assert answer.startswith("**The result has too many rows to be read whole (`sales`).** Ask for less at once")


def test_the_first_that_was_asked_about_something_is_not_the_first_of_all(orders):
    loop = Loop({"sales": orders})
    loop.ask("Hello")
    loop.ask("Are there missing values in sales?")
    assert "Hello" not in loop.ask("What was the first thing I asked about missing values?")
    assert "> Hello" in loop.ask("What was the first thing I asked?")


def test_what_was_decided_is_answered_by_decisions_alone(orders):
    loop = Loop({"sales": orders})
    loop.ask("We decided to drop orders with more than 500 units.")
    loop.ask("Top 5 orders by revenue in sales")
    answer = loop.ask("What did we decide about large orders?")
    assert "> We decided to drop orders" in answer
    assert "Top 5" not in answer
