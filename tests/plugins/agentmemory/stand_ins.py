"""A host with the bridge's row, sessions played by hand, and a peer that notes what it is asked."""

from __future__ import annotations

import asyncio
import http.client
import json
import socket
import threading
from collections.abc import Callable, Coroutine, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from dshloop.host.abort import AbortSignal
from dshloop.host.host import Host
from dshloop.host.mount import Mount
from dshloop.host.tools import Execution, ToolResult
from dshloop.plugins.agentmemory.config import read_bridge_config
from dshloop.plugins.agentmemory.row import Agentmemory
from dshloop.plugins.memory_place import SERVICE, MemoryPlace
from dshloop.sessions.session import MemoryLog

TIME = 1767225600.0
_FORWARDED = ("Content-Type", "Authorization")


@dataclass(frozen=True)
class Asked:
    """A request that came in."""

    method: str
    path: str
    body: Any
    headers: Mapping[str, str]


Answerer = Callable[[Asked], tuple[int, Any] | None]
"""Answers a request; None is what a daemon would say."""


@dataclass
class Daemon:
    """Answers on loopback as it is told to, else as a daemon does; notes all requests.

    With an ``upstream`` it is a proxy in front of a real one. ``after`` is called before the answer
    goes out; what it or ``answer`` raises breaks the connection off.
    """

    answer: Answerer = lambda _asked: None
    after: Callable[[Asked, int], None] = lambda _asked, _status: None
    upstream: str = ""
    asked: list[Asked] = field(default_factory=list)
    context: str = ""
    connections: list[socket.socket] = field(default_factory=list)

    def __post_init__(self) -> None:
        daemon = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            wbufsize = -1  # head and body in one piece: no delayed acknowledgements

            def setup(self) -> None:
                super().setup()
                daemon.connections.append(self.connection)

            def do_GET(self) -> None:
                self._do()

            def do_POST(self) -> None:
                self._do()

            def _do(self) -> None:
                raw = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                body = json.loads(raw) if raw else None
                path = self.path.removeprefix("/agentmemory")
                asked = Asked(self.command, path, body, dict(self.headers))
                daemon.asked.append(asked)
                told = daemon.answer(asked)
                status, value = told if told is not None else daemon.usual(asked)
                daemon.after(asked, status)
                data = value if isinstance(value, bytes) else json.dumps(value).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(data)))
                self.send_header("Content-Type", "application/json")
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_: Any) -> None:
                pass

        class Server(ThreadingHTTPServer):
            daemon_threads = True
            block_on_close = False

            def handle_error(self, *_: Any) -> None:
                pass

        self._make = lambda port: Server(("127.0.0.1", port), Handler)
        self._port = 0
        self.reopen()
        self._port = self._server.server_address[1]
        self.url = f"http://127.0.0.1:{self._port}"

    def usual(self, asked: Asked) -> tuple[int, Any]:
        """Answer as a daemon without anything stored, or as the one upstream does."""
        if self.upstream:
            return self._forwarded(asked)
        answers: dict[str, tuple[int, Any]] = {
            "/livez": (200, {"status": "ok", "service": "agentmemory"}),
            "/session/start": (200, {"session": {}, "context": self.context}),
            "/session/end": (200, {"success": True}),
            "/context": (200, {"context": self.context, "blocks": 0, "tokens": 0}),
            "/observe": (201, {"observationId": "obs_1"}),
            "/remember": (201, {"success": True, "memory": {"id": "mem_1"}}),
            "/smart-search": (200, {"mode": "compact", "results": []}),
            "/search": (200, {"format": "full", "results": []}),
            "/sessions": (200, {"sessions": []}),
        }
        return answers.get(asked.path, (404, b""))

    def _forwarded(self, asked: Asked) -> tuple[int, bytes]:
        connection = http.client.HTTPConnection(self.upstream.partition("//")[2], timeout=30)
        try:
            body = None if asked.body is None else json.dumps(asked.body)
            kept = {key: value for key, value in asked.headers.items() if key in _FORWARDED}
            connection.request(asked.method, f"/agentmemory{asked.path}", body, kept)
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

    def bodies(self, path: str) -> list[Any]:
        """Give the bodies of the requests of one path."""
        return [one.body for one in self.asked if one.path == path]

    def paths(self) -> list[str]:
        """Give the paths that were asked for, but for livez."""
        return [one.path for one in self.asked if one.path != "/livez"]

    def reopen(self) -> None:
        """Listen, after `close` at the same address again."""
        self._server = self._make(self._port)
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    def close(self) -> None:
        """Stop listening, and break off every connection."""
        self._server.shutdown()
        self._server.server_close()
        while self.connections:
            with suppress(OSError):
                self.connections.pop().shutdown(socket.SHUT_RDWR)


