"""Memories: remember, list, show, evolve; and the relations and citations of them."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping
from typing import Any

from dshloop.memory.answers import Filters, Similar
from dshloop.memory.entries import MEMORY, TYPES, Entry, Memory, NewMemory, Observation
from dshloop.memory.interchange.agentmemory_shape import KIND
from dshloop.memory.server.calls import (
    Answer,
    Call,
    CallRefusedError,
    documents_of,
    encoded,
    text_in,
    texts_in,
)
from dshloop.memory.server.rows import exact, exact_memory, memory_answer
from dshloop.memory.store import DocumentStore, MemoryStore
from dshloop.times import iso_time

RELATION = "relation"
_DAY = 86400.0
_LONGEST_DAYS = 36_500_000.0  # what lives longer than dates are written does not expire
_FETCHED = 20  # rows that are read at once: each may be megabytes
_NO_AGENT = ""
_LISTS = ("concepts", "files", "sourceObservationIds")


def remember(call: Call, store: MemoryStore) -> Answer:
    """Keep a memory; the same text and near-equal ones are superseded (agentmemory 6)."""
    body = call.body
    if text_in(body, "content") is None:
        raise CallRefusedError(400, "content is required")
    if "project" in body and text_in(body, "project") is None:
        raise CallRefusedError(400, "project must be a non-empty string")
    for key in _LISTS:
        if not isinstance(body.get(key), (list, type(None))):
            return Answer(201, {"success": False, "error": f"{key} must be an array"})
    done = store.remember(_new_memory(call), renew=True)
    answer: dict[str, Any] = {"success": True, "memory": memory_answer(done.memory)}
    if done.similar is not None:
        answer["similarTo"] = _similar(done.similar)
    call.state.audit("remember", [done.memory.id])
    return Answer(201, answer)


def memories(call: Call, store: MemoryStore) -> Answer:
    """List memories, the oldest first, or count them."""
    latest = Filters(
        kinds=(MEMORY,),
        project=call.query.get("project", "").strip() or None,
        agent=call.agent_filter(),
    )
    where = latest if call.asks("latest") else latest._replace(old=True)
    both = call.asks("includeOrphans") and where.agent is not None
    total = _count(store, where, both)
    if call.asks("count"):
        return Answer(200, {"total": total, "latestCount": _count(store, latest, both)})
    limit, offset = call.page()
    related = _relations(store)
    rows = (
        memory_answer(one) | ({"relatedIds": related[one.id]} if one.id in related else {})
        for one in _listed(store, where, both, limit, offset)
    )
    end = encoded({"total": total, "offset": offset, "limit": limit})
    return Answer(200, parts=listed("memories", rows, end))


def memory(call: Call, store: MemoryStore) -> Answer:
    """Show one memory, superseded ones too."""
    found = exact_memory(store, call.tail)
    if found is None:
        raise CallRefusedError(404, f"memory not found: {call.tail}")
    related = _relations(store).get(found.id)
    more = {} if related is None else {"relatedIds": related}
    return Answer(200, {"memory": memory_answer(found) | more})


def evolve(call: Call, store: MemoryStore) -> Answer:
    """Make a new version of a memory."""
    id_, content = call.needed("memoryId and newContent are required", "memoryId", "newContent")
    old = exact_memory(store, id_)
    if old is None:
        return Answer(200, {"success": False, "error": "memory not found"})
    title = text_in(call.body, "newTitle") or old.title
    done = store.edit(id_, content=call.body.get("newContent", content), title=title)
    previous = id_ if done.superseded is None else done.superseded.id
    call.state.audit("evolve", [done.memory.id], previousId=previous)
    row = memory_answer(done.memory)
    return Answer(200, {"success": True, "memory": row, "previousId": previous})


def relate(call: Call, store: MemoryStore) -> Answer:
    """Keep that two memories have to do with one another."""
    source, target, kind = call.needed(
        "sourceId, targetId, and type are required", "sourceId", "targetId", "type"
    )
    if exact_memory(store, source) is None or exact_memory(store, target) is None:
        error = "source or target memory not found"
        return Answer(201, {"success": False, "error": error})
    relation = {
        "type": kind,
        "sourceId": source,
        "targetId": target,
        "createdAt": call.state.now(),
        "confidence": 0.6,
    }
    id_ = call.state.new_id("rel")
    documents_of(store).keep_document(RELATION, id_, relation)
    return Answer(201, {"success": True, "relationId": id_, "relation": relation})


def relations(call: Call, store: MemoryStore) -> Answer:
    """List all relations."""
    return Answer(200, {"relations": list(documents_of(store).documents(RELATION).values())})


def _relations(store: MemoryStore) -> dict[str, list[str]]:
    """Give for each memory that has relations the others' ids."""
    related: dict[str, list[str]] = {}
    for one in store.documents(RELATION).values() if isinstance(store, DocumentStore) else ():
        ends = one["sourceId"], one["targetId"]
        for end, other in (ends, reversed(ends)):
            others = related.setdefault(end, [])
            if other not in others:
                others.append(other)
    return related


