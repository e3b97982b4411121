"""Rows of the daemon as entries, and which of them pass filters: pure.

Ids stay the daemon's. Filters are applied here too: 0.9.29 looks at few of them (agentmemory 13).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from dshloop.memory.answers import Filters
from dshloop.memory.entries import TITLE_UNITS, Entry, Memory, Observation, Session, title_of
from dshloop.memory.interchange import fields
from dshloop.memory.interchange.agentmemory_shape import memory_of, observation_of, session_of
from dshloop.memory.interchange.fields import RowError

Row = Mapping[str, Any]


def memory_in(row: Row, now: float) -> Memory | None:
    """Give a memory; None for a row that is none."""
    try:
        made = memory_of(row, now)
    except RowError:
        return None
    supersedes = fields.texts(row, "supersedes")
    previous = fields.some_text(row, "parentId") or next(iter(supersedes), None)
    title = title_of(made.content) if _is_beginning(made) else made.title
    return made._replace(id=fields.text(row, "id"), previous=previous, title=title)


def session_in(row: Row, now: float) -> Session | None:
    """Give a session with its count; None for a row without an id (agentmemory 13, D2)."""
    try:
        made = session_of(row, now)
    except RowError:
        return None
    return made._replace(observations=int(fields.number(row, "observationCount", 0)))


def observation_in(row: Row, session: Session | None, now: float) -> Observation | None:
    """Give an observation; project and agent are its session's, unless the row says another."""
    try:
        made = observation_of(row, "" if session is None else session.project, now)
    except RowError:
        return None
    agent = made.agent or (None if session is None else session.agent)
    return made._replace(id=fields.text(row, "id"), agent=agent)


def passes(entry: Entry, filters: Filters, now: float) -> bool:
    """Whether an entry passes filters; what has expired never does."""
    if entry.kind not in filters.kinds or not _is_seen(entry, filters, now):
        return False
    return (
        (filters.project is None or entry.project in (filters.project, ""))
        and (filters.agent is None or entry.agent == filters.agent)
        and (filters.type is None or entry.type == filters.type)
        and (filters.session is None or entry.session == filters.session)
        and (filters.since is None or entry.created_at >= filters.since)
        and (filters.until is None or entry.created_at < filters.until)
        and (filters.concept is None or _mentions(entry.concepts, filters.concept))
        and (filters.file is None or any(_is_end(filters.file, one) for one in entry.files))
    )


def session_passes(
    session: Session,
    project: str | None,
    agent: str | None,
    since: float | None,
    until: float | None,
) -> bool:
    """Whether a session is of a project and an agent, and began within a time."""
    return (
        (project is None or session.project == project)
        and (agent is None or session.agent == agent)
        and (since is None or session.started_at >= since)
        and (until is None or session.started_at < until)
    )


def each_once(entries: Iterable[Entry]) -> Iterator[Entry]:
    """Leave out what came twice: pages move while others write."""
    seen: set[str] = set()
    for entry in entries:
        if entry.id not in seen:
            seen.add(entry.id)
            yield entry


def is_named(id_: str, named: str) -> bool:
    """Whether a name is an id's beginning, with or without ``mem_`` or ``obs_``."""
    return any(id_.startswith(prefix + named) for prefix in ("", "mem_", "obs_"))


def _is_beginning(memory: Memory) -> bool:
    """Whether a title is the content's first 80 UTF-16 units, line ends and all (agentmemory 6)."""
    head = memory.content[: len(memory.title)]
    long = len(memory.title) + sum(one > "\uffff" for one in memory.title) >= TITLE_UNITS - 1
    return memory.title == head and (long or head == memory.content)


def _is_seen(entry: Entry, filters: Filters, now: float) -> bool:
    if isinstance(entry, Observation):
        return True
    live = entry.expires_at is None or entry.expires_at > now
    return live and (entry.latest or filters.old)


def _mentions(concepts: Iterable[str], wanted: str) -> bool:
    return wanted.casefold() in (one.casefold() for one in concepts)


def _is_end(wanted: str, path: str) -> bool:
    """Whether two paths are equal, or one is the end of the other after a slash."""
    one, other = (f"/{each}".replace("\\", "/") for each in (wanted, path))
    return one.endswith(other) or other.endswith(one)
