"""Every command of the face on a real kernel: what it does, and the sentence for each bad input. One kernel, one conversation after another."""

from __future__ import annotations

import json
import os
import re

import pytest

from memflush_jupyter.testing.kernels import start_kernel

pytestmark = pytest.mark.kernel

CSV = "species,mass\n" + "".join(f"{'abc'[i % 3]},{10 + i % 7}\n" for i in range(60))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("steering")
    (made / "data.csv").write_text(CSV)
    return made


@pytest.fixture(scope="module")
def kernel(folder):
    env = {name: value for name, value in os.environ.items() if not name.startswith("ANTHROPIC")}
    with start_kernel(folder, env=env) as running:
        running.run("%load_ext memflush_jupyter\n%config MemFlush.approve = 'auto'\n%config MemFlush.clock = '2026-01-15T09:00'")
        yield running


def say(kernel, prompt, **options):
    run = kernel.run(f"%%agent\n{prompt}", **options)
    assert run.status == "ok", run.text
    return run


def trace_id(kernel):
    return re.search(r"conversation +(\w{8})", kernel.run("%agent status", allow_stdin=True).text).group(1)


def test_status_says_where_things_stand(kernel):
    kernel.run("%agent new")
    before = kernel.run("%agent status").text
    assert "none yet: a %%agent cell begins one" in before
    say(kernel, "Load data.csv")
    after = kernel.run("%agent status").text
    assert re.search(r"model +offline/analyst", after)
    assert re.search(r"turns +1", after)
    assert re.search(r"context +[\d,]+ of 16,384 tokens", after)
    assert re.search(r"code runs +without asking", after)


def test_show_renders_a_turn_again(kernel):
    kernel.run("%agent new")
    say(kernel, "Load data.csv")
    say(kernel, "How many rows are there?")
    assert "> How many rows are there?" in kernel.run("%agent show").plain()[0]
    first = kernel.run("%agent show 1")
    assert "> Load data.csv" in first.plain()[0]
    assert any(text.startswith("▸ run_python") for text in first.plain())


def test_list_marks_the_present_conversation_and_resume_goes_back(kernel):
    kernel.run("%agent new")
    say(kernel, "Load data.csv and count the lakes")
    first = trace_id(kernel)
    assert "begins a new conversation" in kernel.run("%agent new").text
    say(kernel, "What can you do?")
    second = trace_id(kernel)
    assert first != second
    listed = kernel.run("%agent list", allow_stdin=True).text
    assert re.search(rf"→ +{second}", listed)
    assert "count the lakes" in listed
    assert first in kernel.run(f"%agent resume {first[:6]}", allow_stdin=True).text
    assert trace_id(kernel) == first
    assert second in kernel.run("%agent resume", allow_stdin=True).text
    assert len([line for line in kernel.run("%agent list -n 1").text.splitlines() if line.strip()]) == 2


def test_rewind_and_reset_go_back_and_delete_nothing(kernel):
    kernel.run("%agent new")
    for prompt in ("Load data.csv", "How many rows are there?", "What is the mean of mass?"):
        say(kernel, prompt)
    assert "Went back 1 turn, to before “What is the mean of mass?”" in kernel.run("%agent rewind").text
    assert re.search(r"turns +2", kernel.run("%agent status").text)
    kernel.run("%agent rewind 2")
    status = kernel.run("%agent status").text
    assert re.search(r"turns +0", status)
    assert int(re.search(r"messages +(\d+) in the trace", status).group(1)) >= 8
    say(kernel, "What can you do?")
    assert "context is empty" in kernel.run("%agent reset").text
    assert re.search(r"turns +0", kernel.run("%agent status").text)
    say(kernel, "What can you do?")
    assert re.search(r"turns +1", kernel.run("%agent status").text)


def test_model_is_a_getter_without_a_value(kernel):
    assert kernel.run("%agent model").text == "model: offline/analyst"
    assert kernel.run("%agent model offline/analyst").text == "model: offline/analyst"
    assert "nowhere/x" in kernel.run("%agent model nowhere/x").error
    assert kernel.run("%agent model").text == "model: offline/analyst"


