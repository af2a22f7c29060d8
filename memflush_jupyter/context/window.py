"""Where the lines lie in a model's window: reserve, soft threshold, flush line, compaction line (A1-A3, B7, D3)."""

from __future__ import annotations

from dataclasses import dataclass

RESERVE_TOKENS = 20_000
SOFT_TOKENS = 4_000
KEEP_RECENT_TOKENS = 20_000
MIN_WORK_TOKENS = 8_000
"""Room the reserve leaves between the prefix and the compaction line, unless half of the free window is less."""

ROUND_TOKENS = 2_000
"""An ordinary round: what must fit between the prefix and the flush line whatever is configured."""

DEFAULT_WINDOW = 32_768

KNOWN_WINDOWS: tuple[tuple[str, int], ...] = (
    ("claude-2", 100_000),
    ("claude-instant", 100_000),
    ("claude", 200_000),
    ("deepseek", 131_072),
    ("glm-4", 131_072),
    ("kimi-k2", 131_072),
)
"""Beginnings of model names and the window their makers publish; the first that fits counts. Used when nobody told us (A3)."""


@dataclass(frozen=True, slots=True)
class Lines:
    """The lines of one window. All in tokens; ``flush_line`` and ``compaction_line`` are absolute and inclusive (A2)."""

    window: int
    prefix: int
    reserve: int
    soft: int
    flush_line: int
    compaction_line: int
    keep_recent: int
    warnings: tuple[str, ...] = ()

    @property
    def room(self) -> int:
        """What fits between the fixed prefix and the compaction line."""
        return max(0, self.compaction_line - self.prefix)


def lines(
    window: int,
    prefix: int,
    *,
    reserve_tokens: int | None = None,
    reserve_tokens_floor: int = RESERVE_TOKENS,
    soft_tokens: int | None = None,
    keep_recent: int | None = None,
) -> Lines:
    """Work out the lines of a ``window`` whose fixed ``prefix`` (system prompt, tools, memory) is given.

    ``reserve_tokens`` and ``reserve_tokens_floor``: the larger wins, within the cap ``E - min(8000, E/2)`` where
    ``E = window - prefix``. ``soft_tokens`` is headroom below the compaction line, a distance and not an absolute size
    (B7). What is configured is clamped so that a round of 2,000 tokens (half of the room, when that is less) fits
    between the prefix and the flush line; each clamp is a sentence in ``warnings`` that names both numbers.
    ``keep_recent`` beyond half of the room would leave a compaction nothing to remove, so it is clamped to that.
    """
    warnings: list[str] = []
    free = max(0, window - prefix)
    if free == 0:
        warnings.append(f"The fixed prefix of {prefix:,} tokens leaves no room in the window of {window:,}: shorten the memory or choose a larger model.")
    reserve = _reserve(free, reserve_tokens, reserve_tokens_floor, warnings)
    soft = _soft(window, free - reserve, soft_tokens, warnings)
    line = window - reserve
    return Lines(
        window=window,
        prefix=prefix,
        reserve=reserve,
        soft=soft,
        flush_line=line - soft,
        compaction_line=line,
        keep_recent=_keep(line, (free - reserve) // 2, keep_recent, warnings),
        warnings=tuple(warnings),
    )


def _reserve(free: int, configured: int | None, floor: int, warnings: list[str]) -> int:
    cap = free - min(MIN_WORK_TOKENS, free // 2)
    wanted = max(RESERVE_TOKENS if configured is None else configured, floor, 0)
    asked = (configured is not None and configured > cap) or (floor != RESERVE_TOKENS and floor > cap)
    if asked:
        warnings.append(f"A reserve of {wanted:,} tokens does not fit in the {free:,} that are free; {cap:,} are reserved.")
    return min(wanted, cap)


def _soft(window: int, room: int, configured: int | None, warnings: list[str]) -> int:
    if configured is None:
        return min(SOFT_TOKENS, room // 2)
    largest = room - min(ROUND_TOKENS, room - room // 2)
    soft = min(max(configured, 0), largest)
    if soft != configured:
        warnings.append(f"memory_flush_soft_tokens is headroom below the compaction line, not an absolute size: {configured:,} does not fit, {soft:,} is used.")
    elif configured > window // 2:
        warnings.append(
            f"memory_flush_soft_tokens is headroom below the compaction line: {configured:,} is more than half of the window of {window:,}, "
            "so the flush fires very early."
        )
    return soft


def _keep(line: int, largest: int, configured: int | None, warnings: list[str]) -> int:
    if configured is None:
        return min(KEEP_RECENT_TOKENS, line // 3, largest)
    keep = min(max(configured, 0), largest)
    if keep != configured:
        warnings.append(f"keep_recent_tokens of {configured:,} would leave a compaction nothing to remove: {keep:,} are kept.")
    return keep


def choose_window(config: int | None, models_api: int | None, server: int | None, model: str) -> tuple[int, str]:
    """Return the window and who said so, in this order (A3).

    ``config`` (the option), ``models-api`` (what the Models API reports), ``server`` (a local server's own report),
    ``table`` (:data:`KNOWN_WINDOWS`), ``default`` (32,768: the caller warns with :func:`window_warning`).
    """
    for size, source in ((config, "config"), (models_api, "models-api"), (server, "server")):
        if size is not None and size > 0:
            return size, source
    name = model.rsplit("/", 1)[-1].lower()
    for beginning, size in KNOWN_WINDOWS:
        if name.startswith(beginning):
            return size, "table"
    return DEFAULT_WINDOW, "default"


def window_warning(model: str, window: int, source: str) -> str | None:
    """Return the sentence that goes with a guessed window; ``None`` when somebody who knows told us."""
    if source != "default":
        return None
    return f"The context window of {model} is not known; {window:,} tokens are assumed. Set c.MemFlush.window to the real size."


def prompt_fault(tokens: int, sizes: Lines) -> str | None:
    """Return why a prompt of ``tokens`` cannot be sent at all, with both sizes; ``None`` when it fits (D8)."""
    if sizes.prefix + tokens < sizes.compaction_line:
        return None
    return (
        f"This prompt is about {tokens:,} tokens, and at most {max(0, sizes.room - 1):,} fit in the window of {sizes.window:,}. "
        "Put the long part in a file or a variable and let the agent read it in pieces."
    )
