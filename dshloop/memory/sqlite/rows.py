"""Memories as rows of the database, and back."""

from __future__ import annotations

import json
from typing import Any

from dshloop.memory.store import Memory, NewMemory, title_of
from dshloop.text import words

COLUMNS = (
    "id, type, title, content, concepts, files, project, agent, source, "
    "created_at, updated_at, version, repeats"
)

Stored = str | bytes


def packed(text: str) -> Stored:
    """Give text as SQLite takes it: a blob where UTF-8 can't hold it (lone surrogates)."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")
    return text


def unpacked(stored: Stored) -> str:
    """Give back what was packed."""
    return stored if isinstance(stored, str) else stored.decode("utf-8", "surrogatepass")


def row_of(memory: Memory) -> tuple[Any, ...]:
    """Give the values of ``COLUMNS``; lists and the source are JSON, no agent is an empty text."""
    return (
        memory.id,
        memory.type,
        packed(memory.title),
        packed(memory.content),
        json.dumps(memory.concepts),
        json.dumps(memory.files),
        packed(memory.project),
        packed(memory.agent or ""),
        json.dumps(dict(memory.source)),
        memory.created_at,
        memory.updated_at,
        memory.version,
        memory.repeats,
    )


def memory_of(row: tuple[Any, ...]) -> Memory:
    """Read the values of ``COLUMNS``."""
    return Memory(
        id=row[0],
        type=row[1],
        title=unpacked(row[2]),
        content=unpacked(row[3]),
        concepts=tuple(json.loads(row[4])),
        files=tuple(json.loads(row[5])),
        project=unpacked(row[6]),
        agent=unpacked(row[7]) or None,
        source=json.loads(row[8]),
        created_at=row[9],
        updated_at=row[10],
        version=row[11],
        repeats=row[12],
    )


def index_of(memory: Memory) -> tuple[str, ...]:
    """Give the columns of the index (rank.FIELD_WEIGHTS).

    A title that was made from the content is left out, so that its words aren't counted twice.
    """
    title = "" if memory.title == title_of(memory.content) else memory.title
    texts = (title, memory.content, "\n".join(memory.concepts), "\n".join(memory.files))
    return tuple(" ".join(words(text)) for text in texts)


def digest_of(new: NewMemory) -> bytes:
    """Tell exact repeats: the same text for the same project and agent."""
    from hashlib import sha256

    whole = "\0".join((new.project, new.agent or "", new.content))
    return sha256(whole.encode("utf-8", "surrogatepass")).digest()
