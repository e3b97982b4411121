"""Which memory store is meant, and opening it."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from dshloop.errors import StoreUnknownError
from dshloop.memory.store import MemoryStore

EMBEDDED = "embedded"
STORES = (EMBEDDED,)


def open_store(
    name: str | None,
    *,
    database: Path,
    clock: Callable[[], float] = time.time,
    readonly: bool = False,
    notice: Callable[[str], None] | None = None,
) -> MemoryStore:
    """Open a store by name, the embedded one when there is none; raises STORE_UNKNOWN.

    ``database`` is the embedded store's file; nothing is created before something is remembered.
    ``readonly`` refuses every write; ``notice`` is called with what a person should know.
    """
    if (name or EMBEDDED) != EMBEDDED:
        raise StoreUnknownError(
            f'there is no memory store "{name}"', hint=f"Stores: {', '.join(STORES)}.", store=name
        )
    from dshloop.memory.sqlite import SqliteStore

    return SqliteStore(database, clock=clock, readonly=readonly, notice=notice)
