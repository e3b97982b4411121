"""Entries written over the rows that have their ids, and imports taken back."""

from __future__ import annotations

from typing import Any

from dshloop.errors import NothingToUndoError
from dshloop.memory.entries import Entry, Memory
from dshloop.memory.sqlite import forgetting, index, sessions, write
from dshloop.memory.sqlite.connection import Connection
from dshloop.memory.sqlite.lookup import by_id, row
from dshloop.memory.sqlite.operation import Operation
from dshloop.memory.sqlite.rows import COLUMNS, digest_of

_AT_ONCE = 4_000


def amend(connection: Connection, operation: Operation, entry: Entry) -> Entry | None:
    """Write an entry over the one that has its id; give that one, None when there is none."""
    old = rewrite(connection, entry)
    if old is not None:
        operation.amended(old)
    return old


def rewrite(connection: Connection, entry: Entry) -> Entry | None:
    """Write an entry over the row that has its id; give what was there."""
    old = by_id(connection, entry.id)
    if old is None:
        return None
    query = "SELECT digest FROM entries WHERE seq = ?"  # an observation's can't be made again
    (digest,) = connection.execute(query, (old.seq,)).fetchone()
    if isinstance(entry, Memory):
        digest = digest_of(entry)
    indexed = index.index_of(entry) if index.findable(entry) else None
    write.rewrite(connection, old.seq, entry, digest, indexed)
    return old.entry


def take_back(connection: Connection, number: int, change: list[Any], now: float) -> list[Entry]:
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
        (first, last, _AT_ONCE),
    ).fetchall():
        for one in map(row, rows):
            forgetting.put_away(connection, operation, one, now)
            gone.append(one.entry)
    for id_ in begun:
        known = sessions.get(connection, id_)
        if known is not None and not known.observations:
            sessions.put_away(connection, id_, number)
    return gone
