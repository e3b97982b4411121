"""Messages: bodies out, events in, with the checks of the real dsh."""

from __future__ import annotations

from typing import Any

import pytest

from dshloop.llm.anthropic import MAX_TOKENS, MessagesWire
from dshloop.llm.failures import WireError
from dshloop.llm.messages import ModelRequest, user_message
from dshloop.llm.wire import Endpoint
from tests.llm.frames import (
    START,
    STOP,
    assembled,
    block,
    chat,
    ending,
    messages,
    named,
    read_messages,
    sse,
    text,
)

CALL = {"type": "tool_use", "id": "a", "name": "read", "input": {}}


def json_delta(piece: str) -> dict[str, str]:
    return {"type": "input_json_delta", "partial_json": piece}


def test_text_comes_in_deltas_and_whole() -> None:
    found = read_messages(messages(text(0, "Hel", "lo")))
    assert found == [
        {"type": "block-start", "index": 0, "blockType": "text"},
        {"type": "text-delta", "index": 0, "text": "Hel"},
        {"type": "text-delta", "index": 0, "text": "lo"},
        {"type": "block-end", "index": 0, "block": {"type": "text", "text": "Hello"}},
        {"type": "usage", "usage": {"inputTokens": 5, "outputTokens": 3}},
        {
            "type": "finish",
            "reason": {"kind": "stop"},
            "replayState": {
                "response": {"kind": "messages", "version": 1, "model": "m"},
                "blocks": [{"type": "text"}],
            },
        },
    ]


def test_thinking_keeps_its_signature_for_the_next_request() -> None:
    thought = block(
        0,
        {"type": "thinking", "thinking": ""},
        {"type": "thinking_delta", "thinking": "hm"},
        {"type": "signature_delta", "signature": "si"},
        {"type": "signature_delta", "signature": "g"},
    )
    hidden = block(1, {"type": "redacted_thinking", "data": "opaque"})
    found = read_messages(messages(thought, hidden, text(2, "Hi")))
    assert assembled(found).content() == [
        {"type": "reasoning", "text": "hm"},
        {"type": "reasoning", "text": ""},
        {"type": "text", "text": "Hi"},
    ]
    assert found[-1]["replayState"]["blocks"] == [
        {"type": "reasoning", "signature": "sig"},
        {"type": "reasoning", "redacted": "opaque"},
        {"type": "text"},
    ]


def test_calls_come_in_pieces() -> None:
    one = block(0, CALL, json_delta('{"f":'), json_delta(' "x"}'))
    two = block(1, {**CALL, "id": "b", "input": {"n": 1}})
    whole = assembled(read_messages(messages(one, two, reason="tool_use")))
    assert whole.content() == [
        {"type": "tool-call", "id": "a", "name": "read", "arguments": '{"f": "x"}'},
        {"type": "tool-call", "id": "b", "name": "read", "arguments": '{"n": 1}'},
    ]
    assert whole.finish == {"kind": "tool-calls"}


def test_arguments_must_be_an_object_unless_the_answer_was_cut() -> None:
    broken = block(0, CALL, json_delta('{"f":'))
    with pytest.raises(WireError, match="no JSON object"):
        read_messages(messages(broken, reason="tool_use"))
    found = read_messages(messages(broken, reason="max_tokens"))
    assert assembled(found).finish == {"kind": "max-tokens"}
    assert found[-1]["replayState"]["blocks"] == [{"type": "tool-call"}]


def test_usage_counts_what_was_cached() -> None:
    found = read_messages(
        messages(text(0, "a"), cache_read_input_tokens=7, cache_creation_input_tokens=2)
    )
    assert found[-2]["usage"] == {
        "inputTokens": 5, "outputTokens": 3, "cacheReadTokens": 7, "cacheWriteTokens": 2,
    }  # fmt: skip


def test_unknown_events_and_empty_deltas_are_passed_over() -> None:
    found = read_messages(messages({"type": "ping"}, text(0, "", "a"), {"type": "new_thing"}))
    assert assembled(found).content() == [{"type": "text", "text": "a"}]


OPEN = text(0, "a")[:-1]


