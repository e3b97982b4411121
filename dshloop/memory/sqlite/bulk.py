"""Records in and out as they are: with their ids, times and versions, in constant memory.

Putting works in batches. What a batch adds is noted as one change with the batches before it, so
that `undo` takes a whole import back.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from dshloop.errors import NothingToUndoError
from dshloop.memory.entries import Entry, Memory, Observation, Session
from dshloop.memory.sqlite import documents, forgetting, index, sessions, write
from dshloop.memory.sqlite.filters import where as conditions_of
from dshloop.memory.sqlite.index import Indexed
from dshloop.memory.sqlite.joining import joined
from dshloop.memory.sqlite.lookup import by_id, row
from dshloop.memory.sqlite.operation import IMPORTED, Operation, begin
from dshloop.memory.sqlite.rows import (
    COLUMNS,
    digest_of,
    observation_digest,
    packed,
    row_of,
    unpacked,
)
from dshloop.memory.store import DOCUMENT, MERGE, OVERWRITE, SESSION, Document, Filters, Put, Record

AT_ONCE = 4_000
"""Records in one transaction."""
_CHARACTERS = 4_000_000  # of content in one transaction
_AT_ONCE_ASKED = 500
_MOST_SESSIONS = 1_000  # new ones that one change notes
_VERB = "import"

_INSERT = (
    f"INSERT INTO entries ({COLUMNS}, digest, words, seq) "
    f"VALUES ({', '.join('?' * (COLUMNS.count(',') + 4))})"
)
_EVERYTHING = Filters(old=True)


def records(
    connection: sqlite3.Connection, filters: Filters | None, now: float
) -> Iterator[Record]:
    """Give the sessions, the entries, the documents, each in the order they were stored."""
    conditions, values = conditions_of((filters or _EVERYTHING)._replace(old=True), now)
    chosen, bound = "1", list[Any]()
    if filters is not None:
        chosen = f"id IN (SELECT m.session FROM entries AS m WHERE {conditions})"
        bound = values
    for found in connection.execute(
        f"SELECT {sessions.COLUMNS} FROM sessions WHERE {chosen} ORDER BY rowid", bound
    ):
        yield sessions.session_of(found)
    query = f"SELECT seq, {COLUMNS} FROM entries AS m WHERE {conditions} ORDER BY seq"
    for found in connection.execute(query, values):
        yield row(found).entry
    if filters is None:
        yield from documents.records(connection)


def batches(records: Iterable[Record]) -> Iterator[list[Record]]:
    """Split records into what fits into one transaction."""
    some: list[Record] = []
    characters = 0
    for record in records:
        some.append(record)
        characters += len(record.content) if isinstance(record, (Memory, Observation)) else 0
        if len(some) >= AT_ONCE or characters >= _CHARACTERS:
            yield some
            some, characters = [], 0
    if some:
        yield some


class Known:
    """What a store has of a batch, as the batch changes it: records by their kind and id, the
    numbers of entries, and the ids that were forgotten."""

    def __init__(self) -> None:
        self.records: dict[tuple[str, str], Record] = {}
        self.seqs: dict[str, int] = {}
        self.forgotten: set[str] = set()

    @classmethod
    def of(cls, connection: sqlite3.Connection | None, batch: Sequence[Record]) -> Known:
        """Look the ids of a batch up."""
        there = cls()
        if connection is None:
            return there
        ids = [one.id for one in batch if isinstance(one, (Memory, Observation))]
        for found in _having(connection, f"seq, {COLUMNS}", "entries", ids):
            one = row(found)
            there.records[_name(one.entry)] = one.entry
            there.seqs[one.entry.id] = one.seq
        there.forgotten.update(
            unpacked(id_) for (id_,) in _having(connection, "id", "forgotten", ids)
        )
        named = {one.id for one in batch if isinstance(one, Session)}
        named |= {one.session for one in batch if isinstance(one, Observation)}
        for found in _having(connection, sessions.COLUMNS, "sessions", named):
            session = sessions.session_of(found)
            there.records[_name(session)] = session
        for one_ in (one for one in batch if isinstance(one, Document)):
            kept = documents.record(connection, one_.of, one_.key)
            if kept is not None:
                there.records[_name(kept)] = kept
        return there

    def expected(self, batch: Sequence[Record], on_conflict: str) -> Iterator[Put]:
        """Say what would become of a batch."""
        for record in batch:
            what, new = self.judge(record, on_conflict)
            self.records[_name(record)] = new
            yield Put(record, what)

    def judge(self, record: Record, on_conflict: str) -> tuple[str, Record]:
        """Say what becomes of a record, and which one is stored then."""
        old = self.records.get(_name(record))
        if isinstance(record, Session):
            counted = old.observations if isinstance(old, Session) else 0
            record = record._replace(observations=counted)
        if old is None:
            gone = isinstance(record, (Memory, Observation)) and record.id in self.forgotten
            return "forgotten" if gone and on_conflict != OVERWRITE else "added", record
        if old == record:
            return "same", old
        if on_conflict == OVERWRITE:
            return "replaced", record
        if on_conflict != MERGE:
            return "kept", old
        both = joined(old, record)
        return ("same", old) if both == old else ("merged", both)


class Import:
    """One import: batch by batch, each inside a transaction of the caller's."""

    def __init__(self, on_conflict: str, clock: float) -> None:
        self._on_conflict = on_conflict
        self._now = clock
        self._run = os.urandom(8).hex()

    def prepare(self, batch: Sequence[Record], there: Known) -> dict[str, Indexed]:
        """Make the words of what is new before the store is locked."""
        return {
            one.id: index.index_of(one)
            for one in batch
            if isinstance(one, (Memory, Observation)) and one.id not in there.seqs
            if _findable(one)
        }

    def put(
        self,
        connection: sqlite3.Connection,
        batch: Sequence[Record],
        indexed: Mapping[str, Indexed],
    ) -> list[Put]:
        """Store a batch."""
        writing = _Batch(connection, Known.of(connection, batch), indexed, self._now)
        done = [writing.one(record, self._on_conflict) for record in batch]
        writing.finish()
        self._note(connection, writing)
        return done

    def _note(self, connection: sqlite3.Connection, done: _Batch) -> None:
        """Write down what was added, together with the batch before when nothing came between."""
        if not (done.added or done.begun or done.final):
            return
        change = [IMPORTED, self._run, done.first, done.next - 1, done.begun, done.final]
        last = connection.execute(
            "SELECT number, detail FROM operations ORDER BY number DESC LIMIT 1"
        ).fetchone()
        if last is not None:
            before = json.loads(last[1])[0]
            if before[:2] == change[:2] and _adjoin(before, change):
                detail = [[*before[:3], change[3], before[4] + change[4], before[5] or change[5]]]
                values = (json.dumps(detail), last[0])
                connection.execute("UPDATE operations SET detail = ? WHERE number = ?", values)
                return
        connection.execute(
            "INSERT INTO operations (number, verb, at, detail) VALUES (?, ?, ?, ?)",
            (begin(connection).number, _VERB, self._now, json.dumps([change])),
        )


