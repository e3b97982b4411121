"""The store in PostgreSQL as a ``MemoryStore``: the embedded store's changes, on a server."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dshloop.memory.answers import Filters, Stats
from dshloop.memory.postgres.database import PATIENCE, PostgresDatabase
from dshloop.memory.postgres.source import PostgresSource
from dshloop.memory.sqlite.meaning.model import Filled, Meaning
from dshloop.memory.sqlite.stats import stats_of
from dshloop.memory.sqlite.store import RowStore

if TYPE_CHECKING:
    from dshloop.memory.embedding.embedder import Embedder
    from dshloop.memory.postgres.connection import Lent
    from dshloop.memory.postgres.pools import Place
    from dshloop.memory.recall.source import Source
    from dshloop.memory.sqlite.connection import Connection
    from dshloop.memory.sqlite.meaning.nearness import VectorIndex

_BYTES = """
    SELECT sum(pg_total_relation_size(oid)) FROM pg_class
    WHERE relnamespace = CAST(current_schema() AS regnamespace) AND relkind = 'r'
"""


class PostgresStore(RowStore):
    """Entries in one schema of a server, which appears with the first entry.

    ``readonly`` refuses every write; ``patience`` is how many seconds the server may be away. The
    rest is as in SqliteReader.
    """

    name = "postgres"

    def __init__(
        self,
        place: Place,
        *,
        clock: Callable[[], float] = time.time,
        readonly: bool = False,
        notice: Callable[[str], None] | None = None,
        embedder: Callable[[], Embedder] | None = None,
        semantic: bool = False,
        synonyms: Path | None = None,
        patience: float = PATIENCE,
    ) -> None:
        database = PostgresDatabase(place, readonly=readonly, patience=patience)
        meaning = Meaning(embedder, usual=semantic, tell=notice, indexing=_indexing)
        super().__init__(database, meaning, clock, synonyms)
        self.place = place
        self._server = database

    def embed_missing(self) -> Iterator[Filled]:
        """As the embedded store does, and by pgvector where the server has it meanwhile."""
        self._server.add_pgvector()
        yield from super().embed_missing()

    def stats(self) -> Stats:
        with self._server.reading() as lent:
            return stats_of(
                lent,
                self.name,
                self._server.where,
                self._clock(),
                lambda: None if lent is None else _bytes(lent),
            )

    def _source(self, connection: Any, filters: Filters, now: float) -> Source:
        return PostgresSource(connection, filters, now)


def _indexing(connection: Connection, name: str) -> VectorIndex:
    from dshloop.memory.postgres.pgvector import index_of

    return index_of(connection, name)


def _bytes(lent: Lent) -> int | None:
    size = lent.native(_BYTES).fetchone()[0]
    return None if size is None else int(size)
