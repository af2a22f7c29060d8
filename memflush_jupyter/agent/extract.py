"""Extraction: what was found out in a conversation and is of use elsewhere, for the knowledge hub (section 6, E1, P8)."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from memflush_jupyter.agent import prompting
from memflush_jupyter.agent.notes import attribute
from memflush_jupyter.memory import limits
from memflush_jupyter.memory.similarity import tokens as meaning
from memflush_jupyter.toolbox import UPLOAD_KNOWLEDGE

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from memflush_jupyter.agent.parts import AgentParts
    from memflush_jupyter.trace.models import Message
    from memflush_jupyter.trace.store import TraceStore

UPLOAD: Final = UPLOAD_KNOWLEDGE
KINDS: Final = ("case", "experience", "strategy", "tool")
TITLE_CHARS: Final = 120
BODY_CHARS: Final = 2000


@dataclass(frozen=True, slots=True)
class Upload:
    """A finding as the model gave it."""

    title: str
    body: str
    kind: str
    tags: tuple[str, ...] = ()


def check(given: dict[str, Any]) -> tuple[Upload | None, str]:
    """What a call of ``upload_knowledge`` comes to, or the sentence that says what is wrong with it."""
    title, body = " ".join(str(given.get("title") or "").split()), str(given.get("body") or "").strip()
    kind = str(given.get("kind") or "").strip().lower()
    if not title or not body:
        return None, "A finding needs a title and a body."
    if kind not in KINDS:
        return None, f"The kind is one of {', '.join(KINDS)}."
    if len(title) > TITLE_CHARS or len(body) > BODY_CHARS:
        return None, f"Too long: a title has at most {TITLE_CHARS} characters, a body {BODY_CHARS}."
    tags = given.get("tags")
    return Upload(title, body, kind, tuple(str(tag).strip() for tag in tags if str(tag).strip()) if isinstance(tags, list) else ()), ""


def new_messages(messages: Iterable[Message], reached: int | None) -> list[Message]:
    """What was said since the last extraction; empty when nothing was answered in it, so that nothing can have been found out."""
    since = [message for message in messages if message.kind in {"prompt", "reply", "results"} and (reached is None or message.sequence > reached)]
    return since if any(message.kind == "reply" for message in since) else []


def saved_titles(store: TraceStore, trace: str) -> list[str]:
    """The titles that earlier extractions of this trace saved, so that none is saved twice."""
    titles = [str(upload.get("title")) for event in store.events(trace, event="extraction") for upload in event.data.get("uploads") or ()]
    return list(dict.fromkeys(titles))[-12:]


def usable(parts: AgentParts, uploads: Iterable[Upload], known: Sequence[str]) -> list[Upload]:
    """Drop what was copied from our own prompts (C14), said twice, or saved by this conversation before; keep a few."""
    own = {meaning(sentence) for sentence in prompting.own_sentences(parts.config)}
    seen = {meaning(title) for title in known}
    kept: list[Upload] = []
    for upload in uploads:
        title, body = meaning(upload.title), meaning(upload.body)
        if not title or not body or body in own or title in own or title in seen or any(limits.nothing_new(upload.body, other.body) for other in kept):
            continue
        seen.add(title)
        kept.append(upload)
    return kept[: prompting.MOST_UPLOADS]


def record(parts: AgentParts, trace: str, uploads: Sequence[Upload], messages: Sequence[Message], *, event: dict[str, Any]) -> None:
    """Put findings into the outbox with the message each rests on, and log the extraction; to be called with its effect's transaction."""
    from memflush_jupyter.agent import outbox

    listed = []
    for upload in uploads:
        sequence, origin = attribute(f"{upload.title} {upload.body}", messages)
        key = upload_key(trace, upload)
        payload = {
            "title": upload.title, "body": upload.body, "kind": upload.kind, "tags": list(upload.tags), "trace": trace, "sequence": sequence,
            "origin": origin, "scope": "user", "identity": parts.identity,
        }  # fmt: skip
        outbox.queue(parts.store, "upload", payload, key=key, trace=trace)
        listed.append({"title": upload.title, "kind": upload.kind, "sequence": sequence, "origin": origin, "key": key})
    parts.store.log(trace, "extraction", {**event, "uploads": listed})


def upload_key(trace: str, upload: Upload) -> str:
    """Equal for the same finding of the same trace, so that it reaches the hub once."""
    said = "\0".join([upload.kind, *meaning(upload.title), "", *meaning(upload.body)])
    return f"upload:{trace}:{hashlib.sha256(said.encode('utf-8', 'replace')).hexdigest()[:16]}"
