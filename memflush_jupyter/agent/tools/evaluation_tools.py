"""``evaluate_knowledge``: what became of knowledge that was put before the model (E3)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memflush_jupyter.agent import evaluate
from memflush_jupyter.agent.tools.base import ToolCall, ToolResult, text_result

if TYPE_CHECKING:
    from memflush_jupyter.trace.store import TraceStore


class EvaluateKnowledge:
    """Enters verdicts. The host asks for them on a side branch; called in an ordinary turn it does the same."""

    name = evaluate.EVALUATE
    description = "Judge shown knowledge entries when the host asks."
    approval = False
    parallel = False
    input_schema: dict[str, Any] = {  # noqa: RUF012 - a constant schema, never changed
        "type": "object",
        "properties": {
            "verdicts": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {"id": {"type": "string"}, "verdict": {"enum": list(evaluate.VERDICTS)}, "reason": {"type": "string"}},
                    "required": ["id", "verdict", "reason"],
                },
            }
        },
        "required": ["verdicts"],
    }

    def __init__(self, store: TraceStore, identity: str) -> None:
        self._store = store
        self._identity = identity

    async def run(self, input: dict[str, Any], call: ToolCall) -> ToolResult:  # noqa: A002 - protocol
        """Enter the verdicts that can be used; say of each other what is wrong with it."""
        good, faults = evaluate.check(input["verdicts"], evaluate.pending(self._store, call.trace))
        taken = evaluate.record(self._store, call.trace, self._identity, good, trigger="turn")
        return text_result(" ".join([f"{len(taken)} received.", *faults]), is_error=bool(faults) and not taken)
