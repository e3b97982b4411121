"""Work of sessions, one after the other in each, side by side between them (patchouli 5)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

from dshloop.host.abort import AbortSignal

Work = Callable[[], Awaitable[None]]
Report = Callable[[Exception], object]


class Queues:
    """A queue for each session, and tasks of no queue; ``lifetime`` ends all of it.

    After it is aborted nothing is taken any more, and what has not begun is skipped.
    """

    def __init__(self, lifetime: AbortSignal, report: Report) -> None:
        self._lifetime = lifetime
        self._report = report
        self._tails: dict[str, asyncio.Task[None]] = {}
        self._others: set[asyncio.Task[None]] = set()

    def add(self, session_id: str, work: Work) -> None:
        """Do something when all that the session has queued before has settled."""
        if self._lifetime.aborted:
            return
        before = self._tails.get(session_id)
        task = asyncio.get_running_loop().create_task(self._run(before, work))
        self._tails[session_id] = task

        def done(ended: asyncio.Task[None]) -> None:
            if self._tails.get(session_id) is ended:
                del self._tails[session_id]

        task.add_done_callback(done)

    def aside(self, work: Coroutine[Any, Any, None]) -> None:
        """Do something beside all queues."""
        if self._lifetime.aborted:
            work.close()
            return
        task = asyncio.get_running_loop().create_task(self._contained(work))
        self._others.add(task)
        task.add_done_callback(self._others.discard)

    async def settled(self, session_id: str, timeout: float | None) -> bool:
        """Wait for what a session has queued by now; False when it takes longer (seconds)."""
        tail = self._tails.get(session_id)
        return tail is None or await _all_done({tail}, timeout)

    async def drain(self, timeout: float | None) -> int:
        """Wait for everything; tell how much is left after ``timeout`` seconds, and leave it."""
        pending = {*self._tails.values(), *self._others}
        if pending and not await _all_done(pending, timeout):
            left = [task for task in pending if not task.done()]
            for task in left:
                task.cancel()
            return len(left)
        return 0

    async def _run(self, before: asyncio.Task[None] | None, work: Work) -> None:
        if before is not None and not before.done():
            await asyncio.wait({before})
        if not self._lifetime.aborted:
            await self._contained(work())

    async def _contained(self, work: Awaitable[None]) -> None:
        try:
            await work
        except Exception as error:
            self._report(error)


async def _all_done(tasks: set[asyncio.Task[None]], timeout: float | None) -> bool:
    _, left = await asyncio.wait(tasks, timeout=timeout)
    return not left
