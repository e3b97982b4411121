from __future__ import annotations

import asyncio
import logging
import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dshloop.errors import (
    DshloopError,
    ExitCode,
    PeerAnswerError,
    PeerConfigError,
    PeerDeniedError,
    PeerDownError,
    PeerFailedError,
    PeerTimeoutError,
)
from dshloop.http import Peer, Retry, Timeouts, bearer, connect, connect_async
from dshloop.http.wire import LineBuffer, asked_pause
from tests.http.server import Asked, LoopbackServer, Said, in_turn, serving

KEY = "sk-abcdefghijklmnopqrstuvwxyz"
SOON = Retry(attempts=3, first=0.001, longest=0.01)


@pytest.fixture
def echo() -> Iterator[LoopbackServer]:
    with serving(lambda asked: Said(body={"path": asked.path})) as server:
        yield server


def peer(url: str, **more: Any) -> Peer:
    return Peer("the test server", url, **more)


def get(one: Peer, path: str = "/", **more: Any) -> Any:
    with connect(one, {}) as client:
        return client.request("GET", path, **more)


def get_async(one: Peer, path: str = "/", **more: Any) -> Any:
    async def ask() -> Any:
        async with connect_async(one, {}) as client:
            return await client.request("GET", path, **more)

    return asyncio.run(ask())


both = pytest.mark.parametrize("ask", [get, get_async])


@both
def test_a_request_joins_path_and_address(ask: Any, echo: LoopbackServer) -> None:
    answer = ask(peer(echo.url + "/v1/"), "/models", params={"a": "b c"})
    assert (answer.status, answer.json()) == (200, {"path": "/v1/models?a=b+c"})


def test_json_goes_as_utf8_and_lone_surrogates_as_escapes(echo: LoopbackServer) -> None:
    with connect(peer(echo.url), {}) as client:
        client.request("POST", "/", json={"text": "é量"})
        client.request("POST", "/", json={"text": "\ud800"})
    assert echo.asked[0].body == '{"text": "é量"}'.encode()
    assert echo.asked[0].headers["content-type"] == "application/json"
    assert echo.asked[1].body == b'{"text": "\\ud800"}'


@both
def test_the_key_is_sent_and_told_to_nobody(
    ask: Any, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)

    def refuse(asked: Asked) -> Said:
        return Said(401, {"error": {"message": f"bad key {asked.headers['authorization']}!"}})

    with serving(refuse) as server:
        one = peer(server.url, secrets=bearer(KEY))
        with pytest.raises(PeerDeniedError) as caught:
            ask(one)
        assert server.asked[0].headers["authorization"] == f"Bearer {KEY}"
    assert "bad key" in caught.value.message
    assert caught.value.exit_code == ExitCode.PEER
    shown = f"{caught.value.as_json()} {caplog.text} {capfd.readouterr()} {one!r}"
    assert KEY not in shown


@both
def test_what_may_pass_is_tried_again(ask: Any) -> None:
    answers = in_turn(Said(503), Said(429, headers={"Retry-After": "0"}), Said(body=[1]))
    with serving(answers) as server:
        assert ask(peer(server.url, retry=SOON)).json() == [1]
        assert len(server.asked) == 3


@both
def test_nothing_is_tried_again_unasked(ask: Any) -> None:
    with serving(in_turn(Said(503, {"error": "busy"}), Said(body=1))) as server:
        with pytest.raises(PeerFailedError) as caught:
            ask(peer(server.url))
        assert len(server.asked) == 1
    assert caught.value.details["status"] == 503
    assert caught.value.details["said"] == "busy"


@both
def test_what_will_not_pass_is_not_tried_again(ask: Any) -> None:
    with serving(in_turn(Said(400, {"error": {"message": "no model"}}))) as server:
        with pytest.raises(PeerFailedError, match="status 400: no model"):
            ask(peer(server.url, retry=SOON))
        assert len(server.asked) == 1


@both
def test_a_status_that_is_expected_is_an_answer(ask: Any) -> None:
    with serving(in_turn(Said(404, {"gone": True}))) as server:
        answer = ask(peer(server.url, retry=SOON), accept=(404,))
    assert (answer.status, answer.json()) == (404, {"gone": True})


