"""P7 on a real kernel: secrets of every kind in every place, and not one of them in any output, file, log or export."""

from __future__ import annotations

import json
import os
import random
import string
from pathlib import Path

import pytest

from memflush_jupyter.testing import FakeMessagesServer, Refuse, Reply, ServedModel, text, thinking, tool_use
from memflush_jupyter.testing.kernels import start_kernel
from memflush_jupyter.testing.planted import planted

pytestmark = pytest.mark.kernel

PLACES = (
    *("prompt", "title", "cell", "column", "exception", "traceback", "output", "input", "shell", "reply", "thought", "note", "display", "metadata"),
    *("svg", "refusal", "file", "memory cell", "variable", "filled", "error", "code"),
)
UNMARKED = {"DEPLOY_KEY": 1, "SERVICE_TOKEN": 2, "DB_PASSWORD": 3, "LATE_API_KEY": 4}
LOAD = """
import json, logging, os
%load_ext memflush_jupyter
%config MemFlush.approve = 'auto'
P = json.load(open({plants!r}))
logging.basicConfig(filename={log!r}, level=logging.DEBUG, force=True)
import memflush_jupyter.notebook.background, pandas as pd
def mishap(value):
    raise RuntimeError(value)
"""
CODE = {
    "frame": """
frame = pd.DataFrame({"id": range(len(P["cell"])), "note": P["cell"], "password": P["column"][:1] * len(P["cell"])})
pd.set_option("display.max_rows", 200)
print(frame.note.to_list()); print(frame[["note"]].to_string()); print(frame.to_json()); print(frame.to_csv()); print(frame)
display(frame[["id", "note"]])
dictionary = dict(enumerate(P["cell"])); frame[["note"]]
""",
    "errors": """
import traceback, sys
for value in P["traceback"]:
    try:
        mishap(value)
    except RuntimeError:
        traceback.print_exc()
logging.getLogger("other").debug("in agent code")
raise ValueError("; ".join(P["exception"][:12]))
""",
    "prints": """
import subprocess
print(*P["output"], sep="\\n")
print(P["output"], repr(P["output"]), json.dumps(P["output"]))
subprocess.run(["printf", "%s\\n", *P["shell"]])
!env
print(dict(os.environ))
os.environ["LATE_API_KEY"] = LATE
print("set later:", LATE, repr(LATE[:20]) , LATE[:24] + "…")
""",
    "rich": """
from IPython.display import SVG, HTML, Markdown
import html
display({"application/json": {"deep": [{"er": P["display"]}]}, "text/plain": "json"}, raw=True)
display({"text/html": "".join(f"<p>{html.escape(v)}</p>" for v in P["display"]), "text/plain": "page"}, raw=True)
display({"text/markdown": "\\n\\n".join(P["display"]), "text/plain": "\\n".join(P["display"])}, raw=True)
display({"image/png": "aGk=", "text/plain": "figure"}, metadata={"image/png": {"alt": "\\n".join(P["metadata"])}}, raw=True)
display({"image/svg+xml": "<svg xmlns='http://www.w3.org/2000/svg'><text>" + " ".join(P["svg"]) + "</text></svg>", "text/plain": "drawing"}, raw=True)
""",
}


def unmarked(seed: int) -> str:
    """A value that nothing but its variable's name tells."""
    rng = random.Random(seed)  # noqa: S311 - protects nothing
    return "".join(rng.choices(string.ascii_letters + string.digits, k=44))


class Seen:
    """Everything that our side showed."""

    def __init__(self) -> None:
        self.parts: dict[str, str] = {}

    def add(self, name: str, run) -> None:
        self.parts[name] = json.dumps([run.outputs, run.error], ensure_ascii=False) + "\n" + _flat(run.outputs)


def _flat(value) -> str:
    """All strings of a value, unescaped."""
    if isinstance(value, dict):
        return "\n".join([*map(str, value), *map(_flat, value.values())])
    if isinstance(value, list):
        return "\n".join(map(_flat, value))
    return str(value)