def verify(call: Call, store: MemoryStore) -> Answer:
    """Show where a memory comes from."""
    (id_,) = call.needed("id is required", "id")
    found = exact(store, id_)
    if found is None:
        return Answer(200, {"success": False, "error": "not found"})
    if isinstance(found, Observation):
        row = {"id": found.id, "sessionId": found.session, "title": found.title, "type": found.type}
        told: dict[str, Any] = {"type": "observation", "observation": row}
        cited: list[dict[str, Any]] = []
    else:
        row = memory_answer(found)
        shown = ("id", "title", "type", "version", "strength", "isLatest", "createdAt")
        told = {
            "type": "memory",
            "memory": {key: row[key] for key in (*shown, "updatedAt", "supersedes")},
        }
        cited = [one for one in (_citation(store, id_) for id_ in _cited(row)) if one]
    return Answer(200, {"success": True, **told, "citations": cited, "citationCount": len(cited)})


def listed(name: str, rows: Iterator[Mapping[str, Any]], end: str = "{}") -> Iterator[str]:
    """Write an object whose member ``name`` is a long list, row by row; ``end`` is the JSON of its
    other members."""
    yield f'{{"{name}":['
    comma = ""
    for row in rows:
        yield comma + encoded(row)
        comma = ","
    rest = end[1:-1]
    yield f"],{rest}}}" if rest else "]}"


def _new_memory(call: Call) -> NewMemory:
    body = call.body
    kind = body.get("type")
    row: dict[str, Any] = {"sourceObservationIds": list(texts_in(body, "sourceObservationIds"))}
    return NewMemory(
        content=body["content"],
        project=text_in(body, "project") or "",
        type=kind if isinstance(kind, str) and kind in TYPES else None,
        concepts=texts_in(body, "concepts"),
        files=texts_in(body, "files"),
        agent=call.writing_agent() or call.settings.agent,
        source={"kind": KIND, "row": row} if row["sourceObservationIds"] else {"kind": KIND},
        ttl=_ttl(body.get("ttlDays")),
    )


def _ttl(days: Any) -> float | None:
    """Read how long a memory lives, in seconds; what is no number above 0 is ignored."""
    if isinstance(days, bool) or not isinstance(days, (int, float)):
        return None
    return days * _DAY if 0 < days < _LONGEST_DAYS else None


def _similar(similar: Similar) -> dict[str, Any]:
    return {
        "id": similar.memory.id,
        "title": similar.memory.title,
        "similarity": round(similar.similarity, 2),
    }


def _count(store: MemoryStore, where: Filters, both: bool) -> int:
    orphans = store.count(where._replace(agent=_NO_AGENT)) if both else 0
    return store.count(where) + orphans


def _listed(
    store: MemoryStore, where: Filters, both: bool, limit: int, offset: int
) -> Iterator[Memory]:
    """Yield a page; with ``both`` the rows without an agent lie among the agent's."""
    if not both:
        yield from _page(store, where, limit, offset)
        return
    lists = [_page(store, one, None, 0) for one in (where, where._replace(agent=_NO_AGENT))]
    merged = heapq.merge(*lists, key=lambda one: (one.created_at, one.id))
    for at, one in enumerate(merged):
        if at >= offset + limit:
            return
        if at >= offset:
            yield one


def _page(store: MemoryStore, where: Filters, limit: int | None, offset: int) -> Iterator[Memory]:
    left = limit
    while left is None or left > 0:
        count = _FETCHED if left is None else min(_FETCHED, left)
        rows: list[Entry] = list(store.list(where, limit=count, offset=offset, oldest_first=True))
        yield from (one for one in rows if isinstance(one, Memory))
        if len(rows) < count:
            return
        offset += len(rows)
        left = None if left is None else left - len(rows)


def _cited(row: dict[str, Any]) -> tuple[str, ...]:
    return texts_in(row, "sourceObservationIds")


def _citation(store: MemoryStore, id_: str) -> dict[str, Any] | None:
    found = exact(store, id_)
    if not isinstance(found, Observation):
        return None
    return {
        "observationId": found.id,
        "sessionId": found.session,
        "title": found.title,
        "timestamp": iso_time(found.created_at),
    }