@both
def test_a_redirect_is_not_followed(ask: Any) -> None:
    with serving(in_turn(Said(302, headers={"Location": "http://127.0.0.1:9/"}))) as server:
        with pytest.raises(PeerFailedError, match="302"):
            ask(peer(server.url, secrets=bearer(KEY)))
        assert len(server.asked) == 1


@both
def test_nothing_listens(ask: Any) -> None:
    with socket.socket() as taken:  # bound and not listening: nobody else gets the port
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(PeerDownError) as caught:
            ask(peer(url, retry=SOON))
    assert url in caught.value.message
    assert caught.value.details["peer"] == "the test server"


@both
def test_a_server_that_never_answers_is_given_up(ask: Any) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        one = peer(f"http://127.0.0.1:{silent.getsockname()[1]}", timeouts=Timeouts(read=0.05))
        with pytest.raises(PeerTimeoutError, match=r"0\.05 s"):
            ask(one)


@both
def test_an_answer_that_breaks_off_is_an_error(ask: Any) -> None:
    with (
        serving(in_turn(Said(pieces=[b'{"half"'], cut=True))) as server,
        pytest.raises(PeerAnswerError, match="broke off"),
    ):
        ask(peer(server.url))


@both
def test_an_answer_without_end_is_cut(ask: Any) -> None:
    with (
        serving(in_turn(Said(pieces=[b"x" * 1000] * 50))) as server,
        pytest.raises(PeerAnswerError, match="longer than 9000 bytes"),
    ):
        ask(peer(server.url, most_bytes=9000))


@both
@pytest.mark.parametrize("body", [b"<html>", b"", b"[" * 100_000, b"\xff\xfe"])
def test_no_json_is_an_error_that_names_the_peer(ask: Any, body: bytes) -> None:
    with serving(in_turn(Said(body=body))) as server:
        answer = ask(peer(server.url))
    with pytest.raises(PeerAnswerError, match="the test server"):
        answer.json()


@both
def test_words_of_a_refusal_are_one_harmless_line(ask: Any) -> None:
    with (
        serving(in_turn(Said(500, b"\x1b[2Jno\n\nway " + b"x" * 10_000))) as server,
        pytest.raises(PeerFailedError) as caught,
    ):
        ask(peer(server.url))
    assert "\x1b" not in caught.value.message
    assert "\\x1b[2Jno way" in caught.value.message
    assert len(caught.value.message) < 400


def test_a_stream_is_read_while_it_comes() -> None:
    go_on = threading.Event()
    said = Said(pieces=["data: a\u2028b\r\n".encode(), b"data: c\n\nda"], wait=go_on)
    with (
        serving(in_turn(said)) as server,
        connect(peer(server.url), {}) as client,
        client.stream("POST", "/", json={}) as answer,
    ):
        lines = answer.lines()
        assert [next(lines), next(lines), next(lines)] == ["data: a\u2028b", "data: c", ""]
        go_on.set()
        assert list(lines) == ["da"]


def test_an_async_stream_is_read_while_it_comes() -> None:
    go_on = threading.Event()

    async def read(url: str) -> list[str]:
        found = []
        async with connect_async(peer(url), {}) as client, client.stream("GET", "/") as answer:
            async for line in answer.lines():
                found.append(line)
                go_on.set()
        return found

    with serving(in_turn(Said(pieces=[b"one\n", b"two"], wait=go_on))) as server:
        assert asyncio.run(read(server.url)) == ["one", "two"]


def test_a_stream_that_breaks_off_says_so_after_what_came() -> None:
    with (
        serving(in_turn(Said(pieces=[b"one\n"], cut=True))) as server,
        connect(peer(server.url), {}) as client,
        client.stream("GET", "/") as answer,
    ):
        lines = answer.lines()
        assert next(lines) == "one"
        with pytest.raises(PeerAnswerError):
            next(lines)


def test_cancelling_ends_a_waiting_request_at_once() -> None:
    async def cancel(url: str) -> float:
        async with connect_async(peer(url), {}) as client:
            task = asyncio.create_task(client.request("GET", "/"))
            await asyncio.sleep(0.05)
            started = time.monotonic()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            return time.monotonic() - started

    with socket.create_server(("127.0.0.1", 0)) as silent:
        assert asyncio.run(cancel(f"http://127.0.0.1:{silent.getsockname()[1]}")) < 5


