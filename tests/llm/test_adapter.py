"""Adapters against a real server: cut, slow, broken, dropped, refused."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import pytest

from dshloop.llm.adapter import ProviderAdapter, peer_of
from dshloop.llm.credentials import Key
from dshloop.llm.messages import Chunk, ModelRequest, user_message
from dshloop.llm.providers import BUILT_IN, Provider
from dshloop.redact import MARK
from tests.http.server import Answering, LoopbackServer, Said, in_turn, serving
from tests.llm.frames import (
    assembled,
    block,
    chat,
    messages,
    read_chat,
    read_messages,
    sse,
    text,
)

KEY = Key("not-a-known-shape-of-key", "$K")
EVENTS = {"Content-Type": "text/event-stream; charset=utf-8"}
STREAMS = {
    "openai": chat({"content": "Hello "}, {"content": "wörld 😀"}),
    "anthropic": messages(text(0, "Hello ", "wörld 😀")),
}
READ = {"openai": read_chat, "anthropic": read_messages}


def streaming(*pieces: bytes, **more: Any) -> Said:
    return Said(headers=EVENTS, pieces=list(pieces), **more)


def adapter(server: LoopbackServer | None, kind: Any = "openai", **changes: Any) -> ProviderAdapter:
    url = server.url if server is not None else "http://127.0.0.1:1"
    provider = replace(Provider("p", kind, url, idle_timeout=5), **changes)
    return ProviderAdapter(provider, lambda: KEY, {}, now=lambda: 1_800_000_000.0)


def ask(*adapters: ProviderAdapter, request: ModelRequest | None = None) -> list[list[Chunk]]:
    """Ask one adapter after the other, in one event loop."""
    asked = request or ModelRequest("p", "m", system="S", messages=[user_message("hi")])

    async def all_chunks() -> list[list[Chunk]]:
        found = [[chunk async for chunk in one.stream(asked)] for one in adapters]
        for one in adapters:
            await one.close()
        return found

    return asyncio.run(all_chunks())


def failure(answer: Answering | Said, kind: Any = "openai", **changes: Any) -> dict[str, Any]:
    """Give the failure that an answer ends in; nothing may follow it."""
    with serving(answer if callable(answer) else in_turn(answer)) as server:
        (found,) = ask(adapter(server, kind, **changes))
    assert [chunk["type"] for chunk in found].count("finish") == 1
    reason: dict[str, Any] = found[-1]["reason"]
    assert reason["kind"] == "error"
    told: dict[str, Any] = reason["failure"]
    assert KEY.value not in str(told)
    return told


@pytest.mark.parametrize("kind", ["openai", "anthropic"])
@pytest.mark.parametrize("size", [1, 2, 7, 10_000])
def test_an_answer_is_the_same_however_it_is_cut(kind: str, size: int) -> None:
    stream = STREAMS[kind]
    pieces = [stream[at : at + size] for at in range(0, len(stream), size)]
    with serving(in_turn(streaming(*pieces))) as server:
        (found,) = ask(adapter(server, kind))
    assert found == READ[kind](stream)
    assert assembled(found).content() == [{"type": "text", "text": "Hello wörld 😀"}]


def test_requests_carry_key_and_body_to_the_right_place() -> None:
    with serving(in_turn(streaming(STREAMS["openai"]))) as server:
        ask(adapter(server, headers={"X-Title": "mine"}))
        (asked,) = server.asked
    assert (asked.method, asked.path) == ("POST", "/chat/completions")
    assert asked.headers["authorization"] == f"Bearer {KEY.value}"
    assert asked.headers["accept"] == "text/event-stream"
    assert asked.headers["content-type"] == "application/json"
    assert asked.headers["x-title"] == "mine"
    assert [one["content"] for one in asked.json["messages"]] == ["S", "hi"]
    with serving(in_turn(streaming(STREAMS["anthropic"]))) as server:
        ask(adapter(server, "anthropic"))
        (asked,) = server.asked
    assert asked.path == "/v1/messages"
    assert asked.headers["x-api-key"] == KEY.value
    assert asked.headers["anthropic-version"] == "2023-06-01"


def test_a_connection_is_used_again_by_the_next_request() -> None:
    ports = []

    def answer(asked: Any) -> Said:
        ports.append(threading.get_ident())  # the server has one thread a connection
        return streaming(STREAMS["openai"])

    with serving(answer) as server:
        one = adapter(server)
        ask(one, one, one)
    assert len(ports) == 3
    assert len(set(ports)) == 1


def test_chunks_come_while_the_answer_is_still_being_made() -> None:
    going_on = threading.Event()
    head = sse({"choices": [{"delta": {"content": "first"}}]})

    async def first(one: ProviderAdapter) -> list[Chunk]:
        found = []
        async for chunk in one.stream(ModelRequest("p", "m")):
            found.append(chunk)
            if chunk.get("text") == "first":
                going_on.set()  # the server waits for this before it ends
        await one.close()
        return found

    with serving(in_turn(streaming(head, wait=going_on))) as server:
        found = asyncio.run(first(adapter(server)))
    assert found[1]["text"] == "first"
    assert found[-1]["reason"]["failure"]["code"] == "STREAM_CLOSED"


def test_huge_events_are_whole() -> None:
    large = "x" * 3_000_000
    stream = chat({"content": large}, {"content": "y"})
    with serving(
        in_turn(streaming(*(stream[at : at + 65_536] for at in range(0, len(stream), 65_536))))
    ) as server:
        (found,) = ask(adapter(server))
    assert assembled(found).content()[0]["text"] == large + "y"


def test_split_tool_calls_and_usage_come_through() -> None:
    call = {"type": "tool_use", "id": "a", "name": "read", "input": {}}
    deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in ('{"a', '": 1}')]
    stream = messages(text(0, "look"), block(1, call, *deltas), reason="tool_use")
    with serving(in_turn(streaming(*(bytes([byte]) for byte in stream)))) as server:
        (found,) = ask(adapter(server, "anthropic"))
    assert assembled(found).content()[1] == {
        "type": "tool-call", "id": "a", "name": "read", "arguments": '{"a": 1}',
    }  # fmt: skip


HALF = STREAMS["openai"][: len(STREAMS["openai"]) // 2]


@pytest.mark.parametrize(
    ("said", "code"),
    [
        (streaming(HALF), "STREAM_CLOSED"),
        (streaming(), "STREAM_CLOSED"),
        (streaming(HALF, cut=True), "TRANSPORT"),
        (streaming(cut=True), "TRANSPORT"),
        (streaming(b"data: {bad\n\n"), "MALFORMED_RESPONSE"),
        (streaming(chat({})), "EMPTY_RESPONSE"),
        (streaming(STREAMS["anthropic"]), "STREAM_CLOSED"),
        (streaming(sse({"error": {"message": "x", "type": "server_error"}})), "SERVER"),
        (Said(200, {"choices": []}, {"Content-Type": "application/json"}), "MALFORMED_RESPONSE"),
        (Said(200, {"error": {"message": "no", "type": "invalid_request_error"}},
              {"Content-Type": "application/json"}), "INVALID_REQUEST"),
        (Said(200, b"<html>", {"Content-Type": "text/html"}), "MALFORMED_RESPONSE"),
        (Said(302, b"", {"Location": "/elsewhere"}), "HTTP_302"),
        (Said(404, b"<html>none</html>"), "HTTP_404"),
    ],
)  # fmt: skip
def test_what_can_go_wrong_has_its_code(said: Said, code: str) -> None:
    assert failure(said)["code"] == code


def test_what_came_before_a_failure_was_given() -> None:
    with serving(in_turn(streaming(HALF, cut=True))) as server:
        (found,) = ask(adapter(server))
    assert [chunk["type"] for chunk in found] == ["block-start", "text-delta", "finish"]


def test_a_refusal_says_what_the_server_said_without_the_key() -> None:
    body = {"error": {"message": f"Incorrect key {KEY.value}", "code": "invalid_api_key"}}
    told = failure(Said(401, body, {"x-request-id": "r"}))
    assert told == {
        "message": f"HTTP 401: Incorrect key {MARK}",
        "code": "AUTH",
        "status": 401,
        "requestId": "r",
    }


def test_a_limit_says_how_long_to_wait() -> None:
    body = {"type": "error", "error": {"type": "rate_limit_error", "message": "slow"}}
    told = failure(Said(429, body, {"Retry-After": "3"}), "anthropic")
    assert (told["code"], told["providerRetryAfterMs"]) == ("RATE_LIMIT", 3000)


def test_a_context_that_is_too_long_has_its_own_code() -> None:
    body = {"error": {"message": "maximum context length is 10 tokens", "code": None}}
    assert failure(Said(400, body))["code"] == "CONTEXT_WINDOW_EXCEEDED"


def test_a_server_that_falls_silent_is_given_up() -> None:
    never = threading.Event()
    try:
        told = failure(streaming(HALF, wait=never), idle_timeout=0.1)
    finally:
        never.set()
    assert told["code"] == "TIMEOUT"


def test_comments_keep_a_silent_server_alive() -> None:
    comments = [b": still here\n\n"] * 8

    class Slow(list[bytes]):
        def __iter__(self) -> Iterator[bytes]:
            for piece in comments:
                time.sleep(0.05)
                yield piece
            yield STREAMS["openai"]

    with serving(in_turn(Said(headers=EVENTS, pieces=Slow([b"x"])))) as server:
        (found,) = ask(adapter(server, idle_timeout=0.3))
    assert found == read_chat(STREAMS["openai"])


def test_nobody_at_the_address_is_transport() -> None:
    (found,) = ask(adapter(None))
    assert found[-1]["reason"]["failure"]["code"] == "TRANSPORT"


def test_a_provider_without_its_key_names_the_variable() -> None:
    provider = Provider("p", "openai", "http://127.0.0.1:1", key_variable="P_KEY")
    (found,) = ask(ProviderAdapter(provider, lambda: None, {}))
    told = found[-1]["reason"]["failure"]
    assert told["code"] == "MISSING_CREDENTIAL"
    assert "P_KEY" in told["message"]
    assert "dshloop provider test p" in told["message"]


def test_a_key_is_not_sent_unencrypted_to_another_machine() -> None:
    (found,) = ask(adapter(None, url="http://192.0.2.1"))
    assert found[-1]["reason"]["failure"]["code"] == "INVALID_REQUEST"
    assert peer_of(BUILT_IN[0], KEY).allow_insecure_http is False


def test_an_image_is_refused_before_anything_is_sent() -> None:
    image = {**user_message("x"), "content": [{"type": "image", "attachment": {}}]}
    with serving(in_turn(streaming(STREAMS["openai"]))) as server:
        (found,) = ask(adapter(server), request=ModelRequest("p", "m", messages=[image]))
        assert server.asked == []
    assert found[-1]["reason"]["failure"]["code"] == "UNSUPPORTED_CONTENT"


def test_leaving_in_the_middle_closes_the_connection() -> None:
    never = threading.Event()

    async def leave(one: ProviderAdapter) -> None:
        task = asyncio.ensure_future(collect(one))
        await asyncio.sleep(0.2)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await one.close()

    async def collect(one: ProviderAdapter) -> Sequence[Chunk]:
        return [chunk async for chunk in one.stream(ModelRequest("p", "m"))]

    try:
        with serving(in_turn(streaming(HALF, wait=never))) as server:
            asyncio.run(leave(adapter(server)))
            never.set()
    finally:
        never.set()
