"""Taking memories away: forget, governance, and what sweeps would take."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from dshloop.errors import MemoryNotFoundError
from dshloop.memory.answers import Filters
from dshloop.memory.entries import MEMORY, OBSERVATION, TYPES, Memory, Observation
from dshloop.memory.interchange.fields import iso_moment
from dshloop.memory.server.calls import (
    Answer,
    Call,
    CallRefusedError,
    text_in,
    texts_in,
    whole_number,
)
from dshloop.memory.server.rows import exact, exact_memory
from dshloop.memory.store import MemoryStore

_DAY = 86400.0
_STALE_DAYS, _LOW_DAYS, _LOW_IMPORTANCE = 30, 90, 3
_OF_A_SESSION = 2  # the session and its summary, as agentmemory counts (3.6)
_FETCHED = 500
_AUDITED = 50


def forget(call: Call, store: MemoryStore) -> Answer:
    """Take away a memory, observations of a session, or a session (agentmemory 3.6)."""
    memory, session = text_in(call.body, "memoryId"), text_in(call.body, "sessionId")
    if memory is None and session is None:
        raise CallRefusedError(400, "sessionId or memoryId is required")
    ids = [] if memory is None or exact_memory(store, memory) is None else [memory]
    named = texts_in(call.body, "observationIds")
    ids += [one for one in dict.fromkeys(named) if _is_of(store, one, session)]
    deleted = _forgotten(store, ids)
    targets = list(ids)
    if memory is None and not named and session is not None:
        gone = store.forget_session(session)
        if not gone.missing:
            deleted += len(gone.entries) + _OF_A_SESSION
            targets = [session]
    if deleted:
        call.state.audit("forget", targets, deleted=deleted)
    return Answer(200, {"success": True, "deleted": deleted})


def delete_memories(call: Call, store: MemoryStore) -> Answer:
    """Take away memories by their ids, with a reason for the audit."""
    ids = call.body.get("memoryIds")
    error = "memoryIds array is required"
    if not isinstance(ids, list):
        raise CallRefusedError(400, error)
    if not ids:
        return Answer(200, {"success": False, "error": error})
    named = dict.fromkeys(texts_in(call.body, "memoryIds"))
    known = [one for one in named if exact_memory(store, one) is not None]
    deleted = _forgotten(store, known)
    call.state.audit("delete", known, reason=text_in(call.body, "reason"))
    return Answer(200, {"success": True, "deleted": deleted, "total": len(ids)})


def bulk_delete(call: Call, store: MemoryStore) -> Answer:
    """Take away memories by type, date and quality; ``dryRun`` only names them."""
    body = call.body
    moments: dict[str, float | None] = {}
    for key in ("dateFrom", "dateTo"):
        moments[key] = None
        if body.get(key) is not None:
            moments[key] = iso_moment(str(body[key]))
            if moments[key] is None:
                return Answer(200, {"success": False, "error": f"Invalid {key} format"})
    types = [one for one in texts_in(body, "type") if one in TYPES]
    quality = body.get("qualityBelow")
    quality = quality if isinstance(quality, (int, float)) else None
    filtered = bool(body.get("type")) or quality is not None or any(moments.values())
    dry = body.get("dryRun") is True
    if not filtered and not dry:
        error = "At least one filter is required for non-dryRun bulk delete"
        return Answer(200, {"success": False, "error": error})
    where = Filters(kinds=(MEMORY,), old=True, since=moments["dateFrom"], until=moments["dateTo"])
    ids = [
        one.id
        for one in _every(store, where)
        if isinstance(one, Memory)
        and (not body.get("type") or one.type in types)
        and (quality is None or one.strength < quality)
    ]
    if dry:
        answer = {"success": True, "dryRun": True, "wouldDelete": len(ids), "ids": ids}
        return Answer(200, answer)
    deleted = _forgotten(store, ids)
    call.state.audit("bulk_delete", ids)
    return Answer(200, {"success": True, "deleted": deleted, "failed": 0})


def audit(call: Call, store: MemoryStore) -> Answer:
    """List the changes made through this server since it started, the newest first."""
    limit = whole_number(call.query.get("limit")) or _AUDITED
    entries = call.state.audited(call.query.get("operation"), max(limit, 1))
    return Answer(200, {"entries": entries, "success": True})


def evict(call: Call, store: MemoryStore) -> Answer:
    """Count what agentmemory's sweep would take; nothing is taken (docs: left out)."""
    now = call.state.clock()
    old = Filters(kinds=(OBSERVATION,), until=now - _LOW_DAYS * _DAY)
    memories = Filters(kinds=(MEMORY,))
    superseded = store.count(memories._replace(old=True)) - store.count(memories)
    return Answer(
        200,
        {
            "staleSessions": _stale(store, now - _STALE_DAYS * _DAY),
            "lowImportanceObs": sum(
                isinstance(one, Observation) and one.importance < _LOW_IMPORTANCE
                for one in _every(store, old)
            ),
            "capEvictions": 0,
            "expiredMemories": 0,
            "nonLatestMemories": superseded,
            "dryRun": True,
        },
    )


def auto_forget(call: Call, store: MemoryStore) -> Answer:
    """Say that there is nothing to sweep: what has expired is never seen (agentmemory 13, D9)."""
    answer = {"ttlExpired": [], "contradictions": [], "lowValueObs": [], "dryRun": True}
    return Answer(200, answer)


def _is_of(store: MemoryStore, id_: str, session: str | None) -> bool:
    entry = exact(store, id_)
    return isinstance(entry, Observation) and session in (None, entry.session)


def _forgotten(store: MemoryStore, ids: Sequence[str]) -> int:
    """Forget entries that are there; a memory's older versions go with it and are not counted."""
    if not ids:
        return 0
    try:
        gone = store.forget(ids)
    except MemoryNotFoundError:  # another program was faster
        return 0
    return len(set(ids) - set(gone.missing))


def _every(store: MemoryStore, where: Filters) -> Iterator[Any]:
    offset = 0
    while True:
        found = store.list(where, limit=_FETCHED, offset=offset, oldest_first=True)
        yield from found
        if len(found) < _FETCHED:
            return
        offset += len(found)


def _stale(store: MemoryStore, before: float) -> int:
    """Count the sessions that began before a moment and were never summed up."""
    count = offset = 0
    while True:
        found = store.sessions(limit=_FETCHED, offset=offset, oldest_first=True)
        old = [one for one in found if one.started_at < before]
        count += sum(one.summary is None for one in old)
        if len(old) < _FETCHED:
            return count
        offset += len(found)