def needles(secret: str) -> set[str]:
    """The secret, its end, and (so that no cut display shows most of it) a middle piece."""
    pieces = {secret, secret[-12:]}
    return {piece for piece in pieces | ({secret[20:32]} if len(secret) > 44 else set()) if len(piece) > 8}


def test_no_planted_secret_is_found_anywhere(tmp_path):  # noqa: PLR0915 - one kernel for all places
    """P7: a secret never reaches disk or the screen: 70 kinds × 20 places, on one kernel."""
    folder, beside = tmp_path / "work", tmp_path / "beside"
    folder.mkdir()
    beside.mkdir()
    plants = {place: planted(100 + seed) for seed, place in enumerate(PLACES)}
    texts = {place: [plant.text for plant in found] for place, found in plants.items()}
    assert len({plant.kind for plant in plants["prompt"]}) >= 60
    (beside / "plants.json").write_text(json.dumps(texts))
    files = [text for text in texts["file"] if len(text) < 200 and not set(text) & set("/\n\"':{}")]
    for name in files:
        (folder / f"{name}.txt").write_text("hello\n")
    (folder / "keys.env").write_text("\n".join(texts["file"]))
    values = {name: unmarked(seed) for name, seed in UNMARKED.items()}
    env = {name: value for name, value in os.environ.items() if not name.startswith("ANTHROPIC")}
    env |= {name: value for name, value in values.items() if name != "LATE_API_KEY"} | {"DATABASE_URL": "postgresql://ana:" + unmarked(9) + "@db/sales"}
    seen = Seen()
    with FakeMessagesServer(models=[ServedModel("fake-model", 200_000, 8_000, vision=False)]) as server, start_kernel(folder, env=env) as kernel:
        endpoints = {"local/fake-model": {"base_url": server.url, "api_key_env": "SERVICE_TOKEN"}}
        kernel.run(LOAD.format(plants=str(beside / "plants.json"), log=str(tmp_path / "all.log")))
        kernel.run(f"%config MemFlush.endpoints = {endpoints!r}\n%config MemFlush.model = 'local/fake-model'\n%config MemFlush.max_retry_wait_s = 0.01")
        assert kernel.run("print(len(P))").text == str(len(PLACES))

        def turn(name: str, prompt: str, answers: list, *, options: str = "", status: str = "ok", live: bool = False) -> None:
            server.script([*answers])
            run = kernel.run(f"%%agent {options}\n{prompt}", allow_stdin=live)
            assert run.status == status, (name, run.text[-600:])
            seen.add(name, run)

        reply = Reply([thinking("\n".join(texts["thought"])), text("\n\n".join(texts["reply"]))], delta_chars=3)
        turn("title", f"{texts['title'][0]} is {texts['title'][5]}", ["Noted."])
        turn("prompt", "\n".join(texts["prompt"]), [reply], live=True)
        turn("frame", "look at the frame", [tool_use("run_python", {"code": CODE["frame"]}), tool_use("inspect_variables", {}), "Done."])
        turn("named", "and by name", [tool_use("inspect_variables", {"names": ["frame", "dictionary", "P"]}), "Done."], live=True)
        turn("errors", "run it", [tool_use("run_python", {"code": CODE["errors"]}), "It failed."])
        kernel.run(f"LATE = {values['LATE_API_KEY']!r}")
        turn("prints", "print it", [tool_use("run_python", {"code": CODE["prints"]}), "Done."], live=True)
        turn("rich", "show it", [tool_use("run_python", {"code": CODE["rich"]}), "Done."])
        typed = {"code": "x = " + repr("\n".join(texts["input"]))}
        turn("input", "type it", [tool_use("run_python", typed), tool_use("no_such_tool", {"deep": [{"er": texts["input"]}]}), "Done."], live=True)
        looked = [tool_use("list_files", {}), tool_use("read_file", {"path": "keys.env"}), tool_use("read_file", {"path": f"{files[0]}.txt"})]
        searched = tool_use("search_files", {"query": texts["file"][1]})
        turn("files", "look around", [*looked, searched, "Done."])
        notes = [f"The key for service {number} is {value}" for number, value in enumerate(texts["note"])]
        saved = [tool_use("memory_write", {"notes": notes[:30]}), tool_use("memory_write", {"notes": notes[30:], "file": "topics/keys.md"})]
        turn("note", "remember them", [*saved, "Saved."])
        echoed = "invalid request: " + " | ".join(texts["refusal"])
        for number in range(0, len(texts["refusal"]), 8):
            echoed = "cannot use " + " and ".join(texts["refusal"][number : number + 8])
            turn(f"refusal {number}", "go on", [Refuse(400, "invalid_request_error", echoed)], status="error")
        turn("json", "again", ["\n\n".join(texts["reply"][:20])], options="--format json")
        turn("text", "again", ["\n\n".join(texts["reply"][20:])], options="--format text")
        kernel.run("said, told, kept = P['filled'], dict(enumerate(P['filled'])), '\\n'.join(P['filled']); table = pd.DataFrame({'v': P['filled']})")
        wanted = "Look at {said}, {told}, {kept}, {table} and {table.v}, {P}."
        turn("filled", wanted, ["Seen."], live=True)
        kernel.run("mishap('; '.join(P['error'][:20]))")
        for options in ("", " why is that"):
            server.script(["It failed on\n```python\n" + "\n".join(f"v = {value!r}" for value in texts["code"][:30]) + "\n```"])
            seen.add(f"%agent fix{options}", kernel.run(f"%agent fix{options}"))
        turn("error", "Explain {Err[-1]} please", ["```python\n" + "\n".join(texts["code"][30:]) + "\n```"])
        seen.add("%agent code", kernel.run("%agent code"))
        turn("recalled", "What was the key for service 3?", [tool_use("memory_search", {"query": "key service"}), "See above."], options="--new")
        kernel.run("%agent resume")
        server.script(lambda _: "NO_REPLY")
        for command in (
            *(
                "%agent status",
                "%agent show",
                "%agent show 2",
                "%agent show 3",
                "%agent list",
                "%agent flush",
                "%budget",
                "%memory list",
                "%agent status --all --json",
                "%agent config",
            ),
            *("%memory show", "%memory search key service", "%agent export out.md", "%agent export out.json", "%agent export out.ipynb"),
            *(f"%agent resume {texts['title'][3]}", f"%memory show {texts['title'][4].split()[0]}.md", f"%memory search {texts['title'][6]}"),
        ):
            seen.add(command, kernel.run(command))
        run = kernel.run("%%memory taste.md\nI like blue.\n\n" + "\n".join(texts["memory cell"]))
        assert "left out: memory is no place for keys" in run.text
        seen.add("%%memory", run)
        logged = "import logging\nlog = logging.getLogger('memflush_jupyter')\nfor v in P['variable']:\n    log.warning('met %s', v)\n"
        kernel.run(logged + "    try:\n        mishap(v)\n    except RuntimeError:\n        log.exception('trouble')")
        sent = [json.dumps(request.body, ensure_ascii=False) for request in server.requests]
        stored = {str(path.relative_to(tmp_path)): path.read_bytes().decode("utf-8", "replace") for path in _files(folder, files)}
        assert any(name.endswith("-wal") for name in stored)
    stored |= {str(path.relative_to(tmp_path)): path.read_bytes().decode("utf-8", "replace") for path in _files(folder, files)}
    stored["all.log"] = (tmp_path / "all.log").read_text(errors="replace")
    assert "met [redacted" in stored["all.log"]
    secrets = {(place, plant.kind): plant.secret for place, found in plants.items() for plant in found}
    secrets |= {("environment", name): value for name, value in values.items()} | {("environment", "DATABASE_URL"): unmarked(9)}
    haystacks = {**seen.parts, **stored, "requests": "\n".join(sent)}
    assert sum("[redacted: " in hay for hay in haystacks.values()) > 20
    leaks = sorted(
        {(where, *key) for key, secret in secrets.items() for where, hay in haystacks.items() for needle in needles(secret) if needle in hay},
    )
    assert leaks == []


def _files(folder: Path, planted_names: list[str]) -> list[Path]:
    own = {f"{name}.txt" for name in planted_names} | {"keys.env"}
    return [path for path in folder.rglob("*") if path.is_file() and path.name not in own]