def test_flush_and_compact_on_demand(kernel, folder):
    kernel.run("%agent new")
    say(kernel, "Load data.csv. Remember: the lake survey was made in 2007 with 41 stations.")
    assert re.search(r"memory: \d+ notes? saved to memory/2026-01-15.md", kernel.run("%agent flush").text)
    assert "2007" in (folder / "memory/2026-01-15.md").read_text()
    again = kernel.run("%agent flush")
    assert again.status == "ok"
    assert "Nothing was saved" in again.text or "nothing to store" in again.text
    small = kernel.run("%agent compact")
    assert small.status == "ok"
    assert small.text
    for number in range(6):
        say(kernel, f"What is the mean of mass by species? Variant {number}")
    compacted = kernel.run("%agent compact")
    assert compacted.status == "ok", compacted.text
    assert "context:" in compacted.text
    assert re.search(
        r"Compaction 1 of 1 \(messages 1 to \d+, .*\): \d+ of \d+ items \(\d+%\) stand in summary, memory or view\.", kernel.run("%memory audit").text
    )
    assert re.search(r"audit of the last compaction +\d+% still there", kernel.run("%budget").text)
    say(kernel, "How many rows are there?")


def test_audit_says_so_where_nothing_was_compacted(kernel):
    kernel.run("%agent new")
    say(kernel, "Load data.csv")
    assert kernel.run("%memory audit").text == "Nothing was compacted in this conversation, so nothing was lost."
    assert "zzzz" in kernel.run("%memory audit zzzz").error


def test_export_writes_three_forms_and_never_over_a_file_by_itself(kernel, folder):
    kernel.run("%agent new")
    say(kernel, "Load data.csv")
    assert "Written to talk.md" in kernel.run("%agent export talk.md").text
    assert "Load data.csv" in (folder / "talk.md").read_text()
    assert "exists; add --force" in kernel.run("%agent export talk.md").error
    assert kernel.run("%agent export talk.md --force").status == "ok"
    kernel.run("%agent export talk.json")
    json.loads((folder / "talk.json").read_text())
    kernel.run("%agent export talk.ipynb")
    import nbformat

    nbformat.validate(nbformat.read(folder / "talk.ipynb", as_version=4))
    assert "Written to conversation-" in kernel.run("%agent export").text


def test_delete_needs_a_yes_and_takes_the_conversation_away(kernel):
    kernel.run("%agent new")
    say(kernel, "Load data.csv and call it Zanzibar")
    gone = trace_id(kernel)
    assert "add --yes" in kernel.run(f"%agent delete {gone}").error
    kept = kernel.run(f"%agent delete {gone}", allow_stdin=True, answer=lambda _: "n")
    assert (kept.text, len(kept.asked)) == ("Nothing was deleted.", 1)
    assert f"Deleted {gone}" in kernel.run(f"%agent delete {gone} --yes").text
    assert gone not in kernel.run("%agent list", allow_stdin=True).text
    assert "Zanzibar" not in kernel.run("%memory search Zanzibar").text
    say(kernel, "What can you do?")


def test_memory_lists_shows_finds_and_forgets(kernel, folder):
    written = kernel.run("%%memory topics/lakes.md\n# Lakes\n\n- The deepest lake is 41 m deep.\n- Its water is green.")
    assert written.text == "Written to memory/topics/lakes.md."
    assert (folder / "memory/topics/lakes.md").read_text() == "# Lakes\n\n- The deepest lake is 41 m deep.\n- Its water is green.\n"
    assert "topics/lakes.md" in kernel.run("%memory list").text
    assert "deepest" in kernel.run("%memory show topics/lakes.md").text
    assert "deepest" in kernel.run("%memory show").text
    kernel.run("%agent new")
    say(kernel, "Remember: the boat is called Wilhelmina.")
    assert "Wilhelmina" in kernel.run("%memory search Wilhelmina").text
    assert kernel.run("%memory search qqqqzzz").text == "Nothing was found."
    kernel.run("%memory forget green --yes")
    assert "green" not in (folder / "memory/topics/lakes.md").read_text()
    assert "deepest" in (folder / "memory/topics/lakes.md").read_text()
    declined = kernel.run("%memory forget deepest", allow_stdin=True, answer=lambda _: "")
    assert "Nothing was forgotten." in declined.text
    assert "Nothing in memory matches." in kernel.run("%memory forget qqqqzzz --yes").text


