"""Keeps tests from reaching a paid API.

All requests of the ``anthropic`` SDK go through ``httpx2``. The guard wraps that library's network transports, when and if it is
imported, and refuses every host that is not this machine. Transports that are no network (the offline model, cassettes) are
untouched.
"""

from __future__ import annotations

import functools
import importlib.abc
import importlib.util
import ipaddress
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType

_LIBRARY = "httpx2"
_METHODS = (("HTTPTransport", "handle_request"), ("AsyncHTTPTransport", "handle_async_request"))


def is_local(host: str) -> bool:
    """Tell whether a host name or address is this machine."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


class PaidApiGuard:
    """Refuses requests to other machines while ``allowed`` is false.

    ``refuse`` is called with a sentence and must raise; ``refused`` lists the hosts that were asked for.
    """

    def __init__(self, refuse: Callable[[str], None]) -> None:
        self.allowed = False
        self.refused: list[str] = []
        self._refuse = refuse
        self._undo: list[Callable[[], None]] = []
        self._finder: _OnImport | None = None

    def install(self) -> None:
        """Wrap the library now, or as soon as something imports it."""
        module = sys.modules.get(_LIBRARY)
        if module is not None:
            self._wrap(module)
            return
        self._finder = _OnImport(self._wrap)
        sys.meta_path.insert(0, self._finder)

    def uninstall(self) -> None:
        """Put everything back."""
        if self._finder is not None and self._finder in sys.meta_path:
            sys.meta_path.remove(self._finder)
        for undo in reversed(self._undo):
            undo()
        self._undo.clear()

    def check(self, host: str) -> None:
        """Refuse ``host`` unless it is this machine or requests are allowed."""
        if self.allowed or is_local(host):
            return
        self.refused.append(host)
        self._refuse(
            f"A test tried to reach {host}. Tests must not call a paid API: use the fixture 'messages_server', "
            "or mark the test with @pytest.mark.paid_api if it really has to."
        )

    def _wrap(self, module: ModuleType) -> None:
        for class_name, method_name in _METHODS:
            owner = getattr(module, class_name)
            original = getattr(owner, method_name)
            setattr(owner, method_name, self._checked(original))
            self._undo.append(functools.partial(setattr, owner, method_name, original))

    def _checked(self, original: Any) -> Any:
        # The asynchronous method is wrapped by a plain function too: it returns the coroutine, after the check.
        @functools.wraps(original)
        def checked(transport: Any, request: Any) -> Any:
            self.check(request.url.host)
            return original(transport, request)

        return checked


class _OnImport(importlib.abc.MetaPathFinder):
    """Calls ``done`` with the library once its import is complete, and otherwise leaves importing alone."""

    def __init__(self, done: Callable[[ModuleType], None]) -> None:
        self._done = done

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:  # noqa: ARG002 - the protocol's signature
        if name != _LIBRARY:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader, self._done)
        return spec


class _Loader(importlib.abc.Loader):
    """The library's own loader, followed by a call."""

    def __init__(self, inner: Any, done: Callable[[ModuleType], None]) -> None:
        self._inner = inner
        self._done = done

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._inner.create_module(spec)  # type: ignore[no-any-return]

    def exec_module(self, module: ModuleType) -> None:
        self._inner.exec_module(module)
        self._done(module)
