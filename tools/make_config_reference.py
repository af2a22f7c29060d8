"""Writes docs/reference/options.md from the traitlets of ``MemFlush``: the options' help is the one place where they are explained.

Run it after changing an option: ``python tools/make_config_reference.py``. With ``--check`` it writes nothing and fails when the page is stale.
"""

from __future__ import annotations

import sys
from pathlib import Path

from memflush_jupyter.config import MemFlush
from memflush_jupyter.option_values import takes
from memflush_jupyter.settings import PREFIX

PAGE = Path(__file__).resolve().parent.parent / "docs" / "reference" / "options.md"
HEAD = """# Options

Made by `tools/make_config_reference.py` from the options themselves; [configuration](../configuration.md) says where they can be set and
which place wins. Sizes are in tokens unless the text says otherwise. *Held*: a limit; one that was given but cannot be understood lets
nothing run. *Fixed*: read once, before the first turn of a kernel.
"""


def page() -> str:
    """The whole page."""
    parts = [HEAD]
    options = MemFlush.class_traits(config=True)
    for name in vars(MemFlush):
        if name not in options:
            continue
        trait = options[name]
        if "group" in trait.metadata:
            parts.append(f"\n## {trait.metadata['group']}\n\n| option | default | takes | meaning |\n|---|---|---|---|\n")
        marks = [word for word in ("held", "fixed") if trait.metadata.get(word)]
        meaning = trait.help + (f" *{', '.join(marks).capitalize()}.*" if marks else "")
        cells = (f"`{name}`<br>`{PREFIX}{name.upper()}`", f"`{default(name)}`", takes(trait), meaning)
        parts.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |\n")
    return "".join(parts)


def default(name: str) -> str:
    """The default of an option as one would write it."""
    value = getattr(MemFlush(), name)
    return ", ".join(value) if isinstance(value, dict) and value else repr(value)


def main(arguments: list[str]) -> int:
    """Write the page, or compare it."""
    if "--check" in arguments:
        if PAGE.is_file() and PAGE.read_text(encoding="utf-8") == page():
            return 0
        print(f"{PAGE.name} is stale; run `python tools/make_config_reference.py`.")
        return 1
    PAGE.parent.mkdir(parents=True, exist_ok=True)
    PAGE.write_text(page(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
