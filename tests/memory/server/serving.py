"""A server in a process of its own, and a client that says what it got."""

from __future__ import annotations

import http.client
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

SECONDS = 60.0


@dataclass(frozen=True)
class Got:
    """An answer: its status, its bytes and its headers in lower case."""

    status: int
    body: bytes
    headers: Mapping[str, str]

    @property
    def json(self) -> Any:
        """The value of the body."""
        return json.loads(self.body)


class Client:
    """One kept-alive connection."""

    def __init__(self, url: str) -> None:
        self._connection = http.client.HTTPConnection(url.partition("//")[2], timeout=SECONDS)

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._connection.close()

    def send(
        self,
        method: str,
        path: str,
        body: Any = None,
        headers: Mapping[str, str] | None = None,
    ) -> Got:
        """Send a request; a body that is no bytes goes as JSON."""
        data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        given = {"Content-Type": "application/json", **(headers or {})}
        self._connection.request(method, f"/agentmemory{path}", data, given)
        answer = self._connection.getresponse()
        named = {name.lower(): value for name, value in answer.getheaders()}
        return Got(answer.status, answer.read(), named)

    def get(self, path: str, **headers: str) -> Got:
        """Get a path."""
        return self.send("GET", path, None, headers)

    def post(self, path: str, **body: Any) -> Got:
        """Post an object."""
        return self.send("POST", path, body)


class Served:
    """A running server."""

    def __init__(self, process: subprocess.Popen[str], ready: Mapping[str, Any]) -> None:
        self.process = process
        self.ready = ready
        self.url: str = ready["url"]

    @property
    def port(self) -> int:
        """Where it listens."""
        return int(self.url.rpartition(":")[2])

    def client(self) -> Client:
        """Give a new connection."""
        return Client(self.url)

    def kill(self) -> None:
        """End it as a crash does."""
        self.process.kill()
        self.process.communicate(timeout=SECONDS)

    def stop(self, number: int = signal.SIGTERM) -> tuple[int, str, str]:
        """Ask it to end; give the exit code and what else was printed."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        out, err = self.process.communicate(timeout=SECONDS)
        return self.process.returncode, out, err


def start(data: Path, *words: str, **variables: str) -> Served:
    """Start a server on a data folder and wait until it is ready."""
    command = [sys.executable, "-m", "dshloop", "memory", "serve", "--json", *words]
    if "--port" not in words:
        command += ["--port", "0"]
    process = subprocess.Popen(
        command,
        env={**os.environ, "DSHLOOP_DATA": str(data), **variables},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    line = process.stdout.readline()
    if not line:
        out, err = process.communicate(timeout=SECONDS)
        raise AssertionError(f"the server did not start: {out}{err}")
    return Served(process, json.loads(line))


@contextmanager
def served(data: Path, *words: str, **variables: str) -> Iterator[Served]:
    """Lend a server; it ends with the block."""
    one = start(data, *words, **variables)
    try:
        yield one
    finally:
        if one.process.poll() is None:
            one.kill()


def observation(session: str, prompt: str, **more: Any) -> dict[str, Any]:
    """Give the body of an observation of a prompt."""
    return {
        "hookType": "prompt_submit",
        "sessionId": session,
        "project": "p",
        "cwd": "/w",
        "timestamp": "2026-01-05T10:00:00.000Z",
        "data": {"prompt": prompt},
        **more,
    }


def found(client: Client, query: str, **more: Any) -> list[str]:
    """Give the ids that a search finds."""
    got = client.post("/search", query=query, format="compact", limit=100, **more)
    assert got.status == 200, got
    return [one["obsId"] for one in got.json["results"]]
