"""Changing the store: each function is the inside of one transaction."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from dshloop.memory.sqlite.rows import COLUMNS, digest_of, index_of, memory_of, row_of
from dshloop.memory.store import DEFAULT_TYPE, Memory, NewMemory, Remembered, title_of
from dshloop.times import uuid7_digits

_INSERT = (
    f"INSERT INTO memories ({COLUMNS}, digest, words) "
    f"VALUES ({', '.join('?' * (COLUMNS.count(',') + 3))})"
)
_INDEX = "INSERT INTO memory_index (rowid, title, content, concepts, files) VALUES (?, ?, ?, ?, ?)"


def insert_or_merge(connection: sqlite3.Connection, new: NewMemory, now: float) -> Remembered:
    """Store a checked memory with its index entry, or count it as a repeat of one."""
    digest = digest_of(new)
    row = connection.execute(
        f"SELECT seq, {COLUMNS} FROM memories WHERE digest = ?", (digest,)
    ).fetchone()
    if row is not None:
        memory = _merged(memory_of(row[1:]), new, now)
        _update(connection, row[0], memory)
        return Remembered(memory, merged=True)
    memory = _created(new, now)
    index = index_of(memory)
    cursor = connection.execute(_INSERT, (*row_of(memory), digest, _length(index)))
    connection.execute(_INDEX, (cursor.lastrowid, *index))
    return Remembered(memory, merged=False)


def delete(connection: sqlite3.Connection, ids: Sequence[str]) -> int:
    """Delete memories; a trigger takes their index entries along. Gives how many there were."""
    return sum(
        connection.execute("DELETE FROM memories WHERE id = ?", (id_,)).rowcount for id_ in ids
    )


def _created(new: NewMemory, now: float) -> Memory:
    return Memory(
        id=f"mem_{uuid7_digits(now)}",  # so ids sort by time
        type=new.type or DEFAULT_TYPE,
        title=new.title or title_of(new.content),
        content=new.content,
        concepts=tuple(new.concepts),
        files=tuple(new.files),
        project=new.project,
        agent=new.agent,
        source=new.source,
        created_at=now,
        updated_at=now,
    )


def _merged(old: Memory, new: NewMemory, now: float) -> Memory:
    """Count a repeat; what it says anew (type, title, concepts, files) is added."""
    return old._replace(
        type=new.type or old.type,
        title=new.title or old.title,
        concepts=tuple(dict.fromkeys((*old.concepts, *new.concepts))),
        files=tuple(dict.fromkeys((*old.files, *new.files))),
        updated_at=max(now, old.updated_at),
        repeats=old.repeats + 1,
    )


def _update(connection: sqlite3.Connection, seq: int, memory: Memory) -> None:
    index = index_of(memory)
    columns = ", ".join(f"{name.strip()} = ?" for name in COLUMNS.split(","))
    connection.execute(
        f"UPDATE memories SET {columns}, words = ? WHERE seq = ?",
        (*row_of(memory), _length(index), seq),
    )
    connection.execute("DELETE FROM memory_index WHERE rowid = ?", (seq,))
    connection.execute(_INDEX, (seq, *index))


def _length(index: Sequence[str]) -> int:
    return sum(len(text.split()) for text in index)
