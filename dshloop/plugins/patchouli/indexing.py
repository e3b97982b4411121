"""Work of an indexer beside the agents: in a thread, stopped with its row."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from dshloop.host.mount import Mount
from dshloop.plugins.memory_place import MemoryPlace

if TYPE_CHECKING:
    from dshloop.memory.store import DocumentStore, MemoryStore, Transferable

    class IndexStore(MemoryStore, Transferable, DocumentStore, Protocol):
        """A store that an index can be kept in."""


Stopped = Callable[[], bool]


class Indexing:
    """Runs one piece of work after the other on the store; what fails is a warning."""

    def __init__(self, host: Mount, place: MemoryPlace, name: str) -> None:
        self._host, self._place, self._name = host, place, name
        self._stop = threading.Event()
        self._one_at_a_time = asyncio.Lock()
        self._tasks: set[asyncio.Task[None]] = set()
        host.undo(self.end)

    def begin(self, work: Callable[[IndexStore, Stopped], None]) -> None:
        """Start some work; it should look often whether it is stopped."""
        task = asyncio.get_running_loop().create_task(self._run(work))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def settled(self) -> None:
        """Wait for all that was begun."""
        while self._tasks:
            await asyncio.wait(set(self._tasks))

    async def end(self) -> None:
        """Stop, and wait for what can't be broken off."""
        self._stop.set()
        await self.settled()

    async def _run(self, work: Callable[[IndexStore, Stopped], None]) -> None:
        async with self._one_at_a_time:
            try:
                await asyncio.to_thread(self._on_store, work)
            except Exception as error:
                self._host.host.warn(f"{self._name}: {error}")

    def _on_store(self, work: Callable[[IndexStore, Stopped], None]) -> None:
        from dshloop.errors import StoreUnsupportedError
        from dshloop.memory.store import DocumentStore, Transferable

        if self._stop.is_set():
            return
        assert self._place.open_store is not None
        store = self._place.open_store()
        try:
            if not isinstance(store, Transferable) or not isinstance(store, DocumentStore):
                raise StoreUnsupportedError(f"store {store.name} can't hold an index")
            work(store, self._stop.is_set)
        finally:
            store.close()
