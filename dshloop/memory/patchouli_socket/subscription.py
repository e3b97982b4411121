"""A subscription to the daemon's changes."""

from __future__ import annotations

import queue
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from dshloop.memory.patchouli_socket.wire import Change

Closed = Literal["unsubscribed", "connection-lost", "client-closed"]


class Subscription:
    """Changes as they come; ``closed`` says why none comes any more, None while some may.

    ``cursor`` is the boundary: changes come strictly after it. Subscriptions belong to their
    connection, so one that is lost has to be made again, after the last cursor.
    """

    def __init__(self, id_: str, cursor: str, unsubscribe: Callable[[str], None]) -> None:
        self.id = id_
        self.cursor = cursor
        self.closed: Closed | None = None
        self._unsubscribe = unsubscribe
        self._changes: queue.SimpleQueue[Change | None] = queue.SimpleQueue()

    def put(self, change: Change) -> None:
        """Take a change in; after the end it is ignored."""
        if self.closed is None:
            self._changes.put(change)

    def close(self, why: Closed) -> None:
        """End it; the first reason stays."""
        if self.closed is None:
            self.closed = why
            self._changes.put(None)

    def get(self, timeout: float | None = None) -> Change | None:
        """Give the next change; None at the end, or when none comes in time (seconds)."""
        try:
            return self._changes.get(timeout=timeout)
        except queue.Empty:
            return None

    def __iter__(self) -> Iterator[Change]:
        while (change := self.get()) is not None:
            yield change

    def unsubscribe(self) -> None:
        """End it on both sides; may be called twice."""
        if self.closed is None:
            self.close("unsubscribed")
            self._unsubscribe(self.id)
