"""A real HTTP server on loopback whose answers a test writes down."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Asked:
    """A request as it arrived."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class Said:
    """An answer; ``pieces`` are sent one by one, with a ``pause`` behind each; ``cut`` ends
    the connection after them."""

    status: int = 200
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)
    pieces: list[bytes] | None = None
    cut: bool = False
    wait: threading.Event | None = None
    pause: float = 0.0


Answering = Callable[[Asked], Said]


class LoopbackServer:
    """``url`` is where it listens; ``asked`` what it was asked so far."""

    def __init__(self, answer: Answering) -> None:
        self.answer = answer
        self.asked: list[Asked] = []
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()

    def stop(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                length = int(self.headers.get("Content-Length") or 0)
                headers = {name.lower(): value for name, value in self.headers.items()}
                asked = Asked(self.command, self.path, headers, self.rfile.read(length))
                server.asked.append(asked)
                try:
                    self._say(server.answer(asked))
                except OSError:  # the client has gone
                    self.close_connection = True

            do_POST = do_GET  # noqa: N815

            def _say(self, said: Said) -> None:
                body = said.body if isinstance(said.body, bytes) else json.dumps(said.body).encode()
                self.send_response(said.status)
                for name, value in said.headers.items():
                    self.send_header(name, value)
                whole = said.pieces is None
                self.send_header(
                    *(
                        ("Content-Length", str(len(body)))
                        if whole
                        else ("Transfer-Encoding", "chunked")
                    )
                )
                self.end_headers()
                if whole:
                    self.wfile.write(body)
                    return
                for piece in said.pieces or ():
                    self.wfile.write(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
                    self.wfile.flush()
                    time.sleep(said.pause)
                if said.wait is not None:
                    said.wait.wait(10)
                if said.cut:
                    self.close_connection = True
                    return
                self.wfile.write(b"0\r\n\r\n")

            def log_message(self, *_: Any) -> None:
                pass

        return Handler


@contextmanager
def serving(answer: Answering) -> Iterator[LoopbackServer]:
    """Run a server for the length of a block."""
    server = LoopbackServer(answer)
    try:
        yield server
    finally:
        server.stop()


def in_turn(*answers: Said) -> Answering:
    """Give one answer after the other, the last one for ever."""
    left = list(answers)
    return lambda _asked: left.pop(0) if len(left) > 1 else left[0]
