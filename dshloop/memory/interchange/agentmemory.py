"""agentmemory's export as a file: written and read in pieces (agentmemory 3.7).

Also read are what its daemon answers to GET /memories, and a request to its import.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, BinaryIO

from dshloop.errors import ImportInvalidError
from dshloop.json_text import json_text
from dshloop.memory.entries import Memory, Observation, Session
from dshloop.memory.interchange import fields
from dshloop.memory.interchange.agentmemory_shape import (
    SESSION_KEYS,
    memory_of,
    memory_row,
    observation_of,
    observation_row,
    session_of,
    session_row,
)
from dshloop.memory.interchange.fields import RowError
from dshloop.memory.interchange.pieces import BrokenError, Piece, pieces
from dshloop.memory.interchange.report import Item, Report
from dshloop.memory.store import Document, Filters, Record
from dshloop.times import iso_time

NAME = "agentmemory"
VERSION = "0.9.29"
"""The version whose shape is written."""

LIMITS = {"sessions": 10_000, "memories": 50_000, "observations": 500_000}
"""So many its import takes; of observations no more than 5,000 a session."""
Rows = Callable[[Filters | None], Iterator[Record]]
LESSON = "lesson"
"""What lessons are called as documents (memory/server keeps them so)."""
_IN_A_SESSION = 5_000
_KEYS = ("sessions", "observations", "memories")
_KNOWN = {
    *_KEYS,
    "lessons",
    "summaries",
    "version",
    "exportedAt",
    "pagination",
    "total",
    "offset",
    "limit",
}


# --- writing -----------------------------------------------------------------------------------


def write(rows: Rows, where: Filters | None, report: Report, now: float) -> Iterator[bytes]:
    """Give the text of an export, one row a line; sessions and their observations in order."""
    head = {"version": VERSION, "exportedAt": iso_time(now)}
    yield f"{json_text(head)[:-1]},\n".encode()
    lessons: list[Any] = []
    yield from _array("sessions", _sessions(rows, where, report, lessons))
    yield b",\n"
    yield from _observations(rows, where, report)
    yield b",\n"
    yield from _array("memories", _memories(rows, where, report))
    yield b",\n"
    yield from _array("summaries", _summaries(rows, where))
    if lessons:
        yield b",\n"
        yield from _array("lessons", lessons)
    yield b"}\n"
    _warn(report)


def _sessions(
    rows: Rows, where: Filters | None, report: Report, lessons: list[Any]
) -> Iterator[dict[str, Any]]:
    """Give the sessions, and gather the lessons, which come with the same records."""
    for record in rows(where):
        if isinstance(record, Session):
            report.outcomes["exported", "session"] += 1
            yield session_row(record, whole=True)
        elif isinstance(record, Document) and record.of == LESSON:
            report.outcomes["exported", "document"] += 1
            lessons.append(record.value)
        elif isinstance(record, Document):
            report.lose(f"a {record.of} has no place in the shape of agentmemory", record.key)


def _memories(rows: Rows, where: Filters | None, report: Report) -> Iterator[dict[str, Any]]:
    for record in _entries(rows, where):
        if isinstance(record, Memory):
            report.outcomes["exported", "memory"] += 1
            yield memory_row(record, whole=True)


def _observations(rows: Rows, where: Filters | None, report: Report) -> Iterator[bytes]:
    """Give the observations of each session under its id, in the order of the sessions.

    One pass over all of them for one session would be slow, one pass holding them all is large:
    sessions are asked for one by one.
    """
    yield b'"observations":{'
    if "observation" not in (where or Filters()).kinds:
        yield b"}"
        return
    for number, session in enumerate(_ids(rows, where)):
        asked = (where or Filters())._replace(session=session, kinds=("observation",))
        found = [
            observation_row(record, whole=True)
            for record in rows(asked)
            if isinstance(record, Observation)
        ]
        report.outcomes["exported", "observation"] += len(found)
        if len(found) > _IN_A_SESSION:
            report.lose(f"agentmemory takes {_IN_A_SESSION} observations of a session", session)
        yield b",\n" if number else b"\n"
        yield f"{json_text(session)}:[".encode()
        yield ",\n".join(map(json_text, found)).encode() + b"]"
    yield b"}"


def _ids(rows: Rows, where: Filters | None) -> Iterator[str]:
    return iter([record.id for record in rows(where) if isinstance(record, Session)])


def _summaries(rows: Rows, where: Filters | None) -> Iterator[dict[str, Any]]:
    for record in rows(where):
        if not isinstance(record, Session):
            return
        if isinstance(record.summary, Mapping):
            named = {"sessionId": record.id, "project": record.project}
            yield {**named, "createdAt": iso_time(record.updated_at), **record.summary}


def _entries(rows: Rows, where: Filters | None) -> Iterator[Record]:
    kinds = (where or Filters()).kinds
    if "memory" in kinds:
        yield from rows((where or Filters())._replace(kinds=("memory",)))


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


# --- reading -----------------------------------------------------------------------------------


def read(file: BinaryIO, report: Report) -> Iterator[Item]:
    """Give the records of an export: sessions, then observations, memories and lessons.

    The file is gone through once for each, since its keys may come in any order. Raises
    IMPORT_INVALID for what is no export.
    """
    seen = _Seen(report)
    for piece in _pieces(file, report):
        seen.note(piece)
    seen.check()
    now = seen.exported_at
    for key, items in (
        ("sessions", seen.session),
        ("observations", seen.observations),
        ("memories", seen.memory),
        ("lessons", seen.lesson),
    ):
        for piece in _pieces(file, None):
            if piece.key == key:
                yield from items(piece, now)


class _Seen:
    """What the first pass notes: what belongs together, and what nothing is made of."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._keys: Counter[str] = Counter()
        self._summaries: dict[str, Mapping[str, Any]] = {}
        self._projects: dict[str, str] = {}
        self._answer: dict[str, Any] = {}

    def note(self, piece: Piece) -> None:
        """Take a piece into account."""
        self._keys[piece.key] += 1
        if piece.at is None:
            self._answer[piece.key] = piece.value
        value = piece.value if isinstance(piece.value, Mapping) else {}
        if piece.key == "summaries":
            self._summaries[fields.text(value, "sessionId")] = value
        elif piece.key == "sessions":
            self._projects[fields.text(value, "id")] = fields.text(value, "project")
            for name in value.keys() - SESSION_KEYS - {"dshloop"}:
                self._report.lose(f"sessions have no {name} here", fields.text(value, "id"))
        elif piece.key not in _KNOWN and piece.value not in (None, [], {}):
            self._report.lose(f"{piece.key} have no place here", str(piece.at))

    @property
    def exported_at(self) -> float:
        """When the export was made: the time of rows that tell none."""
        at = fields.moment(self._answer, "exportedAt")
        return time.time() if at is None else at

    def check(self) -> None:
        """Raise IMPORT_INVALID when this is no export."""
        if self._answer.get("success") is False:
            said = self._answer.get("error")
            raise ImportInvalidError(
                f"the file holds no export but a failure of agentmemory: {said}",
                hint="Export again in parts: /agentmemory/export?maxSessions=100&offset=0.",
            )
        if not any(key in self._keys for key in (*_KEYS, "version")):
            raise ImportInvalidError("the file is no export of agentmemory")

    def session(self, piece: Piece, now: float) -> Iterator[Item]:
        """Make a session, with the summary that stands elsewhere."""
        row, place = piece.value, f"sessions[{piece.at}]"
        if isinstance(row, Mapping):
            place = fields.text(row, "id") or place
            summary = self._summaries.get(fields.text(row, "id"))
            if summary is not None and not isinstance(row.get("summary"), Mapping):
                row = {**row, "summary": summary}
        yield _item(lambda: session_of(row, now), place)

    def observations(self, piece: Piece, now: float) -> Iterator[Item]:
        """Make the observations of one session."""
        session = str(piece.at)
        project = self._projects.get(session, "")
        if not isinstance(piece.value, list):
            yield Item(None, session, "its observations are no list")
            return
        for number, row in enumerate(piece.value):
            named = {"sessionId": session, **row} if isinstance(row, Mapping) else row
            place = _place(row, f"observations[{session}][{number}]")
            yield _item(lambda row=named: observation_of(row, project, now), place)

    def memory(self, piece: Piece, now: float) -> Iterator[Item]:
        """Make a memory."""
        row = piece.value
        yield _item(lambda: memory_of(row, now), _place(row, f"memories[{piece.at}]"))

    def lesson(self, piece: Piece, now: float) -> Iterator[Item]:
        """Make the document of a lesson."""
        yield _item(lambda: _lesson(piece.value, now), _place(piece.value, f"lessons[{piece.at}]"))


