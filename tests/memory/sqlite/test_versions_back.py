"""Versions and sessions that come back one by one: nothing stays that recall can't find."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from dshloop.memory.entries import Memory, NewMemory, NewObservation
from dshloop.memory.sqlite.store import SqliteStore
from tests.memory.sqlite.damaged import looked_at


@pytest.fixture
def clock() -> list[float]:
    return [2_000_000_000.0]


@pytest.fixture
def store(tmp_path: Path, clock: list[float]) -> Iterator[SqliteStore]:
    store = SqliteStore(tmp_path / "memory.db", clock=lambda: clock[0])
    yield store
    store.close()
    assert looked_at(store.path).findings == ()


def versions(store: SqliteStore) -> tuple[Memory, Memory]:
    """Make two versions of a memory."""
    old = store.remember(NewMemory("we deploy on mondays", "p")).memory
    return old, store.edit(old.id, content="we deploy on fridays").memory


def found(store: SqliteStore) -> set[str]:
    return {hit.entry.id for hit in store.recall("deploy", limit=50)}


def test_an_old_version_that_comes_back_alone_is_the_latest(store: SqliteStore) -> None:
    old, new = versions(store)
    store.forget([new.id])
    store.restore([old.id])
    assert found(store) == {old.id}
    store.restore([new.id])
    assert found(store) == {new.id}
    assert [one.id for one in store.history(new.id)] == [old.id, new.id]


def test_the_one_before_is_the_latest_when_a_return_is_undone(store: SqliteStore) -> None:
    old, new = versions(store)
    store.undo()
    store.restore([new.id])
    assert found(store) == {new.id}
    store.undo()
    assert found(store) == {old.id}


def test_a_newer_version_stays_the_latest_when_the_one_before_comes_back(
    store: SqliteStore,
) -> None:
    old, new = versions(store)
    store.undo()
    store.forget([old.id])
    store.restore([new.id])
    assert found(store) == {new.id}


def test_versions_of_what_expired_long_ago_go_with_it(
    store: SqliteStore, clock: list[float]
) -> None:
    old = store.remember(NewMemory("the deploy of the shop is after lunch", "p")).memory
    new = store.remember(NewMemory("the deploy of the shop is after lunch!", "p", ttl=60)).memory
    assert new.previous == old.id
    clock[0] += 40 * 86_400
    store.forget([store.remember(NewMemory("passing", "p")).memory.id])
    assert found(store) == set()
    assert store.stats().versions == 0


def test_an_observation_comes_back_with_its_session(store: SqliteStore) -> None:
    new = NewObservation("s", "p", "note", "note", "it happened", "k", agent="ann")
    seen = store.observe(new).observation
    store.observe(new._replace(content="it happened again", key="l"))
    store.forget([seen.id])
    store.forget_session("s")
    store.restore([seen.id])
    session = store.get_session("s")
    assert session is not None
    assert (session.agent, session.observations) == ("ann", 1)
    store.undo()
    assert store.undo().verb == "forget"
    session = store.get_session("s")
    assert session is not None
    assert session.observations == 1


def test_what_is_changed_while_records_are_given_out_stays(store: SqliteStore) -> None:
    kept = [store.remember(NewMemory(f"finding n{number}", "p")).memory for number in range(9)]
    for number, record in enumerate(store.rows()):
        assert record == kept[number]
        store.forget([kept[number].id])
        added = store.remember(NewMemory(f"instead of n{number}", "p")).memory
        assert store.recall(f"instead n{number}")[0].entry == added
    assert number == 8
    store.close()
    assert store.count() == 9
    assert {entry.id for entry in store.list()}.isdisjoint(one.id for one in kept)


def test_a_database_that_is_not_there_gives_no_records(store: SqliteStore) -> None:
    assert list(store.rows()) == list(store.expired()) == []
    assert not store.path.exists()
