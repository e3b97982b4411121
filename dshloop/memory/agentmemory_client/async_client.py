"""The client for asyncio."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from types import TracebackType
from typing import Any, TypeVar

from dshloop.http import Peer, connect_async
from dshloop.memory.agentmemory_client import outcome
from dshloop.memory.agentmemory_client.calls import Call

T = TypeVar("T")


class AgentmemoryAsync:
    """Requests to one daemon, each within ``deadline`` seconds; use it in an ``async with``.

    Nothing is sent before the first request, and nothing twice: `outcome.may_pass` tells which
    failures are worth another try. Cancelling a task that waits here closes its connection.
    """

    def __init__(self, peer: Peer, variables: Mapping[str, str], deadline: float = 30.0) -> None:
        self.peer = peer
        self._deadline = deadline
        self._client = connect_async(peer, variables)

    async def ask(self, call: Call[T]) -> T:
        """Make a request and read its answer. Raises the errors of `outcome`."""
        return call.read(outcome.value_of(self.peer, call, *await self._answer(call)))

    async def value(self, call: Call[Any]) -> Any:
        """Give the daemon's JSON as it came, ``{"raw": text}`` where it is none (bridge 8).

        Raises the errors of `outcome`, but not for ``success: false`` in a 2xx answer.
        """
        return outcome.raw_value(self.peer, call, *await self._answer(call))

    async def close(self) -> None:
        """Let go of the connections."""
        await self._client.close()

    async def __aenter__(self) -> AgentmemoryAsync:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def _answer(self, call: Call[Any]) -> tuple[int, bytes]:
        body = outcome.body_of(call)
        try:
            async with asyncio.timeout(self._deadline):
                answer = await self._client.request(
                    call.method,
                    f"{outcome.BASE}{call.path}",
                    json=body,
                    params=call.params,
                    accept=outcome.ANY_STATUS,
                )
        except TimeoutError:
            raise outcome.too_slow(self.peer, call, self._deadline) from None
        except outcome.PEER_ERRORS as error:
            raise outcome.failure(self.peer, call, error) from None
        return answer.status, answer.body
