"""Every option, as traitlets: ``c.MemFlush.NAME`` in a config file, ``%config MemFlush.NAME = …`` in a notebook.

Sizes are in tokens unless the help says otherwise. ``None`` always means "worked out for this model" and the help says how.
Secrets are never options: only the *name* of the environment variable that holds one is. Tags: ``group`` begins a section of the
reference page, ``held`` marks a limit (one that cannot be understood lets nothing run), ``fixed`` what is read once, before the first turn.
"""

from __future__ import annotations

import math
import re
from datetime import datetime
from typing import TYPE_CHECKING, Any, ClassVar

from traitlets import Bool, Dict, Enum, Float, Int, List, Unicode, Union, validate

from memflush_jupyter.settings import OptionError, Settings

if TYPE_CHECKING:
    from collections.abc import Mapping

_SIZE = re.compile(r"^\s*(\d+(?:\.\d+)?)\s*([kmg]i?b?|b)?\s*$", re.IGNORECASE)
_FACTORS = {"": 1, "b": 1, "k": 1024, "m": 1024**2, "g": 1024**3}
_VARIABLE = re.compile(r"^[A-Za-z_][A-Za-z0-9_]*$")
_KEY_LIKE = re.compile(r"^(sk|key|pk|ghp|hf|xox[a-z])[-_]|^[A-Za-z0-9]{33,}$")

DEFAULT_MEMORY_FILES = {
    "taste.md": "what the person likes and dislikes: style, plots, wording",
    "strategy.md": "how to approach work of this kind: what helped, what did not",
    "skills.md": "procedures that worked and can be repeated",
}


def parse_size(value: int | str) -> int:
    """Turn ``2097152``, ``"2mb"`` or ``"64 KiB"`` into bytes (factors of 1024).

    Raises:
        TraitError: the text is not a size.
    """
    if isinstance(value, int):
        return value
    match = _SIZE.match(value)
    if match is None:
        message = f"{value!r} is not a size; write a number of bytes or one with a unit, such as '2mb'."
        raise OptionError(message)
    unit = (match.group(2) or "").lower()[:1]
    return int(float(match.group(1)) * _FACTORS[unit])


