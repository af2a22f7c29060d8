"""The body of a request is encoded once per message, and is the same as if it were encoded whole."""

from __future__ import annotations

import json
from typing import Any

from memflush_jupyter.models import request as requests


def body(messages: list[Any]) -> dict[str, Any]:
    return {"model": "m", "max_tokens": 5, "stream": True, "system": [{"type": "text", "text": "Zürich"}], "messages": messages}


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": [{"type": "text", "text": text}]}


def test_encoder_gives_the_bytes_of_the_whole_body() -> None:
    encoder = requests.BodyEncoder()
    messages = [user("one – 猫"), {"role": "assistant", "content": "plain"}]
    assert encoder.encode(body(messages)) == requests.encode(body(messages))
    messages = [*messages, user("two")]
    assert encoder.encode(body(messages)) == requests.encode(body(messages))
    assert encoder.encode(body(messages[:1])) == requests.encode(body(messages[:1]))
    assert encoder.encode(body([])) == requests.encode(body([]))


def test_encoder_sees_other_blocks_in_a_known_message() -> None:
    encoder = requests.BodyEncoder()
    message = user("one")
    encoder.encode(body([message]))
    message["content"].append({"type": "text", "text": "more"})
    assert json.loads(encoder.encode(body([message])))["messages"] == [message]
    message["content"] = "other"
    assert json.loads(encoder.encode(body([message])))["messages"] == [message]


def test_encoder_replaces_lone_surrogates() -> None:
    sent = requests.BodyEncoder().encode(body([user("a\ud800b")]))
    assert json.loads(sent)["messages"] == [user("a\ufffdb")]
