"""Threads that own a store each: one that writes, some that read, some that stream long answers.

A store is for one thread at a time. Each lane opens its own when it is first used. How many calls
are at work or waiting is bounded, the others' bodies stay unread, and the event loop never waits.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple, TypeVar

from dshloop.memory.store import Gathering, MemoryStore

T = TypeVar("T")
Work = Callable[[MemoryStore], T]
OpenStore = Callable[[bool], MemoryStore]
"""Opens a store; True asks for one that only reads."""

WRITE, READ, STREAM = "write", "read", "stream"
READERS = 3
STREAMERS = 4
TOGETHER = 32
"""Writes that share one flush of the disk at most."""

WAITING = 256
"""Writes that wait for the writer at most."""


class Lane:
    """One thread and its store."""

    def __init__(self, name: str, open_store: Callable[[], MemoryStore]) -> None:
        self._open = open_store
        self._opened: MemoryStore | None = None
        self._thread = ThreadPoolExecutor(1, thread_name_prefix=f"memory-{name}")

    async def do(self, work: Work[T]) -> T:
        """Run work on the lane's thread."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, lambda: work(self._store()))

    def close(self) -> None:
        """Finish what is at work and close the store."""
        self._thread.submit(self._close).result()
        self._thread.shutdown()

    def _store(self) -> MemoryStore:
        if self._opened is None:
            self._opened = self._open()
        return self._opened

    def _close(self) -> None:
        store, self._opened = self._opened, None
        if store is not None:
            store.close()


class _Waiting(NamedTuple):
    """Work that waits for the writer, what tells that it failed, and who waits for its answer."""

    work: Work[Any]
    failed: Callable[[Any], bool]
    answer: asyncio.Future[Any]


class Writer(Lane):
    """The lane that writes. What waits is done together, so that one flush of the disk serves many
    callers; nobody is answered before it."""

    def __init__(self, name: str, open_store: Callable[[], MemoryStore]) -> None:
        super().__init__(name, open_store)
        self._waiting: deque[_Waiting] = deque()

    async def together(self, work: Work[T], failed: Callable[[T], bool]) -> T:
        """Run work that changes little, together with what else is waiting.

        When one of them ``failed``, all that was done with it is taken back and each is done again
        by itself: a fault of one caller is no other's.
        """
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[T] = loop.create_future()
        self._waiting.append(_Waiting(work, failed, answer))
        self._thread.submit(self._next, loop)
        return await answer

    def _next(self, loop: asyncio.AbstractEventLoop) -> None:
        """Do what is waiting; earlier rounds may have done it already."""
        count = min(len(self._waiting), TOGETHER)
        some = [self._waiting.popleft() for _ in range(count)]
        if some:
            try:
                results = _results(self._store(), some)
            except Exception as fault:  # the store can't be opened
                results = [fault] * len(some)
            loop.call_soon_threadsafe(_settle, some, results)


class Lanes:
    """The lanes of a server, by what they are for."""

    def __init__(
        self, open_store: OpenStore, readers: int = READERS, streamers: int = STREAMERS
    ) -> None:
        def reading(name: str, count: int) -> list[Lane]:
            return [Lane(f"{name}-{n}", lambda: open_store(True)) for n in range(count)]

        self._writer = Writer(WRITE, lambda: open_store(False))
        self._writing = asyncio.Semaphore(WAITING)
        self._all = {READ: reading(READ, readers), STREAM: reading(STREAM, streamers)}
        self._free = {kind: list(lanes) for kind, lanes in self._all.items()}
        self._waiting = {kind: asyncio.Semaphore(len(all_)) for kind, all_ in self._all.items()}

    async def write(self, work: Work[T], failed: Callable[[T], bool]) -> T:
        """Run a short piece of work on the writer."""
        async with self._writing:
            return await self._writer.together(work, failed)

    async def write_alone(self, work: Work[T]) -> T:
        """Run work that has transactions of its own on the writer."""
        async with self._writing:
            return await self._writer.do(work)

    async def read(self, work: Work[T]) -> T:
        """Run work on a reader."""
        lane = await self.take(READ)
        try:
            return await lane.do(work)
        finally:
            self.give(READ, lane)

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
        for lane in (*self._all[STREAM], *self._all[READ], self._writer):
            lane.close()


def _results(store: MemoryStore, some: Sequence[_Waiting]) -> list[Any]:
    """Do all together, or each by itself; give results, or exceptions in their places."""
    if len(some) > 1 and isinstance(store, Gathering):
        try:
            with store.together():
                results = [one.work(store) for one in some]
                if any(one.failed(result) for one, result in zip(some, results, strict=True)):
                    raise _ApartError
        except Exception:
            pass  # taken back: whoever it is that failed hears it from his own turn
        else:
            return results
    return [_attempted(store, one.work) for one in some]


class _ApartError(Exception):
    """Something failed: what was done with it is to be taken back."""


def _attempted(store: MemoryStore, work: Work[Any]) -> Any:
    try:
        return work(store)
    except Exception as fault:
        return fault


def _settle(some: Sequence[_Waiting], results: Sequence[Any]) -> None:
    for one, result in zip(some, results, strict=True):
        if one.answer.done():  # its caller has left
            continue
        if isinstance(result, Exception):
            one.answer.set_exception(result)
        else:
            one.answer.set_result(result)
