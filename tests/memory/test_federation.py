"""Several stores asked as one."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dshloop.errors import (
    AmbiguousIdError,
    MemoryEmptyError,
    MemoryNotFoundError,
    PeerDownError,
    StoresUnreachableError,
)
from dshloop.memory.answers import Filters
from dshloop.memory.context import context
from dshloop.memory.entries import NewMemory, NewSession
from dshloop.memory.federation import Failure, FederatedReader, Source
from dshloop.memory.sqlite.reader import SqliteReader
from dshloop.memory.sqlite.store import SqliteStore
from dshloop.memory.store import MemoryReader


class Hung:
    """A store that gives no answer before the test ends."""

    def __init__(self) -> None:
        self.end = threading.Event()
        self.asked = 0

    def recall(self, *_words: Any, **_more: Any) -> list[Any]:
        self.asked += 1
        self.end.wait()
        return []

    def close(self) -> None:
        return


@pytest.fixture
def hung() -> Iterator[Hung]:
    store = Hung()
    yield store
    store.end.set()


def down() -> MemoryReader:
    raise PeerDownError("nobody is there")


def filled(path: Path, *texts: str, project: str = "p") -> Source:
    with_clock = iter(range(1000, 2000))
    store = SqliteStore(path, clock=lambda: float(next(with_clock)))
    for text in texts:
        store.remember(NewMemory(text, project=project))
    store.close()
    return Source(path.stem, lambda: SqliteReader(path))


@pytest.fixture
def two(tmp_path: Path) -> list[Source]:
    return [
        filled(tmp_path / "one.db", "Deploys happen on Fridays", "The cache lives in Redis"),
        filled(tmp_path / "two.db", "deploys  happen on fridays", "Deploys need two reviewers"),
    ]


def reader(sources: list[Source], told: list[Failure] | None = None, **more: Any) -> Any:
    warn = (lambda _failure: None) if told is None else told.append
    return FederatedReader(sources, warn=warn, **more)


def test_recall_folds_what_two_stores_have_and_says_where_it_is(two: list[Source]) -> None:
    stores = reader(two)
    hits = stores.recall("when are deploys")
    assert [hit.entry.content for hit in hits] == [
        "Deploys happen on Fridays",
        "Deploys need two reviewers",
    ]
    first, second = (stores.origin_of(hit.entry) for hit in hits)
    assert (first.store, [store for store, _ in first.also]) == ("one", ["two"])
    assert (second.store, second.also) == ("two", ())
    stores.close()
    stores.close()


def test_pages_go_on_where_the_last_one_ended(two: list[Source]) -> None:
    stores = reader(two)
    whole = stores.recall("deploys", limit=10)
    pages = [stores.recall("deploys", limit=1, offset=at)[0] for at in range(len(whole))]
    assert [hit.entry.id for hit in pages] == [hit.entry.id for hit in whole]
    entries = stores.list(limit=None)
    assert [stores.list(limit=1, offset=at)[0] for at in range(3)] == list(entries)
    assert stores.list(limit=None, oldest_first=True)[0].content == "Deploys happen on Fridays"
    stores.close()


def test_pages_hold_what_the_whole_holds_also_where_stores_rank_it_otherwise(
    tmp_path: Path,
) -> None:
    both = [f"deploy number {number} of many things" for number in range(12)]
    stores = reader(
        [
            filled(tmp_path / "one.db", *both, *(f"deploy one {number}" for number in range(8))),
            filled(tmp_path / "two.db", *(f"deploy two {number}" for number in range(8)), *both),
        ]
    )
    for asked in (
        lambda **page: [hit.entry.content for hit in stores.recall("deploy", min_score=0, **page)],
        lambda **page: [one.content for one in stores.list(**page)],
        lambda **page: [one.content for one in stores.list(oldest_first=True, **page)],
    ):
        whole = asked(limit=100)
        assert len(whole) == len(set(whole)) == 28
        for size in (1, 3, 5):
            pages = [asked(limit=size, offset=start) for start in range(0, 30, size)]
            assert [text for page in pages for text in page] == whole
    stores.close()


def test_nothing_relevant_anywhere_is_no_answer(two: list[Source]) -> None:
    stores = reader(two)
    assert stores.recall("elephants in the zoo") == []
    stores.close()


def test_a_store_that_is_down_is_named_and_the_others_answer(two: list[Source]) -> None:
    told: list[Failure] = []
    stores = reader([*two, Source("peer", down)], told)
    assert len(stores.recall("deploys")) == 2
    assert stores.count() == 4
    assert [(failure.store, failure.message) for failure in told] == [("peer", "nobody is there")]
    stores.close()


def test_a_fault_of_a_store_does_not_hide_the_others(two: list[Source]) -> None:
    class Broken:
        def recall(self, *_words: Any, **_more: Any) -> list[Any]:
            raise KeyError("rank")

        def close(self) -> None:
            return

    told: list[Failure] = []
    broken: Any = Broken()
    stores = reader([Source("broken", lambda: broken), *two], told)
    assert len(stores.recall("deploys")) == 2
    assert told[0].store == "broken"
    stores.close()


def test_a_silent_store_is_left_behind_and_not_asked_again(two: list[Source], hung: Hung) -> None:
    told: list[Failure] = []
    silent: Any = hung
    stores = reader([Source("hung", lambda: silent), *two], told, patience=0.3)
    assert len(stores.recall("deploys")) == 2
    assert len(stores.recall("deploys")) == 2
    assert [failure.message for failure in told] == ["did not answer within 0.3 s"]
    assert hung.asked == 1
    stores.close()


def test_when_no_store_answers_the_reasons_are_told(hung: Hung) -> None:
    silent: Any = hung
    stores = reader([Source("hung", lambda: silent), Source("peer", down)], patience=0.2)
    for _ in range(2):
        with pytest.raises(StoresUnreachableError) as raised:
            stores.recall("deploys")
        assert raised.value.exit_code == 5
        assert raised.value.details["stores"] == {
            "hung": "did not answer within 0.2 s",
            "peer": "nobody is there",
        }
    stores.close()


def test_a_question_that_is_wrong_is_told_as_such(two: list[Source]) -> None:
    stores = reader([*two, Source("peer", down)])
    with pytest.raises(MemoryEmptyError):
        stores.recall("  ")
    stores.close()


def test_an_entry_is_found_wherever_it_is(two: list[Source]) -> None:
    stores = reader([*two, Source("peer", down)])
    reviewers = stores.recall("reviewers")[0].entry
    assert stores.get(reviewers.id) == reviewers
    assert stores.origin_of(reviewers).store == "two"
    assert stores.history(reviewers.id) == [reviewers]
    assert reviewers in stores.around(reviewers.id, before=2, after=2)
    with pytest.raises(MemoryNotFoundError, match="none of the stores one, two has"):
        stores.get("mem_0000000000000000")  # the one that is down may have it
    stores.close()


def test_one_id_with_two_texts_is_ambiguous_and_with_one_text_is_not(tmp_path: Path) -> None:
    first = filled(tmp_path / "one.db", "Deploys happen on Fridays")
    kept = SqliteStore(tmp_path / "one.db")
    other = SqliteStore(tmp_path / "two.db")
    assert [put.outcome for put in other.put(kept.rows())] == ["added"]
    (entry,) = kept.list()
    kept.close()
    stores = reader([first, Source("two", lambda: SqliteReader(tmp_path / "two.db"))])
    assert stores.get(entry.id) == entry
    assert stores.origin_of(entry).also == (("two", entry.id),)
    stores.close()
    other.amend([entry._replace(content="Deploys happen on Mondays")])
    other.close()
    stores = reader([first, Source("two", lambda: SqliteReader(tmp_path / "two.db"))])
    with pytest.raises(AmbiguousIdError) as raised:
        stores.get(entry.id)
    assert raised.value.details["candidates"] == [f"one: {entry.id}", f"two: {entry.id}"]
    stores.close()


def test_numbers_are_added_up_and_told_by_store(two: list[Source]) -> None:
    stores = reader(two)
    total = stores.stats()
    assert (total.memories, total.projects, total.types) == (4, {"p": 4}, {"fact": 4})
    assert {name: found.memories for name, found in stores.stats_by_store().items()} == {
        "one": 2,
        "two": 2,
    }
    stores.close()


def test_sessions_of_two_stores_come_once_each(tmp_path: Path) -> None:
    sources = []
    for name, ids in (("one", ("s1", "s2")), ("two", ("s2", "s3"))):
        path = tmp_path / f"{name}.db"
        store = SqliteStore(path)
        for id_ in ids:
            store.start_session(NewSession(id_, "p"))
        store.close()
        sources.append(Source(name, lambda path=path: SqliteReader(path)))  # type: ignore[misc]
    stores = reader(sources)
    assert sorted(session.id for session in stores.sessions()) == ["s1", "s2", "s3"]
    assert stores.get_session("s3").id == "s3"
    assert stores.get_session("s4") is None
    stores.close()


def test_a_window_is_made_of_several_stores(two: list[Source]) -> None:
    stores = reader(two)
    made = context(stores, "p", query="deploys reviewers")
    assert "Fridays" in made.text
    assert "two reviewers" in made.text
    stores.close()


def test_filters_hold_in_every_store(tmp_path: Path) -> None:
    sources = [
        filled(tmp_path / "one.db", "Deploys are on Fridays", project="p"),
        filled(tmp_path / "two.db", "Deploys are on Mondays", project="q"),
    ]
    stores = reader(sources)
    assert [hit.entry.project for hit in stores.recall("deploys", Filters(project="q"))] == ["q"]
    assert [entry.project for entry in stores.list(Filters(project="p"))] == ["p"]
    stores.close()
