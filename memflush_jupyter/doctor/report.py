"""What an examination found, as data, as text and as JSON."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Literal

State = Literal["ok", "warning", "broken", "n/a"]
_MARKS: dict[State, str] = {"ok": "ok", "warning": "⚠", "broken": "✖", "n/a": "–"}


@dataclass(frozen=True)
class Check:
    """One part: its state, what was seen, and how to mend it (empty when it is well)."""

    name: str
    state: State
    seen: str
    mend: str = ""

    @property
    def mark(self) -> str:
        """The state as one sign for a table."""
        return _MARKS[self.state]


@dataclass(frozen=True)
class Report:
    """All parts, in the order in which a turn needs them."""

    checks: tuple[Check, ...]

    @property
    def broken(self) -> bool:
        """Whether something keeps a turn from working or memory from being kept; warnings do not."""
        return any(check.state == "broken" for check in self.checks)

    @property
    def troubles(self) -> tuple[Check, ...]:
        """What is not well."""
        return tuple(check for check in self.checks if check.state in {"warning", "broken"})

    def as_data(self) -> dict[str, object]:
        """Plain data for JSON."""
        return {"ok": not self.broken, "checks": [asdict(check) for check in self.checks]}

    def as_json(self) -> str:
        """JSON text."""
        return json.dumps(self.as_data(), indent=1, ensure_ascii=False)

    def as_text(self) -> str:
        """A table for a terminal: one line a part, and how to mend it below."""
        width = max(len(check.name) for check in self.checks)
        lines: list[str] = []
        for check in self.checks:
            lines.append(f"{check.mark:<3}{check.name:<{width}}  {check.seen}")
            if check.mend:
                lines.append(f"{'':<{width + 5}}{check.mend}")
        count = len(self.troubles)
        lines.append("")
        lines.append("Everything is well." if not count else f"{count} of {len(self.checks)} parts need a look.")
        return "\n".join(lines)
