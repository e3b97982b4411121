"""Who is slow is given up: heads, bodies, and answers that nobody takes."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
import uvicorn
from starlette.requests import Request
from starlette.responses import Response
from uvicorn.server import ServerState

from dshloop.memory.server import app, bodies, protocol
from dshloop.memory.server.bodies import Bodies
from dshloop.memory.server.calls import CallRefusedError

Talk = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[Any]]
HEAD = b"POST / HTTP/1.1\r\nHost: localhost\r\n"
ANSWERED = b"HTTP/1.1 200 OK\r\n"


async def answering(scope: Any, receive: Any, send: Any) -> None:
    await Request(scope, receive).body()
    await Response(b"fine")(scope, receive, send)


def talk(application: Any, talking: Talk) -> Any:
    """Let a client talk to an application behind our protocol."""

    async def run() -> Any:
        config = uvicorn.Config(application, loop="asyncio", ws="none", lifespan="off")
        config.load()
        state = ServerState()
        loop = asyncio.get_running_loop()

        def made() -> asyncio.Protocol:
            return protocol.PatientProtocol(config=config, server_state=state, app_state={})

        server = await loop.create_server(made, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        try:
            async with asyncio.timeout(20):
                return await talking(reader, writer)
        finally:
            writer.close()
            server.close()

    return asyncio.run(run())


@pytest.fixture(autouse=True)
def hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(protocol, "HEAD_SECONDS", 0.3)
    monkeypatch.setattr(protocol, "_CHECK_SECONDS", 0.05)
    monkeypatch.setattr(bodies, "PIECE_SECONDS", 0.3)
    monkeypatch.setattr(app, "SEND_SECONDS", 0.3)


@pytest.mark.parametrize("sent", [b"", b"P", HEAD])
def test_a_head_that_does_not_end_ends_the_connection(sent: bytes) -> None:
    async def slow(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
        writer.write(sent)
        return await reader.read()

    assert talk(answering, slow) == b""


def test_the_next_head_of_a_connection_has_its_own_time() -> None:
    async def slow(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
        for _ in range(2):
            writer.write(HEAD + b"Content-Length: 1\r\n\r\nx")
            assert await reader.readline() == ANSWERED
            await reader.readuntil(b"fine")
            await asyncio.sleep(0.6)  # idle: nobody is in a hurry
        writer.write(HEAD)
        return await reader.read()

    assert talk(answering, slow) == b""


def test_who_has_said_all_still_gets_the_answer() -> None:
    async def half(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
        writer.write(HEAD + b"Content-Length: 1\r\n\r\nx")
        writer.write_eof()
        return await reader.read()

    async def late(scope: Any, receive: Any, send: Any) -> None:
        await asyncio.sleep(0.2)
        await answering(scope, receive, send)

    assert talk(late, half).startswith(ANSWERED)


def test_a_body_that_stops_is_refused() -> None:
    refused: list[int] = []

    async def reading(scope: Any, receive: Any, send: Any) -> None:
        try:
            await Bodies().read(Request(scope, receive), 100)
        except CallRefusedError as error:
            refused.append(error.status)
            await Response(status_code=error.status)(scope, receive, send)

    async def slow(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
        writer.write(HEAD + b"Content-Length: 50\r\n\r\nx")
        return await reader.readline()

    assert talk(reading, slow).startswith(b"HTTP/1.1 408 ")
    assert refused == [408]


def test_an_answer_that_nobody_takes_is_given_up() -> None:
    gone: list[bool] = []

    async def long(scope: Any, receive: Any, send: Any) -> None:
        patient = app._Patient(send, ())
        try:
            await patient({"type": "http.response.start", "status": 200, "headers": []})
            for _ in range(1000):
                part = {"type": "http.response.body", "body": b"x" * 1_000_000, "more_body": True}
                await patient(part)
        except TimeoutError:
            gone.append(True)

    async def standing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(HEAD + b"Content-Length: 0\r\n\r\n")
        while not gone:
            await asyncio.sleep(0.05)

    talk(long, standing)
    assert gone == [True]


def test_large_bodies_wait_for_one_another(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bodies, "LARGE", 10)

    def sent() -> Request:
        pieces = [{"type": "http.request", "body": b"x" * 20, "more_body": False}]

        async def receive() -> Any:
            return pieces.pop()

        return Request({"type": "http", "headers": []}, receive)

    async def run() -> None:
        reading = Bodies(large_at_once=2)
        first, second = [await reading.read(sent(), 100) for _ in range(2)]
        third = asyncio.create_task(reading.read(sent(), 100))
        await asyncio.sleep(0.05)
        assert not third.done()
        first.release()
        first.release()  # once is enough
        assert (await third).data == b"x" * 20
        fourth = asyncio.create_task(reading.read(sent(), 100))
        await asyncio.sleep(0.05)
        assert not fourth.done()
        second.release()
        await fourth

    monkeypatch.setattr(bodies, "PIECE_SECONDS", 20)
    asyncio.run(run())
