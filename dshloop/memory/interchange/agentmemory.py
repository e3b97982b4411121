"""agentmemory's export read in pieces (agentmemory 3.7).

Also read are what its daemon answers to GET /memories, and a request to its import.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any, BinaryIO

from dshloop.errors import ImportInvalidError
from dshloop.memory.answers import Document
from dshloop.memory.interchange import fields
from dshloop.memory.interchange.agentmemory_shape import (
    LESSON,
    SESSION_KEYS,
    memory_of,
    observation_of,
    session_of,
)
from dshloop.memory.interchange.fields import RowError
from dshloop.memory.interchange.pieces import BrokenError, Piece, pieces
from dshloop.memory.interchange.report import Item, Report

NAME = "agentmemory"
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


def read(file: BinaryIO, report: Report) -> Iterator[Item]:
    """Give the records of an export: sessions, then observations, memories and lessons.

    The file is gone through once for each, since its keys may come in any order. Raises
    IMPORT_INVALID for what is no export.
    """
    yield from _read(lambda told: _pieces(file, told), report)


def read_value(export: Mapping[str, Any], report: Report, now: float) -> Iterator[Item]:
    """Give the records of an export that was read as a whole; ``now`` as in `memory_of`."""
    yield from _read(lambda _told: _parts(export), report, now)


def _read(
    passes: Callable[[Report | None], Iterator[Piece]], report: Report, now: float | None = None
) -> Iterator[Item]:
    seen = _Seen(report)
    for piece in passes(report):
        seen.note(piece)
    seen.check()
    now = seen.exported_at if now is None else now
    for key, items in (
        ("sessions", seen.session),
        ("observations", seen.observations),
        ("memories", seen.memory),
        ("lessons", seen.lesson),
    ):
        for piece in passes(None):
            if piece.key == key and piece.at is not None:
                yield from items(piece, now)
            elif piece.key == key:
                yield Item(None, key, "it is no list")
        if key == "sessions":
            yield from seen.unnamed(now)


class _Seen:
    """What the first pass notes: what belongs together, and what nothing is made of."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._keys: Counter[str] = Counter()
        self._summaries: dict[str, Mapping[str, Any]] = {}
        self._projects: dict[str, str] = {}
        self._begun: dict[str, Any] = {}
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
        elif piece.key == "observations" and isinstance(piece.value, list):
            first = next((row for row in piece.value if isinstance(row, Mapping)), None)
            if first is not None:
                self._begun[str(piece.at)] = first.get("timestamp")
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
            damage = "".join(f" ({reason})" for reason in self._report.lost)
            raise ImportInvalidError(f"the file is no export of agentmemory{damage}")

    def session(self, piece: Piece, now: float) -> Iterator[Item]:
        """Make a session, with the summary that stands elsewhere."""
        row, place = piece.value, f"sessions[{piece.at}]"
        if isinstance(row, Mapping):
            place = fields.text(row, "id") or place
            summary = self._summaries.get(fields.text(row, "id"))
            if summary is not None and not isinstance(row.get("summary"), Mapping):
                row = {**row, "summary": summary}
        yield _item(lambda: session_of(row, now), place)

    def unnamed(self, now: float) -> Iterator[Item]:
        """Make the sessions of observations and summaries that come without one."""
        for id_ in dict.fromkeys([*self._begun, *self._summaries]):
            if id_.strip() and id_ not in self._projects:
                summary = self._summaries.get(id_)
                project = "" if summary is None else fields.text(summary, "project")
                self._projects[id_] = project
                row = {"id": id_, "startedAt": self._begun.get(id_), "status": "completed"}
                row |= {"project": project} | ({} if summary is None else {"summary": summary})
                yield _item(lambda row=row: session_of(row, now), id_)

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
            named = _with_origin(named)
            yield _item(lambda row=named: observation_of(row, project, now), place)

    def memory(self, piece: Piece, now: float) -> Iterator[Item]:
        """Make a memory."""
        row = _with_origin(piece.value)
        yield _item(lambda: memory_of(row, now), _place(row, f"memories[{piece.at}]"))

    def lesson(self, piece: Piece, now: float) -> Iterator[Item]:
        """Make the document of a lesson."""
        yield _item(lambda: _lesson(piece.value, now), _place(piece.value, f"lessons[{piece.at}]"))


def _with_origin(row: Any) -> Any:
    """Say of a row without an origin that it was imported."""
    if not isinstance(row, Mapping) or "origin" in row:
        return row
    at = row.get("timestamp") or row.get("createdAt")
    captured = {"capturedAt": at} if isinstance(at, str) else {}
    return {**row, "origin": {"channel": "import", **captured}}


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


def _parts(export: Mapping[str, Any]) -> Iterator[Piece]:
    for key, value in export.items():
        yield from _inner(Piece("exportData", key, value))


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
