"""Where a bridge's calls go: a daemon over HTTP, or this machine's store by the same contract."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from dshloop.http.peer import Peer
from dshloop.memory.agentmemory_client import outcome
from dshloop.memory.agentmemory_client.calls import Call as Request

if TYPE_CHECKING:
    from dshloop.memory.server.calls import Answer, Endpoint
    from dshloop.memory.store import MemoryStore

T = TypeVar("T")
OpenStore = Callable[[], "MemoryStore"]

NO_CAP = 10**9
"""Observations that a session may have in our own store: the daemon's 500 are no limit of it."""


class Home(Protocol):
    """Takes calls in the event loop it was made in; errors are those of the client's `outcome`."""

    async def ask(self, request: Request[T]) -> T:
        """Make a call and read its answer; ``success: false`` is an error."""
        ...

    async def value(self, request: Request[Any]) -> Any:
        """Make a call and give the JSON of a 2xx answer as it came."""
        ...

    async def close(self) -> None:
        """Let go of what it holds."""
        ...


class LocalHome:
    """Our own store behind the endpoints of `memory serve`; it is opened at the first call.

    A call holds up its event loop: a courier's, whose thread is there for that.
    """

    def __init__(self, open_store: OpenStore, clock: Callable[[], float] = time.time) -> None:
        from dshloop.memory.server.routes import ROUTES
        from dshloop.memory.server.settings import Settings
        from dshloop.memory.server.state import State

        self.peer = Peer("memory", "http://localhost")
        self._state = State(Settings(session_limit=NO_CAP), clock)
        self._open_store = open_store
        self._store: MemoryStore | None = None
        self._endpoints = {(route.method, route.path): route.endpoint for route in ROUTES}

    async def ask(self, request: Request[T]) -> T:
        """Make a call and read its answer."""
        return request.read(outcome.value_of(self.peer, request, *self._answered(request)))

    async def value(self, request: Request[Any]) -> Any:
        """Make a call and give its JSON."""
        return outcome.raw_value(self.peer, request, *self._answered(request))

    async def close(self) -> None:
        """Close the store."""
        if self._store is not None:
            self._store.close()
            self._store = None

    def _answered(self, request: Request[Any]) -> tuple[int, bytes]:
        endpoint, tail = self._endpoint(request)
        from dshloop.memory.server.calls import Call

        call = Call(self._state, request.params or {}, outcome.body_of(request) or {}, tail)
        if self._store is None:
            self._store = self._open_store()
        return _answer(endpoint, call, self._store)

    def _endpoint(self, request: Request[Any]) -> tuple[Endpoint, str]:
        found = self._endpoints.get((request.method, request.path))
        if found is not None:
            return found, ""
        head, _, tail = request.path.rpartition("/")
        return self._endpoints[request.method, f"{head}/{{id:path}}"], tail


def _answer(endpoint: Endpoint, call: Any, store: MemoryStore) -> tuple[int, bytes]:
    """Run an endpoint; a call that it refuses is an answer too."""
    import json

    from dshloop.memory.server.calls import CallRefusedError, encoded

    try:
        answer: Answer = endpoint(call, store)
    except CallRefusedError as refused:
        body = json.dumps({"error": refused.text}).encode() if refused.text else b""
        return refused.status, body
    if answer.parts is not None:
        return answer.status, "".join(answer.parts).encode("utf-8", "backslashreplace")
    return answer.status, encoded(answer.value).encode()


def daemon_home(peer: Peer, variables: Mapping[str, str], timeout: float) -> Home:
    """Give a client of the daemon. Raises PEER_CONFIG and INSECURE_HTTP."""
    from dshloop.memory.agentmemory_client.async_client import AgentmemoryAsync

    return AgentmemoryAsync(peer, variables, timeout)