class Bridged:
    """A host on which the row runs."""

    def __init__(
        self,
        url: str,
        data: Path,
        variables: Mapping[str, str] | None = None,
        open_store: Any = None,
        **config: Any,
    ) -> None:
        self.said: list[str] = []
        self.host = Host(SimpleNamespace(), on_warning=self.said.append)  # type: ignore[arg-type]
        place = MemoryPlace(data, data / "outbox", open_store, variables or {})
        self.host.provide(SERVICE, place)
        self.config = read_bridge_config({"baseUrl": url, "curlTimeoutMs": 2000, **config})
        self.mount = Mount(self.host)

    async def __aenter__(self) -> Bridged:
        try:
            await Agentmemory().apply(self.mount, self.config)
        except BaseException:
            await self.mount.unwind()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.mount.unwind()
        await asyncio.sleep(0)

    @property
    def listening(self) -> bool:
        """Whether anything listens or is offered."""
        names = ("session/created", "session/event", "session/flush", "agent/pre-step")
        return bool(self.host.tools.offered) or any(map(self.host.hooks.listeners, names))

    def session(self, id_: str = "s1", cwd: str | None = "/nowhere/dsh-smoke-test") -> Played:
        """Begin a session."""
        header: dict[str, Any] = {"version": 0, "id": id_, "createdAt": 1767225600000}
        log = MemoryLog(header if cwd is None else {**header, "cwd": cwd}, [], lambda: TIME)
        played = Played(self, log)
        self.host.hooks.emit("session/created", log)
        return played

    async def tool(
        self, name: str, played: Played | None = None, signal: AbortSignal | None = None,
        **arguments: Any,
    ) -> Any:  # fmt: skip
        """Call a tool as the model does; gives the value of its result."""
        result = await self.result(name, played, signal, **arguments)
        return result.value

    async def result(
        self, name: str, played: Played | None = None, signal: AbortSignal | None = None,
        **arguments: Any,
    ) -> ToolResult:  # fmt: skip
        """Call a tool as the model does."""
        tool = self.host.tools.get(name)
        assert tool is not None
        agent: Any = None if played is None else SimpleNamespace(session=played.log, id=played.id)
        execution = Execution(
            agent, "c", name, json.dumps(arguments), 1, 1, signal or AbortSignal(), tool
        )
        execution.arguments = tool.read_arguments(execution.raw_arguments)
        given: Any = tool.body(execution)
        return ToolResult.of(await given)


class Played:
    """A session that is played by hand."""

    def __init__(self, bridged: Bridged, log: MemoryLog) -> None:
        self.bridged, self.log, self.id = bridged, log, log.header.id
        self._calls = 0

    def append(self, kind: str, data: Any) -> None:
        """Append an event and tell the listeners."""
        event = self.log.append(kind, data)
        self.bridged.host.hooks.emit("session/event", self.log, event)

    def prompt(self, text: str, id_: str | None = None, **source: str) -> None:
        """Have the user say something."""
        self.append("user/message", message(text, id_, **source))

    def called(self, name: str, arguments: str, output: str, **more: Any) -> None:
        """Have a tool called and answer."""
        self._calls += 1
        id_ = f"call{self._calls}"
        self.append("tool/call", {"callId": id_, "name": name, "arguments": arguments})
        block = {"type": "tool-result", "toolCallId": id_, "content": text(output)}
        block |= {"isError": True} if more.pop("failed", False) else {}
        self.append("tool/result", {"message": {"role": "user", "content": [block]}, **more})

    def answered(self, said: str) -> None:
        """Have the model answer."""
        source = {"kind": "model", "provider": "p", "model": "m"}
        told = {"role": "assistant", "content": text(said), "source": source}
        self.append("assistant/message", {"turn": 1, "step": 1, "message": told})

    def ended(self, kind: str = "completed") -> None:
        """End the turn."""
        self.append("turn/end", {"turn": 1, "reason": {"kind": kind}})

    async def flush(self) -> None:
        """Flush as the end of a turn does."""
        await self.bridged.host.hooks.parallel("session/flush", self.log)

    def dispose(self) -> None:
        """End the session."""
        self.bridged.host.hooks.emit("session/disposed", self.log)

    async def step(
        self, *messages: Any, kind: str = "enter", signal: AbortSignal | None = None
    ) -> Any:
        """Ask what a step begins with."""
        agent = SimpleNamespace(session=self.log, id=self.id)
        event = {"agent": agent, "turn": 1, "step": 1, "messages": list(messages)}
        return await self.bridged.host.hooks.waterfall(
            "agent/pre-step",
            {**event, "signal": signal or AbortSignal()},
            last=lambda: {"kind": kind, "messages": list(messages)},
        )

    async def injected(self, *messages: Any) -> list[tuple[str, str]]:
        """Give the forms and texts of what a step begins with, behind its own messages."""
        found = (await self.step(*messages))["messages"]
        assert found[: len(messages)] == list(messages)
        more = found[len(messages) :]
        return [(one["source"]["form"], one["content"][0]["text"]) for one in more]


def text(said: str) -> list[dict[str, str]]:
    """Make the blocks of a text."""
    return [{"type": "text", "text": said}]


def message(said: str, id_: str | None = None, **source: str) -> dict[str, Any]:
    """Make a user's message."""
    made = {"role": "user", "content": text(said), "source": source or {"kind": "user"}}
    return made if id_ is None else {**made, "id": id_}


def run(body: Callable[[], Coroutine[Any, Any, None]], seconds: float = 60) -> None:
    """Run a test's coroutine."""
    asyncio.run(asyncio.wait_for(body(), seconds))
