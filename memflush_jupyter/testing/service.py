"""What a strict server decides, without HTTP: who is admitted, what is answered, what it costs."""

from __future__ import annotations

import json
import threading
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from memflush_jupyter.testing import replies, validation
from memflush_jupyter.testing.accounting import Accountant
from memflush_jupyter.testing.refusals import RefusalError
from memflush_jupyter.testing.replies import Drop, Refuse, Reply, as_reply
from memflush_jupyter.trace.models import Usage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


@dataclass(frozen=True)
class ServedModel:
    """A model the server has. Sizes in tokens."""

    id: str
    window: int = 200_000
    max_output: int = 64_000
    vision: bool = True


@dataclass
class SeenRequest:
    """One request to ``/v1/messages``, as it came. ``refused`` is the sentence when the server refused it."""

    number: int
    body: dict[str, Any]
    headers: dict[str, str]
    usage: Usage = field(default_factory=Usage)
    refused: str | None = None

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The messages that were sent."""
        return self.body.get("messages") or []

    @property
    def last_text(self) -> str:
        """The text of the last message, tool results left out."""
        content = self.messages[-1]["content"] if self.messages else ""
        if isinstance(content, str):
            return content
        return "\n\n".join(block["text"] for block in content if block.get("type") == "text")


class MessagesService:
    """The rules, the script and the books of one server. Thread-safe where a test and the server meet."""

    def __init__(self, *, models: Iterable[ServedModel], count: Callable[[str], int], now: Callable[[], float]) -> None:
        self.models = {model.id: model for model in models}
        self.requests: list[SeenRequest] = []
        self._accountant = Accountant(count=count, now=now)
        self._count = count
        self._script: Callable[[SeenRequest], Any] | None = None
        self._queue: list[Any] = []
        # Per tool call the model that made it, and the thinking that came with it.
        self._issued: dict[str, tuple[str, list[dict[str, Any]]]] = {}
        self._ids = 0
        self._lock = threading.Lock()

    def script(self, answers: Any) -> None:
        """Set what is answered next."""
        with self._lock:
            self._script = answers if callable(answers) else None
            self._queue = [] if callable(answers) else list(answers)

    @property
    def unanswered(self) -> int:
        """How many scripted answers are left."""
        return len(self._queue)

    def record(self, headers: dict[str, str]) -> SeenRequest:
        """Open the record of a request that just came in."""
        with self._lock:
            seen = SeenRequest(len(self.requests) + 1, {}, headers)
            self.requests.append(seen)
        return seen

    def admit(self, seen: SeenRequest) -> list[validation.Turn]:
        """Check a request whole and return its turns.

        Raises:
            RefusalError: the real API would refuse it.
        """
        turns = validation.check_body(seen.body)
        model = self.model(seen.body["model"])
        self._check_thinking(turns, model.id, enabled=(seen.body.get("thinking") or {}).get("type") in {"enabled", "adaptive"})
        self._check_sizes(seen.body, turns, model)
        return turns

    def count(self, body: dict[str, Any]) -> int:
        """Return the tokens of a request to the counting endpoint."""
        turns = validation.check_body(body, counting=True)
        self.model(body["model"])
        return self._accountant.tokens(body, turns)

    def answer(self, seen: SeenRequest, turns: list[validation.Turn]) -> Reply | Refuse | Drop:
        """Take the next scripted answer, and keep the books of a reply."""
        answer = as_reply(self._next(seen))
        if not isinstance(answer, Reply):
            return answer
        answer = self._issue(answer, seen.body["model"])
        usage = self._accountant.measure(seen.body, turns)
        seen.usage = replace(usage, output=self._output(answer) if answer.output_tokens is None else answer.output_tokens)
        self._remember(answer, seen.body["model"])
        return answer

    def model(self, name: str) -> ServedModel:
        """Return a model by its name.

        Raises:
            RefusalError: 404, as the API says it.
        """
        model = self.models.get(name)
        if model is None:
            raise RefusalError(f"model: {name}", status=404, kind="not_found_error")
        return model

    def _check_sizes(self, body: dict[str, Any], turns: list[validation.Turn], model: ServedModel) -> None:
        wanted = body["max_tokens"]
        if wanted > model.max_output:
            raise RefusalError(f"max_tokens: {wanted} > {model.max_output}, which is the maximum allowed number of output tokens for {model.id}")
        tokens = self._accountant.tokens(body, turns)
        if tokens > model.window:
            raise RefusalError(f"prompt is too long: {tokens} tokens > {model.window} maximum")
        if tokens + wanted > model.window:
            raise RefusalError(
                f"input length and `max_tokens` exceed context limit: {tokens} + {wanted} > {model.window}, decrease input length or `max_tokens` and try again"
            )

    def _check_thinking(self, turns: list[validation.Turn], model: str, *, enabled: bool) -> None:
        for turn in turns:
            for position, block in enumerate(turn.content):
                # A signature is bound to the model; one made by hand, for no model, is taken for a test's own history.
                if block["type"] == "thinking" and block["signature"] not in {replies.sign(block["thinking"], model), replies.sign(block["thinking"])}:
                    raise RefusalError(f"messages.{turn.index}.content.{position}: Invalid `signature` in `thinking` block")
        assistants = [turn for turn in turns if turn.role == "assistant"]
        latest = assistants[-1] if assistants else None
        calls = [block["id"] for block in latest.content if block["type"] == "tool_use"] if latest else []
        if latest is None or not calls:
            return
        sent = [block for block in latest.content if block["type"] in {"thinking", "redacted_thinking"}]
        issued = [self._issued[tool_id][1] for tool_id in calls if tool_id in self._issued and self._issued[tool_id][0] == model]
        if issued and sent != _unique([block for thoughts in issued for block in thoughts]):
            raise RefusalError(
                f"messages.{latest.index}: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. "
                "These blocks must remain as they were in the original response."
            )
        if enabled and latest.content[0]["type"] not in {"thinking", "redacted_thinking"}:
            raise RefusalError(
                f"messages.{latest.index}.content.0.type: Expected `thinking` or `redacted_thinking`, but found `{latest.content[0]['type']}`. "
                "When `thinking` is enabled, a final `assistant` message must start with a thinking block."
            )

    def _next(self, seen: SeenRequest) -> Any:
        with self._lock:
            script, queue = self._script, self._queue
            if script is None and queue:
                answer = queue.pop(0)
                if not callable(answer):
                    return answer
                script = answer
        try:
            answer = script(seen) if script is not None else None
        except Exception as error:  # noqa: BLE001 - the test's own function failed: the test is told, not the server's log
            return Refuse(400, "invalid_request_error", f"The script failed for request {seen.number}: {error!r}")
        return Refuse(400, "invalid_request_error", f"The fake server has no answer scripted for request {seen.number}.") if answer is None else answer

    def _issue(self, reply: Reply, model: str) -> Reply:
        """Give the calls their ids and the thinking the model's signature."""
        if reply.events is not None or isinstance(reply.content, str):
            return reply
        content: list[dict[str, Any]] = []
        for block in reply.blocks:
            if block.get("type") == "thinking" and block.get("signature") == replies.sign(block["thinking"]):
                block["signature"] = replies.sign(block["thinking"], model)
            if block.get("type") == "tool_use" and "id" not in block:
                with self._lock:
                    self._ids += 1
                    block["id"] = f"toolu_fake{self._ids:06d}"
            content.append(block)
        return replace(reply, content=content)

    def _remember(self, reply: Reply, model: str) -> None:
        thoughts = [block for block in reply.blocks if block.get("type") in {"thinking", "redacted_thinking"}]
        for block in reply.blocks:
            if block.get("type") == "tool_use":
                self._issued[str(block.get("id"))] = (model, thoughts)

    def _output(self, reply: Reply) -> int:
        texts = [block.get("text") or block.get("thinking") or json.dumps(block.get("input", ""), ensure_ascii=False) for block in reply.blocks]
        return 1 + sum(self._count(value) for value in texts)


def describe(model: ServedModel) -> dict[str, Any]:
    """Return a model as the Models API describes it."""
    return {
        "type": "model",
        "id": model.id,
        "display_name": model.id,
        "created_at": "2025-01-01T00:00:00Z",
        "lifecycle": "active",
        "max_input_tokens": model.window,
        "max_tokens": model.max_output,
        "capabilities": {"image_input": {"supported": model.vision}},
    }


def _unique(blocks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for block in blocks:
        if block not in found:
            found.append(block)
    return found
