"""Versions of a memory: the chain that ``previous`` makes."""

from __future__ import annotations

from dshloop.errors import MemoryNotFoundError
from dshloop.memory.answers import Remembered
from dshloop.memory.entries import Edit, Memory, title_of
from dshloop.memory.sqlite import index, write
from dshloop.memory.sqlite.connection import Connection
from dshloop.memory.sqlite.index import Indexed
from dshloop.memory.sqlite.lookup import by_id, row
from dshloop.memory.sqlite.operation import Operation
from dshloop.memory.sqlite.rows import COLUMNS, Row, digest_of
from dshloop.times import uuid7_digits


def older(connection: Connection, memory: Memory) -> list[Row]:
    """Give the versions before one, the nearest first."""
    rows: list[Row] = []
    previous = memory.previous
    while previous is not None and (found := by_id(connection, previous)) is not None:
        assert isinstance(found.entry, Memory)
        rows.append(found)
        previous = found.entry.previous
    return rows


def has_newer(connection: Connection, id_: str) -> bool:
    """Tell whether a newer version took an entry's place."""
    query = "SELECT 1 FROM entries WHERE previous = ? LIMIT 1"
    return connection.execute(query, (id_,)).fetchone() is not None


def newest_of(connection: Connection, one: Row) -> Row:
    """Give the newest version of the memory that a row is a version of."""
    while True:
        found = connection.execute(
            f"SELECT seq, {COLUMNS} FROM entries WHERE previous = ? ORDER BY seq DESC LIMIT 1",
            (one.entry.id,),
        ).fetchone()
        if found is None:
            return one
        one = row(found)


def versions(connection: Connection, one: Row) -> list[Memory]:
    """Give every version of a memory, the oldest first; MEMORY_NOT_FOUND for an observation."""
    newest = newest_of(connection, one)
    memory = _memory(newest)
    rows = [newest, *older(connection, memory)]
    return [each.entry for each in reversed(rows) if isinstance(each.entry, Memory)]


def edit(
    connection: Connection, operation: Operation, one: Row, change: Edit, now: float
) -> Remembered:
    """Store a new version of a memory; a change that changes nothing stores none."""
    newest = newest_of(connection, one)
    old = _memory(newest)
    while (held := write.held(connection, newest)) is None:
        newest = newest_of(connection, newest)
    newest, old = held, _memory(held)
    new = edited(old, change, now)
    if new is old:
        return Remembered(old)
    indexed = index.index_of(new)
    return Remembered(new, superseded=add_version(connection, operation, newest, new, indexed))


def add_version(
    connection: Connection, operation: Operation, old: Row, new: Memory, indexed: Indexed
) -> Memory:
    """Store a version that takes an old one's place; give the old one as it is now."""
    write.supersede(connection, old.seq)
    write.insert(connection, new, digest_of(new), indexed)
    operation.added(new.id, old.entry.id)
    return _memory(old)._replace(latest=False)


def edited(old: Memory, change: Edit, now: float) -> Memory:
    """Make the next version of a memory; the same one when nothing changes."""
    content = old.content if change.content is None else change.content
    kept_title = title_of(content) if old.title == title_of(old.content) else old.title
    new = old._replace(
        content=content,
        title=kept_title if change.title is None else change.title or title_of(content),
        type=change.type or old.type,
        concepts=old.concepts if change.concepts is None else tuple(change.concepts),
        files=old.files if change.files is None else tuple(change.files),
        strength=old.strength if change.strength is None else change.strength,
    )
    if new == old:
        return old
    return new._replace(
        id=f"mem_{uuid7_digits(now)}",
        created_at=now,
        updated_at=now,
        version=old.version + 1,
        previous=old.id,
        latest=True,
        repeats=old.repeats if content == old.content else 1,
    )


def _memory(one: Row) -> Memory:
    if not isinstance(one.entry, Memory):
        raise MemoryNotFoundError(
            f"{one.entry.id} is an observation: only memories have versions", id=one.entry.id
        )
    return one.entry
