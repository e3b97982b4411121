"""Servers that answer nonsense: a failure with a code, or an answer; never anything else."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dshloop.llm.failures import WireError, of_status
from dshloop.llm.messages import Chunk
from dshloop.sessions.events import encode_line
from tests.llm.frames import (
    START,
    assembled,
    block,
    ending,
    named,
    read_chat,
    read_messages,
    sse,
    text,
)

SCALARS = st.none() | st.booleans() | st.integers(-5, 500) | st.floats(allow_nan=False)
NAMES = st.text(max_size=5)
JSON = st.recursive(
    SCALARS | NAMES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=5,
)
CALL = {"index": 0, "id": "a", "function": {"name": "t", "arguments": "{}"}}
CHAT = [
    {"choices": [{"index": 0, "delta": {"content": "a"}, "finish_reason": None}]},
    {"choices": [{"index": 0, "delta": {"reasoning_content": "b"}}]},
    {"choices": [{"index": 0, "delta": {"tool_calls": [CALL]}, "finish_reason": "tool_calls"}]},
    {"choices": [], "usage": {"prompt_tokens": 1, "prompt_tokens_details": {"cached_tokens": 1}}},
]
MESSAGES = [
    START,
    *text(0, "a"),
    *block(1, {"type": "thinking", "thinking": ""}, {"type": "thinking_delta", "thinking": "b"}),
    *block(2, {"type": "tool_use", "id": "a", "name": "t", "input": {}},
           {"type": "input_json_delta", "partial_json": "{}"}),
    *ending("tool_use", output_tokens=3),
]  # fmt: skip


def places(value: Any) -> list[tuple[Any, Any]]:
    """Give every container in a value with each of its keys."""
    keys = value.keys() if isinstance(value, dict) else range(len(value))
    found = [(value, key) for key in keys]
    for key in list(keys):
        if isinstance(value[key], dict | list):
            found += places(value[key])
    return found


@st.composite
def spoiled(draw: st.DrawFn, frames: list[Any]) -> list[Any]:
    """Spoil a good answer: values replaced or removed, frames gone or twice."""
    made = copy.deepcopy(frames)
    for _ in range(draw(st.integers(0, 3))):
        container, key = draw(st.sampled_from(places(made)))
        if isinstance(container, dict) and key not in container:
            continue
        if isinstance(container, list) and key >= len(container):
            continue
        if draw(st.booleans()):
            container[key] = draw(JSON)
        else:
            del container[key]
        if not made:
            break
    return made


def check(read: Callable[[bytes], list[Chunk]], stream: bytes) -> None:
    """Read a stream; what comes out is a whole answer that a log can hold, or a failure."""
    try:
        found = read(stream)
    except WireError:
        return
    assembled(found)
    encode_line({"chunks": found})


@given(spoiled(CHAT), st.booleans())
def test_chat_completions(frames: list[Any], ended: bool) -> None:
    stream = sse(*frames) + (b"data: [DONE]\n\n" if ended else b"")
    check(read_chat, stream)


@given(spoiled(MESSAGES))
def test_messages(frames: list[Any]) -> None:
    check(read_messages, sse(*frames))


def test_the_answers_are_good_before_they_are_spoiled() -> None:
    assembled(read_chat(sse(*CHAT) + b"data: [DONE]\n\n"))
    assembled(read_messages(named(*MESSAGES)))


@given(st.integers(300, 599), JSON)
def test_any_body_of_an_error_is_described(status: int, body: Any) -> None:
    failure = of_status(status, body, {}, lambda: 0.0)
    assert failure["message"]
    assert failure["code"]


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-0.0", "1e999", "9" * 5000])
def test_numbers_that_a_log_cannot_hold_never_get_there(number: str) -> None:
    frame = json.dumps({**START, "message": {"usage": {"input_tokens": "N"}}})
    stream = b"data: " + frame.replace('"N"', number).encode() + b"\n\n"
    stream += sse(*text(0, "a"), *ending())
    with pytest.raises(WireError):
        encode_line({"chunks": read_messages(stream)})
