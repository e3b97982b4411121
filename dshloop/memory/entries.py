"""What a store keeps: memories, observations and the sessions they come from.

A memory is what somebody wanted kept; an observation is what happened in a session. Both are
entries: recall finds either. The shapes are those that agentmemory users know (agentmemory 3, 5,
6), in snake_case. Times are Unix seconds. Values are named tuples because every command pays for
their definition: a dataclass costs six times as much.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from dshloop.errors import MemoryEmptyError, MemoryTypeError
from dshloop.times import iso_time

TYPES = ("pattern", "preference", "architecture", "bug", "workflow", "fact")
DEFAULT_TYPE = "fact"
DEFAULT_STRENGTH = 7.0
"""How much a memory is worth, 0..10 (agentmemory 3.6)."""
DEFAULT_IMPORTANCE = 5.0
"""How much an observation is worth, 0..10 (agentmemory 5)."""
TITLE_UNITS = 80
"""UTF-16 units of the content that make a title (agentmemory 4)."""

MEMORY = "memory"
OBSERVATION = "observation"
KINDS = (MEMORY, OBSERVATION)

_NOTHING: Mapping[str, Any] = MappingProxyType({})


class NewMemory(NamedTuple):
    """What a caller wants kept; ``None`` means that they didn't say.

    No ``project`` (an empty text) is every project's. ``source`` tells where it comes from, for
    example ``{"kind": "command"}`` or ``{"kind": "session", "session": id, "seq": n}``; values are
    JSON. ``ttl`` is in seconds.
    """

    content: str
    project: str = ""
    type: str | None = None
    title: str | None = None
    concepts: Sequence[str] = ()
    files: Sequence[str] = ()
    agent: str | None = None
    session: str | None = None
    source: Mapping[str, Any] = _NOTHING
    strength: float | None = None
    ttl: float | None = None

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
            session=(self.session or "").strip() or None,
            concepts=distinct(self.concepts),
            files=distinct(self.files),
        )


class Memory(NamedTuple):
    """One version of a stored memory.

    A newer version is a memory of its own whose ``previous`` names this one; this one is then no
    longer ``latest``: readable, and no longer recalled. ``repeats`` counts how often the same text
    was remembered.
    """

    id: str
    type: str
    title: str
    content: str
    concepts: tuple[str, ...]
    files: tuple[str, ...]
    project: str
    agent: str | None
    session: str | None
    source: Mapping[str, Any]
    created_at: float
    updated_at: float
    strength: float = DEFAULT_STRENGTH
    expires_at: float | None = None
    version: int = 1
    previous: str | None = None
    latest: bool = True
    repeats: int = 1

    @property
    def kind(self) -> str:
        """Tell it from the other kind of entry."""
        return MEMORY

    def as_json(self) -> dict[str, Any]:
        """Give the value that ``--json`` shows; times are ISO 8601 in UTC."""
        return {
            "kind": self.kind,
            "id": self.id,
            "type": self.type,
            "title": self.title,
            "content": self.content,
            "concepts": list(self.concepts),
            "files": list(self.files),
            "project": self.project,
            "agent": self.agent,
            "session": self.session,
            "source": dict(self.source),
            "created_at": iso_time(self.created_at),
            "updated_at": iso_time(self.updated_at),
            "strength": self.strength,
            "expires_at": None if self.expires_at is None else iso_time(self.expires_at),
            "version": self.version,
            "previous": self.previous,
            "latest": self.latest,
            "repeats": self.repeats,
        }


class Edit(NamedTuple):
    """What a new version says; None keeps what the old one says."""

    content: str | None = None
    title: str | None = None
    type: str | None = None
    concepts: Sequence[str] | None = None
    files: Sequence[str] | None = None
    strength: float | None = None

    def checked(self) -> Edit:
        """Give it with blanks trimmed off its labels; raise MEMORY_EMPTY, MEMORY_TYPE."""
        if self.content is not None and not self.content.strip():
            raise MemoryEmptyError("a memory can't be edited to nothing: the text is blank")
        if self.type is not None:
            check_type(self.type)
        return self._replace(
            title=None if self.title is None else self.title.strip(),
            concepts=None if self.concepts is None else distinct(self.concepts),
            files=None if self.files is None else distinct(self.files),
        )


class NewObservation(NamedTuple):
    """What happened in a session, as a hook tells it (observing.py makes it of a hook's data).

    ``at`` None is now. ``agent`` None is the session's. ``key`` is what tells a repeat from news
    within a session: the tool's name, its whole input, output and error (agentmemory 13, D4).
    """

    session: str
    project: str
    hook: str
    title: str
    content: str
    key: str
    type: str = "other"
    subtitle: str = ""
    concepts: Sequence[str] = ()
    files: Sequence[str] = ()
    agent: str | None = None
    cwd: str = ""
    source: Mapping[str, Any] = _NOTHING
    at: float | None = None
    importance: float = DEFAULT_IMPORTANCE
    prompt: str | None = None
    """The user's words, when that is what was observed: a session's first one names it."""
    redacted: int = 0
    """How many secrets were taken out when it was made."""


class Observation(NamedTuple):
    """One stored observation; ``content`` is the whole of what was said, done and answered."""

    id: str
    session: str
    hook: str
    type: str
    title: str
    subtitle: str
    content: str
    concepts: tuple[str, ...]
    files: tuple[str, ...]
    project: str
    agent: str | None
    source: Mapping[str, Any]
    created_at: float
    importance: float = DEFAULT_IMPORTANCE
    repeats: int = 1

    @property
    def kind(self) -> str:
        """Tell it from the other kind of entry."""
        return OBSERVATION

    def as_json(self) -> dict[str, Any]:
        """Give the value that ``--json`` shows; times are ISO 8601 in UTC."""
        return {
            "kind": self.kind,
            "id": self.id,
            "session": self.session,
            "hook": self.hook,
            "type": self.type,
            "title": self.title,
            "subtitle": self.subtitle,
            "content": self.content,
            "concepts": list(self.concepts),
            "files": list(self.files),
            "project": self.project,
            "agent": self.agent,
            "source": dict(self.source),
            "created_at": iso_time(self.created_at),
            "importance": self.importance,
            "repeats": self.repeats,
        }


Entry = Memory | Observation


class NewSession(NamedTuple):
    """A session that begins, or goes on when its id is known."""

    id: str
    project: str
    cwd: str = ""
    agent: str | None = None
    title: str | None = None


class Session(NamedTuple):
    """A session that was observed; ``summary`` is JSON (agentmemory 3.2) or None.

    ``observations`` counts them; ``ended_at`` is None while it is active.
    """

    id: str
    project: str
    cwd: str
    agent: str | None
    title: str | None
    first_prompt: str | None
    summary: Any
    started_at: float
    updated_at: float
    ended_at: float | None
    observations: int = 0

    @property
    def active(self) -> bool:
        """Tell whether it has not ended."""
        return self.ended_at is None

    def as_json(self) -> dict[str, Any]:
        """Give the value that ``--json`` shows; times are ISO 8601 in UTC."""
        return {
            "id": self.id,
            "project": self.project,
            "cwd": self.cwd,
            "agent": self.agent,
            "title": self.title,
            "first_prompt": self.first_prompt,
            "summary": self.summary,
            "started_at": iso_time(self.started_at),
            "updated_at": iso_time(self.updated_at),
            "ended_at": None if self.ended_at is None else iso_time(self.ended_at),
            "status": "active" if self.active else "completed",
            "observations": self.observations,
        }


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
    while not head.isascii() and _units(head) > TITLE_UNITS:
        head = head[:-1]
    return head.rstrip()


def _units(text: str) -> int:
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def distinct(labels: Sequence[str]) -> tuple[str, ...]:
    """Trim labels, leave out blank ones and repeats."""
    if not labels:
        return ()
    return tuple(dict.fromkeys(label.strip() for label in labels if label.strip()))
