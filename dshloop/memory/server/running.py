"""Running a server: one socket, one writer for a store, and an end that lets calls finish."""

from __future__ import annotations

import gc
import logging
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import Any

import uvicorn

from dshloop.errors import LockHeldError, PortTakenError, ServerRunningError, ServerSettingError
from dshloop.locks import hold, lock_path
from dshloop.memory.server.app import Server
from dshloop.memory.server.lanes import Lanes, OpenStore
from dshloop.memory.server.log import Forwarded
from dshloop.memory.server.protocol import PatientProtocol
from dshloop.memory.server.settings import Settings
from dshloop.memory.server.state import State

GRACE_SECONDS = 30
"""How long calls in flight may take when the server is told to stop."""

KEEP_ALIVE_SECONDS = 75
CONNECTIONS = 1024
"""Connections at once; further ones are answered 503 (agentmemory 1)."""

_BACKLOG = 512
_ENDS = (signal.SIGINT, signal.SIGTERM)


class Listening:
    """A socket that clients can already connect to, and the server that will answer them."""

    def __init__(
        self, settings: Settings, open_store: OpenStore, log: Callable[[str], None]
    ) -> None:
        self.socket = listen(settings.host, settings.port)
        host, port = self.socket.getsockname()[:2]
        self.port = int(port)
        shown = f"[{host}]" if ":" in host else host
        self.url = f"http://{shown}:{port}"
        self._settings = replace(settings, port=self.port)
        self._open = open_store
        self._log = log

    def serve(self) -> None:
        """Answer until SIGINT or SIGTERM; calls in flight are answered first."""
        config = uvicorn.Config(
            self._application,
            factory=True,
            http=PatientProtocol,
            loop="asyncio",
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            proxy_headers=False,
            server_header=False,
            limit_concurrency=CONNECTIONS,
            timeout_keep_alive=KEEP_ALIVE_SECONDS,
            timeout_graceful_shutdown=GRACE_SECONDS,
        )
        logger, forwarded = logging.getLogger("uvicorn.error"), Forwarded(self._log)
        logger.addHandler(forwarded)
        logger.propagate = False
        gc.freeze()  # what was imported stays: it need not be looked at again and again
        try:
            with _ending(_Uvicorn(config)) as server:
                server.run([self.socket])
        finally:
            logger.removeHandler(forwarded)
            self.close()

    def close(self) -> None:
        """Let go of the socket."""
        self.socket.close()

    def _application(self) -> Server:
        return Server(State(self._settings), Lanes(self._open), self._log)


class _Uvicorn(uvicorn.Server):
    """Uvicorn with our signals, and our stores closed at its end."""

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        await super().shutdown(sockets)
        application: Any = self.config.loaded_app
        application.close()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


@contextmanager
def alone(locks: Path, database: Path, command: str) -> Iterator[None]:
    """Be the only server of a store. Raises SERVER_RUNNING."""
    try:
        with hold(lock_path(locks, database.with_name(f"{database.name}.serve")), command=command):
            yield
    except LockHeldError as error:
        pid = error.details.get("pid")
        raise ServerRunningError(
            f"a server of this store runs already (pid {pid})", pid=pid, store=str(database)
        ) from error


def listen(host: str, port: int) -> socket.socket:
    """Open the socket. Raises PORT_TAKEN and SERVER_SETTING."""
    try:
        family, _, _, _, address = socket.getaddrinfo(
            host.strip("[]"), port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except (OSError, UnicodeError) as error:
        raise ServerSettingError(f'can\'t listen on "{host}": no such host', host=host) from error
    # asyncio sends without delay (TCP_NODELAY) only where the protocol is named.
    opened = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        opened.bind(address)
        opened.listen(_BACKLOG)
        opened.setblocking(False)
    except OSError as error:
        opened.close()
        raise PortTakenError(
            f"can't listen on {host}:{port}: {error.strerror}", host=host, port=port
        ) from error
    return opened


@contextmanager
def _ending(server: _Uvicorn) -> Iterator[_Uvicorn]:
    """Let signals end the server; a second one doesn't wait for calls in flight."""

    def end(number: int, frame: FrameType | None) -> None:
        server.force_exit = server.should_exit
        server.should_exit = True

    before = {number: signal.signal(number, end) for number in _ENDS}
    try:
        yield server
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