@pytest.mark.parametrize(
    ("stream", "code"),
    [
        (named(START, *text(0, "a"), *ending()[:1]), "STREAM_CLOSED"),
        (named(START, *OPEN), "STREAM_CLOSED"),
        (b"", "STREAM_CLOSED"),
        (named(START, *ending()), "EMPTY_RESPONSE"),
        (chat({"content": "a"}), "MALFORMED_RESPONSE"),
        (b'event: ping\ndata: {"type": "message_stop"}\n\n', "MALFORMED_RESPONSE"),
        (named(START, START), "MALFORMED_RESPONSE"),
        (named(*text(0, "a")), "MALFORMED_RESPONSE"),
        (named(START, *OPEN, *OPEN), "MALFORMED_RESPONSE"),
        (named(START, *text(0, "a")[1:]), "MALFORMED_RESPONSE"),
        (named(START, {"type": "content_block_delta", "index": [], "delta": {}}),
         "MALFORMED_RESPONSE"),
        (named(START, {"type": "content_block_stop", "index": {}}), "MALFORMED_RESPONSE"),
        (named(START, *block(0, CALL, {"type": "text_delta", "text": "a"})), "MALFORMED_RESPONSE"),
        (named(START, *block(0, {**CALL, "id": ""})), "MALFORMED_RESPONSE"),
        (named(START, *block(0, {"type": "image"})), "MALFORMED_RESPONSE"),
        (named(START, *OPEN, *ending()), "MALFORMED_RESPONSE"),
        (named(START, *text(0, "a"), STOP), "MALFORMED_RESPONSE"),
        (messages(text(0, "a"), reason="sideways"), "MALFORMED_RESPONSE"),
        (messages(text(0, "a"), output_tokens=-1), "MALFORMED_RESPONSE"),
        (messages(text(0, "a"), reason="refusal"), "INVALID_REQUEST"),
        (sse({"type": "error", "error": {"type": "overloaded_error", "message": "x"}}), "SERVER"),
        (sse({"type": "error", "error": {"type": "rate_limit_error", "message": "x"}}),
         "RATE_LIMIT"),
        (sse({"type": "error", "error": {"type": "authentication_error", "message": "x"}}),
         "AUTH"),
    ],
)  # fmt: skip
def test_what_breaks_an_answer(stream: bytes, code: str) -> None:
    with pytest.raises(WireError) as caught:
        read_messages(stream)
    assert caught.value.failure["code"] == code


def body(dialect: Any = "plain", **asked: Any) -> dict[str, Any]:
    request = ModelRequest("p", "m", messages=[user_message("hello")], **asked)
    return MessagesWire().body(request, Endpoint("p", "http://x", dialect))


def test_a_body_has_all_that_was_asked_for() -> None:
    tool = {"name": "t", "description": "d", "parameters": {"type": "object"}}
    assert body(
        system="S", tools=[tool], max_tokens=7, temperature=0.5, stop=["."], reasoning_effort="low"
    ) == {
        "model": "m",
        "max_tokens": 7,
        "stream": True,
        "messages": [{"role": "user", "content": [{"type": "text", "text": "hello"}]}],
        "system": "S",
        "tools": [{"name": "t", "description": "d", "input_schema": {"type": "object"}}],
        "temperature": 0.5,
        "stop_sequences": ["."],
        "thinking": {"type": "adaptive"},
        "output_config": {"effort": "low"},
    }


def test_dialects_and_defaults() -> None:
    assert body()["max_tokens"] == MAX_TOKENS
    assert body("deepseek", reasoning_effort="high")["thinking"] == {"type": "enabled"}
    assert body(reasoning_effort="off")["thinking"] == {"type": "disabled"}
    cached = body("anthropic", system="S")
    assert cached["system"][0]["cache_control"] == {"type": "ephemeral"}
    assert cached["messages"][-1]["content"][-1]["cache_control"] == {"type": "ephemeral"}


def test_urls_and_keys() -> None:
    wire = MessagesWire()
    assert wire.url("http://x/") == "http://x/v1/messages"
    assert wire.url("http://x/v1") == "http://x/v1/messages"
    assert wire.url("http://x/v1/messages") == "http://x/v1/messages"
    assert wire.headers("k") == {"anthropic-version": "2023-06-01", "x-api-key": "k"}
