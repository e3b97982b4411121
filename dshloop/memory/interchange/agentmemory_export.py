"""agentmemory's export written in pieces (agentmemory 3.7)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from dshloop.json_text import json_text
from dshloop.memory.answers import Document, Filters, Record
from dshloop.memory.entries import MEMORY, OBSERVATION, Memory, Observation, Session
from dshloop.memory.interchange.agentmemory_shape import (
    LESSON,
    memory_row,
    observation_row,
    session_row,
)
from dshloop.memory.interchange.report import Report
from dshloop.times import iso_time

VERSION = "0.9.29"
"""The version whose shape is written."""

LIMITS = {"sessions": 10_000, "memories": 50_000, "observations": 500_000}
"""So many its import takes; of observations no more than 5,000 a session."""
Rows = Callable[[Filters | None], Iterator[Record]]
_IN_A_SESSION = 5_000


class Contents(NamedTuple):
    """What an export is written from; sessions are gone through more than once."""

    sessions: Callable[[], Iterator[Session]]
    observations: Callable[[str], Iterator[Record]]
    memories: Callable[[], Iterator[Record]]
    lessons: Callable[[], Sequence[Any]]
    pagination: Mapping[str, Any] | None = None


def write(rows: Rows, where: Filters | None, report: Report, now: float) -> Iterator[bytes]:
    """Give the text of an export of records."""
    filters = where or Filters()

    def entries(kind: str, **more: Any) -> Iterator[Record]:
        if kind in filters.kinds:
            yield from rows(filters._replace(kinds=(kind,), **more))

    contents = Contents(
        sessions=lambda: _first_sessions(rows(where)),
        observations=lambda session: entries(OBSERVATION, session=session),
        memories=lambda: entries(MEMORY),
        lessons=lambda: _lessons(rows(where), report),
    )
    yield from text_of(contents, report, now)
    _warn(report)


def text_of(contents: Contents, report: Report, now: float) -> Iterator[bytes]:
    """Give the text of an export, one row a line; sessions and their observations in order."""
    head = {"version": VERSION, "exportedAt": iso_time(now)}
    yield f"{json_text(head)[:-1]},\n".encode()
    yield from _array("sessions", _sessions(contents, report))
    yield b",\n"
    yield from _observations(contents, report)
    yield b",\n"
    yield from _array("memories", _memories(contents, report))
    yield b",\n"
    yield from _array("summaries", _summaries(contents.sessions()))
    lessons = contents.lessons()
    if lessons:
        yield b",\n"
        yield from _array("lessons", lessons)
    if contents.pagination is not None:
        yield f',\n"pagination":{json_text(contents.pagination)}'.encode()
    yield b"}\n"


def _first_sessions(records: Iterable[Record]) -> Iterator[Session]:
    """Give the sessions, which come before all else."""
    for record in records:
        if not isinstance(record, Session):
            return
        yield record


def _sessions(contents: Contents, report: Report) -> Iterator[dict[str, Any]]:
    for session in contents.sessions():
        report.outcomes["exported", "session"] += 1
        yield session_row(session, whole=True)


def _memories(contents: Contents, report: Report) -> Iterator[dict[str, Any]]:
    for record in contents.memories():
        if isinstance(record, Memory):
            report.outcomes["exported", "memory"] += 1
            yield memory_row(record, whole=True)


def _observations(contents: Contents, report: Report) -> Iterator[bytes]:
    """Give the observations of each session under its id, in the order of the sessions.

    One pass over all of them for one session would be slow, one pass holding them all is large:
    sessions are asked for one by one.
    """
    yield b'"observations":{'
    named = [one.id for one in contents.sessions() if one.observations]
    for number, session in enumerate(named):
        yield b",\n" if number else b"\n"
        count = 0
        for record in contents.observations(session):
            if isinstance(record, Observation):
                yield (",\n" if count else f"{json_text(session)}:[").encode()
                yield json_text(observation_row(record, whole=True)).encode()
                count += 1
        yield b"]" if count else f"{json_text(session)}:[]".encode()
        report.outcomes["exported", "observation"] += count
        if count > _IN_A_SESSION:
            report.lose(f"agentmemory takes {_IN_A_SESSION} observations of a session", session)
    yield b"}"


def _summaries(sessions: Iterable[Session]) -> Iterator[dict[str, Any]]:
    for one in sessions:
        if isinstance(one.summary, Mapping):
            named = {"sessionId": one.id, "project": one.project}
            yield {**named, "createdAt": iso_time(one.updated_at), **one.summary}


def _lessons(records: Iterator[Record], report: Report) -> list[Any]:
    found: list[Any] = []
    for record in records:
        if isinstance(record, Document) and record.of == LESSON:
            report.outcomes["exported", "document"] += 1
            found.append(record.value)
        elif isinstance(record, Document):
            report.lose(f"a {record.of} has no place in the shape of agentmemory", record.key)
    return found


def _array(key: str, rows: Iterable[Any]) -> Iterator[bytes]:
    yield f'"{key}":['.encode()
    for number, row in enumerate(rows):
        yield (",\n" if number else "\n").encode() + json_text(row).encode()
    yield b"]"


def _warn(report: Report) -> None:
    kinds = {"sessions": "session", "memories": "memory", "observations": "observation"}
    for name, kind in kinds.items():
        count = report.outcomes["exported", kind]
        if count > LIMITS[name]:
            report.notes.append(
                f"agentmemory imports at most {LIMITS[name]} {name} at once, and these are {count}"
            )
