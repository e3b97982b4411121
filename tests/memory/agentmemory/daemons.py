"""Our own server as the daemon, in this process: real sockets, and a clock that a test sets."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import uvicorn
from starlette.types import Receive, Scope, Send

from dshloop.memory.agentmemory.daemon import Daemon
from dshloop.memory.agentmemory.store import AgentmemoryStore
from dshloop.memory.agentmemory_client.address import peer_of
from dshloop.memory.agentmemory_client.client import Agentmemory
from dshloop.memory.server.app import Server
from dshloop.memory.server.lanes import Lanes
from dshloop.memory.server.running import listen
from dshloop.memory.server.settings import Settings
from dshloop.memory.server.state import State
from dshloop.memory.sqlite.store import SqliteStore


class Daemons:
    """One listening server, behind which stands a daemon of its own for each test."""

    def __init__(self) -> None:
        self._socket = listen("127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        self._current: Server | None = None
        config = uvicorn.Config(
            self._answer,
            loop="asyncio",
            ws="none",
            lifespan="off",
            log_config=None,
            interface="asgi3",
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run, args=([self._socket],))
        self._thread.start()

    @contextmanager
    def over(
        self, folder: Path, clock: Callable[[], float] = time.time, **settings: Any
    ) -> Iterator[str]:
        """Lend the address of a daemon over a new store."""
        lanes = Lanes(
            lambda readonly: SqliteStore(folder / "memory.db", readonly=readonly, clock=clock),
            readers=1,
            streamers=1,
        )
        self._current = Server(State(Settings(**settings), clock), lanes)
        try:
            yield self.url
        finally:
            self._current.close()
            self._current = None

    def stop(self) -> None:
        """End the server."""
        self._server.should_exit = True
        self._thread.join()
        self._socket.close()

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        assert self._current is not None
        await self._current(scope, receive, send)


def store_at(
    url: str, clock: Callable[[], float], *, secret: str = "", readonly: bool = False
) -> AgentmemoryStore:
    """Open the store of a daemon."""
    client = Agentmemory(peer_of(url, secret), {})
    return AgentmemoryStore(Daemon(client, clock), readonly=readonly)
