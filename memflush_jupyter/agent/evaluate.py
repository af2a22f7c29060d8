"""Evaluation: one verdict on each piece of knowledge that was put before the model, with a reason (E3)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol

from memflush_jupyter.errors import MemflushError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from memflush_jupyter.agent.parts import AgentParts
    from memflush_jupyter.trace.store import TraceStore

EVALUATE: Final = "evaluate_knowledge"
VERDICTS: Final = ("helpful", "harmful", "unused", "irrelevant", "neutral")
NO_VERDICT: Final = "no verdict given"
REASON_CHARS: Final = 300
_SHOWN_CHARS: Final = 160


@dataclass(frozen=True, slots=True)
class Judged:
    """A verdict with its reason."""

    verdict: str
    reason: str


@dataclass(frozen=True, slots=True)
class Injected:
    """Knowledge that was put before the model and waits for its verdict."""

    id: str
    title: str = ""
    body: str = ""

    @property
    def shown(self) -> tuple[str, str, str]:
        """What an evaluation is told of it: id, title, and the beginning of its text."""
        flat = " ".join(self.body.split())
        return self.id, " ".join(self.title.split()), flat if len(flat) <= _SHOWN_CHARS else flat[:_SHOWN_CHARS].rsplit(" ", 1)[0] + " …"


class Entry(Protocol):
    """What is read of an entry of the hub."""

    @property
    def title(self) -> str:
        """Its title."""
        ...

    @property
    def body(self) -> str:
        """Its text."""
        ...


def pending(store: TraceStore, trace: str) -> list[str]:
    """Ids of the entries that were injected into the trace and have no verdict there, in the order they came."""
    shown = [str(source) for event in store.events(trace, event="query") for source in event.data.get("sources") or ()]
    judged = {str(event.data.get("source")) for event in store.events(trace, event="evaluation") if event.data.get("verdict")}
    return [source for source in dict.fromkeys(shown) if source not in judged]


def describe(parts: AgentParts, ids: Sequence[str]) -> tuple[Injected, ...]:
    """The entries with their words, where the hub can be asked; else by their ids alone."""
    hub: Any = getattr(parts, "hub", None)
    found: list[Injected] = []
    for key in ids:
        try:
            entry: Entry | None = hub.get(key) if hub is not None else None
        except MemflushError:  # an entry that is gone, or a hub that is away: the conversation still holds what it said
            entry = None
        found.append(Injected(key, parts.redact(entry.title), parts.redact(entry.body)) if entry is not None else Injected(key))
    return tuple(found)


def record(store: TraceStore, trace: str, identity: str, verdicts: Mapping[str, Judged], *, trigger: str, by: str = "model") -> list[str]:
    """Enter verdicts, each with its event and what goes to the hub, in one transaction; return the ids that got one.

    Only an entry that waits for its verdict gets one, so that each has exactly one, however often this is done (E3).
    """
    from memflush_jupyter.agent import outbox

    with store.together():
        waiting = pending(store, trace)
        taken = [source for source in waiting if source in verdicts]
        for source in taken:
            judged = verdicts[source]
            reason = judged.reason.strip()[:REASON_CHARS]
            event = {"source": source, "verdict": judged.verdict, "reason": reason, "trigger": trigger, "by": by}
            store.log(trace, "evaluation", event)
            payload = {"entry": source, "identity": identity, "trace": trace, "verdict": judged.verdict, "reason": reason}
            outbox.queue(store, "verdict", payload, key=f"verdict:{trace}:{source}", trace=trace)
    return taken


def check(given: Any, waiting: Sequence[str]) -> tuple[dict[str, Judged], list[str]]:
    """What a call's ``verdicts`` come to: those that can be used, and a sentence on each that cannot. A beginning of an id will do."""
    good: dict[str, Judged] = {}
    faults: list[str] = []
    for item in given if isinstance(given, list) else [given]:
        if not isinstance(item, dict) or not isinstance(item.get("id"), str) or not item["id"].strip():
            faults.append("Each verdict is an object with id, verdict and reason.")
            continue
        named = item["id"].strip().strip("[]#`")
        fitting = [source for source in waiting if source == named] or [source for source in waiting if source.startswith(named)]
        verdict, reason = str(item.get("verdict") or "").strip().lower(), str(item.get("reason") or "").strip()
        if len(fitting) != 1:
            faults.append(f"{named!r} waits for no verdict.")
        elif verdict not in VERDICTS:
            faults.append(f"{named}: the verdict is one of {', '.join(VERDICTS)}.")
        elif not reason:
            faults.append(f"{named}: a reason is missing.")
        elif fitting[0] not in good:
            good[fitting[0]] = Judged(verdict, reason)
    return good, list(dict.fromkeys(faults))
