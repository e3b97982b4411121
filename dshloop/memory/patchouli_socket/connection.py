"""One connection to the daemon: a thread reads its lines and gives each to who waits for it."""

from __future__ import annotations

import itertools
import socket
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from pathlib import Path
from typing import Any

from dshloop.errors import PeerAnswerError, PeerDownError
from dshloop.files import shown
from dshloop.memory.patchouli_socket.subscription import Subscription
from dshloop.memory.patchouli_socket.wire import Change, Reply, failure, read_line, request_line

Result = Mapping[str, Any]
_CHUNK = 1 << 16


class ConnectionLostError(Exception):
    """The daemon has closed the connection, or it broke."""


class Connection:
    """A connected socket. A broken line fails only a call that waits alone, never the others."""

    def __init__(self, endpoint: Path, timeout: float) -> None:
        self.endpoint = endpoint
        self.lost = False
        self.broken_lines = 0
        self.subscriptions: dict[str, Subscription] = {}
        self._numbers = itertools.count(1)
        self._pending: dict[int, tuple[str, Future[Result], Callable[[Result], None] | None]] = {}
        self._lock = threading.Lock()
        self._sending = threading.Lock()
        self._socket = _connected(endpoint, timeout)
        self._reader = threading.Thread(target=self._read, name="patchouli", daemon=True)
        self._reader.start()

    def send(
        self,
        method: str,
        params: Mapping[str, Any],
        at_once: Callable[[Result], None] | None = None,
    ) -> Future[Result]:
        """Send a request; ``at_once`` sees its result before any later line is read.

        Raises ConnectionLostError, and PATCHOULI_FAILED for a request that is too long.
        """
        number = next(self._numbers)
        line = request_line(number, method, params)
        future: Future[Result] = Future()
        with self._lock:
            if self.lost:
                raise ConnectionLostError("the connection is lost")
            self._pending[number] = (method, future, at_once)
        try:
            with self._sending:
                self._socket.sendall(line)
        except OSError as error:
            self._end(f"sending failed: {error}")
            raise ConnectionLostError(str(error)) from None
        return future

    def forget(self, future: Future[Result]) -> None:
        """Wait for an answer no longer; a late one is ignored."""
        with self._lock:
            for number, (_, pending, _) in list(self._pending.items()):
                if pending is future:
                    del self._pending[number]

    def close(self, why: str = "closed") -> None:
        """Close the connection; what waits fails, subscriptions end as closed by the client."""
        for subscription in list(self.subscriptions.values()):
            subscription.close("client-closed")
        self._end(why)

    # --- the reading thread --------------------------------------------------------------------

    def _read(self) -> None:
        buffer: list[bytes] = []
        try:
            while chunk := self._socket.recv(_CHUNK):
                *lines, rest = chunk.split(b"\n")
                for line in lines:
                    self._take(b"".join((*buffer, line)))
                    buffer.clear()
                if rest:
                    buffer.append(rest)
        except OSError as error:
            self._end(str(error))
            return
        self._end("the daemon closed the connection")

    def _take(self, line: bytes) -> None:
        if not line.strip():
            return
        try:
            read = read_line(line)
        except (ValueError, RecursionError) as error:
            self._broken(error)
            return
        if isinstance(read, Change):
            found = self.subscriptions.get(read.subscription)
            if found is not None:
                found.put(read)
        elif read is not None:
            self._answer(read)

    def _answer(self, reply: Reply) -> None:
        with self._lock:
            method, future, at_once = self._pending.pop(reply.id, ("", None, None))
        if future is None:
            if reply.id is None and reply.error is not None:  # a request nobody could read
                self._broken(ValueError(str(reply.error.get("message"))))
            return
        if reply.error is not None:
            future.set_exception(failure(method, reply.error))
            return
        assert reply.result is not None
        try:
            if at_once is not None:
                at_once(reply.result)
            future.set_result(reply.result)
        except Exception as error:
            future.set_exception(
                PeerAnswerError(f"Patchouli's answer to {method} lacks something: {error}")
            )

    def _broken(self, error: Exception) -> None:
        """Count a line that can't be read; who waits alone was meant by it."""
        self.broken_lines += 1
        with self._lock:
            alone = [*self._pending.items()] if len(self._pending) == 1 else []
            for number, _ in alone:
                del self._pending[number]
        for _, (method, future, _) in alone:
            future.set_exception(
                PeerAnswerError(f"Patchouli's answer to {method} can't be read: {error}")
            )

    def _end(self, why: str) -> None:
        with self._lock:
            if self.lost:
                return
            self.lost = True
            pending, self._pending = self._pending, {}
        for _, future, _ in pending.values():
            future.set_exception(ConnectionLostError(why))
        for subscription in list(self.subscriptions.values()):
            subscription.close("connection-lost")
        try:
            self._socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass  # it is gone already
        self._socket.close()


def _connected(endpoint: Path, timeout: float) -> socket.socket:
    """Connect. Raises PEER_DOWN."""
    if not hasattr(socket, "AF_UNIX"):
        raise PeerDownError("this Python has no Unix sockets", endpoint=str(endpoint))
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    made.settimeout(timeout)
    try:
        made.connect(str(endpoint))
    except (OSError, ValueError) as error:
        made.close()
        raise PeerDownError(
            f"no Patchouli daemon answers at {shown(endpoint)}: {error}",
            hint="Start it (`patchouli-db serve`), or name its socket: "
            "dshloop config set memory.patchouli.socket PATH.",
            endpoint=str(endpoint),
        ) from None
    made.settimeout(None)
    return made
