"""What a store has of records that are about to be put into it, and what becomes of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from dshloop.memory.answers import DOCUMENT, MERGE, OVERWRITE, SESSION, Document, Put, Record
from dshloop.memory.entries import Memory, Observation, Session
from dshloop.memory.sqlite import documents, sessions
from dshloop.memory.sqlite.connection import Connection
from dshloop.memory.sqlite.joining import joined
from dshloop.memory.sqlite.lookup import row
from dshloop.memory.sqlite.rows import COLUMNS, packed, unpacked

_AT_ONCE_ASKED = 500


class Known:
    """What a store has of a batch, as the batch changes it: records by their kind and id, the
    numbers of entries, and the ids that were forgotten."""

    def __init__(self) -> None:
        self.records: dict[tuple[str, str], Record] = {}
        self.seqs: dict[str, int] = {}
        self.forgotten: set[str] = set()

    @classmethod
    def of(cls, connection: Connection | None, batch: Sequence[Record]) -> Known:
        """Look the ids of a batch up."""
        there = cls()
        if connection is None:
            return there
        ids = [one.id for one in batch if isinstance(one, (Memory, Observation))]
        for found in _having(connection, f"seq, {COLUMNS}", "entries", ids):
            one = row(found)
            there.records[name_of(one.entry)] = one.entry
            there.seqs[one.entry.id] = one.seq
        there.forgotten.update(
            unpacked(id_) for (id_,) in _having(connection, "id", "forgotten", ids)
        )
        named = {one.id for one in batch if isinstance(one, Session)}
        named |= {one.session for one in batch if isinstance(one, Observation)}
        for found in _having(connection, sessions.COLUMNS, "sessions", named):
            session = sessions.session_of(found)
            there.records[name_of(session)] = session
        for one_ in (one for one in batch if isinstance(one, Document)):
            kept = documents.record(connection, one_.of, one_.key)
            if kept is not None:
                there.records[name_of(kept)] = kept
        return there

    def expected(self, batch: Sequence[Record], on_conflict: str) -> Iterator[Put]:
        """Say what would become of a batch."""
        for record in batch:
            what, new = self.judge(record, on_conflict)
            self.records[name_of(record)] = new
            yield Put(record, what)

    def judge(self, record: Record, on_conflict: str) -> tuple[str, Record]:
        """Say what becomes of a record, and which one is stored then."""
        old = self.records.get(name_of(record))
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


def name_of(record: Record) -> tuple[str, str]:
    """Name a record among all of a store."""
    if isinstance(record, Document):
        return f"{DOCUMENT} {record.of}", record.key
    return (SESSION if isinstance(record, Session) else "entry"), record.id


def _having(connection: Connection, columns: str, table: str, ids: Iterable[str]) -> Iterator[Any]:
    """Give the rows of a table that have one of some ids."""
    some = [packed(id_) for id_ in ids]
    for start in range(0, len(some), _AT_ONCE_ASKED):
        part = some[start : start + _AT_ONCE_ASKED]
        marks = ", ".join("?" * len(part))
        yield from connection.execute(f"SELECT {columns} FROM {table} WHERE id IN ({marks})", part)
