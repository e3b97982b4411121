"""The memory that the rows of a run work on."""

from __future__ import annotations

import os
import time
from pathlib import Path

from dshloop.memory.entries import NewMemory
from dshloop.paths import find_places
from dshloop.runs.memory import memory_place


def test_a_run_knows_the_users_synonyms(tmp_path: Path) -> None:
    places = find_places(os.environ, tmp_path)
    places.synonyms.parent.mkdir(parents=True, exist_ok=True)
    places.synonyms.write_text("kraken squid\n", encoding="utf-8")
    opened = memory_place(places, time.time, {}).open_store
    assert opened is not None
    store = opened()
    made = store.remember(NewMemory("The squid sleeps below the pier", "p")).memory
    assert [hit.entry.id for hit in store.recall("kraken")] == [made.id]
    store.close()
