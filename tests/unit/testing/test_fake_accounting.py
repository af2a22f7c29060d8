"""The prompt cache counts as the provider documents it: minimum, lifetime, lookback, order of the prefix."""

from __future__ import annotations

from typing import Any

import pytest

from memflush_jupyter.testing.accounting import Accountant, count_cl100k
from memflush_jupyter.testing.validation import check_body
from memflush_jupyter.trace.models import Usage

MARK = {"cache_control": {"type": "ephemeral"}}


class Bench:
    """One accountant, one clock; a word counts as one token."""

    def __init__(self) -> None:
        self.now = 0.0
        self.accountant = Accountant(count=lambda value: len(value.split()), now=lambda: self.now)

    def ask(self, *messages: dict[str, Any], **more: Any) -> Usage:
        body = {"model": "m", "max_tokens": 1, "messages": list(messages), **more}
        return self.accountant.measure(body, check_body(body))


@pytest.fixture
def bench() -> Bench:
    return Bench()


def words(count: int, *, mark: bool = False, word: str = "w") -> dict[str, Any]:
    return {"type": "text", "text": " ".join([word] * count), **(MARK if mark else {})}


def user(*blocks: dict[str, Any]) -> dict[str, Any]:
    return {"role": "user", "content": list(blocks)}


def assistant(*blocks: dict[str, Any]) -> dict[str, Any]:
    return {"role": "assistant", "content": list(blocks)}


def test_without_breakpoints_nothing_is_cached(bench: Bench) -> None:
    assert bench.ask(user(words(2000))) == bench.ask(user(words(2000))) == Usage(input=2007)


def test_prefix_is_written_once_and_then_read(bench: Bench) -> None:
    assert bench.ask(user(words(2000, mark=True))) == Usage(input=0, cache_write=2007)
    assert bench.ask(user(words(2000, mark=True))) == Usage(input=0, cache_read=2007)


def test_growing_conversation_reads_the_old_part_and_writes_the_new(bench: Bench) -> None:
    bench.ask(user(words(2000, mark=True)))
    grown = bench.ask(user(words(2000)), assistant(words(100)), user(words(50, mark=True)))
    assert grown == Usage(input=0, cache_read=2007, cache_write=100 + 4 + 50 + 4)


def test_what_stands_after_the_last_breakpoint_is_plain_input(bench: Bench) -> None:
    assert bench.ask(user(words(2000, mark=True), words(30))) == Usage(input=34, cache_write=2007)


def test_small_prefixes_are_not_cached(bench: Bench) -> None:
    """At least 1,024 tokens."""
    small = user(words(1000, mark=True))
    assert bench.ask(small) == bench.ask(small) == Usage(input=1007)
    edge = user(words(1017, mark=True))
    assert bench.ask(edge) == Usage(input=0, cache_write=1024)


def test_entries_live_five_minutes_from_their_last_use(bench: Bench) -> None:
    message = user(words(2000, mark=True))
    bench.ask(message)
    bench.now = 299.0
    assert bench.ask(message).cache_read == 2007
    bench.now = 598.0
    assert bench.ask(message).cache_read == 2007
    bench.now = 899.0
    assert bench.ask(message) == Usage(cache_write=2007)


def test_hour_entries_live_an_hour(bench: Bench) -> None:
    message = user({**words(2000), "cache_control": {"type": "ephemeral", "ttl": "1h"}})
    bench.ask(message)
    bench.now = 3599.0
    assert bench.ask(message).cache_read == 2007


def test_lookback_reaches_twenty_blocks_and_no_further(bench: Bench) -> None:
    bench.ask(user(words(2000, mark=True)))
    near = [words(1, word=f"n{i}") for i in range(19)]
    far = [words(1, word=f"f{i}") for i in range(20)]
    assert bench.ask(user(words(2000), *near, words(1, mark=True))).cache_read == 2007
    assert bench.ask(user(words(2000), *far, words(1, mark=True))).cache_read == 0


def test_change_in_tools_or_system_loses_everything_after_it(bench: Bench) -> None:
    tool = {"name": "f", "input_schema": {"type": "object"}}
    bench.ask(user(words(2000, mark=True)), tools=[tool], system="one")
    assert bench.ask(user(words(2000, mark=True)), tools=[tool], system="two").cache_read == 0
    assert bench.ask(user(words(2000, mark=True)), tools=[{**tool, "description": "d"}], system="one").cache_read == 0
    assert bench.ask(user(words(2000, mark=True)), tools=[tool], system="one").cache_read > 2000


def test_system_prompt_stays_cached_when_the_conversation_is_replaced(bench: Bench) -> None:
    system = [words(1500, mark=True)]
    bench.ask(user(words(2000, mark=True)), system=system)
    after = bench.ask(user(words(100, mark=True, word="summary")), system=system)
    assert (after.cache_read, after.cache_write, after.input) == (1507, 104, 0)


def test_forcing_a_tool_loses_the_cached_messages(bench: Bench) -> None:
    """Why a flush restricts tools at dispatch and not by tool_choice."""
    tools = [{"name": "f", "input_schema": {"type": "object"}}]
    bench.ask(user(words(2000, mark=True)), tools=tools)
    assert bench.ask(user(words(2000, mark=True)), tools=tools, tool_choice={"type": "tool", "name": "f"}).cache_read == 0


def test_other_models_have_other_caches(bench: Bench) -> None:
    bench.ask(user(words(2000, mark=True)))
    assert bench.ask(user(words(2000, mark=True)), model="other").cache_read == 0


def test_breakpoint_inside_a_tool_result_counts(bench: Bench) -> None:
    call = {"type": "tool_use", "id": "t", "name": "f", "input": {}}
    result = {"type": "tool_result", "tool_use_id": "t", "content": [words(2000, mark=True)]}
    used = bench.ask(user(words(1)), assistant(call), user(result), tools=[{"name": "f", "input_schema": {"type": "object"}}])
    assert used.cache_write > 2000


def test_images_are_counted_by_size_not_by_base64_text() -> None:
    import base64
    import struct

    png = base64.b64encode(b"\x89PNG\r\n\x1a\n" + b"\0\0\0\rIHDR" + struct.pack(">II", 750, 100) + b"0" * 9000).decode()
    body = {"model": "m", "max_tokens": 1, "messages": [user({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": png}})]}
    assert Accountant(count=count_cl100k, now=lambda: 0.0).tokens(body, check_body(body)) == 100 + 7


def test_texts_are_counted_in_cl100k() -> None:
    assert count_cl100k("hello world") == 2
    assert count_cl100k("<|endoftext|>") > 1