class MemFlush(Settings):
    """The options of memflush-jupyter."""

    # What the same options are called in the designs this one follows (section H).
    former_names: ClassVar[Mapping[str, str]] = {
        "memoryflushenabled": "enable_memory_flush",
        "softthresholdtokens": "memory_flush_soft_tokens",
        "memoryflushmodel": "flush_model",
        "memoryflushprompt": "flush_prompt",
        "memoryflushsystemprompt": "flush_system_prompt",
        "compactionenabled": "compaction",
        "basepath": "memory_dir",
        "files": "memory_files",
        "usertimezone": "timezone",
    }

    # -- who answers ---------------------------------------------------------------------------------------------------
    model = Unicode(
        "",
        help="Model id: 'anthropic/NAME', 'local/NAME' or 'offline/analyst'. Empty: Claude when a key is set, else the first "
        "entry of `endpoints`, else the server at `base_url`, else the built-in offline model.",
    ).tag(config=True, group="Who answers")
    default_claude = Unicode("claude-sonnet-4-5", help="The Claude model used when `model` is empty and a key is set.").tag(config=True)
    base_url = Unicode("", help="Server with the Anthropic Messages API that serves 'local/…' ids, e.g. 'http://127.0.0.1:8080'.").tag(config=True)
    endpoints = Dict(
        help="An endpoint per model id: {'local/qwen': {'base_url': 'http://127.0.0.1:8911', 'api_key_env': 'MY_KEY', 'window': 16384}}.",
    ).tag(config=True, private=True)
    api_key_env = Unicode("ANTHROPIC_API_KEY", help="Name of the environment variable that holds the key of 'anthropic/…' models; never the key.").tag(
        config=True, private=True
    )
    window = Int(
        None,
        min=1,
        allow_none=True,
        help="Context window in tokens. None: asked from the Models API or the local server, else a table of known models, else 32768 with a warning.",
    ).tag(config=True)
    max_output_tokens = Int(None, min=1, allow_none=True, help="Largest reply in tokens. None: the model's own limit, at most the reserve.").tag(config=True)
    offline_window = Int(16384, min=1, help="Window of the offline model, in tokens.").tag(config=True)
    max_retries = Int(4, min=0, help="How often a request is tried again when the server is overloaded or unreachable.").tag(config=True)
    max_retry_wait_s = Float(30.0, min=0, help="Longest pause before a retry, in seconds, whatever the server asks for.").tag(config=True)
    request_timeout_s = Float(120.0, min=0.001, help="A request with no byte for this many seconds has failed.").tag(config=True)

    # -- a turn --------------------------------------------------------------------------------------------------------
    max_rounds = Int(25, min=1, help="Model calls in one turn, at most.").tag(config=True, held=True, group="A turn and its limits")
    max_turn_tokens = Int(
        None,
        min=1,
        allow_none=True,
        help="Tokens one turn may use in all: input and output of every request, flushes and summaries included. None: no limit.",
    ).tag(config=True, held=True)
    max_cost_usd = Float(
        None, min=0, allow_none=True, help="US dollars this kernel may spend, flushes, summaries and background work included. None: no limit."
    ).tag(config=True, held=True)
    tool_timeout_s = Float(None, min=0.001, allow_none=True, help="Seconds one tool call may take, the agent's code included. None: no limit.").tag(
        config=True, held=True
    )
    approve = Enum(
        ["", "ask", "auto", "deny"],
        default_value="",
        help="Who decides whether agent code runs: 'ask' the person, 'auto' (always), 'deny'. Empty: 'ask' with a person present, else 'deny'.",
    ).tag(config=True, held=True)
    allowed_paths = List(
        Unicode(), help="Folders the file tools may read beside the notebook's own folder; '~' is the home folder, relative ones start at the notebook's."
    ).tag(config=True, held=True, paths=True)

    # -- flush ---------------------------------------------------------------------------------------------------------
    enable_memory_flush = Bool(True, help="Save durable notes before the context is compacted.").tag(config=True, group="Saving to memory (flush)")
    memory_flush_soft_tokens = Int(
        None,
        min=0,
        allow_none=True,
        help="Headroom in tokens below the compaction line at which the flush fires: a distance, not an absolute size. None: 4000, less in a small window.",
    ).tag(config=True)
    force_flush_transcript_bytes = Union(
        [Int(min=0), Unicode()],
        default_value=2 * 1024**2,
        help="Unflushed transcript bytes that force a flush, also as '2mb'; 0: off.",
    ).tag(config=True)
    flush_model = Unicode("", help="Model id for the flush. Empty: the turn's model (then the prompt cache serves it).").tag(config=True)
    flush_fallbacks = List(Unicode(), help="Model ids tried, in order, when `flush_model` fails; no others are.").tag(config=True)
    flush_prompt = Unicode("", help="Replaces the flush instruction. A silence hint is added when it lacks one.").tag(config=True)
    flush_system_prompt = Unicode("", help="Replaces the system prompt of a slim flush (one on another model).").tag(config=True)
    flush_timeout_s = Float(60.0, min=0.001, help="Seconds of silence after which a flush has failed.").tag(config=True)
    flush_total_timeout_s = Float(300.0, min=0.001, help="Seconds a flush may take in all.").tag(config=True)
    flush_max_rounds = Int(4, min=1, help="Model calls in one flush, at most.").tag(config=True)
    flush_max_notes = Int(20, min=1, help="Notes one flush may write, at most.").tag(config=True)
    flush_note_chars = Int(500, min=1, help="Characters of one note; longer ones are split at sentences.").tag(config=True, fixed=True)
    flush_floor = Bool(True, help="Write what the deterministic extractor finds when the model saved nothing for it.").tag(config=True)
    flush_background = Bool(True, help="Flush on the background thread after a turn; headless runs always wait for it.").tag(config=True)
    flush_text_as_note = Bool(False, help="Keep a flush reply that is neither a call nor silence as one note.").tag(config=True)
    flush_max_failures = Int(3, min=1, help="Failures in one compaction cycle after which no more flushes are tried.").tag(config=True)

    # -- knowledge from work -------------------------------------------------------------------------------------------
    extraction = Bool(
        True,
        help="Before messages leave the context, ask what was found out that is of use elsewhere; only where the agent has a tool `upload_knowledge`.",
    ).tag(config=True, group="Learning from work (side branches)")
    completion_extraction = Bool(True, help="Ask the same, by another prompt, when a goal is done.").tag(config=True)
    fuse_side_branches = Bool(True, help="Ask for flush, extraction and evaluation in one request. False: each in its own.").tag(config=True)
    extraction_max_rounds = Int(3, min=1, help="Model calls in one extraction of its own, at most.").tag(config=True)
    extraction_total_timeout_s = Float(120.0, min=0.001, help="Seconds an extraction of its own may take in all.").tag(config=True)
    evaluation_max_rounds = Int(3, min=1, help="Model calls in one evaluation of its own, at most.").tag(config=True)
    evaluation_total_timeout_s = Float(120.0, min=0.001, help="Seconds an evaluation of its own may take in all.").tag(config=True)

    # -- compaction and pruning ----------------------------------------------------------------------------------------
    compaction = Enum(
        ["summary", "drop", "off"],
        default_value="summary",
        help="When the window is full: 'summary' replaces older messages by one, 'drop' takes them out of view, 'off' ends the turn and says so.",
    ).tag(config=True, group="Shortening the context")
    compression_prompt = Unicode("", help="Replaces the summary instruction.").tag(config=True)
    reserve_tokens = Int(None, min=0, allow_none=True, help="Room kept for the reply. None: 20000, less in a small window.").tag(config=True)
    reserve_tokens_floor = Int(20000, min=0, help="The reserve is at least this, within what the window allows.").tag(config=True)
    keep_recent_tokens = Int(None, min=0, allow_none=True, help="Recent tokens a compaction keeps. None: 20000, at most a third of window less reserve.").tag(
        config=True
    )
    prune_result_chars = Int(4000, min=1, help="Tool results longer than this, in characters, are sent as head and tail.").tag(config=True)

    # -- memory --------------------------------------------------------------------------------------------------------
    memory = Bool(True, help="Use and keep memory. False: an ordinary agent, and nothing of memory runs.").tag(config=True, group="Memory")
    memory_dir = Unicode("memory", help="The memory folder, relative to the notebook's folder.").tag(config=True, fixed=True)
    memory_files = Dict(Unicode(), default_value=DEFAULT_MEMORY_FILES, help="Semantic files the agent may append to, each with a line on what it is for.").tag(
        config=True, fixed=True
    )
    memory_tokens = Int(None, min=0, allow_none=True, help="Tokens of memory in the prompt. None: 4 % of the window, at most 8000.").tag(config=True)
    recall = Bool(True, help="Search earlier messages and notes before each prompt.").tag(config=True)
    recall_tokens = Int(600, min=0, help="Tokens of recall that ride with a prompt, at most.").tag(config=True)
    identity = Unicode("", help="Whose memory it is. Empty: the memory folder itself.").tag(config=True, fixed=True)
    timezone = Unicode("", help="IANA name for daily files, such as 'Europe/Berlin'. Empty: the machine's zone.").tag(config=True, fixed=True)
    clock = Unicode("", help="A declared moment ('2026-01-15T09:00') that replaces the machine's clock, for outputs equal on any day.").tag(
        config=True, fixed=True
    )

    # -- prompts -------------------------------------------------------------------------------------------------------
    system_prompt = Unicode("", help="Replaces the system prompt.").tag(config=True, group="Prompts")
    extraction_prompt = Unicode("", help="Replaces the instruction of an extraction before a compaction.").tag(config=True)
    extraction_completion_prompt = Unicode("", help="Replaces the instruction of the extraction at the end of a goal or conversation.").tag(config=True)
    evaluation_prompt = Unicode("", help="Replaces the instruction of an evaluation; {sources} stands for the entries.").tag(config=True)

    @validate("clock")
    def _declared_moment(self, proposal: dict[str, Any]) -> str:
        """Refuse what is no moment where it is declared, not in the next kernel."""
        moment = str(proposal["value"]).strip()
        try:
            if moment:
                datetime.fromisoformat(moment)
        except ValueError as error:
            raise OptionError(f"{moment!r} is not a date and time; write it like '2026-01-15T09:00'.") from error
        return moment

    @validate("force_flush_transcript_bytes")
    def _size(self, proposal: Any) -> int:
        return parse_size(proposal["value"])

    @validate("max_cost_usd", "tool_timeout_s", "max_retry_wait_s", "request_timeout_s", "flush_timeout_s", "flush_total_timeout_s",
              "extraction_total_timeout_s", "evaluation_total_timeout_s")  # fmt: skip
    def _finite(self, proposal: Any) -> float | None:
        """A limit of NaN is none that anything ever reaches."""
        value: float | None = proposal["value"]
        if value is not None and not math.isfinite(value):
            raise OptionError(f"{value} is not a number to hold to; None means that there is no limit.")
        return value

    @validate("api_key_env")
    def _named(self, proposal: Any) -> str:
        """The name of a variable; what looks like a key is refused, and not repeated (P7)."""
        name = str(proposal["value"]).strip()
        if not _VARIABLE.match(name) or _KEY_LIKE.match(name):
            raise OptionError("it must be the name of an environment variable, such as 'ANTHROPIC_API_KEY', never the key itself.")
        return name
