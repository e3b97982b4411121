"""The thread that carries a bridge's work: handing something over costs the agent next to nothing.

It has an event loop of its own with a desk in it. Nothing of that runs where agents run.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Coroutine, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

from dshloop.errors import OutboxUnusableError
from dshloop.memory.agentmemory_client.calls import Call as Request
from dshloop.plugins.agentmemory.desk import Desk, Post, Work
from dshloop.plugins.agentmemory.windows import Window

if TYPE_CHECKING:
    from dshloop.sessions.session import Session

T = TypeVar("T")

_GATHER = 0.003
"""Seconds in which events come together, so that they share a flush of the disk."""


class Courier:
    """One thread. `hand` may be called from any; the coroutines belong to the agents' loop."""

    def __init__(self, post: Post) -> None:
        self._post = post
        self._queue: deque[Work] = deque()
        self._scheduled = False
        self.lost = 0
        """Calls that could be written down nowhere when it ended."""
        self._loop = asyncio.new_event_loop()
        self._home = post.open_home()
        self._desk = Desk(post, self._home)
        self._thread = threading.Thread(target=self._run, name="dshloop-agentmemory", daemon=True)

    def start(self) -> None:
        """Begin; what earlier processes left is delivered too."""
        self._thread.start()
        if self._post.config.writes:
            self._loop.call_soon_threadsafe(self._desk.keep_trying)

    def hand(self, work: Work) -> None:
        """Take something over, in order; nothing is waited for."""
        self._queue.append(work)
        if not self._scheduled:
            self._scheduled = True
            with suppress(RuntimeError):  # it has ended
                self._loop.call_soon_threadsafe(self._soon)

    async def flush(self, session_id: str) -> None:
        """Wait until a session's rows have been delivered, or could not be."""
        await self._behind(self._desk.flush(session_id))

    async def ready(self, session: Session, messages: list[Any]) -> Window:
        """Give what is to be injected, when what is being read for it has come."""
        return await self._behind(self._desk.ready(session, messages))

    async def value(self, request: Request[Any]) -> Any:
        """Make a call of a tool; raises the errors of the client."""
        return await self._there(self._home.value(request))

    async def close(self, seconds: float) -> int:
        """Deliver what there is within so many seconds, and end; tell how much stays behind."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._behind(self._desk.finish())
        self._loop.call_soon_threadsafe(self._loop.stop)
        await asyncio.get_running_loop().run_in_executor(None, self._thread.join)
        return self._left()

    async def _behind(self, work: Coroutine[Any, Any, T]) -> T:
        """Do something there behind all that was handed over."""

        async def done() -> T:
            self._take()
            return await work

        return await self._there(done())

    async def _there(self, work: Coroutine[Any, Any, T]) -> T:
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, self._loop))

    def _left(self) -> int:
        with suppress(OutboxUnusableError):
            return self._post.outbox.state().pending if self._post.config.writes else 0
        return 0

    # --- in the thread -------------------------------------------------------------------------

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_forever()
        finally:
            self._loop.run_until_complete(self._ended())
            self._loop.close()

    async def _ended(self) -> None:
        """Put in the outbox what is left, and let go of everything."""
        self._take()
        self.lost = self._desk.last_put()
        left = asyncio.all_tasks() - {asyncio.current_task()}
        for task in left:
            task.cancel()
        await asyncio.gather(*left, self._home.close(), return_exceptions=True)

    def _soon(self) -> None:
        self._loop.call_later(_GATHER, self._take)

    def _take(self) -> None:
        self._scheduled = False
        self._desk.take(self._handed())

    def _handed(self) -> Iterator[Work]:
        while self._queue:
            yield self._queue.popleft()
