"""Entries as rows of the database, and back."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from dshloop.memory.entries import MEMORY, OBSERVATION, Entry, Memory, Observation

COLUMNS = (
    "id, kind, latest, type, hook, project, agent, session, created_at, updated_at, strength, "
    "expires_at, version, previous, repeats, title, subtitle, concepts, files, source, content"
)
"""What an entry is made of. The content is last: what stands behind a long one is slow to reach."""


class Packed(bytes):
    """Text that UTF-8 can't hold, as a blob; no other blob is one."""


Stored = str | bytes


class Row(NamedTuple):
    """An entry and the number of its row."""

    seq: int
    entry: Entry


def packed(text: str) -> Stored:
    """Give text as SQLite takes it: a blob where UTF-8 can't hold it (lone surrogates)."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return Packed(text.encode("utf-8", "surrogatepass"))
    return text


def unpacked(stored: Stored) -> str:
    """Give back what was packed."""
    return stored if isinstance(stored, str) else stored.decode("utf-8", "surrogatepass")


def row_of(entry: Entry, arrived: float | None = None) -> tuple[Any, ...]:
    """Give the values of ``COLUMNS``; lists and the source are JSON, absent texts are empty.

    An observation's ``updated_at`` is when it arrived, whenever it says it was made.
    """
    if isinstance(entry, Memory):
        return _memory_row(entry)
    return (
        entry.id,
        OBSERVATION,
        1,
        packed(entry.type),
        packed(entry.hook),
        packed(entry.project),
        packed(entry.agent or ""),
        packed(entry.session),
        entry.created_at,
        entry.created_at if arrived is None else arrived,
        entry.importance,
        None,
        1,
        None,
        entry.repeats,
        packed(entry.title),
        packed(entry.subtitle),
        _list(entry.concepts),
        _list(entry.files),
        _mapping(entry.source),
        packed(entry.content),
    )


def entry_of(row: Sequence[Any]) -> Entry:
    """Read the values of ``COLUMNS``."""
    return _memory(row) if row[1] == MEMORY else _observation(row)


def memory_digest(project: str, agent: str | None, content: str) -> bytes:
    """Tell exact repeats: the same text for the same project and agent."""
    return _digest(MEMORY, project, agent or "", content)


def observation_digest(session: str, key: str) -> bytes:
    """Tell repeats within a session (NewObservation.key)."""
    return _digest(OBSERVATION, session, key)


def digest_of(entry: Memory) -> bytes:
    """Give a stored memory's digest."""
    return memory_digest(entry.project, entry.agent, entry.content)


def renew_digests(connection: sqlite3.Connection) -> None:
    """Make the digests of memories as `memory_digest` makes them (the first schema had others)."""
    rows = connection.execute("SELECT seq, project, agent, content FROM entries ORDER BY seq")
    for seq, project, agent, content in rows:
        digest = memory_digest(unpacked(project), unpacked(agent), unpacked(content))
        connection.execute("UPDATE entries SET digest = ? WHERE seq = ?", (digest, seq))


def _memory_row(memory: Memory) -> tuple[Any, ...]:
    return (
        memory.id,
        MEMORY,
        int(memory.latest),
        memory.type,
        "",
        packed(memory.project),
        packed(memory.agent or ""),
        packed(memory.session or ""),
        memory.created_at,
        memory.updated_at,
        memory.strength,
        memory.expires_at,
        memory.version,
        memory.previous,
        memory.repeats,
        packed(memory.title),
        "",
        _list(memory.concepts),
        _list(memory.files),
        _mapping(memory.source),
        packed(memory.content),
    )


def _memory(row: Sequence[Any]) -> Memory:
    return Memory(
        id=row[0],
        latest=bool(row[2]),
        type=row[3],
        project=unpacked(row[5]),
        agent=unpacked(row[6]) or None,
        session=unpacked(row[7]) or None,
        created_at=row[8],
        updated_at=row[9],
        strength=row[10],
        expires_at=row[11],
        version=row[12],
        previous=row[13],
        repeats=row[14],
        title=unpacked(row[15]),
        concepts=_texts(row[17]),
        files=_texts(row[18]),
        source=json.loads(row[19]),
        content=unpacked(row[20]),
    )


def _observation(row: Sequence[Any]) -> Observation:
    return Observation(
        id=row[0],
        type=unpacked(row[3]),
        hook=unpacked(row[4]),
        project=unpacked(row[5]),
        agent=unpacked(row[6]) or None,
        session=unpacked(row[7]),
        created_at=row[8],
        importance=row[10],
        repeats=row[14],
        title=unpacked(row[15]),
        subtitle=unpacked(row[16]),
        concepts=_texts(row[17]),
        files=_texts(row[18]),
        source=json.loads(row[19]),
        content=unpacked(row[20]),
    )


def _digest(*parts: str) -> bytes:
    from hashlib import sha256

    return sha256("\0".join(parts).encode("utf-8", "surrogatepass")).digest()


def _list(texts: Sequence[str]) -> str:
    return json.dumps(texts) if texts else "[]"


def _texts(stored: str) -> tuple[str, ...]:
    return () if stored == "[]" else tuple(json.loads(stored))


def _mapping(source: Mapping[str, Any]) -> str:
    return json.dumps(dict(source)) if source else "{}"
