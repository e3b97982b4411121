"""All that a store holds, given out as it is and in constant memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dshloop.memory.answers import Filters, Record
from dshloop.memory.entries import Entry
from dshloop.memory.sqlite import documents, sessions
from dshloop.memory.sqlite.connection import Connection
from dshloop.memory.sqlite.filters import where as conditions_of
from dshloop.memory.sqlite.lookup import row
from dshloop.memory.sqlite.rows import COLUMNS

_EVERYTHING = Filters(old=True)


def records(connection: Connection, filters: Filters | None, now: float) -> Iterator[Record]:
    """Give the sessions, the entries, the documents, each in the order they were stored."""
    conditions, values = conditions_of((filters or _EVERYTHING)._replace(old=True), now)
    chosen, bound = "1 = 1", list[Any]()
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


def expired(connection: Connection, now: float) -> Iterator[Entry]:
    """Give the entries that have expired and are not swept yet."""
    query = f"SELECT seq, {COLUMNS} FROM entries WHERE expires_at <= ? ORDER BY seq"
    for found in connection.execute(query, (now,)):
        yield row(found).entry
