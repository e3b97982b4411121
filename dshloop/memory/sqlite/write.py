"""Storing entries with their index entries: each function is part of one transaction."""

from __future__ import annotations

import sqlite3

from dshloop.memory.entries import (
    DEFAULT_STRENGTH,
    DEFAULT_TYPE,
    Entry,
    Memory,
    NewMemory,
    title_of,
)
from dshloop.memory.sqlite import index
from dshloop.memory.sqlite.filters import LIVE
from dshloop.memory.sqlite.index import Indexed
from dshloop.memory.sqlite.lookup import row
from dshloop.memory.sqlite.rows import COLUMNS, Row, digest_of, row_of
from dshloop.memory.store import Remembered
from dshloop.times import uuid7_digits

# A number that no row has, not even one that is forgotten and may come back.
_NEXT = (
    "SELECT 1 + max(coalesce((SELECT max(seq) FROM entries), 0), "
    "coalesce((SELECT max(seq) FROM forgotten), 0))"
)
_INSERT = (
    f"INSERT INTO entries ({COLUMNS}, digest, words, seq) "
    f"VALUES ({', '.join('?' * (COLUMNS.count(',') + 3))}, ({_NEXT}))"
)
_SET = ", ".join(f"{name.strip()} = ?" for name in COLUMNS.split(","))
_SAME = f"SELECT seq, {COLUMNS} FROM entries AS m WHERE m.digest = ? AND m.latest = 1 AND {LIVE}"


def insert_or_merge(connection: sqlite3.Connection, new: NewMemory, now: float) -> Remembered:
    """Store a checked memory with its index entry, or count it as a repeat of one."""
    memory = created(new, now)
    same = repeated(connection, digest_of(memory), now)
    if same is not None:
        assert isinstance(same.entry, Memory)
        merged = _merged(same.entry, new, memory)
        update(connection, same.seq, merged)
        return Remembered(merged, merged=True)
    insert(connection, memory, digest_of(memory), index.index_of(memory))
    return Remembered(memory)


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


def repeated(connection: sqlite3.Connection, digest: bytes, now: float) -> Row | None:
    """Give the live entry with a digest, the newest one."""
    found = connection.execute(f"{_SAME} ORDER BY seq DESC LIMIT 1", (digest, now)).fetchone()
    return None if found is None else row(found)


def insert(connection: sqlite3.Connection, entry: Entry, digest: bytes, indexed: Indexed) -> int:
    """Store an entry, findable; give the number of its row."""
    cursor = connection.execute(_INSERT, (*row_of(entry), digest, index.length(indexed)))
    seq = cursor.lastrowid
    assert seq is not None
    index.add(connection, seq, indexed)
    return seq


def update(connection: sqlite3.Connection, seq: int, memory: Memory) -> None:
    """Write a latest memory over its row, and index it anew."""
    indexed = index.index_of(memory)
    connection.execute(
        f"UPDATE entries SET {_SET}, words = ? WHERE seq = ?",
        (*row_of(memory), index.length(indexed), seq),
    )
    index.drop(connection, seq)
    index.add(connection, seq, indexed)


def delete(connection: sqlite3.Connection, seq: int) -> None:
    """Delete a row and what it is found by."""
    index.drop(connection, seq)
    connection.execute("DELETE FROM entries WHERE seq = ?", (seq,))


def _merged(old: Memory, new: NewMemory, made: Memory) -> Memory:
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
