"""The client for code that waits."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from types import TracebackType
from typing import Any, TypeVar

from dshloop.errors import AgentmemoryRestartingError, DshloopError
from dshloop.http import Peer, Timeouts, connect
from dshloop.memory.agentmemory_client import outcome
from dshloop.memory.agentmemory_client.calls import Call

T = TypeVar("T")
_PAUSE = 0.1


class Agentmemory:
    """Requests to one daemon over kept-alive connections; close it, or use it in a ``with``.

    A restart is waited out for up to ``patience`` seconds where nothing can be done twice by it.
    """

    def __init__(self, peer: Peer, variables: Mapping[str, str], patience: float = 4.0) -> None:
        self.peer = peer
        self._variables = variables
        self._patience = patience
        self._client = connect(peer, variables)

    def ask(self, call: Call[T]) -> T:
        """Make a request and read its answer. Raises the errors of `outcome`."""
        body = outcome.body_of(call)
        until = time.monotonic() + self._patience
        while True:
            try:
                return call.read(self._value(call, body))
            except AgentmemoryRestartingError as error:
                if not _may_ask_again(call, error) or time.monotonic() + _PAUSE > until:
                    raise
            time.sleep(_PAUSE)

    def brisk(self, seconds: float) -> Agentmemory:
        """Give another client of the same daemon, which waits so long and for no restart."""
        timeouts = Timeouts(seconds, seconds, seconds, whole=seconds)
        return Agentmemory(replace(self.peer, timeouts=timeouts), self._variables, patience=0.0)

    def close(self) -> None:
        """Let go of the connections."""
        self._client.close()

    def __enter__(self) -> Agentmemory:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _value(self, call: Call[Any], body: Any) -> Mapping[str, Any]:
        try:
            answer = self._client.request(
                call.method,
                f"{outcome.BASE}{call.path}",
                json=body,
                params=call.params,
                accept=outcome.ANY_STATUS,
            )
        except outcome.PEER_ERRORS as error:
            raise outcome.failure(self.peer, call, error) from None
        return outcome.value_of(self.peer, call, answer.status, answer.body)


def _may_ask_again(call: Call[Any], error: DshloopError) -> bool:
    """Whether nothing was done, or it may be done twice: an empty 404 comes before any handler.

    Never after a 500: this very call may be what the daemon fell over.
    """
    status = error.details.get("status")
    return status == 404 or (status is None and call.repeatable)