def test_budget_prints_the_figures(kernel):
    kernel.run("%agent new")
    assert "No turn has run yet" in kernel.run("%budget").text
    say(kernel, "What can you do?")
    text = kernel.run("%budget").text
    for word in ("window", "used", "flush line", "compaction line", "turns"):
        assert word in text
    kernel.run("%agent rewind")
    assert kernel.run("%budget").status == "ok"


@pytest.mark.parametrize("line", ["%agent", "%agent help", "%agent show --help", "%memory help", "%memory forget -h", "%budget --help", "%%agent --help\nx"])
def test_help_is_there_for_each(kernel, line):
    run = kernel.run(line)
    assert run.status == "ok"
    assert len(run.text) > 60


@pytest.mark.parametrize(
    ("code", "sentence"),
    [
        ("%agent show 99", "takes a number from 1"),
        ("%agent show x", "x"),
        ("%agent rewind 0", "0"),
        ("%agent rewind 99", "takes a number from 1"),
        ("%agent rewind two", "two"),
        ("%agent resume zzzz", "zzzz"),
        ("%agent list -n many", "many"),
        ("%agent list -n -3", "-3"),
        ("%agent export talk.docx", ".md, .json or .ipynb"),
        ("%agent export nowhere/at/all/talk.md", "cannot be written"),
        ("%agent export --trace zzzz", "zzzz"),
        ("%agent delete", "trace"),
        ("%agent delet x", "Did you mean"),
        ('%agent export "talk', "quot"),
        ("%memory shaw", "Did you mean"),
        ("%memory show ../data.csv", "../data.csv"),
        ("%memory show /etc/passwd", "/etc/passwd"),
        ("%memory search", "words"),
        ("%memory forget /[/ --yes", "["),
        ("%%memory\ntext", "file"),
        ("%%memory ../x.md\ntext", "../x.md"),
        ("%%memory .memflush/store.sqlite3\ntext", ".memflush"),
        ("%budget now", "now"),
        ("%%agent --max-rounds 0\nhi", "0"),
        ("%%agent --format pdf\nhi", "pdf"),
        ("%%agent --aprove auto\nhi", "Did you mean --approve"),
        ("%%agent --new --resume x\nhi", "exclude each other"),
    ],
)
def test_bad_input_gets_one_sentence(kernel, code, sentence):
    kernel.run("%agent new")
    say(kernel, "What can you do?")
    run = kernel.run(code)
    assert run.status == "error", run.text
    errors = [output for output in run.outputs if output["kind"] == "error"]
    assert len(errors) == 1
    assert len(errors[0]["traceback"]) == 1
    assert sentence in errors[0]["traceback"][0]
    assert "File " not in errors[0]["traceback"][0]
    assert errors[0]["traceback"][0].rstrip().endswith((".", "?", ")", "`"))


def test_setters_take_what_config_takes_and_refuse_the_rest(kernel):
    assert kernel.run("%config MemFlush.approve = 'maybe'").status in {"ok", "error"}
    assert kernel.run("%agent status").status == "ok"
    kernel.run("%config MemFlush.approve = 'auto'")


def test_a_turn_of_many_scripts_and_braces_stays_as_it_is(kernel):
    kernel.run("%agent new")
    say(kernel, "记住：样本来自青海湖。 {not a name} \\n $HOME <b>bold</b> %agent")
    assert "青海湖" in kernel.run("%agent show").plain()[0]
    assert "青海湖" in kernel.run("%memory search 青海湖").text
