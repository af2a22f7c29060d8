"""How a value goes into a prompt: short ones in their place, large ones by shape and head, figures and images as images.

No foreign ``__repr__`` runs and no memory address appears (``describe`` sees to it), so that a prompt is the same in every run.
"""

from __future__ import annotations

import base64
import inspect
import io
import types
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from memflush_jupyter.memory.redaction_assigned import holds_secret
from memflush_jupyter.notebook.describe import describe_value, plain_text
from memflush_jupyter.notebook.reaching import Picture

if TYPE_CHECKING:
    from collections.abc import Sequence

MAX_IN_PLACE = 120
"""Characters of a value that stands in the sentence itself."""
MAX_WORDS = 5
"""Words of a text that stands in the sentence itself: a longer one could be read as the person's own request (P8)."""
MAX_TEXT = 4000
"""Characters of a long text: half from its beginning, half from its end."""
LEFT_OUT = "characters left out …]"
MAX_ITEMS = 30
HEAD_ROWS = 5
HEAD_COLUMNS = 20
MAX_CELL = 40
MAX_PIXELS = 1200
MAX_IMAGE_CHARS = 5_000_000


@dataclass(frozen=True)
class Inserted:
    """A value made ready. ``place``: what stands in the sentence, when the value is short; else ``text`` is shown beside the prompt.

    ``png``: the image in base64. ``short``: a few words on the value for the person.
    """

    place: str | None
    text: str = ""
    png: str = ""
    short: str = ""


def insert(value: Any) -> Inserted:
    """Make a value ready."""
    place = in_place(value)
    if place is not None:
        return Inserted(place, short=place)
    if isinstance(value, Picture):
        return Inserted(None, "an image", value.png, "an image")
    picture = _picture(value)
    if picture is not None:
        return Inserted(None, picture[0], picture[1], picture[0].partition("\n")[0])
    text = beside(value)
    first = text.partition("\n")[0]
    return Inserted(None, text, short=first if not isinstance(value, str) else f"text of {len(value)} characters")


def in_place(value: Any) -> str | None:
    """A short value as it stands in a sentence, or ``None``."""
    if type(value) is str:
        return value if 0 < len(value) <= MAX_IN_PLACE and value.isprintable() and len(value.split()) <= MAX_WORDS and value == value.strip() else None
    if type(value) in {list, tuple} or _named(value, "pandas", "Index"):
        return _listed(list(value), tuple_=type(value) is tuple) if len(value) <= MAX_ITEMS else None
    text = plain_text(value)
    return text if text is not None and len(text) <= MAX_IN_PLACE and text.isprintable() else None


def _listed(items: list[Any], *, tuple_: bool) -> str | None:
    if items and not tuple_ and all(type(item) is str and in_place(item) is not None and "," not in item for item in items):
        text = ", ".join(items)
    else:
        shown = [repr(item) if type(item) is str and len(item) <= MAX_CELL else plain_text(item) for item in items]
        if any(item is None for item in shown):
            return None
        inner = ", ".join(str(item) for item in shown)
        text = f"({inner}{',' if len(items) == 1 else ''})" if tuple_ else f"[{inner}]"
    return text if len(text) <= MAX_IN_PLACE else None


def beside(value: Any) -> str:
    """A large value as text: what it is, its shape, its head."""
    if isinstance(value, str):
        return shortened(str.__str__(value), MAX_TEXT)
    if isinstance(value, types.FunctionType | type) and getattr(value, "__module__", "") == "__main__":
        source = _source(value)
        if source:
            return shortened(source, MAX_TEXT)
    described = describe_value(value)
    if _named(value, "pandas", "DataFrame"):
        return f"{described}\nfirst rows:\n{_frame_head(value)}"
    if _named(value, "pandas", "Series"):
        head = value.head(HEAD_ROWS)
        labels = [plain_text(label, MAX_CELL) or "?" for label in head.index.tolist()]
        return f"{described}\nfirst values:\n" + "\n".join(
            f"{label} | {cell}" for label, cell in zip(labels, _cells(head.tolist(), _text(value.name)), strict=True)
        )
    if type(value) in {list, tuple} and len(value) > MAX_ITEMS:
        shown = [plain_text(item, MAX_CELL) or describe_value(item).partition("\n")[0][:MAX_CELL] for item in value[:MAX_ITEMS]]
        return f"{type(value).__name__} of {len(value)}, the first {MAX_ITEMS}: {', '.join(shown)}, …"
    return shortened(described, MAX_TEXT)