def test_a_proxy_is_asked_for_other_machines() -> None:
    with (
        serving(lambda asked: Said(body={"path": asked.path})) as proxy,
        connect(peer("http://example.invalid/x"), {"http_proxy": proxy.url}) as client,
    ):
        answer = client.request("GET", "/y")
    assert answer.json() == {"path": "http://example.invalid/x/y"}


@pytest.mark.parametrize("proxy", ["gopher://p:1", "socks5://user:pass@p:1", "http://[::1"])
def test_a_proxy_that_can_not_be_used_is_refused(proxy: str) -> None:
    try:
        import socksio  # noqa: F401
    except ImportError:
        pass
    else:
        if proxy.startswith("socks"):
            pytest.skip("socksio is installed: a SOCKS proxy can be used")
    with pytest.raises(PeerConfigError) as caught:
        connect(peer("http://example.invalid"), {"all_proxy": proxy})
    assert "user:pass" not in str(caught.value.as_json())


def test_certificates_that_are_not_there_are_named(tmp_path: Any) -> None:
    with pytest.raises(PeerConfigError, match="SSL_CERT_FILE"):
        connect(peer("https://example.invalid"), {"SSL_CERT_FILE": str(tmp_path / "none")})


def test_tls_to_a_plain_server_is_an_error_of_ours(echo: LoopbackServer) -> None:
    with pytest.raises(DshloopError) as caught:
        get(peer(echo.url.replace("http:", "https:")))
    assert caught.value.exit_code == ExitCode.PEER


@given(st.lists(st.sampled_from([b"a", b"\n", b"\r", "\u2028é".encode()])), st.data())
def test_lines_do_not_depend_on_how_bytes_arrive(parts: list[bytes], data: st.DataObject) -> None:
    text = b"".join(parts)
    whole = LineBuffer()
    expected = whole.feed(text) + whole.rest()
    buffer, found, at = LineBuffer(), [], 0
    while at < len(text):
        size = data.draw(st.integers(1, len(text) - at))
        found += buffer.feed(text[at : at + size])
        at += size
    assert found + buffer.rest() == expected
    lines = text.decode().replace("\r\n", "\n").replace("\r", "\n").split("\n")
    assert expected == (lines if lines[-1] else lines[:-1])


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("7", 7.0),
        ("Thu, 01 Jan 1970 00:01:40 GMT", 90.0),
        ("Thu, 01 Jan 1970 00:00:01 GMT", 0.0),
        ("soon", None),
        ("", None),
        ("-1", None),
    ],
)
def test_retry_after_is_seconds_or_a_date(value: str, seconds: float | None) -> None:
    assert asked_pause({"retry-after": value}, now=10.0) == seconds


def test_requests_cancelled_at_any_moment_leave_room_for_the_next() -> None:
    over = threading.Event()

    async def body(url: str) -> None:
        async with connect_async(peer(url), {}) as client:
            for moment in range(1, 26):  # how far a request is, in turns of the event loop
                asking = [asyncio.create_task(client.request("GET", "/slow")) for _ in range(60)]
                for _ in range(moment):
                    await asyncio.sleep(0)
                for one in asking:
                    one.cancel()
                await asyncio.gather(*asking, return_exceptions=True)
            answer = await asyncio.wait_for(client.request("GET", "/last"), 20)
            assert answer.json() == {}

    def answer(asked: Asked) -> Said:
        return Said(body={}, wait=over if asked.path == "/slow" else None)

    with serving(answer) as server:
        try:
            asyncio.run(body(server.url))
        finally:
            over.set()


@both
def test_an_answer_that_comes_in_drops_ends_some_time(ask: Any) -> None:
    drops = Said(pieces=[b" "] * 200, pause=0.02)
    with (
        serving(lambda _: drops) as server,
        pytest.raises(PeerTimeoutError, match=r"within 0\.2 s"),
    ):
        ask(peer(server.url, timeouts=Timeouts(whole=0.2)))
