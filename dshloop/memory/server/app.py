"""The server as an ASGI application: the table of routes, and what happens around each call.

Checks come in the contract's order: Host and Origin, the route (404, 405 without a body), the
secret (401), then the body. A call that fails in a way nobody foresaw is a 500 with a number that
the log has too; it ends nothing else.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple
from urllib.parse import parse_qsl

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Message, Receive, Scope, Send

from dshloop.errors import DshloopError, StoreBusyError, UsageError
from dshloop.memory.server import access
from dshloop.memory.server.bodies import Bodies, Body, parsed
from dshloop.memory.server.calls import Answer, Call, CallRefusedError, encoded
from dshloop.memory.server.lanes import READ, STREAM, Lane, Lanes
from dshloop.memory.server.routes import BASE, ROUTES, Mapped
from dshloop.memory.server.state import State
from dshloop.memory.store import MemoryStore

PART = 1 << 18
"""Characters of a long answer that are sent at once."""

SEND_SECONDS = 60.0
"""How long a client may take to accept a part of an answer."""

_UNREAD = 1 << 20  # bytes of a refused body that are taken in, so that its sender hears the answer


def _silence(text: str) -> None:
    """Keep no log."""


class Done(NamedTuple):
    """What a lane made of a call: a status and its first part; ``rest`` makes further ones."""

    status: int
    part: bytes
    rest: Iterator[bytes] | None = None


class Server:
    """The application; `close` lets go of the stores."""

    def __init__(self, state: State, lanes: Lanes, log: Callable[[str], None] = _silence) -> None:
        self.state = state
        self._lanes = lanes
        self._log = log
        self._bodies = Bodies()
        self._routed = Starlette(
            routes=[self._route(one) for one in ROUTES],
            exception_handlers={HTTPException: _without_body},
        )
        self._routed.router.redirect_slashes = False

    def close(self) -> None:
        """Finish what is at work and close the stores."""
        self._lanes.close()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection's request."""
        if scope["type"] != "http":
            await self._routed(scope, receive, send)
            return
        headers = Request(scope).headers
        host, origin = headers.get("host"), headers.get("origin")
        settings = self.state.settings
        sending = _Patient(send, _cors(settings.port, origin))
        if not access.host_is_ours(settings, host):
            await _json(403, {"error": "forbidden host"})(scope, receive, sending)
        elif not access.origin_is_ours(settings, origin, host):
            await _json(403, {"error": "forbidden origin"})(scope, receive, sending)
        elif scope["method"] == "OPTIONS":
            await Response(status_code=200)(scope, receive, sending)
        else:
            await self._routed(scope, receive, sending)

    def _route(self, mapped: Mapped) -> Route:
        async def endpoint(request: Request) -> Response:
            return await self._answer(request, mapped)

        route = Route(BASE + mapped.path, endpoint, methods=[mapped.method])
        route.methods = {mapped.method}  # no HEAD, as agentmemory has none
        return route

    async def _answer(self, request: Request, mapped: Mapped) -> Response:
        started = time.perf_counter()
        response = await self._called(request, mapped)
        failed = response.status_code >= 400
        self.state.measured(mapped.name, time.perf_counter() - started, failed=failed)
        if failed and response.status_code != 500:  # `_fault` tells of those, with their numbers
            self._log(f"{response.status_code} {mapped.method} {mapped.path}")
        return response

    async def _called(self, request: Request, mapped: Mapped) -> Response:
        if not mapped.public and not access.bearer_is_right(
            self.state.settings, request.headers.get("authorization")
        ):
            await _take_in(request)
            return _json(401, {"error": "unauthorized"})
        try:
            body = await self._body(request, mapped)
        except CallRefusedError as refusal:
            return _json(refusal.status, {"error": refusal.text})
        except ClientDisconnect:
            return Response(status_code=499)  # nobody is there to read it
        try:
            return await self._on_lane(request, mapped, body)
        finally:
            body.release()

    async def _body(self, request: Request, mapped: Mapped) -> Body:
        if mapped.method == "GET":
            return Body(b"")
        settings = self.state.settings
        limit = settings.import_limit if mapped.imports else settings.body_limit
        return await self._bodies.read(request, limit)

    async def _on_lane(self, request: Request, mapped: Mapped, body: Body) -> Response:
        def work(store: MemoryStore) -> Done:
            return self._done(mapped, request, body.data, store)

        try:
            if mapped.lane == STREAM:
                return await self._on_streamer(work)
            if mapped.lane == READ:
                done = await self._lanes.read(work)
            elif mapped.imports:
                done = await self._lanes.write_alone(work)
            else:
                done = await self._lanes.write(work, _has_failed)
        except Exception as fault:  # the store can't be opened
            done = self._fault(mapped, fault)
        return _response(done)

    async def _on_streamer(self, work: Callable[[MemoryStore], Done]) -> Response:
        lane = await self._lanes.take(STREAM)
        lent = False
        try:
            done = await lane.do(work)
            if done.rest is None:
                return _response(done)
            lent = True
            return _Streamed(done, lane, lambda: self._lanes.give(STREAM, lane))
        finally:
            if not lent:
                self._lanes.give(STREAM, lane)

    def _done(self, mapped: Mapped, request: Request, data: bytes, store: MemoryStore) -> Done:
        """Run an endpoint, on a lane's thread."""
        try:
            answer = mapped.endpoint(self._call(request, data), store)
            return _done(answer)
        except CallRefusedError as refusal:
            return _refused(refusal.status, refusal.text)
        except Exception as fault:
            return self._fault(mapped, fault)

    def _fault(self, mapped: Mapped, fault: Exception) -> Done:
        """Answer what nobody foresaw, and what the store refuses."""
        if isinstance(fault, UsageError):
            return _refused(400, fault.message)
        if isinstance(fault, StoreBusyError):
            return _refused(503, fault.message)
        number = self.state.new_id("err").rpartition("_")[2]
        said = fault.message if isinstance(fault, DshloopError) else type(fault).__name__
        self._log(f"500 {mapped.method} {mapped.path} {number} {type(fault).__name__}: {fault}")
        return Done(500, encoded({"error": said, "error_id": number}).encode())

    def _call(self, request: Request, data: bytes) -> Call:
        scope = request.scope
        query = parse_qsl(
            scope["query_string"].decode("latin-1"), keep_blank_values=True, errors="replace"
        )
        return Call(
            state=self.state,
            query=dict(query),
            body=parsed(data, request.headers.get("content-type", "")),
            tail=scope["raw_path"].rpartition(b"/")[2].decode("latin-1"),
        )


