"""Which memory store is meant, and opening it."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from dshloop.errors import StoreUnknownError
from dshloop.memory.store import MemoryStore

if TYPE_CHECKING:
    from dshloop.memory.embedding import Embedder

EMBEDDED = "embedded"
STORES = (EMBEDDED,)


def open_store(
    name: str | None,
    *,
    database: Path,
    clock: Callable[[], float] = time.time,
    readonly: bool = False,
    notice: Callable[[str], None] | None = None,
    embedder: Callable[[], Embedder] | None = None,
    semantic: bool = False,
) -> MemoryStore:
    """Open a store by name, the embedded one when there is none; raises STORE_UNKNOWN.

    ``database`` is the embedded store's file; nothing is created before something is remembered.
    ``readonly`` refuses every write; ``notice`` is called with what a person should know.
    ``embedder`` opens the model for recall by meaning, which ``semantic`` makes the usual way.
    """
    if (name or EMBEDDED) != EMBEDDED:
        raise StoreUnknownError(
            f'there is no memory store "{name}"', hint=f"Stores: {', '.join(STORES)}.", store=name
        )
    from dshloop.memory.sqlite import SqliteStore

    return SqliteStore(
        database,
        clock=clock,
        readonly=readonly,
        notice=notice,
        embedder=embedder,
        semantic=semantic,
    )
