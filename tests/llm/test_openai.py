"""Chat completions: bodies out, frames in."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dshloop.llm.failures import WireError
from dshloop.llm.messages import ModelRequest, user_message
from dshloop.llm.openai import ChatWire
from dshloop.llm.wire import Endpoint
from tests.llm.frames import assembled, chat, chunks, read_chat, sse

PLAIN = Endpoint("p", "http://x")
HELLO = [user_message("hello")]


def call(index: int, *, name: str | None = None, args: str = "", **more: Any) -> dict[str, Any]:
    function: dict[str, Any] = {"arguments": args}
    if name is not None:
        function["name"] = name
    return {"tool_calls": [{"index": index, "function": function, **more}]}


def test_text_comes_in_deltas_and_whole() -> None:
    found = read_chat(
        chat({"role": "assistant", "content": ""}, {"content": "Hel"}, {"content": "lo"})
    )
    assert found == [
        {"type": "block-start", "index": 0, "blockType": "text"},
        {"type": "text-delta", "index": 0, "text": "Hel"},
        {"type": "text-delta", "index": 0, "text": "lo"},
        {"type": "block-end", "index": 0, "block": {"type": "text", "text": "Hello"}},
        {"type": "finish", "reason": {"kind": "stop"}},
    ]


@pytest.mark.parametrize("key", ["reasoning_content", "reasoning"])
def test_reasoning_is_a_block_of_its_own_under_either_name(key: str) -> None:
    whole = assembled(
        read_chat(chat({key: "let "}, {key: "me", "content": None}, {"content": "Hi"}))
    )
    assert whole.content() == [
        {"type": "reasoning", "text": "let me"},
        {"type": "text", "text": "Hi"},
    ]


def test_parallel_calls_may_be_interleaved() -> None:
    stream = chat(
        call(0, id="a", name="read", args='{"f"'),
        call(1, id="b", name="list"),
        call(0, args=': "x"}'),
        call(1, args="{}"),
        finish="tool_calls",
    )
    whole = assembled(read_chat(stream))
    assert whole.content() == [
        {"type": "tool-call", "id": "a", "name": "read", "arguments": '{"f": "x"}'},
        {"type": "tool-call", "id": "b", "name": "list", "arguments": "{}"},
    ]
    assert whole.finish == {"kind": "tool-calls"}


def test_only_the_first_delta_of_a_call_names_it() -> None:
    stream = chat(call(0, id="a", name="read", args="{"), call(0, name="read", args="}"))
    deltas = [chunk for chunk in read_chat(stream) if chunk["type"] == "tool-call-delta"]
    assert deltas == [
        {"type": "tool-call-delta", "index": 0, "id": "a", "argumentsDelta": "{", "name": "read"},
        {"type": "tool-call-delta", "index": 0, "id": "a", "argumentsDelta": "}"},
    ]


def test_calls_of_servers_that_count_badly_are_told_apart() -> None:
    same = chat(call(0, id="a", name="x", args="{}"), call(0, id="b", name="y", args="{}"))
    assert [one["id"] for one in assembled(read_chat(same)).content()] == ["a", "b"]
    none = chat(
        {"tool_calls": [{"id": "a", "function": {"name": "x", "arguments": "{"}}]},
        {"tool_calls": [{"function": {"arguments": "}"}}]},
        {"tool_calls": [{"id": "b", "function": {"name": "y", "arguments": "{}"}}]},
    )
    content = assembled(read_chat(none)).content()
    assert [(one["id"], one["arguments"]) for one in content] == [("a", "{}"), ("b", "{}")]


def test_calls_of_servers_that_give_all_one_id_get_ids_of_their_own() -> None:
    same = chat(
        call(0, id="a", name="x", args="{"),
        call(1, id="a", name="y", args="{"),
        call(0, id="a", name="x", args="}"),
        call(1, id="a", name="y", args="}"),
    )
    first, second = assembled(read_chat(same)).content()
    assert [first["id"], first["name"], second["name"]] == ["a", "x", "y"]
    assert second["id"].startswith("call_")
    assert first["arguments"] == second["arguments"] == "{}"


def test_a_call_without_an_id_gets_one_and_stop_means_calls_too() -> None:
    whole = assembled(read_chat(chat(call(0, name="x", args="{}"))))
    assert whole.content()[0]["id"].startswith("call_")
    assert whole.finish == {"kind": "tool-calls"}


def test_a_call_whose_name_comes_late_is_whole() -> None:
    whole = assembled(read_chat(chat(call(0, id="a", args="{"), call(0, name="x", args="}"))))
    assert whole.content()[0] == {"type": "tool-call", "id": "a", "name": "x", "arguments": "{}"}


def test_an_answer_cut_for_want_of_tokens() -> None:
    assert assembled(read_chat(chat({"content": "a"}, finish="length"))).finish == {
        "kind": "max-tokens"
    }


@pytest.mark.parametrize(
    ("usage", "counts"),
    [
        ({"prompt_tokens": 9, "completion_tokens": 2}, (7 + 2, 2, None, None)),
        (
            {
                "prompt_tokens": 9,
                "completion_tokens": 5,
                "prompt_tokens_details": {"cached_tokens": 4},
                "completion_tokens_details": {"reasoning_tokens": 3},
            },
            (5, 2, 4, 3),
        ),
        (
            {"prompt_tokens": 9, "completion_tokens": 5, "prompt_cache_hit_tokens": 8},
            (1, 5, 8, None),
        ),
        ({"prompt_tokens": None, "completion_tokens": "x"}, (0, 0, None, None)),
    ],
)
def test_usage_is_disjoint_and_comes_before_the_end(usage: Any, counts: tuple[Any, ...]) -> None:
    found = read_chat(chat({"content": "a"}, usage=usage))
    assert [chunk["type"] for chunk in found][-2:] == ["usage", "finish"]
    keys = ("inputTokens", "outputTokens", "cacheReadTokens", "reasoningTokens")
    assert tuple(found[-2]["usage"].get(key) for key in keys) == counts


@pytest.mark.parametrize(
    ("stream", "code"),
    [
        (chat({"content": "a"}).removesuffix(b"data: [DONE]\n\n"), "STREAM_CLOSED"),
        (b"", "STREAM_CLOSED"),
        (chat({"content": "a"}, finish=None), "STREAM_CLOSED"),
        (chat({"content": ""}), "EMPTY_RESPONSE"),
        (b"data: {not json\n\n", "MALFORMED_RESPONSE"),
        (b"data: [1]\n\n", "MALFORMED_RESPONSE"),
        (b"data: " + b"[" * 100_000 + b"\n\n", "MALFORMED_RESPONSE"),
        (sse({"choices": ["x"]}), "MALFORMED_RESPONSE"),
        (chat({"tool_calls": ["x"]}), "MALFORMED_RESPONSE"),
        (chat(call(0, id="a", args="{}")), "MALFORMED_RESPONSE"),
        (chat({"content": "a"}, finish="sideways"), "MALFORMED_RESPONSE"),
        (chat({"content": "a"}, finish="content_filter"), "INVALID_REQUEST"),
        (chat({"content": "a"}, finish="insufficient_system_resource"), "SERVER"),
        (sse({"error": {"message": "busy", "type": "overloaded_error"}}), "SERVER"),
        (sse({"error": {"message": "slow down", "code": 429}}), "RATE_LIMIT"),
        (sse({"error": "plain words"}), "SERVER"),
    ],
)
def test_what_breaks_an_answer(stream: bytes, code: str) -> None:
    with pytest.raises(WireError) as caught:
        read_chat(stream)
    assert caught.value.failure["code"] == code
    assert caught.value.failure["message"]


def test_half_a_character_waits_for_the_other_half() -> None:
    halves = sse(
        {"choices": [{"delta": {"content": "a\ud83d"}}]},
        {"choices": [{"delta": {"content": "\ude00b\ud800"}, "finish_reason": "stop"}]},
    )
    found = read_chat(halves + b"data: [DONE]\n\n")
    deltas = [chunk["text"] for chunk in found if chunk["type"] == "text-delta"]
    assert deltas == ["a", "😀b", "\ud800"]
    assembled(found)


def test_a_body_has_all_that_was_asked_for() -> None:
    tool = {"name": "t", "description": "d", "parameters": {"type": "object"}}
    request = ModelRequest(
        "p", "m", system="S", messages=HELLO, tools=[tool], max_tokens=7, temperature=0.5,
        stop=["."], reasoning_effort="high",
    )  # fmt: skip
    assert ChatWire().body(request, PLAIN) == {
        "model": "m",
        "messages": [{"role": "system", "content": "S"}, {"role": "user", "content": "hello"}],
        "stream": True,
        "stream_options": {"include_usage": True},
        "max_tokens": 7,
        "tools": [{"type": "function", "function": tool}],
        "temperature": 0.5,
        "stop": ["."],
        "reasoning_effort": "high",
    }


def test_dialects_say_limits_and_efforts_in_their_own_way() -> None:
    def body(dialect: Any, effort: str) -> dict[str, Any]:
        request = ModelRequest("p", "m", max_tokens=7, reasoning_effort=effort)
        return ChatWire().body(request, Endpoint("p", "http://x", dialect))

    assert body("openai", "off")["max_completion_tokens"] == 7
    assert body("openai", "off")["reasoning_effort"] == "none"
    deepseek = body("deepseek", "high")
    assert (deepseek["thinking"], deepseek["reasoning_effort"]) == ({"type": "enabled"}, "high")
    assert body("deepseek", "off")["thinking"] == {"type": "disabled"}


def test_urls_and_keys() -> None:
    wire = ChatWire()
    assert wire.url("http://x/v1/") == "http://x/v1/chat/completions"
    assert wire.url("http://x/chat/completions") == "http://x/chat/completions"
    assert wire.headers("k") == {"authorization": "Bearer k"}
    assert wire.headers(None) == {}


def test_a_reader_is_done_with_the_last_frame() -> None:
    reader = ChatWire().reader(ModelRequest("p", "m"))
    chunks(reader, chat({"content": json.dumps("a")}))
    assert reader.done
