"""Entries as the contract's rows, beside those of interchange/agentmemory_shape.py."""

from __future__ import annotations

from typing import Any

from dshloop.errors import AmbiguousIdError, MemoryNotFoundError
from dshloop.memory.entries import TITLE_UNITS, Entry, Memory, Observation, title_of
from dshloop.memory.interchange.agentmemory_shape import memory_row, observation_row
from dshloop.memory.observing import cut
from dshloop.memory.server.calls import plain
from dshloop.memory.store import MemoryStore
from dshloop.times import iso_time

MEMORY_SESSION = "memory"
"""The session that all memories seem to be of in search results."""

LONGEST_TEXT = 50_000
"""UTF-16 units of a memory that a search result shows; GET /memories/:id has all."""


def exact(store: MemoryStore, id_: str) -> Entry | None:
    """Give the entry of a whole id: the contract knows no abbreviations."""
    try:
        entry = store.get(id_)
    except (MemoryNotFoundError, AmbiguousIdError):
        return None
    return entry if entry.id == id_ else None


def exact_memory(store: MemoryStore, id_: str) -> Memory | None:
    """Give the memory of a whole id."""
    entry = exact(store, id_)
    return entry if isinstance(entry, Memory) else None


def memory_answer(memory: Memory) -> dict[str, Any]:
    """Give a memory's row; a title made of the content is its first 80 units (agentmemory 4)."""
    return memory_row(memory) | {"title": _title(memory)}


def _title(memory: Memory) -> str:
    if memory.title != title_of(memory.content):
        return memory.title
    head = memory.content[:TITLE_UNITS]
    while len(head) + sum(character > "\uffff" for character in head) > TITLE_UNITS:
        head = head[:-1]
    return head


def found_row(entry: Entry) -> dict[str, Any]:
    """Give an entry as an observation row; a memory looks like a decision (agentmemory 3.5)."""
    if isinstance(entry, Observation):
        return observation_row(entry)
    text = cut(entry.content, LONGEST_TEXT)
    row: dict[str, Any] = {
        "id": entry.id,
        "sessionId": MEMORY_SESSION,
        "timestamp": iso_time(entry.created_at),
        "type": "decision",
        "title": _title(entry),
        "facts": [text],
        "narrative": text,
        "concepts": list(entry.concepts),
        "files": list(entry.files),
        "importance": plain(entry.strength),
    }
    if entry.agent is not None:
        row["agentId"] = entry.agent
    return row


def session_of(entry: Entry) -> str:
    """Give the session that a result names."""
    return entry.session if isinstance(entry, Observation) else MEMORY_SESSION


def compact_row(row: dict[str, Any], score: float) -> dict[str, Any]:
    """Give a result that only says what was found."""
    return {
        "obsId": row["id"],
        "sessionId": row["sessionId"],
        "title": row["title"],
        "type": row["type"],
        "score": score,
        "timestamp": row["timestamp"],
    }
