"""GET /export and POST /import: agentmemory's export shape (agentmemory 3.7)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from dshloop.memory.answers import OVERWRITE, SKIP, Filters, Record
from dshloop.memory.entries import MEMORY, OBSERVATION, Entry, Observation, Session
from dshloop.memory.interchange import fields
from dshloop.memory.interchange.agentmemory import read_value
from dshloop.memory.interchange.agentmemory_export import Contents, text_of
from dshloop.memory.interchange.agentmemory_shape import LESSON
from dshloop.memory.interchange.carrying import put
from dshloop.memory.interchange.report import Report
from dshloop.memory.server import lessons
from dshloop.memory.server.calls import Answer, Call, CallRefusedError, whole_number
from dshloop.memory.store import DocumentStore, MemoryStore, Transferable
from dshloop.redact import redact

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
    paging = None
    if most < 1:
        chosen = list(_sessions(store))
    else:
        limit = min(most, MOST_SESSIONS)
        chosen = list(store.sessions(limit=limit + 1, offset=offset, oldest_first=True))
        total, more = store.stats().sessions, len(chosen) > limit
        paging = {"offset": offset, "limit": limit, "total": total, "hasMore": more}
        chosen = chosen[:limit]
    known = store.documents(LESSON) if isinstance(store, DocumentStore) else {}
    contents = Contents(
        sessions=lambda: iter(chosen),
        observations=lambda id_: _entries(store, Filters(kinds=(OBSERVATION,), session=id_)),
        memories=lambda: _entries(store, Filters(kinds=(MEMORY,), old=True)),
        lessons=lambda: list(known.values()),
        pagination=paging,
    )
    pieces = text_of(contents, Report(), call.state.clock())
    return Answer(200, parts=(piece.decode() for piece in pieces))


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
    counts = _taken_in(store, given, strategy, call.state.clock())
    _take_lessons(store, given, skip=strategy == "skip")
    call.state.audit("import", [], strategy=strategy, **counts)
    return Answer(200, {"success": True, "strategy": strategy, **counts})


def _taken_in(
    store: MemoryStore, given: Mapping[str, Any], strategy: str, now: float
) -> dict[str, int]:
    """Put all but the lessons; count by kind what the store has of it, and what was skipped."""
    counts = dict.fromkeys(("sessions", "observations", "memories", "summaries", "skipped"), 0)
    summed = {
        fields.text(one, "sessionId") for one in given["summaries"] if isinstance(one, Mapping)
    }
    report = Report()
    named = {fields.text(one, "id") for one in given["sessions"] if isinstance(one, Mapping)}
    items = (
        item
        for item in read_value({**given, "lessons": []}, Report(), now)
        if not _is_known(store, item.record, named)
    )
    how = SKIP if strategy == "skip" else OVERWRITE
    for done in put(store, items, report, on_conflict=how, now=now):
        taken = done.outcome in _ADDED or (done.outcome == "same" and strategy != "skip")
        counts[_name(done.record)] += taken
        counts["skipped"] += done.outcome == "same" and not taken
        if isinstance(done.record, Session) and done.record.id in summed:
            counts["summaries" if taken else "skipped"] += 1
    counts["skipped"] += report.lost.total()
    return counts


def _is_known(store: MemoryStore, record: Record, named: set[str]) -> bool:
    """Whether a session is only made up for observations that came without theirs, and is there:
    the one that is there stays."""
    if not isinstance(record, Session) or record.id in named:
        return False
    return store.get_session(record.id) is not None


def _sessions(store: MemoryStore) -> Iterator[Session]:
    offset = 0
    while True:
        found = store.sessions(limit=MOST_SESSIONS, offset=offset, oldest_first=True)
        yield from found
        if len(found) < MOST_SESSIONS:
            return
        offset += len(found)


def _entries(store: MemoryStore, where: Filters) -> Iterator[Entry]:
    """Give entries some at a time: a client that takes its time holds no transaction open."""
    offset = 0
    while True:
        found = store.list(where, limit=_FETCHED, offset=offset, oldest_first=True)
        yield from found
        if len(found) < _FETCHED:
            return
        offset += len(found)


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
        for id_ in list(store.documents(LESSON)):
            store.drop_document(LESSON, id_)


def _take_lessons(store: MemoryStore, given: Mapping[str, Any], *, skip: bool) -> None:
    rows = given.get("lessons")
    if not isinstance(store, DocumentStore) or not isinstance(rows, list):
        return
    for row in rows:
        lesson = lessons.read(redact(row, private=True).value)
        if lesson is not None and not (skip and store.document(LESSON, lesson["id"])):
            store.keep_document(LESSON, lesson["id"], lesson)


def _name(record: Record) -> str:
    if isinstance(record, Session):
        return "sessions"
    return "observations" if isinstance(record, Observation) else "memories"
