"""Recall by meaning on a server, with pgvector and without."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import psycopg
import pytest

from dshloop.memory.answers import Filters
from dshloop.memory.entries import NewMemory
from dshloop.memory.postgres.connection import Lent
from dshloop.memory.postgres.pgvector import ServerIndex, index_of
from dshloop.memory.postgres.store import PostgresStore
from dshloop.memory.sqlite.meaning.nearness import VectorIndex
from dshloop.memory.sqlite.store import RowStore, SqliteStore
from tests.memory.embedding.stand_in import StandIn
from tests.memory.postgres.conftest import Opener

TEXTS = (
    "We deploy on Fridays",
    "The cat sleeps all day",
    "Customer data lives in postgres",
    "Lunch is served at noon",
    "Nobody answers the phone in August",
    *(f"Thing number {number} is kept in box {number}" for number in range(300)),
)


def has_pgvector(dsn: str) -> bool:
    with psycopg.connect(dsn) as server:
        query = "SELECT 1 FROM pg_available_extensions WHERE name = 'vector'"
        return server.execute(query).fetchone() is not None


@pytest.fixture(params=["with pgvector", "without"])
def store(
    request: pytest.FixtureRequest, dsn: str, schema: str, opener: Opener,
    monkeypatch: pytest.MonkeyPatch,
) -> PostgresStore:  # fmt: skip
    if request.param == "without":
        without_pgvector(monkeypatch)
    elif not has_pgvector(dsn):
        pytest.skip("this PostgreSQL has no pgvector")
    return opener(dsn, schema, embedder=StandIn, semantic=True)


def without_pgvector(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("migrate", "database"):
        monkeypatch.setattr(f"dshloop.memory.postgres.{module}.add_pgvector", lambda *_: False)


def fill(store: RowStore) -> None:
    with store.batch():
        for number, text in enumerate(TEXTS):
            store.remember(NewMemory(text, "web" if number % 2 else "api"))
    all(store.embed_missing())


def found(store: RowStore, query: str, **more: Any) -> list[tuple[str, float]]:
    hits = store.recall(query, min_score=0.0, semantic=True, **more)
    return [(hit.entry.content, hit.score) for hit in hits]


def test_what_is_meant_is_found_in_other_words(store: PostgresStore) -> None:
    fill(store)
    assert store.stats().semantic == "stand-in"
    assert found(store, "rollout")[0][0] == "We deploy on Fridays"
    assert found(store, "kitten")[0][0] == "The cat sleeps all day"
    assert "We deploy on Fridays" not in [
        text for text, _ in found(store, "rollout", filters=Filters(project="web"))
    ]


def test_the_embedded_store_finds_the_same(store: PostgresStore, tmp_path: Path) -> None:
    fill(store)
    embedded = SqliteStore(tmp_path / "memory.db", embedder=StandIn, semantic=True)
    fill(embedded)
    for query in ("rollout", "kitten nap", "storage of customer data", "who picks up the phone"):
        [text, score], *_ = found(store, query)
        [expected, their], *_ = found(embedded, query)
        assert text == expected
        assert score == pytest.approx(their, abs=0.05)
    embedded.close()


def test_a_vector_goes_with_its_text(store: PostgresStore) -> None:
    first = store.remember(NewMemory("We deploy on Fridays", "p")).memory
    assert found(store, "rollout")[0][0] == "We deploy on Fridays"
    store.edit(first.id, content="The cat sleeps all day")
    assert [text for text, _ in found(store, "kitten")] == ["The cat sleeps all day"]
    store.forget([first.id], where=None)
    store.forget(where=Filters())
    assert found(store, "kitten") == []


def test_pgvector_that_comes_later_is_used(
    dsn: str, schema: str, opener: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not has_pgvector(dsn):
        pytest.skip("this PostgreSQL has no pgvector")
    with monkeypatch.context() as before:
        without_pgvector(before)
        store = opener(dsn, schema, embedder=StandIn, semantic=True)
        fill(store)
        assert index_in(store) is VectorIndex
        store.close()
    store = opener(dsn, schema, embedder=StandIn, semantic=True)
    assert list(store.embed_missing()) == []
    assert index_in(store) is ServerIndex
    assert found(store, "rollout")[0][0] == "We deploy on Fridays"
    with psycopg.connect(dsn) as server:
        query = "SELECT indexdef FROM pg_indexes WHERE schemaname = %s AND indexdef LIKE '%%hnsw%%'"
        assert len(server.execute(query, (schema,)).fetchall()) == 1


def index_in(store: PostgresStore) -> type[VectorIndex]:
    with store._database.reading() as connection:
        assert isinstance(connection, Lent)
        return type(index_of(connection, "stand-in"))
