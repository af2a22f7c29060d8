"""Test helpers as a product: a strict fake Messages API server, throw-away copies of memory, and a guard against paid calls.

Nothing here is imported by the product itself. The pytest plug-in (:mod:`memflush_jupyter.pytest_plugin`) offers them as fixtures.
"""

from __future__ import annotations

from memflush_jupyter.testing.refusals import RefusalError
from memflush_jupyter.testing.replies import (
    Break,
    Drop,
    Refuse,
    Reply,
    bad_key,
    internal_error,
    no_credit,
    no_model,
    overloaded,
    rate_limited,
    text,
    thinking,
    too_large,
    too_long,
    tool_use,
)
from memflush_jupyter.testing.server import FakeMessagesServer
from memflush_jupyter.testing.service import SeenRequest, ServedModel

__all__ = [
    "Break",
    "Drop",
    "FakeMessagesServer",
    "RefusalError",
    "Refuse",
    "Reply",
    "SeenRequest",
    "ServedModel",
    "bad_key",
    "internal_error",
    "no_credit",
    "no_model",
    "overloaded",
    "rate_limited",
    "text",
    "thinking",
    "too_large",
    "too_long",
    "tool_use",
]
