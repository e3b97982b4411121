"""A store that keeps entries in rows as a ``MemoryStore``, and the embedded one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import Any

from dshloop.errors import MemoryNotFoundError
from dshloop.memory.answers import SKIP, Filters, Forgotten, Put, Record, Remembered, Undone
from dshloop.memory.clean import clean_edit, clean_memory
from dshloop.memory.entries import (
    Edit,
    Entry,
    Memory,
    NewMemory,
)
from dshloop.memory.sqlite import (
    amending,
    bulk,
    documents,
    forgetting,
    history,
    lookup,
    operations,
)
from dshloop.memory.sqlite import remember as remember_
from dshloop.memory.sqlite.connection import Connection
from dshloop.memory.sqlite.history import edited, newest_of
from dshloop.memory.sqlite.known import Known
from dshloop.memory.sqlite.meaning.model import Filled, Written
from dshloop.memory.sqlite.operation import Operation, begin, finish
from dshloop.memory.sqlite.reader import SqliteReader
from dshloop.memory.sqlite.recorder import RowRecorder
from dshloop.memory.sqlite.remember import Newcomer, Rarity
from dshloop.memory.sqlite.rows import Row

_EVERYTHING = Filters()
_AT_ONCE = 1_000


class RowStore(RowRecorder):
    """A recorder that also remembers, and changes what is there."""

    _batch: Operation | None = None

    @cached_property
    def _rarity(self) -> Rarity:
        return Rarity()

    def remember(
        self, new: NewMemory, *, allow_secrets: bool = False, renew: bool = False
    ) -> Remembered:
        one, redacted = self._newcomer(new, allow_secrets=allow_secrets)
        written = self._embedded(lambda: one.memory)
        with self._changing("remember", beside=True) as (connection, operation):
            done = remember_.remember(connection, operation, one, self._rarity, renew=renew)
            self._meaning.write(connection, written, [done.memory])
        return done._replace(redacted=redacted)

    def remember_all(
        self, news: Iterable[NewMemory], *, allow_secrets: bool = False
    ) -> Iterator[Remembered]:
        """Keep many memories, a thousand in one transaction; yield what came of each when it is
        on disk. What was yielded stays when a later one raises.

        The same text is counted, but nothing is superseded: what is brought in as a whole is not
        to be folded, and looking for near-equal memories would take most of the time.
        """
        for some in _in_parts(news, _AT_ONCE):
            made = [self._newcomer(new, allow_secrets=allow_secrets) for new in some]
            with self._changing("remember") as (connection, operation):
                done = [remember_.remember(connection, operation, one, None) for one, _ in made]
            for each, (_, redacted) in zip(done, made, strict=True):
                yield each._replace(redacted=redacted)

    def edit(
        self,
        id: str,  # noqa: A002
        *,
        content: str | None = None,
        title: str | None = None,
        type: str | None = None,  # noqa: A002
        concepts: Sequence[str] | None = None,
        files: Sequence[str] | None = None,
        strength: float | None = None,
        allow_secrets: bool = False,
    ) -> Remembered:
        change = Edit(content, title, type, concepts, files, strength).checked()
        redacted = 0
        if not allow_secrets:
            change, redacted = clean_edit(change)
        now = self._clock()
        written = self._embedded(lambda: self._edited(id, change, now))
        with self._changing("edit", beside=True) as (connection, operation):
            row = lookup.find(connection, id, now)
            done = history.edit(connection, operation, row, change, now)
            self._meaning.write(connection, written, [done.memory])
        return done._replace(redacted=redacted)

    def forget(
        self,
        ids: Sequence[str] = (),
        *,
        where: Filters | None = None,
        dry_run: bool = False,
        purge: bool = False,
    ) -> Forgotten:
        now = self._clock()
        with self._database.reading() as connection:
            doomed = _Doomed.of(connection, ids, where, now, purge=purge)
        if not dry_run and doomed.rows:
            with self._changing("purge" if purge else "forget") as (connection, operation):
                # Looked up again: another process may have been here.
                doomed = _Doomed.of(connection, ids, where, now, purge=purge)
                if purge:
                    forgetting.purge(connection, operation, doomed.live, doomed.away)
                else:
                    forgetting.forget(connection, operation, doomed.live, now)
            if purge:
                self._database.scrub()
        return Forgotten(tuple(row.entry for row in doomed.rows), doomed.missing)

    def forget_session(self, id: str) -> Forgotten:  # noqa: A002
        if self.get_session(id) is None:
            return Forgotten((), (id,))
        with self._changing("forget") as (connection, operation):
            entries = forgetting.forget_session(connection, operation, id, self._clock())
        return Forgotten((), (id,)) if entries is None else Forgotten(tuple(entries))

    def restore(self, ids: Sequence[str]) -> Sequence[Entry]:
        with self._database.reading() as connection:
            if connection is None:
                forgetting.nothing_to_restore(ids)
        with self._changing("restore") as (connection, operation):
            return forgetting.restore(connection, operation, ids)

    def undo(self) -> Undone:
        with self._database.reading() as connection:
            operations.last(connection)
        with self._database.writing() as connection:
            return operations.undo(connection, self._clock())

    @contextmanager
    def batch(self, verb: str = "import") -> Iterator[None]:
        """Make all that is changed within it one transaction, and one change for `undo`."""
        with self._changing(verb) as (_, operation):
            self._batch = operation
            try:
                yield
            finally:
                self._batch = None

    @contextmanager
    def together(self) -> Iterator[None]:
        """Make all changes within it one transaction; each stays a change of its own."""
        with self._database.writing():
            yield

    def put(
        self, records: Iterable[Record], *, on_conflict: str = SKIP, dry_run: bool = False
    ) -> Iterator[Put]:
        run = bulk.Import(on_conflict, self._clock())
        for batch in bulk.batches(records):
            with self._database.reading() as connection:
                there = Known.of(connection, batch)
            if dry_run:
                yield from there.expected(batch, on_conflict)
                continue
            indexed = run.prepare(batch, there)
            with self._database.writing() as connection:
                done = run.put(connection, batch, indexed)
            yield from done

    def amend(self, entries: Iterable[Entry]) -> Sequence[Entry]:
        with self._changing("amend") as (connection, operation):
            old = [amending.amend(connection, operation, entry) for entry in entries]
        return [entry for entry in old if entry is not None]

    def embed_missing(self) -> Iterator[Filled]:
        """Give vectors to the entries that have none, the newest first; yield after each batch.

        What is done stays when it is broken off. Raises SEMANTIC_UNAVAILABLE, PEER_*,
        EMBEDDING_INVALID.
        """
        return self._meaning.fill(self._database)

    def keep_document(self, kind: str, key: str, value: Any) -> None:
        with self._database.writing(beside=True) as connection:
            documents.keep(connection, kind, key, value, self._clock())

    def drop_document(self, kind: str, key: str) -> bool:
        if self.document(kind, key) is None:
            return False
        with self._database.writing(beside=True) as connection:
            return documents.drop(connection, kind, key)

    def _embedded(self, entry: Callable[[], Entry]) -> Written | None:
        """Make the vector of what is about to be stored; not of imports, which `embed_missing`
        does at leisure."""
        return None if self._batch is not None else super()._embedded(entry)

    def _edited(self, id: str, change: Edit, now: float) -> Entry:  # noqa: A002
        """Give a memory as an edit will leave it."""
        with self._database.reading() as connection:
            found = lookup.find(connection, id, now)
            assert connection is not None
            old = newest_of(connection, found).entry
        return edited(old, change, now) if isinstance(old, Memory) else old

    def _newcomer(self, new: NewMemory, *, allow_secrets: bool) -> tuple[Newcomer, int]:
        new, redacted = (new.checked(), 0) if allow_secrets else clean_memory(new.checked())
        return remember_.newcomer(new, self._clock()), redacted

    @contextmanager
    def _changing(
        self, verb: str, *, beside: bool = False
    ) -> Iterator[tuple[Connection, Operation]]:
        """Lend a connection inside a transaction, and the change to note what is done."""
        with self._database.writing(beside=beside) as connection:
            if self._batch is not None:
                yield connection, self._batch
                return
            operation = begin(connection)
            yield connection, operation
            finish(connection, operation, verb, self._clock())


class SqliteStore(RowStore, SqliteReader):
    """The embedded store: one file that appears with the first entry."""


class _Doomed:
    """What is to be forgotten: rows in use and, for a purge, rows that were put away."""

    def __init__(self, live: Iterable[Row], away: Iterable[Row], missing: Sequence[str]) -> None:
        self.live = {row.seq: row for row in live}.values()
        self.away = {row.seq: row for row in away}.values()
        self.rows = (*self.live, *self.away)
        self.missing = tuple(dict.fromkeys(missing))

    @classmethod
    def of(
        cls,
        connection: Connection | None,
        ids: Sequence[str],
        where: Filters | None,
        now: float,
        *,
        purge: bool,
    ) -> _Doomed:
        """Look ids and filters up. Raises MEMORY_NOT_FOUND when no id names anything."""
        live: list[Row] = []
        away: list[Row] = []
        missing: list[str] = []
        for id_ in ids:
            try:
                live.append(lookup.find(connection, id_, now))
            except MemoryNotFoundError:
                found = forgetting.away(connection, [id_]) if purge and connection else []
                away += found
                missing += [] if found else [id_]
        if ids and not live and not away:
            raise MemoryNotFoundError(
                f"nothing was forgotten: no memory has the id {', '.join(dict.fromkeys(missing))}",
                ids=list(dict.fromkeys(missing)),
            )
        if where is not None and connection is not None:
            live += lookup.newest(connection, where, now, None, oldest_first=True)
            away += forgetting.away_where(connection, where, now) if purge else []
        return cls(live, away, missing)


def _in_parts(news: Iterable[NewMemory], size: int) -> Iterator[Sequence[NewMemory]]:
    from itertools import islice

    rest = iter(news)
    while some := tuple(islice(rest, size)):
        yield some
