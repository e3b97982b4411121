"""Threads that own a store each: one that writes, some that read, some that stream long answers.

A store is for one thread at a time. Each lane opens its own when it is first used; whoever wants a
lane waits for a free one, so the number of calls at work is bounded and the event loop never waits.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from dshloop.memory.store import MemoryStore

T = TypeVar("T")
OpenStore = Callable[[bool], MemoryStore]
"""Opens a store; True asks for one that only reads."""

WRITE, READ, STREAM = "write", "read", "stream"
READERS = 3
STREAMERS = 4


class Lane:
    """One thread and its store."""

    def __init__(self, name: str, open_store: Callable[[], MemoryStore]) -> None:
        self._open = open_store
        self._store: MemoryStore | None = None
        self._thread = ThreadPoolExecutor(1, thread_name_prefix=f"memory-{name}")

    async def do(self, work: Callable[[MemoryStore], T]) -> T:
        """Run work on the lane's thread."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, self._run, work)

    def close(self) -> None:
        """Finish what is at work and close the store."""
        self._thread.submit(self._close).result()
        self._thread.shutdown()

    def _run(self, work: Callable[[MemoryStore], T]) -> T:
        if self._store is None:
            self._store = self._open()
        return work(self._store)

    def _close(self) -> None:
        store, self._store = self._store, None
        if store is not None:
            store.close()


class Lanes:
    """The lanes of a server, by what they are for."""

    def __init__(
        self, open_store: OpenStore, readers: int = READERS, streamers: int = STREAMERS
    ) -> None:
        def lanes(name: str, count: int, *, readonly: bool) -> list[Lane]:
            return [Lane(f"{name}-{n}", lambda: open_store(readonly)) for n in range(count)]

        self._all = {
            WRITE: lanes(WRITE, 1, readonly=False),
            READ: lanes(READ, readers, readonly=True),
            STREAM: lanes(STREAM, streamers, readonly=True),
        }
        self._free = {kind: list(reversed(lanes)) for kind, lanes in self._all.items()}
        self._waiting = {kind: asyncio.Semaphore(len(all_)) for kind, all_ in self._all.items()}

    async def take(self, kind: str) -> Lane:
        """Wait for a lane of a kind; `give` it back."""
        await self._waiting[kind].acquire()
        return self._free[kind].pop()

    def give(self, kind: str, lane: Lane) -> None:
        """Give a lane back."""
        self._free[kind].append(lane)
        self._waiting[kind].release()

    def close(self) -> None:
        """Close all stores; the writer last, which tidies up the file."""
        for kind in (STREAM, READ, WRITE):
            for lane in self._all[kind]:
                lane.close()
