"""Where the session runs: which front end, which notebook, which cell, and whether a person is there to be asked."""

from __future__ import annotations

import os
from typing import Any, Literal

Front = Literal["live", "headless", "terminal"]


def in_kernel(ip: Any) -> bool:
    """Whether ``ip`` is a Jupyter kernel's shell rather than IPython in a terminal."""
    return getattr(ip, "kernel", None) is not None


def parent(ip: Any) -> dict[str, Any]:
    """The execute request that is being answered, as a dictionary (empty outside a kernel)."""
    get_parent = getattr(ip, "get_parent", None)
    if get_parent is None:
        return {}
    try:
        return dict(get_parent() or {})
    except Exception:  # noqa: BLE001 - private ground of ipykernel: without it there is no parent
        return {}


def front(ip: Any) -> Front:
    """What shows the outputs. ``headless``: a kernel whose client takes no input (nbclient, nbval, papermill)."""
    if not in_kernel(ip):
        return "terminal"
    return "live" if parent(ip).get("content", {}).get("allow_stdin") else "headless"


def person_present(ip: Any) -> bool:
    """Whether somebody can answer a question now."""
    return front(ip) != "headless"


def cell_id(ip: Any) -> str | None:
    """The id of the running cell, where the front end tells it (JupyterLab, Notebook 7, VS Code)."""
    found = parent(ip).get("metadata", {}).get("cellId")
    return str(found) if found else None


def notebook_path(ip: Any) -> str:
    """The notebook's path as the server or VS Code gives it; empty when nobody tells."""
    told = ip.user_ns.get("__vsc_ipynb_file__") or os.environ.get("JPY_SESSION_NAME") or ""
    return str(told)
