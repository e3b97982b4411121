"""Records into the daemon with their ids, times and versions, batch by batch."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

from dshloop.json_text import json_text
from dshloop.memory.agentmemory import sending
from dshloop.memory.agentmemory.daemon import Daemon
from dshloop.memory.agentmemory_client import calls
from dshloop.memory.agentmemory_client.answers import objects
from dshloop.memory.answers import OVERWRITE, SKIP, Document, Put, Record
from dshloop.memory.entries import Memory, Observation, Session
from dshloop.memory.interchange import fields
from dshloop.memory.interchange.agentmemory_shape import LESSON, NARRATIVE_UNITS
from dshloop.memory.observing import cut
from dshloop.memory.sqlite.joining import joined

_SENT = ("added", "replaced", "merged")
_BATCH = 200
_BATCH_BYTES = 4 * 1024 * 1024  # a fraction of what takes the daemon down
_KEPT_SESSIONS = 16  # whose observations are known, so that each list is asked for once


def put(
    daemon: Daemon, records: Iterable[Record], *, on_conflict: str, dry_run: bool
) -> Iterator[Put]:
    """Store records; yield what came of each when the daemon has it.

    What the daemon has no place for is left out (``unplaced``).
    """
    stored = _Stored(daemon)
    waiting = iter(records)
    while batch := list(islice(waiting, _BATCH)):
        planned = []
        for record in batch:
            planned.append(_planned(stored, record, on_conflict))
            stored.take(planned[-1])
        if not dry_run:
            for part in _parts(done for done in planned if done.outcome in _SENT):
                daemon.ask(sending.importing(done.record for done in part))
        yield from planned
        stored.forget_memories()


def _planned(stored: _Stored, record: Record, on_conflict: str) -> Put:
    """Say what becomes of a record, and what is sent for it."""
    if not sending.is_carried(record):
        return Put(record, "unplaced")
    known = stored.get(record)
    if known is None:
        return Put(record, "added")
    if _says_the_same(known, record):
        return Put(record, "same")
    if on_conflict == SKIP:
        return Put(record, "kept")
    if on_conflict == OVERWRITE:
        return Put(record, "replaced")
    made = joined(known, record)
    return Put(record, "same") if _says_the_same(known, made) else Put(made, "merged")


def _parts(planned: Iterable[Put]) -> Iterator[list[Put]]:
    """Cut a batch where it gets long."""
    part: list[Put] = []
    size = 0
    for done in planned:
        weight = len(json_text(sending.row_of(done.record)))
        if part and size + weight > _BATCH_BYTES:
            yield part
            part, size = [], 0
        part.append(done)
        size += weight
    if part:
        yield part


class _Stored:
    """What the daemon has; sessions are listed once, observations once a session."""

    def __init__(self, daemon: Daemon) -> None:
        self._daemon = daemon
        self._sessions: dict[str, Session] | None = None
        self._observations: dict[str, dict[str, Observation]] = {}
        self._lessons: dict[str, Document] | None = None
        self._memories: dict[str, Memory] = {}

    def get(self, record: Record) -> Record | None:
        """Give the stored record that has the id of one."""
        if isinstance(record, Memory):
            return self._memories.get(record.id) or self._daemon.memory(record.id)
        if isinstance(record, Session):
            return self._known_sessions().get(record.id)
        if isinstance(record, Observation):
            return self._of_session(record.session).get(record.id)
        return self._known_lessons().get(record.key)

    def take(self, done: Put) -> None:
        """Note what will be stored: the next record may have the same id."""
        record = done.record
        if done.outcome not in _SENT:
            return
        if isinstance(record, Session):
            self._known_sessions()[record.id] = record
        elif isinstance(record, Memory):
            self._memories[record.id] = record
        elif isinstance(record, Observation):
            self._of_session(record.session)[record.id] = record
        else:
            self._known_lessons()[record.key] = record

    def forget_memories(self) -> None:
        """Let go of memories that the daemon has by now."""
        self._memories.clear()

    def _known_sessions(self) -> dict[str, Session]:
        if self._sessions is None:
            self._sessions = {one.id: one for one in self._daemon.sessions()}
        return self._sessions

    def _of_session(self, id_: str) -> dict[str, Observation]:
        if id_ not in self._observations:
            while len(self._observations) >= _KEPT_SESSIONS:
                del self._observations[next(iter(self._observations))]
            session = self._known_sessions().get(id_)
            rows = [] if session is None else self._daemon.observations(session)
            self._observations[id_] = {one.id: one for one in rows}
        return self._observations[id_]

    def _known_lessons(self) -> dict[str, Document]:
        if self._lessons is None:
            page = self._daemon.ask(calls.lessons(limit=10_000))
            self._lessons = {
                fields.text(row, "id"): Document(LESSON, fields.text(row, "id"), dict(row), 0.0)
                for row in objects({"lessons": page.rows}, "lessons")
            }
        return self._lessons


def _says_the_same(one: Record, other: Record) -> bool:
    """Whether two records of one id say the same, as far as the daemon gives them back."""
    return _told(one) == _told(other)


def _told(record: Record) -> tuple[object, ...]:
    if isinstance(record, Memory):
        return (
            record.content, record.title, record.type, record.concepts, record.files,
            record.project, record.agent, record.strength, record.version, record.latest,
        )  # fmt: skip
    if isinstance(record, Observation):
        text = cut(record.content, NARRATIVE_UNITS)
        return (record.title, record.subtitle, text, record.type, record.concepts, record.files)
    if isinstance(record, Session):
        told = (record.project, record.cwd, record.agent, record.first_prompt, record.active)
        return (*told, record.title, record.summary)
    return (record.value,)