class _Batch:
    """What one transaction stores."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        there: Known,
        indexed: Mapping[str, Indexed],
        now: float,
    ) -> None:
        self._connection = connection
        self._there = there
        self._indexed = indexed
        self._now = now
        self._rows: list[tuple[Any, ...]] = []
        self._followed: set[str] = set()  # ids that a row of this batch is the next version of
        self._observed: Counter[str] = Counter()
        self.first = self.next = write.next_seq(connection)
        self.begun: list[str] = []
        self.final = False

    @property
    def added(self) -> int:
        """How many rows were added."""
        return self.next - self.first

    def one(self, record: Record, on_conflict: str) -> Put:
        """Store one record."""
        what, new = self._there.judge(record, on_conflict)
        if what not in ("added", "replaced", "merged"):
            return Put(record, what)
        if isinstance(new, Session):
            self._session(new, known=what != "added")
        elif isinstance(new, Document):
            documents.put(self._connection, new)
            self._there.records[_name(new)] = new
        elif what == "added":
            same = self._same_text(new) if on_conflict == MERGE else None
            if same is not None:
                return Put(record, self._fold(same, new))
            self._add(new)
        else:
            self._rewrite(new)
        return Put(record, what)

    def finish(self) -> None:
        """Write what was gathered."""
        self._flush()
        for id_, observed in self._observed.items():
            sessions.count(self._connection, id_, observed)

    def _session(self, session: Session, *, known: bool) -> None:
        if known:
            sessions.rewrite(self._connection, session)
        else:
            sessions.add(self._connection, session)
            self.begun.append(session.id)
        self._there.records[_name(session)] = session

    def _add(self, entry: Entry) -> None:
        if isinstance(entry, Memory):
            entry = self._in_its_chain(entry)
        elif (SESSION, entry.session) not in self._there.records:
            self._session(_session_around(entry), known=False)
        if entry.id in self._there.forgotten:
            self._connection.execute("DELETE FROM forgotten WHERE id = ?", (packed(entry.id),))
        if isinstance(entry, Observation):
            self._observed[entry.session] += 1
        indexed = self._words(entry) if _findable(entry) else None
        words = 0 if indexed is None else index.length(indexed)
        if isinstance(entry, Memory) and entry.previous is not None:
            self._followed.add(entry.previous)
        self._rows.append((*row_of(entry), _digest(entry), words, self.next))
        self._there.records[_name(entry)], self._there.seqs[entry.id] = entry, self.next
        if indexed is not None:
            index.add(self._connection, self.next, indexed)
        self.next += 1

    def _in_its_chain(self, memory: Memory) -> Memory:
        """Keep one latest version: the one before goes, and one that has a newer is old."""
        if not memory.latest:
            return memory
        newer = (
            memory.id in self._followed
            or self._connection.execute(
                "SELECT 1 FROM entries WHERE previous = ? LIMIT 1", (memory.id,)
            ).fetchone()
        )
        if newer:
            return memory._replace(latest=False)
        if memory.previous is not None:
            self._supersede(memory.previous)
        return memory

    def _supersede(self, id_: str) -> None:
        """Make a version an old one, when it is there and is none."""
        self._flush()
        before = self._connection.execute(
            "SELECT seq FROM entries WHERE id = ? AND latest = 1 AND kind = 'memory'",
            (packed(id_),),
        ).fetchone()
        if before is not None:
            write.supersede(self._connection, before[0])
            self.final = self.final or before[0] < self.first

    def _same_text(self, entry: Entry) -> Memory | None:
        """Give the stored memory that says the same, for one without versions of its own."""
        if not isinstance(entry, Memory) or not entry.latest or entry.previous is not None:
            return None
        self._flush()
        found = write.repeated(self._connection, digest_of(entry), self._now)
        if found is None or not isinstance(found.entry, Memory):
            return None
        self._there.seqs[found.entry.id] = found.seq
        return found.entry

    def _fold(self, old: Memory, new: Entry) -> str:
        both = joined(old, new)
        if both == old:
            return "same"
        assert isinstance(both, Memory)
        self._rewrite(both)
        return "merged"

    def _rewrite(self, entry: Entry) -> None:
        """Write an entry over the row that has its id."""
        self._flush()
        seq = self._there.seqs[entry.id]
        old = self._there.records.get(_name(entry))
        if isinstance(old, Observation) and isinstance(entry, Observation):
            self._observed[old.session] -= 1
            self._observed[entry.session] += 1
        indexed = self._words(entry, anew=True) if _findable(entry) else None
        write.rewrite(self._connection, seq, entry, _digest(entry), indexed)
        self._there.records[_name(entry)] = entry
        self.final = self.final or seq < self.first

    def _words(self, entry: Entry, *, anew: bool = False) -> Indexed:
        found = None if anew else self._indexed.get(entry.id)
        return index.index_of(entry) if found is None else found

    def _flush(self) -> None:
        if self._rows:
            self._connection.executemany(_INSERT, self._rows)
            self._rows = []


def amend(connection: sqlite3.Connection, operation: Operation, entry: Entry) -> Entry | None:
    """Write an entry over the one that has its id; give that one, None when there is none."""
    old = rewrite(connection, entry)
    if old is not None:
        operation.amended(old)
    return old


def rewrite(connection: sqlite3.Connection, entry: Entry) -> Entry | None:
    """Write an entry over the row that has its id; give what was there."""
    old = by_id(connection, entry.id)
    if old is None:
        return None
    query = "SELECT digest FROM entries WHERE seq = ?"  # an observation's can't be made again
    (digest,) = connection.execute(query, (old.seq,)).fetchone()
    if isinstance(entry, Memory):
        digest = digest_of(entry)
    indexed = index.index_of(entry) if _findable(entry) else None
    write.rewrite(connection, old.seq, entry, digest, indexed)
    return old.entry


def expired(connection: sqlite3.Connection, now: float) -> Iterator[Entry]:
    """Give the entries that have expired and are not swept yet."""
    query = f"SELECT seq, {COLUMNS} FROM entries WHERE expires_at <= ? ORDER BY seq"
    for found in connection.execute(query, (now,)):
        yield row(found).entry


def take_back(
    connection: sqlite3.Connection, number: int, change: list[Any], now: float
) -> list[Entry]:
    """Take back what a change of imports has added; give the entries that went, the newest first.

    They can be restored, as what was forgotten. Raises NOTHING_TO_UNDO where stored entries were
    replaced.
    """
    _, _, first, last, begun, final = change
    if final:
        raise NothingToUndoError("the last change, an import, replaced entries: it is final")
    operation = Operation(number)
    gone: list[Entry] = []
    while rows := connection.execute(
        f"SELECT seq, {COLUMNS} FROM entries WHERE seq BETWEEN ? AND ? ORDER BY seq DESC LIMIT ?",
        (first, last, AT_ONCE),
    ).fetchall():
        for one in map(row, rows):
            forgetting.put_away(connection, operation, one, now)
            gone.append(one.entry)
    for id_ in begun:
        known = sessions.get(connection, id_)
        if known is not None and not known.observations:
            sessions.put_away(connection, id_, number)
    return gone


def _adjoin(before: list[Any], after: list[Any]) -> bool:
    return bool(before[3] + 1 == after[2]) and len(before[4]) < _MOST_SESSIONS


def _findable(entry: Entry) -> bool:
    return not isinstance(entry, Memory) or entry.latest


def _digest(entry: Entry) -> bytes:
    """Give the digest; what told repeats of an observation is not known any more."""
    if isinstance(entry, Memory):
        return digest_of(entry)
    return observation_digest(entry.session, f"\0{entry.id}")


def _name(record: Record) -> tuple[str, str]:
    """Name a record among all of a store."""
    if isinstance(record, Document):
        return f"{DOCUMENT} {record.of}", record.key
    return (SESSION if isinstance(record, Session) else "entry"), record.id


def _session_around(entry: Observation) -> Session:
    at = entry.created_at
    return Session(entry.session, entry.project, "", entry.agent, None, None, None, at, at, None)


def _having(
    connection: sqlite3.Connection, columns: str, table: str, ids: Iterable[str]
) -> Iterator[Any]:
    """Give the rows of a table that have one of some ids."""
    some = [packed(id_) for id_ in ids]
    for start in range(0, len(some), _AT_ONCE_ASKED):
        part = some[start : start + _AT_ONCE_ASKED]
        marks = ", ".join("?" * len(part))
        yield from connection.execute(f"SELECT {columns} FROM {table} WHERE id IN ({marks})", part)