def _lesson(row: Any, now: float) -> Document:
    if not isinstance(row, Mapping):
        raise RowError("it is no object")
    fields.required(row, "content")
    at = fields.moment(row, "updatedAt") or fields.moment(row, "createdAt")
    return Document(LESSON, fields.required(row, "id"), dict(row), now if at is None else at)


def _pieces(file: BinaryIO, report: Report | None) -> Iterator[Piece]:
    """Give the pieces of the export, also of one inside a request; damage ends them, and is told
    once."""
    file.seek(0)
    try:
        for piece in pieces(file):
            if piece.key == "exportData" and isinstance(piece.at, str):
                yield from _inner(piece)
            else:
                yield piece
    except BrokenError as error:
        if report is not None:
            report.lose(f"the file is damaged: {error}; what stands behind is missing", "end")


def _inner(piece: Piece) -> Iterator[Piece]:
    key, value = str(piece.at), piece.value
    if isinstance(value, list):
        yield from (Piece(key, number, one) for number, one in enumerate(value))
    elif isinstance(value, Mapping):
        yield from (Piece(key, name, one) for name, one in value.items())
    else:
        yield Piece(key, None, value)


def _item(make: Any, place: str) -> Item:
    try:
        return Item(make(), place)
    except RowError as error:
        return Item(None, place, str(error))


def _place(row: Any, otherwise: str) -> str:
    return (fields.text(row, "id") if isinstance(row, Mapping) else "") or otherwise