def shortened(text: str, limit: int) -> str:
    """Head and tail of a long text, with the number of characters between them."""
    if len(text) <= limit:
        return text
    half = limit // 2
    return f"{text[:half]}\n[… {len(text) - 2 * half:,} {LEFT_OUT}\n{text[-half:]}"


def _named(value: Any, package: str, name: str) -> bool:
    kind = type(value)
    return kind.__name__ == name and str(kind.__module__).partition(".")[0] == package


def _text(value: Any) -> str:
    return value if type(value) is str else ""


def _frame_head(frame: Any) -> str:
    head = frame.head(HEAD_ROWS).iloc[:, :HEAD_COLUMNS]
    names = [plain_text(column, MAX_CELL) or "?" for column in head.columns.tolist()]
    columns = [_cells(head.iloc[:, place].tolist(), name) for place, name in enumerate(names)]
    rows = [" | ".join(names), *(" | ".join(row) for row in zip(*columns, strict=True))]
    more = f"\n({frame.shape[1] - HEAD_COLUMNS} more columns)" if frame.shape[1] > HEAD_COLUMNS else ""
    return "\n".join(rows) + more


def _cells(values: Sequence[Any], column: str) -> list[str]:
    return [
        "(secret)" if type(value) is str and holds_secret(column, value) else (plain_text(value, MAX_CELL) or type(value).__name__).replace("\n", " ")
        for value in values
    ]


def _source(value: Any) -> str:
    try:
        return inspect.getsource(value).rstrip()
    except (OSError, TypeError):
        return ""


def _picture(value: Any) -> tuple[str, str] | None:
    """What an image shows, in words, and its PNG in base64; ``None`` for what is no image."""
    bases = {f"{str(base.__module__).partition('.')[0]}.{base.__name__}" for base in type(value).__mro__}
    if "matplotlib.Axes" in bases:
        return _picture(value.figure)
    if "matplotlib.Figure" in bases:
        size = value.get_size_inches()
        dpi = min(100.0, MAX_PIXELS / max(float(size[0]), float(size[1]), 0.01))
        sink = io.BytesIO()
        value.savefig(sink, format="png", dpi=dpi)
        return _figure_words(value), _encoded(sink)
    if "PIL.Image" in bases:
        words = f"image of {value.width} × {value.height} pixels ({value.mode})"
        copy = value.convert("RGBA" if value.mode in {"RGBA", "LA", "PA", "P"} else "RGB")
        copy.thumbnail((MAX_PIXELS, MAX_PIXELS))
        sink = io.BytesIO()
        copy.save(sink, format="PNG")
        return words, _encoded(sink)
    return None


def _encoded(sink: io.BytesIO) -> str:
    text = base64.b64encode(sink.getvalue()).decode("ascii")
    return text if len(text) <= MAX_IMAGE_CHARS else ""


def _figure_words(figure: Any) -> str:
    axes = figure.get_axes()
    lines = [f"matplotlib figure with {len(axes)} plot{'' if len(axes) == 1 else 's'}"]
    for ax in axes[:12]:
        said = [("title", ax.get_title()), ("x", ax.get_xlabel()), ("y", ax.get_ylabel()), ("legend", ", ".join(_legend(ax)))]
        drawn = [
            f"{len(ax.lines)} lines" * bool(ax.lines),
            f"{len(ax.patches)} bars or areas" * bool(ax.patches),
            f"{len(ax.collections)} point sets" * bool(ax.collections),
        ]
        lines.append("- " + "; ".join([f"{key}: {text}" for key, text in said if text] + [text for text in drawn if text]))
    return "\n".join(line for line in lines if line != "- ")


def _legend(ax: Any) -> list[str]:
    legend = ax.get_legend()
    return [text.get_text() for text in legend.get_texts()] if legend is not None else []
