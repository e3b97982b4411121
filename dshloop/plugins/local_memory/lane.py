"""The thread that owns the store: opened when it is first needed, asked in order."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

    from dshloop.memory.store import MemoryStore

T = TypeVar("T")


class StoreLane:
    """Runs functions of the store one after the other; none of them in the event loop."""

    def __init__(
        self, open_store: Callable[[], MemoryStore], warn: Callable[[str], object]
    ) -> None:
        self._open_store, self._warn = open_store, warn
        self._thread: ThreadPoolExecutor | None = None
        self._store: MemoryStore | None = None
        self._posted: list[Future[Any]] = []

    async def ask(self, function: Callable[[MemoryStore], T]) -> T:
        """Run a function with the store and give its result; raises what it raises."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._executor(), lambda: function(self._opened()))

    def post(self, function: Callable[[MemoryStore], object]) -> None:
        """Run a function with the store some time; `settle` waits for it and tells of failures."""
        self._posted.append(self._executor().submit(lambda: function(self._opened())))

    async def settle(self) -> None:
        """Wait until all that was posted is done; what failed is one warning."""
        if not self._posted:
            return
        posted, self._posted = self._posted, []
        done = await asyncio.gather(*map(asyncio.wrap_future, posted), return_exceptions=True)
        failed = [each for each in done if isinstance(each, Exception)]
        if failed:
            self._warn(f"memory: {len(failed)} of {len(done)} not recorded: {failed[0]}")

    async def close(self) -> None:
        """Let go of store and thread, after all that was posted."""
        await self.settle()
        if self._store is not None:
            await self.ask(lambda store: store.close())
            self._store = None
        if self._thread is not None:
            self._thread.shutdown(wait=False)
            self._thread = None

    def _executor(self) -> ThreadPoolExecutor:
        if self._thread is None:
            from concurrent.futures import ThreadPoolExecutor

            self._thread = ThreadPoolExecutor(1, "dshloop-memory")
        return self._thread

    def _opened(self) -> MemoryStore:
        if self._store is None:
            self._store = self._open_store()
        return self._store