class _Streamed(Response):
    """A long answer, made part by part on its lane while the client takes it."""

    def __init__(self, done: Done, lane: Lane, give: Callable[[], None]) -> None:
        super().__init__(status_code=done.status, media_type="application/json")
        del self.headers["content-length"]
        self._done = done
        self._lane = lane
        self._give = give

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        rest = self._done.rest
        assert rest is not None
        request = Request(scope, receive)
        try:
            start = {"status": self.status_code, "headers": self.raw_headers}
            await send({"type": "http.response.start", **start})
            part: bytes | None = self._done.part
            while part is not None:
                await send({"type": "http.response.body", "body": part, "more_body": True})
                if await request.is_disconnected():
                    return
                part = await self._lane.do(lambda _: next(rest, None))
            await send({"type": "http.response.body", "body": b""})
        finally:
            self._give()


class _Patient:
    """A send that adds CORS headers, and gives a client up that doesn't take what it asked for."""

    def __init__(self, send: Send, headers: Sequence[tuple[bytes, bytes]]) -> None:
        self._send = send
        self._headers = headers

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start" and self._headers:
            message = {**message, "headers": [*message["headers"], *self._headers]}
        async with asyncio.timeout(SEND_SECONDS):
            await self._send(message)


def _done(answer: Answer) -> Done:
    if answer.parts is None:
        value = answer.value
        return Done(answer.status, b"" if value is None else encoded(value).encode())
    parts = _gathered(answer.parts)
    first = next(parts, b"")
    second = next(parts, None)
    if second is None:
        return Done(answer.status, first)
    return Done(answer.status, first, _again(second, parts))


def _again(second: bytes, parts: Iterator[bytes]) -> Iterator[bytes]:
    yield second
    yield from parts


def _gathered(texts: Iterator[str]) -> Iterator[bytes]:
    """Join small texts to parts that are worth sending."""
    waiting: list[str] = []
    size = 0
    for text in texts:
        waiting.append(text)
        size += len(text)
        if size >= PART:
            yield "".join(waiting).encode()
            waiting, size = [], 0
    if waiting:
        yield "".join(waiting).encode()


def _refused(status: int, text: str) -> Done:
    return Done(status, encoded({"error": text}).encode() if text else b"")


def _json(status: int, value: Any) -> Response:
    return Response(encoded(value).encode(), status, media_type="application/json")


def _response(done: Done) -> Response:
    return Response(done.part, done.status, media_type="application/json" if done.part else None)


def _has_failed(done: Done) -> bool:
    return done.status >= 500


async def _without_body(request: Request, fault: Exception) -> Response:
    status = fault.status_code if isinstance(fault, HTTPException) else 500
    await _take_in(request)
    return Response(status_code=status)


async def _take_in(request: Request) -> None:
    """Read what a refused call still sends, up to a limit, and drop it."""
    taken = 0
    try:
        async with asyncio.timeout(5.0):
            async for piece in request.stream():
                taken += len(piece)
                if taken > _UNREAD:
                    return
    except (ClientDisconnect, TimeoutError, RuntimeError):
        return


def _cors(port: int, origin: str | None) -> list[tuple[bytes, bytes]]:
    """Give the headers that let a page of this machine read the answer (agentmemory 1)."""
    if origin is None:
        return []
    return [
        (b"access-control-allow-origin", origin.encode("latin-1", "replace")),
        (b"access-control-allow-methods", access.METHODS.encode()),
        (b"access-control-allow-headers", b"Content-Type,Authorization"),
        (b"vary", b"Origin"),
    ]
