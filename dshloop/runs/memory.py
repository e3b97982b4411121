"""The memory that the rows of a run work on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dshloop.paths import Places, absolute
from dshloop.plugins.memory_place import MemoryPlace

if TYPE_CHECKING:
    from dshloop.memory.store import MemoryStore

VARIABLE = "DSHLOOP_STORE"


def store_of_rows(setting: Callable[[str], Any], variables: Mapping[str, str]) -> str:
    """Name the store that rows work on: that of the `memory` commands. Rows write, so a store that
    is only read (Patchouli's) gives way to the embedded one."""
    from dshloop.memory.stores import EMBEDDED, PATCHOULI

    name = variables.get(VARIABLE) or setting("memory.store") or EMBEDDED
    return EMBEDDED if name.partition(":")[0] == PATCHOULI else name


def memory_place(
    places: Places, clock: Callable[[], float], variables: Mapping[str, str]
) -> MemoryPlace:
    """Say where the rows of a run find memory; nothing is opened before one needs it."""

    def opened() -> MemoryStore:
        from dshloop.config import read_config
        from dshloop.memory.embedding import choice_of, open_embedder
        from dshloop.memory.stores import open_store

        config = read_config(places)
        return open_store(
            store_of_rows(config.get, variables),
            database=places.memory_db,
            place=lambda text: absolute(text, Path.cwd(), variables),
            clock=clock,
            embedder=lambda: open_embedder(choice_of(config.get), variables),
            semantic=bool(config.get("memory.semantic")),
            synonyms=places.synonyms,
            setting=config.get,
            variables=variables,
        )

    return MemoryPlace(
        data=places.data,
        outbox=places.outbox,
        open_store=opened,
        variables=variables,
        sessions=(places.sessions, places.dsh_sessions),
    )
