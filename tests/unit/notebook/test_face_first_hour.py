"""Sentences a person reads in the first hour: where a rewind went, and a clock that is none."""

from __future__ import annotations

from argparse import Namespace
from types import SimpleNamespace

import pytest
from traitlets import TraitError

from memflush_jupyter.config import MemFlush
from memflush_jupyter.notebook.steering import do_rewind
from memflush_jupyter.trace.models import Message


def test_a_rewind_names_the_persons_words_and_no_recalled_passage():
    recalled = {"type": "text", "text": '<recalled note="data">\n- [4be1#2 user] old\n</recalled>'}
    left = Message("t", 5, None, "user", "prompt", [recalled, {"type": "text", "text": "plot it"}], meta={"aside": [0]})
    session = SimpleNamespace(running=False, rewind=lambda _: left)
    assert "to before “plot it”." in str(do_rewind(session, Namespace(turns=1)))


def test_a_clock_that_is_no_moment_is_refused_where_it_is_declared():
    config = MemFlush()
    config.clock = "2026-01-15T09:00"
    with pytest.raises(TraitError, match="'yesterday' is not a date and time; write it like '2026-01-15T09:00'"):
        config.clock = "yesterday"
    assert config.clock == "2026-01-15T09:00"
    config.clock = ""
    assert config.clock == ""
