"""The names of the tools that the agent comes with: who adds a tool, and who asks whether a name is taken, reads them here."""

from __future__ import annotations

from typing import Final

RUN_PYTHON: Final = "run_python"
MEMORY_SEARCH: Final = "memory_search"
UPLOAD_KNOWLEDGE: Final = "upload_knowledge"

REMEMBERING: Final = frozenset(
    {"memory_write", MEMORY_SEARCH, "read_message", "inspect_variables", UPLOAD_KNOWLEDGE, "ask_knowledge", "get_knowledge"},
)
"""What these are given and what they tell stands in the store, the hub or the kernel already: nothing new is learned from it (F2, G6)."""

BUILT_IN: Final = (
    RUN_PYTHON,
    "inspect_variables",
    "read_file",
    "list_files",
    "search_files",
    "read_message",
    "memory_write",
    MEMORY_SEARCH,
)
"""The tools of a default session, in the order in which ``%agent tools`` lists them."""

ASKING: Final = frozenset({RUN_PYTHON})
"""Those that ask the person before each call, unless the person said otherwise."""
