"""``@memflush_jupyter.tool``: marks a function as a tool, and gives it to this kernel's agent when there is one."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar, overload

F = TypeVar("F", bound=Callable[..., Any])
ATTRIBUTE = "__memflush_tool__"


class Mark(NamedTuple):
    """What the decorator said."""

    name: str
    approval: bool


@overload
def tool(function: F) -> F: ...
@overload
def tool(*, name: str = "", approval: bool = True) -> Callable[[F], F]: ...
def tool(function: Any = None, *, name: str = "", approval: bool = True) -> Any:
    """Let the agent call a function. Without the extension it is only marked, and ``%agent tool NAME`` gives it later.

    Args:
        function: the function, with a type hint for each parameter.
        name: what the model calls it by; default: its own name.
        approval: ask before each call.

    Raises:
        ConfigError: it cannot be a tool; the sentence says why.
    """

    def mark(marked: F) -> F:
        chosen = name or getattr(marked, "__name__", "")
        setattr(marked, ATTRIBUTE, Mark(chosen, approval))
        shell = sys.modules.get("IPython")
        ip = shell.get_ipython() if shell is not None else None
        session = getattr(ip, "memflush_session", None)
        if session is not None:
            session.own_tools.add(marked, chosen, approval=approval)
        return marked

    return mark if function is None else mark(function)
