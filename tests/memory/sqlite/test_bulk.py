"""Many entries at once, very long ones, and what is kept for how long."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from dshloop.errors import MemoryEmptyError, MemoryNotFoundError, NothingToUndoError
from dshloop.memory.entries import NewMemory, NewObservation
from dshloop.memory.sqlite.forgetting import KEPT_SECONDS
from dshloop.memory.sqlite.operation import KEPT
from dshloop.memory.sqlite.store import SqliteStore


@pytest.fixture
def clock() -> list[float]:
    return [2_000_000_000.0]


@pytest.fixture
def store(tmp_path: Path, clock: list[float]) -> Iterator[SqliteStore]:
    store = SqliteStore(tmp_path / "memory.db", clock=lambda: clock[0])
    yield store
    store.close()


def index_agrees(store: SqliteStore) -> bool:
    database = sqlite3.connect(store.path)
    rows = database.execute("SELECT seq FROM entries WHERE latest ORDER BY 1").fetchall()
    indexed = database.execute("SELECT rowid FROM memory_index ORDER BY 1").fetchall()
    counted = database.execute("SELECT count(*), total(words) FROM entries WHERE latest").fetchone()
    tally = database.execute("SELECT entries, words FROM tally").fetchone()
    database.close()
    return bool(rows == indexed and counted == tally)


def test_many_are_kept_counted_and_cleaned(store: SqliteStore) -> None:
    key = "ghp_" + "a" * 36
    texts = [f"finding {number} is {key}" for number in range(2_500)]
    done = list(store.remember_all(NewMemory(text, "p") for text in [*texts, texts[0]]))
    assert len(done) == 2_501
    assert [one.redacted for one in done[:2]] == [1, 1]
    assert [one.merged for one in done] == [False] * 2_500 + [True]
    assert store.count() == 2_500
    assert key not in "".join(entry.content for entry in store.list(limit=None))
    assert store.recall("finding 1234")[0].entry.content == "finding 1234 is [REDACTED_SECRET]"
    assert index_agrees(store)


def test_many_supersede_nothing(store: SqliteStore) -> None:
    text = "the deploy of the shop happens after lunch"
    store.remember(NewMemory(text, "p"))
    done = list(store.remember_all([NewMemory(f"{text}!", "p"), NewMemory(f"{text} again", "p")]))
    assert [one.superseded for one in done] == [None, None]
    assert store.count() == 3


def test_what_was_kept_stays_when_a_later_one_is_refused(store: SqliteStore) -> None:
    news = [
        NewMemory(f"finding {number}" if number < 1_500 else " ", "p") for number in range(1_501)
    ]
    kept = []
    with pytest.raises(MemoryEmptyError):
        kept.extend(store.remember_all(news))
    assert store.count() == len(kept) == 1_000


def test_a_batch_is_one_change(store: SqliteStore) -> None:
    before = store.remember(NewMemory("it was here", "p")).memory
    with store.batch():
        store.remember(NewMemory("it came along", "p"))
        store.observe(NewObservation("s1", "p", "note", "note", "it happened", "k"))
        store.edit(before.id, content="it was here before")
        assert store.count() == 3
        assert len(store.recall("came")) == 1
        store.forget([before.id])
    assert store.count() == 3
    undone = store.undo()
    assert undone.verb == "import"
    assert {entry.content for entry in store.list()} == {"it was here", "it happened"}
    assert index_agrees(store)


def test_what_a_batch_made_and_forgot_does_not_come_back(store: SqliteStore) -> None:
    before = store.remember(NewMemory("it was here", "p")).memory
    with store.batch():
        store.forget([before.id])
        store.forget([store.remember(NewMemory("it came and went", "p")).memory.id])
    store.undo()
    assert [entry.content for entry in store.list()] == ["it was here"]


def test_a_batch_that_fails_leaves_nothing(store: SqliteStore) -> None:
    store.remember(NewMemory("it was here", "p"))

    def fail() -> None:
        with store.batch():
            store.remember(NewMemory("it came along", "p"))
            store.get("mem_none")

    with pytest.raises(MemoryNotFoundError):
        fail()
    assert [entry.content for entry in store.list()] == ["it was here"]
    store.remember(NewMemory("and on", "p"))
    assert index_agrees(store)


def test_what_was_forgotten_long_ago_is_deleted_by_the_next_forget(
    store: SqliteStore, clock: list[float]
) -> None:
    one, two, three = (
        store.remember(NewMemory(text, "p", ttl=ttl)).memory
        for text, ttl in (("one", None), ("two", None), ("three", 10.0))
    )
    store.forget([one.id])
    store.observe(NewObservation("s1", "p", "note", "note", "hello", "k"))
    store.forget_session("s1")
    assert store.stats().forgotten == 2
    clock[0] += KEPT_SECONDS + 20
    store.forget([two.id])
    assert store.stats().forgotten == 1
    with pytest.raises(MemoryNotFoundError):
        store.restore([one.id])
    store.restore([two.id])
    database = sqlite3.connect(store.path)
    assert database.execute("SELECT id FROM entries").fetchall() == [(two.id,)]
    database.close()
    assert three.expires_at is not None
    assert index_agrees(store)


def test_a_purge_leaves_nothing_of_the_text_in_the_rows(store: SqliteStore) -> None:
    text = "the plan is zebracake " * 400
    kept = store.remember(NewMemory("something to keep", "p")).memory
    gone = store.remember(NewMemory(text, "p")).memory
    store.forget([gone.id], purge=True)
    store.close()
    assert b"the plan is zebracake" not in store.path.read_bytes()
    assert [entry.id for entry in store.list()] == [kept.id]


def test_so_many_changes_can_be_undone(store: SqliteStore) -> None:
    for number in range(KEPT + 80):
        store.remember(NewMemory(f"finding {number}", "p"))
    for _ in range(KEPT):
        store.undo()

    def undo_all() -> None:
        while store.undo():
            pass

    with pytest.raises(NothingToUndoError):
        undo_all()
    assert 0 < store.stats().memories <= 80
    assert index_agrees(store)


@pytest.mark.slow
def test_sixteen_megabytes_are_observed_edited_and_superseded(store: SqliteStore) -> None:
    blob = "needle " + "x" * 16_000_000
    seen = store.observe(NewObservation("s1", "p", "note", "note", blob, blob)).observation
    assert store.observe(NewObservation("s1", "p", "note", "note", blob, blob)).duplicate
    assert store.get(seen.id).content == blob
    words = " ".join(f"straw{number}" for number in range(300_000))
    first = store.remember(NewMemory(words, "p")).memory
    second = store.remember(NewMemory(words + " more", "p"))
    assert second.superseded is not None
    assert second.superseded.id == first.id
    edited = store.edit(second.memory.id, content=blob).memory
    store.forget([edited.id])
    store.undo()
    assert store.get(edited.id).content == blob
    assert index_agrees(store)
