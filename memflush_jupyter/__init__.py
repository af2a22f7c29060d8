"""An agent in a notebook that saves what matters before its context is compacted, and finds it again."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from memflush_jupyter.notebook.marking import tool

__version__ = "0.1.0"

__all__ = ["__version__", "load_ipython_extension", "tool", "unload_ipython_extension"]

# Without a handler of our own, Python prints warnings of the background thread into whatever cell runs then (P10).
logging.getLogger(__name__).addHandler(logging.NullHandler())


def load_ipython_extension(ip: InteractiveShell) -> None:
    """``%load_ext memflush_jupyter``: register the magics. Imports neither the SDK nor SQLAlchemy."""
    from memflush_jupyter.notebook.extension import load

    load(ip)


def unload_ipython_extension(ip: InteractiveShell) -> None:
    """``%unload_ext memflush_jupyter``: remove the magics, stop the background thread, close the store."""
    from memflush_jupyter.notebook.extension import unload

    unload(ip)


def __getattr__(name: str) -> Any:
    if name == "tool":
        from memflush_jupyter.notebook.marking import tool

        return tool
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
