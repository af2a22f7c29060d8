"""What every magic's door does: call, show what comes back, and turn an error of ours into one sentence."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from memflush_jupyter.errors import ConfigError
from memflush_jupyter.notebook.arguments import HelpAsked
from memflush_jupyter.notebook.failure import CellError, TurnInterrupted
from memflush_jupyter.notebook.headless import in_kernel
from memflush_jupyter.notebook.session import Session, session_of

Bundle = dict[str, Any]


def enter(ip: Any, call: Callable[[Session], Bundle | list[Bundle] | None]) -> None:
    """Call with the session and show the bundles that come back."""
    from memflush_jupyter.notebook.display.view import show

    try:
        shown = call(session_of(ip))
    except HelpAsked as asked:
        shown = {"text/plain": str(asked)}
    except KeyboardInterrupt:
        raise TurnInterrupted("Interrupted.") from None
    except (CellError, TurnInterrupted):
        raise
    except Exception as error:  # noqa: BLE001 - the person sees a sentence, the log has the rest
        raise _told(ip, error) from None
    if not shown:
        return
    from memflush_jupyter.memory.redaction_values import redacted_bundle
    from memflush_jupyter.notebook.trouble import session_redactor

    redact = session_redactor(session_of(ip))
    for bundle in [shown] if isinstance(shown, dict) else shown:
        show(ip, redacted_bundle(bundle, redact))


def enter_async(ip: Any, begin: Callable[[Session], Coroutine[Any, Any, None]]) -> Coroutine[Any, Any, None]:
    """The same for a magic that is awaited: ``begin`` parses at once, and what it returns is awaited by the cell."""
    started: list[Coroutine[Any, Any, None]] = []

    def call(session: Session) -> None:
        if not getattr(ip, "autoawait", True):
            raise ConfigError("%%agent needs `%autoawait` to be on; run `%autoawait asyncio`.")
        started.append(begin(session))

    try:
        enter(ip, call)
    except CellError as error:
        # Raised from inside the coroutine: run_cell_magic would add its own frames otherwise.
        return _raise(error)
    return started[0] if started else _nothing()


def confirmed(session: Session, question: str, *, yes: bool) -> bool:
    """Whether the person agrees; ``yes``: they said so already.

    Raises:
        ConfigError: nobody can be asked here.
    """
    if yes:
        return True
    try:
        return input(f"{question} [y/N] ").strip().lower() in {"y", "yes"}
    except EOFError:
        return False
    except Exception as error:
        if in_kernel(session.ip):
            raise ConfigError(f"{question} Nobody can be asked here; add --yes to do it.") from error
        raise


def _told(ip: Any, error: Exception) -> CellError:
    from memflush_jupyter.notebook.failure import as_cell_error
    from memflush_jupyter.notebook.trouble import told

    session = getattr(ip, "memflush_session", None)
    return told(session, error) if session is not None else as_cell_error(error)


async def _raise(error: CellError) -> None:
    raise error


async def _nothing() -> None:
    """Nothing is left to do."""
