"""Recall over a real database: what surrounds an answer, what is folded, what is shown at all."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from dshloop.memory.answers import Filters
from dshloop.memory.entries import NewMemory, NewObservation
from dshloop.memory.sqlite.store import SqliteStore

Recall = Callable[..., list[str]]


@pytest.fixture
def clock() -> list[float]:
    return [1_700_000_000.0]


@pytest.fixture
def store(tmp_path: Path, clock: list[float]) -> Iterator[SqliteStore]:
    store = SqliteStore(tmp_path / "memory.db", clock=lambda: clock[0])
    yield store
    store.close()


def observe(store: SqliteStore, session: str, *texts: str, project: str = "p") -> None:
    for number, text in enumerate(texts):
        store.observe(
            NewObservation(
                session, project, "prompt_submit", "prompt_submit", text, f"{number} {text}"
            )
        )


def texts(store: SqliteStore, query: str, *more: Filters, **options: object) -> list[str]:
    return [hit.entry.content for hit in store.recall(query, *more, **options)]  # type: ignore[arg-type]


TALK = [
    "Ann: did you book the venue for the wedding?",
    "Bob: yes, it is the old mill by the river",
    "Ann: lovely, and who does the flowers?",
    "Bob: my cousin has a shop in town",
    "Ann: perfect. Let us talk about the budget tomorrow",
]


def test_an_answer_without_the_words_is_found_by_the_question_before_it(
    store: SqliteStore,
) -> None:
    observe(store, "s1", *TALK)
    observe(store, "s2", "Ann: the mill of the pepper is broken", "Bob: buy a new one")
    found = texts(store, "which venue was booked for the wedding")
    assert set(found[:2]) == {TALK[0], TALK[1]}
    [hit] = [hit for hit in store.recall("venue wedding") if hit.entry.content == TALK[1]]
    assert (hit.why.words, hit.why.context) == ((), ("venue", "wedding"))
    assert hit.why.parts["context"] > 0


def test_neighbours_of_other_sessions_do_not_count(store: SqliteStore) -> None:
    for number, text in enumerate(TALK):
        observe(store, f"s{number}", text)
    assert texts(store, "venue wedding") == [TALK[0]]


def test_a_filter_hides_neighbours_as_hits(store: SqliteStore) -> None:
    observe(store, "s1", *TALK[:2])
    store.remember(NewMemory("the venue of the wedding is settled", "p", session="s1"))
    hits = store.recall("venue wedding", Filters(kinds=("memory",)))
    assert [hit.entry.kind for hit in hits] == ["memory"]


def test_the_speaker_that_is_named_comes_first(store: SqliteStore) -> None:
    observe(store, "s1", "Ann: we adopted a dog", "Cid: what?", "Bob: we adopted a dog too, Ann")
    assert texts(store, "what did Ann adopt")[0].startswith("Ann")
    assert texts(store, "what did Bob adopt")[0].startswith("Bob")


def test_equal_entries_are_folded(store: SqliteStore, clock: list[float]) -> None:
    said = ["Run the smoke tests", "run  smoke tests!", "run the smoke tests on port 80"]
    for number, text in enumerate(said):
        observe(store, f"s{number}", text)
        clock[0] += 86_400
    hits = store.recall("smoke tests")
    assert sorted(hit.entry.content for hit in hits) == sorted([said[1], said[2]])
    [hit] = [hit for hit in hits if hit.entry.content == said[1]]
    folded = [store.get(id_).content for id_ in hit.folded]
    assert folded == [said[0]]


def test_equal_entries_of_other_projects_are_not_folded(store: SqliteStore) -> None:
    for project in ("web", "api"):
        store.remember(NewMemory("run the smoke tests", project))
    hits = store.recall("smoke tests")
    assert len(hits) == 2
    assert not any(hit.folded for hit in hits)


def test_pages_of_hits_make_up_the_whole(store: SqliteStore) -> None:
    for number in range(25):
        store.remember(NewMemory(f"note {number} about the deploy", "p"))
    whole = texts(store, "deploy", limit=25)
    assert len(set(whole)) == 25
    pages = [texts(store, "deploy", limit=10, offset=at) for at in (0, 10, 20)]
    assert [text for page in pages for text in page] == whole


def test_a_filter_that_few_pass_still_finds_them(store: SqliteStore) -> None:
    store.remember(NewMemory("deploy of the rare one", "rare"))
    for number in range(300):
        store.remember(NewMemory(f"deploy number {number}", "common"))
    assert texts(store, "deploy", Filters(project="rare")) == ["deploy of the rare one"]


def test_a_small_project_is_found_by_words_that_are_common_elsewhere(store: SqliteStore) -> None:
    store.remember(NewMemory("deploy on the small ship", "small", agent="a"))
    store.remember(NewMemory("deploy and release", "small", agent="b"))
    with store.batch():
        for number in range(1_200):
            text = f"deploy {'release' if number < 40 else 'nothing'} {number}"
            store.observe(NewObservation("s", "big", "note", "note", text, str(number)))
    small = Filters(project="small")
    assert len(texts(store, "deploy", small)) == 2
    assert len(texts(store, "deploy release", small, min_score=0.0)) == 2
    assert texts(store, "deploy", Filters(project="small", agent="a")) == [
        "deploy on the small ship"
    ]


def test_entries_of_no_project_belong_to_every_project(store: SqliteStore) -> None:
    store.remember(NewMemory("deploy anywhere", ""))
    store.remember(NewMemory("deploy elsewhere", "api"))
    assert texts(store, "deploy", Filters(project="web")) == ["deploy anywhere"]


def test_what_has_expired_is_neither_found_nor_context(
    store: SqliteStore, clock: list[float]
) -> None:
    store.remember(NewMemory("the venue of the wedding", "p", ttl=60.0))
    store.remember(NewMemory("it is the old mill, and the wedding is in May", "p"))
    assert len(texts(store, "venue wedding")) == 2
    clock[0] += 120
    [hit] = store.recall("venue wedding", min_score=0.0)
    assert hit.why.context == ()


def test_synonyms_are_found_and_come_after_the_word_itself(store: SqliteStore) -> None:
    store.remember(NewMemory("Postgres is our database of record", "p"))
    short = "the db is copied every night"
    store.remember(NewMemory(short, "p"))
    hits = store.recall("db", min_score=0.0)
    assert hits[0].entry.content == short
    assert [hit.why.prefixes for hit in hits] == [(), ("db",)]


def test_a_word_finds_the_longer_ones_that_it_begins(store: SqliteStore) -> None:
    store.remember(NewMemory("the throttler drops requests", "p"))
    store.remember(NewMemory("nothing of the sort", "p"))
    assert texts(store, "throttle") == ["the throttler drops requests"]
    assert texts(store, "throt") == ["the throttler drops requests"]
    assert texts(store, "thr") == []


def test_an_irregular_form_finds_its_word(store: SqliteStore) -> None:
    store.remember(NewMemory("Ann went to Oslo and bought skis", "p"))
    assert len(texts(store, "when did Ann go")) == 1
    assert len(texts(store, "what did Ann buy")) == 1


def test_the_order_is_stable(store: SqliteStore) -> None:
    for number in range(30):
        store.remember(NewMemory(f"deploy of part {number % 3} number {number}", "p"))
    first = texts(store, "deploy part", limit=30)
    assert all(texts(store, "deploy part", limit=30) == first for _ in range(3))


def test_a_common_word_does_not_hide_a_rare_one(store: SqliteStore) -> None:
    with store.batch():
        for number in range(1_200):
            store.observe(
                NewObservation("s", "p", "note", "note", f"deploy number {number}", str(number))
            )
    store.remember(NewMemory("the deploy needs the kraken", "p"))
    assert texts(store, "deploy kraken")[0] == "the deploy needs the kraken"
    assert len(texts(store, "deploy")) == 10


def test_an_identifier_comes_before_a_session_that_is_full_of_its_pieces(
    store: SqliteStore,
) -> None:
    store.remember(NewMemory("kept g6r6w2n1 here", "p"))
    observe(
        store, "s", *(f"step {number} of g6 r6 w2 n1 with g r w n 6 2 1" for number in range(40))
    )
    assert texts(store, "g6r6w2n1", limit=3)[0] == "kept g6r6w2n1 here"
