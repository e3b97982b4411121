"""Reading a store that keeps entries in rows, and the embedded one: a file that appears with the
first entry."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dshloop.errors import MemoryEmptyError
from dshloop.memory.answers import DEFAULT_LIMIT, Filters, Hit, Record, Stats
from dshloop.memory.entries import Entry, Memory, Session
from dshloop.memory.sqlite import database as sqlite
from dshloop.memory.sqlite import lookup
from dshloop.memory.sqlite.connection import Database
from dshloop.memory.sqlite.meaning.model import Meaning

if TYPE_CHECKING:
    from dshloop.memory.embedding.embedder import Embedder
    from dshloop.memory.recall.source import Source

_EVERYTHING = Filters()


class RowReader:
    """Entries in the rows of a database; without a database the store is empty.

    Not for use by several threads at once; several processes are fine.
    """

    def __init__(
        self,
        database: Database,
        meaning: Meaning,
        clock: Callable[[], float],
        synonyms: Path | None,
    ) -> None:
        self._database = database
        self._meaning = meaning
        self._clock = clock
        self._synonyms = synonyms

    def recall(
        self,
        query: str,
        filters: Filters = _EVERYTHING,
        *,
        limit: int = DEFAULT_LIMIT,
        offset: int = 0,
        min_score: float | None = None,
        semantic: bool | None = None,
    ) -> Sequence[Hit]:
        if not query.strip():
            raise MemoryEmptyError("there is nothing to look for: the question is blank")
        from dshloop.memory.recall import search

        now = self._clock()
        question = self._meaning.question(query, semantic)
        with self._database.looking() as connection:
            if connection is None:
                return ()
            near = self._meaning.near(connection, question, filters, now)
            source = self._source(connection, filters, now)
            return search.recall(source, query, now, limit, offset, min_score, near, self._synonyms)

    def _source(self, connection: Any, filters: Filters, now: float) -> Source:
        """Give a question's view of the database."""
        raise NotImplementedError

    def list(
        self,
        filters: Filters = _EVERYTHING,
        *,
        limit: int | None = DEFAULT_LIMIT,
        offset: int = 0,
        oldest_first: bool = False,
    ) -> Sequence[Entry]:
        with self._database.reading() as connection:
            if connection is None:
                return ()
            rows = lookup.newest(
                connection, filters, self._clock(), limit, offset, oldest_first=oldest_first
            )
            return [row.entry for row in rows]

    def count(self, filters: Filters = _EVERYTHING) -> int:
        with self._database.reading() as connection:
            return 0 if connection is None else lookup.count(connection, filters, self._clock())

    def get(self, id: str) -> Entry:  # noqa: A002
        with self._database.reading() as connection:
            return lookup.find(connection, id, self._clock()).entry

    def history(self, id: str) -> Sequence[Memory]:  # noqa: A002
        from dshloop.memory.sqlite import history

        with self._database.reading() as connection:
            row = lookup.find(connection, id, self._clock())
            assert connection is not None
            return history.versions(connection, row)

    def around(self, id: str, *, before: int, after: int) -> Sequence[Entry]:  # noqa: A002
        now = self._clock()
        with self._database.reading() as connection:
            row = lookup.find(connection, id, now)
            assert connection is not None
            return lookup.around(connection, row, now, before, after)

    def get_session(self, id: str) -> Session | None:  # noqa: A002
        from dshloop.memory.sqlite import sessions

        with self._database.reading() as connection:
            return None if connection is None else sessions.get(connection, id)

    def sessions(
        self,
        *,
        project: str | None = None,
        agent: str | None = None,
        since: float | None = None,
        until: float | None = None,
        limit: int | None = DEFAULT_LIMIT,
        offset: int = 0,
        oldest_first: bool = False,
    ) -> Sequence[Session]:
        from dshloop.memory.sqlite import sessions

        with self._database.reading() as connection:
            if connection is None:
                return ()
            where = {"project": project, "agent": agent, "since": since, "until": until}
            return sessions.newest(connection, where, limit, offset, oldest_first)

    def documents(self, kind: str) -> Mapping[str, Any]:
        from dshloop.memory.sqlite import documents

        with self._database.reading() as connection:
            return {} if connection is None else documents.every(connection, kind)

    def document(self, kind: str, key: str) -> Any:
        from dshloop.memory.sqlite import documents

        with self._database.reading() as connection:
            return None if connection is None else documents.get(connection, kind, key)

    def rows(self, where: Filters | None = None) -> Iterator[Record]:
        from dshloop.memory.sqlite import records

        with self._database.reading_apart() as connection:
            if connection is not None:
                yield from records.records(connection, where, self._clock())

    def expired(self) -> Iterator[Entry]:
        from dshloop.memory.sqlite import records

        with self._database.reading_apart() as connection:
            if connection is not None:
                yield from records.expired(connection, self._clock())

    def close(self) -> None:
        self._meaning.close()
        self._database.close()


class SqliteReader(RowReader):
    """Entries in ``path``. Readers never create the file: without one the store is empty.

    ``readonly`` refuses every write and changes nothing of the file, not even its schema.
    ``notice`` is called with what a person should know (that an older file was copied before it
    was brought forward). ``embedder`` opens the model for `recall` by meaning; with ``semantic``
    that is the usual way. ``synonyms`` is a user's file of them (synonyms.py).
    """

    name = "embedded"

    def __init__(
        self,
        path: Path,
        *,
        clock: Callable[[], float] = time.time,
        readonly: bool = False,
        notice: Callable[[str], None] | None = None,
        embedder: Callable[[], Embedder] | None = None,
        semantic: bool = False,
        synonyms: Path | None = None,
    ) -> None:
        self.path = path
        meaning = Meaning(embedder, usual=semantic, tell=notice)
        database = sqlite.Database(path, readonly=readonly, notice=notice)
        super().__init__(database, meaning, clock, synonyms)

    def _source(self, connection: Any, filters: Filters, now: float) -> Source:
        from dshloop.memory.sqlite.recall.embedded import EmbeddedSource

        return EmbeddedSource(connection, filters, now)

    def stats(self) -> Stats:
        from dshloop.memory.sqlite.stats import bytes_of, stats_of

        with self._database.reading() as connection:
            return stats_of(
                connection, self.name, str(self.path), self._clock(), lambda: bytes_of(self.path)
            )
