"""Records into a daemon, which is our server."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from dshloop.memory.agentmemory.store import AgentmemoryStore
from dshloop.memory.answers import MERGE, OVERWRITE, SKIP, Document, Filters, Record
from dshloop.memory.entries import Memory, NewMemory, Observation
from dshloop.memory.interchange.carrying import migrate
from dshloop.memory.interchange.report import Report
from dshloop.memory.sqlite.store import SqliteStore
from tests.memory.agentmemory.daemons import Daemons, store_at
from tests.memory.contract import observation


@pytest.fixture
def store(daemons: Daemons, tmp_path: Path) -> Iterator[AgentmemoryStore]:
    with daemons.over(tmp_path / "served") as url:
        opened = store_at(url, time.time)
        yield opened
        opened.close()


@pytest.fixture
def ours(tmp_path: Path) -> Iterator[SqliteStore]:
    opened = SqliteStore(tmp_path / "ours.db")
    yield opened
    opened.close()


def test_a_store_is_carried_there_and_is_there_then(
    store: AgentmemoryStore, ours: SqliteStore
) -> None:
    first = ours.remember(NewMemory("deploy on Fridays", "p", concepts=["x"])).memory
    ours.edit(first.id, content="deploy on Mondays")
    for number in range(450):
        ours.observe(observation(f"s{number % 3}", f"turn {number}"))
    done = migrate(ours, store, Report(), None, on_conflict=SKIP)
    assert (done.total("added"), done.lost) == (455, {})
    again = migrate(ours, store, Report(), None, on_conflict=SKIP)
    assert dict(again.outcomes) == {
        ("same", "session"): 3,
        ("same", "memory"): 2,
        ("same", "observation"): 450,
    }
    for entry in ours.list(Filters(old=True), limit=None):
        there = store.get(entry.id)
        assert there.content == entry.content
        assert there.created_at == pytest.approx(entry.created_at, abs=0.001)
        if isinstance(entry, Memory) and isinstance(there, Memory):
            assert (there.version, there.latest, there.previous) == (
                entry.version, entry.latest, entry.previous,
            )  # fmt: skip
    assert sorted(one.observations for one in store.sessions()) == [150, 150, 150]


def test_lessons_are_carried_and_other_documents_are_told(
    store: AgentmemoryStore, ours: SqliteStore
) -> None:
    lesson = {"id": "lsn_1", "content": "test first", "confidence": 0.5, "tags": []}
    ours.keep_document("lesson", "lsn_1", lesson)
    ours.keep_document("relation", "rel_1", {"sourceId": "a"})
    ours.remember(NewMemory("deploy on Fridays", "p"))
    done = migrate(ours, store, Report(), None, on_conflict=SKIP)
    assert done.total("added") == 2
    assert dict(done.lost) == {"the store has no place for it": 1}
    assert done.places["the store has no place for it"] == ["rel_1"]
    [back] = [row for row in store.rows() if isinstance(row, Document)]
    assert (back.of, back.key, back.value["content"]) == ("lesson", "lsn_1", "test first")


@pytest.mark.parametrize(
    ("how", "outcome", "text", "concepts"),
    [
        (SKIP, "kept", "theirs", ("old",)),
        (OVERWRITE, "replaced", "ours", ("new",)),
        (MERGE, "merged", "ours", ("old", "new")),
    ],
)
def test_a_taken_id(
    store: AgentmemoryStore, how: str, outcome: str, text: str, concepts: tuple[str, ...]
) -> None:
    known = store.remember(NewMemory("theirs", "p", concepts=["old"])).memory
    new = known._replace(content="ours", concepts=("new",), updated_at=known.updated_at + 60)
    [planned] = store.put([new], on_conflict=how, dry_run=True)
    assert (planned.outcome, store.get(known.id)) == (outcome, known)
    [done] = store.put([new], on_conflict=how)
    stored = store.get(known.id)
    assert isinstance(stored, Memory)
    assert (done.outcome, stored.content, stored.concepts) == (outcome, text, concepts)


def test_an_id_that_comes_twice_is_one_record(store: AgentmemoryStore, ours: SqliteStore) -> None:
    memory = ours.remember(NewMemory("deploy on Fridays", "p")).memory
    seen = ours.observe(observation("s1", "hello")).observation
    session = ours.get_session("s1")
    assert session is not None
    records: list[Record] = [session, memory, seen, memory._replace(content="other"), seen, session]
    outcomes = [done.outcome for done in store.put(records, on_conflict=SKIP)]
    assert outcomes == ["added", "added", "added", "kept", "same", "same"]
    assert store.get(memory.id).content == "deploy on Fridays"
    [back] = store.list(Filters(session="s1"))
    assert isinstance(back, Observation)
    assert back.id == seen.id
