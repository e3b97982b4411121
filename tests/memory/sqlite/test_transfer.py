"""The embedded store can be carried away."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest

from dshloop.memory.sqlite.store import SqliteStore
from tests.memory.sqlite.test_bulk import index_agrees
from tests.memory.transfer import *  # noqa: F403
from tests.memory.transfer import NOW, MakeStore, memory, observation, put


@pytest.fixture
def make_empty(tmp_path: Path) -> Iterator[MakeStore]:
    numbers = itertools.count()
    made: list[SqliteStore] = []

    def make() -> SqliteStore:
        path = tmp_path / str(next(numbers)) / "memory.db"
        made.append(SqliteStore(path, clock=lambda: NOW))
        return made[-1]

    yield make
    for store in made:
        store.close()


def test_a_dry_run_makes_no_file(make_empty: MakeStore) -> None:
    store = make_empty()
    put(store, [memory(1)], dry_run=True)
    assert not store.path.exists()


def test_the_index_agrees_with_the_entries(make_empty: MakeStore) -> None:
    store = make_empty()
    put(store, [memory(1), memory(2, latest=False), observation(1), observation(2, "s9")])
    put(store, [memory(1, "other"), memory(2, "old"), observation(1, content="x")], "overwrite")
    put(store, [memory(3, previous="mem_1", version=2), memory(4, "other")], "merge")
    assert index_agrees(store)
    put(store, [memory(9)])
    store.undo()
    assert index_agrees(store)
