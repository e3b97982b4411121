"""What every memory store is asked and answers, whatever it keeps its rows in.

The shapes are those that agentmemory users know (agentmemory 3.6, 6), in snake_case. They are named
tuples because every command pays for their definition: a dataclass costs six times as much.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

from dshloop.errors import MemoryEmptyError, MemoryTypeError
from dshloop.times import iso_time

TYPES = ("pattern", "preference", "architecture", "bug", "workflow", "fact")
DEFAULT_TYPE = "fact"
DEFAULT_LIMIT = 10
TITLE_UNITS = 80
"""UTF-16 units of the content that make a title (agentmemory 4)."""


class NewMemory(NamedTuple):
    """What a caller wants kept; ``None`` means that they didn't say.

    ``source`` tells where it comes from, for example ``{"kind": "command"}`` or
    ``{"kind": "session", "session": id, "seq": n}``; values are JSON.
    """

    content: str
    project: str
    type: str | None = None
    title: str | None = None
    concepts: Sequence[str] = ()
    files: Sequence[str] = ()
    agent: str | None = None
    source: Mapping[str, Any] = MappingProxyType({})

    def checked(self) -> NewMemory:
        """Give it with blanks trimmed off its labels; raise MEMORY_EMPTY, MEMORY_TYPE."""
        if not self.content.strip():
            raise MemoryEmptyError("there is nothing to remember: the text is blank")
        if self.type is not None:
            check_type(self.type)
        return self._replace(
            project=self.project.strip(),
            title=(self.title or "").strip() or None,
            agent=(self.agent or "").strip() or None,
            concepts=_distinct(self.concepts),
            files=_distinct(self.files),
        )


class Memory(NamedTuple):
    """One stored memory. Times are Unix seconds; ``repeats`` counts how often it was remembered."""

    id: str
    type: str
    title: str
    content: str
    concepts: tuple[str, ...]
    files: tuple[str, ...]
    project: str
    agent: str | None
    source: Mapping[str, Any]
    created_at: float
    updated_at: float
    version: int = 1
    repeats: int = 1

    def as_json(self) -> dict[str, Any]:
        """Give the value that ``--json`` shows; times are ISO 8601 in UTC."""
        return {
            "id": self.id,
            "type": self.type,
            "title": self.title,
            "content": self.content,
            "concepts": list(self.concepts),
            "files": list(self.files),
            "project": self.project,
            "agent": self.agent,
            "source": dict(self.source),
            "created_at": iso_time(self.created_at),
            "updated_at": iso_time(self.updated_at),
            "version": self.version,
            "repeats": self.repeats,
        }


class Why(NamedTuple):
    """Why a memory was found: the question's words it has, those it lacks, where they stand."""

    words: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    fields: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """Give the value of a hit's ``why``."""
        return {
            "words": list(self.words),
            "missing": list(self.missing),
            "fields": list(self.fields),
        }


class Hit(NamedTuple):
    """A memory that answers a question.

    ``score`` lies in 0..1 and says how much of the question the memory covers: 0 is none of its
    words, 1 every word and each prominent; rare words weigh more than common ones. It can be
    compared between questions; it is no probability.
    """

    memory: Memory
    score: float
    why: Why = Why()

    def as_json(self) -> dict[str, Any]:
        """Give the memory's value with ``score`` and ``why`` beside it."""
        return {"score": round(self.score, 4), **self.memory.as_json(), "why": self.why.as_json()}


class Filters(NamedTuple):
    """Which memories are looked at; ``None`` leaves a side open."""

    project: str | None = None
    type: str | None = None
    agent: str | None = None


class Remembered(NamedTuple):
    """What came of a memory: ``merged`` when the same text was there and was counted instead."""

    memory: Memory
    merged: bool


class Forgotten(NamedTuple):
    """Which memories are gone (or would be), and which ids named none."""

    memories: tuple[Memory, ...]
    missing: tuple[str, ...]


class Stats(NamedTuple):
    """How much a store holds; ``where`` is its file or address, ``bytes`` None when unknown."""

    store: str
    where: str
    memories: int
    projects: Mapping[str, int]
    types: Mapping[str, int]
    bytes: int | None = None

    def as_json(self) -> dict[str, Any]:
        """Give the value that ``--json`` shows."""
        return {
            "store": self.store,
            "where": self.where,
            "memories": self.memories,
            "projects": dict(self.projects),
            "types": dict(self.types),
            "bytes": self.bytes,
        }


class MemoryStore(Protocol):
    """A place that keeps memories. What `remember` returned survives a crash and is found."""

    @property
    def name(self) -> str:
        """The name that ``--store`` takes."""

    def remember(self, new: NewMemory) -> Remembered:
        """Keep a memory, or count it when project, agent and content are there already."""

    def recall(
        self,
        query: str,
        filters: Filters = ...,
        *,
        limit: int = ...,
        min_score: float | None = None,
    ) -> Sequence[Hit]:
        """Find what answers a question, best first; ``min_score`` None is the store's own floor."""

    def list(
        self, filters: Filters = ..., *, limit: int | None = ..., offset: int = 0
    ) -> Sequence[Memory]:
        """Give memories, newest first; ``limit`` None is all of them."""

    def get(self, id: str) -> Memory:  # noqa: A002
        """Give a memory by its id or by an unambiguous beginning of it.

        Raises MEMORY_NOT_FOUND, AMBIGUOUS_ID.
        """

    def forget(self, ids: Sequence[str], *, dry_run: bool = False) -> Forgotten:
        """Delete memories by id or beginning, all in one transaction.

        Raises MEMORY_NOT_FOUND when none of the ids is there, AMBIGUOUS_ID; nothing is gone then.
        """

    def stats(self) -> Stats:
        """Count what is stored."""

    def close(self) -> None:
        """Let go of files and connections; closing twice is fine."""


def check_type(type: str) -> str:  # noqa: A002
    """Give a type back when it is one of ``TYPES``, else raise MEMORY_TYPE."""
    if type not in TYPES:
        raise MemoryTypeError(
            f'there is no type of memory "{type}"', hint=f"Types: {', '.join(TYPES)}.", type=type
        )
    return type


def title_of(content: str) -> str:
    """Make a title from the first words of a content, as agentmemory does (80 UTF-16 units)."""
    head = " ".join(content[: 4 * TITLE_UNITS].split())[:TITLE_UNITS]
    while len(head) + sum(character > "\uffff" for character in head) > TITLE_UNITS:
        head = head[:-1]
    return head.rstrip()


def _distinct(labels: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(label.strip() for label in labels if label.strip()))
