"""Storing entries with their index entries: each function is part of one transaction."""

from __future__ import annotations

from dshloop.memory.entries import (
    DEFAULT_STRENGTH,
    DEFAULT_TYPE,
    Entry,
    Memory,
    NewMemory,
    title_of,
)
from dshloop.memory.sqlite import index
from dshloop.memory.sqlite.connection import Connection
from dshloop.memory.sqlite.filters import LIVE
from dshloop.memory.sqlite.index import Indexed
from dshloop.memory.sqlite.lookup import by_id, row
from dshloop.memory.sqlite.rows import COLUMNS, Row, row_of
from dshloop.times import uuid7_digits

INSERT = (
    f"INSERT INTO entries ({COLUMNS}, digest, words, seq) "
    f"VALUES ({', '.join('?' * (COLUMNS.count(',') + 4))})"
)
_SET = ", ".join(f"{name.strip()} = ?" for name in COLUMNS.split(","))
_SAME = f"SELECT seq, {COLUMNS} FROM entries AS m WHERE m.digest = ? AND m.latest = 1 AND {LIVE}"


def created(new: NewMemory, now: float) -> Memory:
    """Make the memory that a checked newcomer becomes."""
    return Memory(
        id=f"mem_{uuid7_digits(now)}",  # so ids sort by time
        type=new.type or DEFAULT_TYPE,
        title=new.title or title_of(new.content),
        content=new.content,
        concepts=tuple(new.concepts),
        files=tuple(new.files),
        project=new.project,
        agent=new.agent,
        session=new.session,
        source=new.source,
        created_at=now,
        updated_at=now,
        strength=DEFAULT_STRENGTH if new.strength is None else new.strength,
        expires_at=None if new.ttl is None else now + new.ttl,
    )


def repeated(connection: Connection, digest: bytes, now: float) -> Row | None:
    """Give the live entry with a digest, the newest one."""
    found = connection.execute(f"{_SAME} ORDER BY seq DESC LIMIT 1", (digest, now)).fetchone()
    return None if found is None else row(found)


def insert(
    connection: Connection,
    entry: Entry,
    digest: bytes,
    indexed: Indexed,
    arrived: float | None = None,
) -> int:
    """Store an entry, findable; give the number of its row."""
    seq = connection.new_seq()
    connection.execute(INSERT, (*row_of(entry, arrived), digest, index.length(indexed), seq))
    connection.add_words(seq, indexed)
    return seq


def rewrite(
    connection: Connection, seq: int, entry: Entry, digest: bytes, indexed: Indexed | None
) -> None:
    """Write any entry over a row; without words it is not found."""
    words = 0 if indexed is None else index.length(indexed)
    connection.execute(
        f"UPDATE entries SET {_SET}, digest = ?, words = ? WHERE seq = ?",
        (*row_of(entry), digest, words, seq),
    )
    connection.drop_words(seq)
    if indexed is not None:
        connection.add_words(seq, indexed)


def update(connection: Connection, seq: int, memory: Memory) -> None:
    """Write a latest memory over its row, and index it anew; its content stays the same."""
    indexed = index.index_of(memory)
    connection.execute(
        f"UPDATE entries SET {_SET}, words = ? WHERE seq = ?",
        (*row_of(memory), index.length(indexed), seq),
    )
    connection.drop_words(seq)
    connection.add_words(seq, indexed)


def supersede(connection: Connection, seq: int) -> None:
    """Make a version one of the old ones: readable, no longer found."""
    connection.execute("UPDATE entries SET latest = 0 WHERE seq = ?", (seq,))
    connection.drop_words(seq)


def revive(connection: Connection, one: Row) -> None:
    """Make an old version the latest again."""
    connection.execute("UPDATE entries SET latest = 1 WHERE seq = ?", (one.seq,))
    find_again(connection, one)


def find_again(connection: Connection, one: Row) -> None:
    """Index a stored row that is not in the index."""
    indexed = index.index_of(one.entry)
    connection.execute(
        "UPDATE entries SET words = ? WHERE seq = ?", (index.length(indexed), one.seq)
    )
    connection.drop_words(one.seq)
    connection.add_words(one.seq, indexed)


def delete(connection: Connection, seq: int) -> None:
    """Delete a row and what it is found by."""
    connection.drop_words(seq)
    connection.execute("DELETE FROM entries WHERE seq = ?", (seq,))


def held(connection: Connection, one: Row) -> Row | None:
    """Keep others from a latest memory until the transaction ends; give it as it is then, None when
    another one has taken its place meanwhile."""
    if not connection.alone(one.entry.id):
        return one
    now = by_id(connection, one.entry.id)
    return now if now is not None and isinstance(now.entry, Memory) and now.entry.latest else None


def merged(old: Memory, new: NewMemory, made: Memory) -> Memory:
    """Count a repeat; what it says anew (type, title, concepts, files ...) is added."""
    return old._replace(
        type=new.type or old.type,
        title=new.title or old.title,
        concepts=tuple(dict.fromkeys((*old.concepts, *new.concepts))),
        files=tuple(dict.fromkeys((*old.files, *new.files))),
        strength=old.strength if new.strength is None else new.strength,
        expires_at=_later(old.expires_at, made.expires_at),
        updated_at=max(made.updated_at, old.updated_at),
        repeats=old.repeats + 1,
    )


def _later(one: float | None, other: float | None) -> float | None:
    """Give the later of two ends, None is never: who said "keep" again must not lose it early."""
    return None if one is None or other is None else max(one, other)
