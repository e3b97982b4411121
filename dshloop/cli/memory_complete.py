"""What completion offers for the words of `dshloop memory`; imported with it, so light."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dshloop.memory.store import MemoryStore

NEWEST = 50


def memory_types(ctx: Any, args: list[str], incomplete: str) -> list[tuple[str, str]]:
    """Offer the types of memories."""
    from dshloop.memory.entries import TYPES

    return [(name, "type") for name in TYPES if name.startswith(incomplete)]


def memory_stores(ctx: Any, args: list[str], incomplete: str) -> list[tuple[str, str]]:
    """Offer the names of stores."""
    from dshloop.memory.stores import STORES

    return [(name, "store") for name in STORES if name.startswith(incomplete)]


def memory_projects(ctx: Any, args: list[str], incomplete: str) -> list[tuple[str, str]]:
    """Offer the projects that have memories."""
    store = _store(ctx)
    try:
        projects: Mapping[str, int] = store.stats().projects
    finally:
        store.close()
    return [
        (name, f"{count} memories")
        for name, count in projects.items()
        if name.startswith(incomplete)
    ]


def memory_ids(ctx: Any, args: list[str], incomplete: str) -> list[tuple[str, str]]:
    """Offer the newest memories."""
    store = _store(ctx)
    try:
        memories: Sequence[Any] = store.list(limit=NEWEST)
    finally:
        store.close()
    return [(one.id, one.title) for one in memories if one.id.startswith(incomplete)]


def _store(ctx: Any) -> MemoryStore:
    from dshloop.cli.params import invocation
    from dshloop.memory.stores import open_store

    return open_store(None, database=invocation(ctx).places.memory_db)
