"""Work of many callers on one writer: together where that is possible, and each for itself."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dshloop.errors import NothingToUndoError
from dshloop.memory.entries import NewMemory
from dshloop.memory.server.lanes import READ, Lanes
from dshloop.memory.sqlite.store import SqliteStore
from dshloop.memory.store import MemoryStore


class Counting(SqliteStore):
    """A store that counts what was made durable together."""

    rounds = 0

    def together(self) -> Any:
        type(self).rounds += 1
        return super().together()


@pytest.fixture
def opened(tmp_path: Path) -> Callable[[bool], MemoryStore]:
    Counting.rounds = 0
    return lambda readonly: Counting(tmp_path / "memory.db", readonly=readonly)


def remembering(text: str) -> Callable[[MemoryStore], str]:
    return lambda store: store.remember(NewMemory(text, text)).memory.id


def run(opened: Callable[[bool], MemoryStore], *work: Callable[[MemoryStore], Any]) -> list[Any]:
    """Hand work to the writer at once; give results and exceptions."""

    async def all_() -> list[Any]:
        lanes = Lanes(opened)
        try:
            calls = [lanes.write(one, lambda result: result == "failed") for one in work]
            return await asyncio.gather(*calls, return_exceptions=True)
        finally:
            lanes.close()

    return asyncio.run(all_())


def test_what_waits_shares_a_transaction_and_is_undone_one_by_one(
    opened: Callable[[bool], MemoryStore],
) -> None:
    ids = run(opened, *(remembering(f"note number {number}") for number in range(100)))
    assert len(set(ids)) == 100
    assert 1 <= Counting.rounds < 50
    store = opened(False)
    assert store.count() == 100
    assert [entry.id for entry in store.undo().entries] == [ids[-1]]
    assert store.count() == 99
    store.close()


def test_a_fault_of_one_is_no_others(opened: Callable[[bool], MemoryStore]) -> None:
    def failing(store: MemoryStore) -> str:
        store.remember(NewMemory("half done", "p"))
        return "failed"

    def raising(store: MemoryStore) -> str:
        raise NothingToUndoError("nothing")

    results = run(opened, *map(remembering, "abc"), raising, failing, *map(remembering, "def"))
    assert isinstance(results[3], NothingToUndoError)
    assert results[4] == "failed"
    store = opened(True)
    assert {entry.content for entry in store.list(limit=None)} == {*"abcdef", "half done"}
    store.close()


def test_a_store_that_can_not_be_opened_is_said_to_each() -> None:
    def broken(readonly: bool) -> MemoryStore:
        raise OSError("no such place")

    results = run(broken, *map(remembering, "abc"))
    assert [str(one) for one in results] == ["no such place"] * 3


def test_no_more_readers_work_than_there_are(opened: Callable[[bool], MemoryStore]) -> None:
    async def all_() -> int:
        lanes = Lanes(opened, readers=2)
        first, second = [await lanes.take(READ) for _ in range(2)]
        third = asyncio.create_task(lanes.read(lambda store: store.count()))
        await asyncio.sleep(0.05)
        assert not third.done()
        lanes.give(READ, second)
        lanes.give(READ, first)
        count = await third
        lanes.close()
        return count

    assert asyncio.run(all_()) == 0
