"""GET /export and POST /import: agentmemory's export shape (agentmemory 3.7)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from dshloop.memory.entries import MEMORY, OBSERVATION, Memory, Observation, Session
from dshloop.memory.interchange.agentmemory_shape import (
    memory_of,
    memory_row,
    observation_of,
    session_of,
    session_row,
)
from dshloop.memory.interchange.carrying import cleaned
from dshloop.memory.interchange.fields import RowError
from dshloop.memory.server import lessons, observations
from dshloop.memory.server.calls import Answer, Call, CallRefusedError, encoded, whole_number
from dshloop.memory.store import (
    OVERWRITE,
    SKIP,
    DocumentStore,
    Filters,
    MemoryStore,
    Record,
    Transferable,
)
from dshloop.redact import redact

VERSION = "0.9.29"
MOST_SESSIONS = 1000
STRATEGIES = ("merge", "replace", "skip")
_FETCHED = 20
_ADDED = ("added", "replaced", "merged")

# Versions whose exports agentmemory 0.9.29 reads: an exact list (agentmemory 3.7).
READ_VERSIONS = frozenset(
    ["0.3.0", "0.4.0", "0.5.0", "0.6.0", "0.6.1", "0.7.0", "0.7.9"]
    + [f"0.7.{n}" for n in range(2, 8)]
    + [f"0.8.{n}" for n in range(14)]
    + [f"0.9.{n}" for n in range(30)]
)
_LIMITS = {
    "sessions": (10_000, "Too many sessions (max 10000)"),
    "memories": (50_000, "Too many memories (max 50000)"),
    "summaries": (10_000, "Too many summaries (max 10000)"),
}
_MOST_BUCKETS, _MOST_OF_A_SESSION, _MOST_OBSERVATIONS = 10_000, 5_000, 500_000


def export(call: Call, store: MemoryStore) -> Answer:
    """Give everything, however much it is, row by row; with maxSessions some of the sessions."""
    most = whole_number(call.query.get("maxSessions")) or 0
    offset = max(0, whole_number(call.query.get("offset")) or 0)
    if most < 1:
        return Answer(200, parts=_exported(call, store, list(_sessions(store)), None))
    limit = min(most, MOST_SESSIONS)
    chosen = list(store.sessions(limit=limit + 1, offset=offset, oldest_first=True))
    paging = {
        "offset": offset,
        "limit": limit,
        "total": store.stats().sessions,
        "hasMore": len(chosen) > limit,
    }
    return Answer(200, parts=_exported(call, store, chosen[:limit], paging))


def import_(call: Call, store: MemoryStore) -> Answer:
    """Take in an export. ``skip`` keeps what is there, ``merge`` takes the newcomer's rows in the
    place of those with their ids, ``replace`` forgets everything first."""
    if not isinstance(store, Transferable):
        raise CallRefusedError(404)
    given = call.body.get("exportData")
    if given in (None, "", False, 0):
        raise CallRefusedError(400, "exportData is required")
    error = _fault(given)
    if error is not None:
        return Answer(200, {"success": False, "error": error})
    assert isinstance(given, Mapping)
    strategy = call.body.get("strategy")
    strategy = strategy if isinstance(strategy, str) and strategy else "merge"
    if strategy == "replace":
        _forget_all(store)
    counts = dict.fromkeys(("sessions", "observations", "memories", "summaries", "skipped"), 0)
    records = _Records(given, call.state.clock(), counts)
    for done in store.put(records, on_conflict=SKIP if strategy == "skip" else OVERWRITE):
        taken = done.outcome in _ADDED or (done.outcome == "same" and strategy != "skip")
        counts[_name(done.record) if taken else "skipped"] += 1
        if isinstance(done.record, Session) and done.record.id in records.summed:
            counts["summaries" if taken else "skipped"] += 1
    _take_lessons(store, given, skip=strategy == "skip")
    call.state.audit("import", [], strategy=strategy, **counts)
    return Answer(200, {"success": True, "strategy": strategy, **counts})


def _exported(
    call: Call, store: MemoryStore, sessions: Sequence[Session], paging: Mapping[str, Any] | None
) -> Iterator[str]:
    head = encoded({"version": VERSION, "exportedAt": call.state.now()})
    yield f'{head[:-1]},"sessions":['
    yield from _joined(encoded(session_row(one, whole=True)) for one in sessions)
    yield '],"observations":{'
    yield from _joined_texts(_bucket(store, one) for one in sessions if one.observations)
    yield '},"memories":['
    yield from _joined(encoded(memory_row(one, whole=True)) for one in _memories(store))
    yield '],"summaries":['
    yield from _joined(encoded(one) for one in _summaries(sessions))
    yield "]"
    known = store.documents(lessons.KIND) if isinstance(store, DocumentStore) else {}
    if known:
        yield f',"lessons":{encoded(list(known.values()))}'
    if paging is not None:
        yield f',"pagination":{encoded(paging)}'
    yield "}"


def _bucket(store: MemoryStore, session: Session) -> Iterator[str]:
    yield f"{encoded(session.id)}:["
    where = Filters(kinds=(OBSERVATION,), session=session.id)
    rows = observations.rows(store, where, None, 0, whole=True)
    yield from _joined(encoded(row) for row in rows)
    yield "]"


def _joined(texts: Iterator[str]) -> Iterator[str]:
    for at, text in enumerate(texts):
        yield f",{text}" if at else text


def _joined_texts(parts: Iterator[Iterator[str]]) -> Iterator[str]:
    for at, texts in enumerate(parts):
        if at:
            yield ","
        yield from texts


def _sessions(store: MemoryStore) -> Iterator[Session]:
    offset = 0
    while True:
        found = store.sessions(limit=MOST_SESSIONS, offset=offset, oldest_first=True)
        yield from found
        if len(found) < MOST_SESSIONS:
            return
        offset += len(found)


def _memories(store: MemoryStore) -> Iterator[Memory]:
    where, offset = Filters(kinds=(MEMORY,), old=True), 0
    while True:
        found = store.list(where, limit=_FETCHED, offset=offset, oldest_first=True)
        yield from (one for one in found if isinstance(one, Memory))
        if len(found) < _FETCHED:
            return
        offset += len(found)


def _summaries(sessions: Sequence[Session]) -> Iterator[Mapping[str, Any]]:
    for one in sessions:
        if isinstance(one.summary, dict):
            yield {"sessionId": one.id, "project": one.project, **one.summary}


class _Records:
    """The records of an export, sessions first; rows that can't be read are counted as skipped."""

    def __init__(self, given: Mapping[str, Any], now: float, counts: dict[str, int]) -> None:
        self._given = given
        self._now = now
        self._counts = counts
        self._projects: dict[str, str] = {}
        self.summed: set[str] = set()

    def __iter__(self) -> Iterator[Record]:
        return chain(self._sessions(), self._memories(), self._observations())

    def _sessions(self) -> Iterator[Record]:
        summaries = {
            one.get("sessionId"): one
            for one in self._given["summaries"]
            if isinstance(one, Mapping)
        }
        named: set[str] = set()
        for row in self._given["sessions"]:
            summary = summaries.get(row.get("id")) if isinstance(row, Mapping) else None
            record = self._read(session_of, row)
            if record is None:
                continue
            assert isinstance(record, Session)
            if summary is not None:
                self.summed.add(record.id)
                record = record._replace(summary=dict(summary))
            named.add(record.id)
            self._projects[record.id] = record.project
            yield record
        yield from self._unnamed(named, summaries)

    def _unnamed(
        self, named: set[str], summaries: Mapping[Any, Mapping[str, Any]]
    ) -> Iterator[Record]:
        """Make the sessions of observations and summaries that come without one."""
        for id_ in dict.fromkeys([*self._given["observations"], *summaries]):
            if not isinstance(id_, str) or not id_.strip() or id_ in named:
                continue
            summary = summaries.get(id_)
            rows = self._given["observations"].get(id_) or []
            first = rows[0] if rows and isinstance(rows[0], Mapping) else {}
            row = {"id": id_, "startedAt": first.get("timestamp"), "status": "completed"}
            project = summary.get("project") if summary else None
            record = self._read(session_of, row | ({"project": project} if project else {}))
            if isinstance(record, Session):
                self._projects[id_] = record.project
                if summary is not None:
                    self.summed.add(id_)
                    record = record._replace(summary=dict(summary))
                yield record

    def _memories(self) -> Iterator[Record]:
        for row in self._given["memories"]:
            record = self._read(memory_of, row)
            if record is not None:
                yield record

    def _observations(self) -> Iterator[Record]:
        for id_, rows in self._given["observations"].items():
            project = self._projects.get(id_, "")
            for row in rows:
                named = {"sessionId": id_, **row} if isinstance(row, Mapping) else row
                record = self._read(
                    lambda one, now, project=project: observation_of(one, project, now), named
                )
                if record is not None:
                    yield record

    def _read(self, read: Any, row: Any) -> Record | None:
        try:
            if not isinstance(row, Mapping):
                raise RowError("it is no object")
            record: Record = read(_with_origin(row), self._now)
            record, _ = cleaned(record)
        except RowError:
            self._counts["skipped"] += 1
            return None
        return record


