"""Putting entries away, bringing them back, and deleting them for good."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import NoReturn

from dshloop.errors import MemoryNotFoundError
from dshloop.memory.answers import Filters
from dshloop.memory.entries import Entry, Memory
from dshloop.memory.sqlite import sessions, write
from dshloop.memory.sqlite.connection import Connection
from dshloop.memory.sqlite.filters import where
from dshloop.memory.sqlite.history import has_newer, older
from dshloop.memory.sqlite.lookup import by_id, find, row
from dshloop.memory.sqlite.operation import Operation
from dshloop.memory.sqlite.rows import COLUMNS, Row, packed

KEPT_SECONDS = 30 * 86_400.0
"""How long what was forgotten can be restored, and what expired stays in the file."""

_WHOLE = f"seq, {COLUMNS}, digest, words"
_PUT_AWAY = (
    f"INSERT INTO forgotten ({_WHOLE}, operation, forgotten_at) "
    f"SELECT {_WHOLE}, ?, ? FROM entries WHERE seq = ?"
)


def forget(connection: Connection, operation: Operation, rows: Iterable[Row], now: float) -> None:
    """Put entries away, memories with their older versions; delete what has been away too long."""
    for one in with_older(connection, rows):
        put_away(connection, operation, one, now)
    _sweep(connection, now)


def put_away(connection: Connection, operation: Operation, one: Row, now: float) -> None:
    """Move one row to what can be restored; it is no longer found."""
    connection.execute(_PUT_AWAY, (operation.number, now, one.seq))
    _delete(connection, one)
    operation.forgot()


def purge(
    connection: Connection,
    operation: Operation,
    live: Collection[Row],
    away: Collection[Row],
) -> None:
    """Delete entries for good, those in use and those that were put away, with every trace."""
    for one in with_older(connection, live):
        _delete(connection, one)
        operation.purged()
    for one in away:
        connection.execute("DELETE FROM forgotten WHERE seq = ?", (one.seq,))
        operation.purged()
    for one in (*live, *away):
        if not isinstance(one.entry, Memory):
            sessions.purge(connection, one.entry)
    # Changes before it can't be taken back any more, and have titles of what was there.
    connection.execute("DELETE FROM operations")
    connection.scrub_words()


def forget_session(
    connection: Connection, operation: Operation, id_: str, now: float
) -> list[Entry] | None:
    """Put a session and its observations away; None when there is no such session."""
    rows = [
        row(found)
        for found in connection.execute(
            f"SELECT seq, {COLUMNS} FROM entries WHERE session = ? AND kind = 'observation' "
            "ORDER BY seq",
            (packed(id_),),
        )
    ]
    known = sessions.get(connection, id_) is not None
    if not known and not rows:
        return None
    sessions.put_away(connection, id_, operation.number)
    for one in rows:
        put_away(connection, operation, one, now)
    operation.forgot()
    _sweep(connection, now)
    return [one.entry for one in rows]


def restore(connection: Connection, operation: Operation, ids: Sequence[str]) -> list[Entry]:
    """Bring back forgotten entries, memories with their older versions.

    Raises MEMORY_NOT_FOUND when there is none of these ids, AMBIGUOUS_ID.
    """
    rows = list({one.seq: one for one in away(connection, ids)}.values())
    if not rows:
        nothing_to_restore(ids)
    for one in rows:
        for part in (one, *_older_away(connection, one.entry)):
            number = _operation_of(connection, part.seq)
            _put_back(connection, part)
            operation.restored(part.entry.id, number)
    for one in rows:
        make_latest(connection, one.entry.id)
    return [one.entry for one in rows]


def make_latest(connection: Connection, id_: str | None) -> None:
    """Let an old version be found again when there is no newer one any more."""
    one = by_id(connection, id_)
    if one is None or not isinstance(one.entry, Memory) or one.entry.latest:
        return
    if not has_newer(connection, one.entry.id):
        write.revive(connection, one)


def nothing_to_restore(ids: Sequence[str]) -> NoReturn:
    """Say that no forgotten entry has any of these ids."""
    named = ", ".join(ids) or "none"
    raise MemoryNotFoundError(f"nothing forgotten has the id {named}", ids=list(ids))


def bring_back(connection: Connection, number: int) -> list[Entry]:
    """Bring back all that one change has put away."""
    sessions.bring_back(connection, number)
    rows = [
        row(found)
        for found in connection.execute(
            f"SELECT seq, {COLUMNS} FROM forgotten WHERE operation = ? ORDER BY seq", (number,)
        )
    ]
    for one in rows:
        _put_back(connection, one)
    for one in rows:
        make_latest(connection, one.entry.id)
    return [one.entry for one in rows]


def away(connection: Connection, ids: Sequence[str]) -> list[Row]:
    """Give the forgotten entries of ids or their beginnings; ids that name none are left out."""
    rows = []
    for id_ in ids:
        try:
            rows.append(find(connection, id_, float("-inf"), table="forgotten"))
        except MemoryNotFoundError:
            continue
    return rows


def away_where(connection: Connection, filters: Filters, now: float) -> list[Row]:
    """Give the forgotten entries that pass filters."""
    conditions, values = where(filters, now)
    found = connection.execute(
        f"SELECT seq, {COLUMNS} FROM forgotten AS m WHERE {conditions} ORDER BY seq", values
    )
    return [row(one) for one in found]


def with_older(connection: Connection, rows: Iterable[Row]) -> list[Row]:
    """Add the older versions of memories; each row once."""
    found: dict[int, Row] = {}
    for one in rows:
        found[one.seq] = one
        if isinstance(one.entry, Memory) and one.entry.previous is not None:
            found.update((old.seq, old) for old in older(connection, one.entry))
    return list(found.values())


def _delete(connection: Connection, one: Row) -> None:
    write.delete(connection, one.seq)
    if not isinstance(one.entry, Memory):
        sessions.count(connection, one.entry.session, -1)


def _put_back(connection: Connection, one: Row) -> None:
    """Move a row back to its old number; the latest version is found again."""
    connection.execute(
        f"INSERT INTO entries ({_WHOLE}) SELECT {_WHOLE} FROM forgotten WHERE seq = ?", (one.seq,)
    )
    connection.execute("DELETE FROM forgotten WHERE seq = ?", (one.seq,))
    if not isinstance(one.entry, Memory):
        sessions.bring_back_of(connection, one.entry)
        sessions.count(connection, one.entry.session, 1)
        write.find_again(connection, one)
    elif has_newer(connection, one.entry.id):
        write.supersede(connection, one.seq)
    elif one.entry.latest:
        before = by_id(connection, one.entry.previous)
        if before is not None and isinstance(before.entry, Memory) and before.entry.latest:
            write.supersede(connection, before.seq)
        write.find_again(connection, one)


def _older_away(connection: Connection, entry: Entry) -> list[Row]:
    rows: list[Row] = []
    while isinstance(entry, Memory) and entry.previous is not None:
        found = connection.execute(
            f"SELECT seq, {COLUMNS} FROM forgotten WHERE id = ?", (entry.previous,)
        ).fetchone()
        if found is None:
            break
        rows.append(row(found))
        entry = rows[-1].entry
    return rows


def _operation_of(connection: Connection, seq: int) -> int:
    query = "SELECT operation FROM forgotten WHERE seq = ?"
    return int(connection.execute(query, (seq,)).fetchone()[0])


def _sweep(connection: Connection, now: float) -> None:
    """Delete for good what was forgotten, or has expired, long ago."""
    long_ago = now - KEPT_SECONDS
    connection.execute("DELETE FROM forgotten WHERE forgotten_at < ?", (long_ago,))
    sessions.sweep(connection)
    expired = connection.execute(
        f"SELECT seq, {COLUMNS} FROM entries WHERE expires_at < ? LIMIT 1000", (long_ago,)
    ).fetchall()
    for one in with_older(connection, map(row, expired)):
        write.delete(connection, one.seq)