def _with_origin(row: Mapping[str, Any]) -> Mapping[str, Any]:
    """Say of a row without an origin that it was imported."""
    if "origin" in row or "startedAt" in row:
        return row
    at = row.get("timestamp") or row.get("createdAt")
    captured = {"capturedAt": at} if isinstance(at, str) else {}
    return {**row, "origin": {"channel": "import", **captured}}


def _fault(given: Any) -> str | None:
    """Say what is wrong with an export, in the order in which agentmemory checks."""
    if not isinstance(given, Mapping) or not isinstance(given.get("version"), str):
        return "exportData with string version is required"
    if given["version"] not in READ_VERSIONS:
        return f"Unsupported export version: {given['version']}"
    for key in _LIMITS:
        if not isinstance(given.get(key), list):
            return f"{key} must be an array"
    buckets = given.get("observations")
    if not isinstance(buckets, Mapping):
        return "observations must be an object"
    if not all(isinstance(rows, list) for rows in buckets.values()):
        return "observation values must be arrays"
    return _too_many(given, list(buckets.values()))


def _too_many(given: Mapping[str, Any], buckets: Sequence[Sequence[Any]]) -> str | None:
    for key, (most, error) in _LIMITS.items():
        if len(given[key]) > most:
            return error
    if len(buckets) > _MOST_BUCKETS:
        return f"Too many observation buckets (max {_MOST_BUCKETS})"
    if any(len(rows) > _MOST_OF_A_SESSION for rows in buckets):
        return f"Too many observations per session (max {_MOST_OF_A_SESSION})"
    if sum(map(len, buckets)) > _MOST_OBSERVATIONS:
        return f"Too many total observations (max {_MOST_OBSERVATIONS})"
    return None


def _forget_all(store: MemoryStore) -> None:
    """Forget all entries and sessions; until a purge they can be restored."""
    store.forget(where=Filters(old=True))
    for one in list(_sessions(store)):
        store.forget_session(one.id)
    if isinstance(store, DocumentStore):
        for id_ in list(store.documents(lessons.KIND)):
            store.drop_document(lessons.KIND, id_)


def _take_lessons(store: MemoryStore, given: Mapping[str, Any], *, skip: bool) -> None:
    rows = given.get("lessons")
    if not isinstance(store, DocumentStore) or not isinstance(rows, list):
        return
    for row in rows:
        lesson = lessons.read(redact(row, private=True).value)
        if lesson is not None and not (skip and store.document(lessons.KIND, lesson["id"])):
            store.keep_document(lessons.KIND, lesson["id"], lesson)


def _name(record: Record) -> str:
    if isinstance(record, Session):
        return "sessions"
    return "observations" if isinstance(record, Observation) else "memories"
