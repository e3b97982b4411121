"""POST /observe and GET /observations."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from dshloop.memory.answers import Filters
from dshloop.memory.entries import OBSERVATION, Observation
from dshloop.memory.interchange.agentmemory_shape import observation_row
from dshloop.memory.interchange.fields import iso_moment
from dshloop.memory.observing import observed
from dshloop.memory.server.calls import Answer, Call, CallRefusedError, encoded
from dshloop.memory.server.memories import listed
from dshloop.memory.store import MemoryStore

_REQUIRED = "hookType, sessionId, project, cwd, and timestamp are required strings"
_KEYS = ("hookType", "sessionId", "project", "cwd", "timestamp")
_FETCHED = 100


def observe(call: Call, store: MemoryStore) -> Answer:
    """Keep what happened in a session (agentmemory 5)."""
    hook, session_id, project, cwd, timestamp = call.needed(_REQUIRED, *_KEYS)
    session = store.get_session(session_id)
    limit = call.settings.session_limit
    if session is not None and session.observations >= limit:
        error = f"Session observation limit reached ({limit})"
        return Answer(201, {"success": False, "error": error})
    agent = call.writing_agent() or (call.settings.agent if session is None else None)
    new = observed(
        hook,
        call.body.get("data"),
        session=session_id,
        project=project,
        cwd=cwd,
        at=iso_moment(timestamp),
        agent=agent,
    )
    done = store.observe(new)
    if done.duplicate:
        return Answer(201, {"deduplicated": True, "sessionId": session_id})
    return Answer(201, {"observationId": done.observation.id})


def observations(call: Call, store: MemoryStore) -> Answer:
    """List a session's observations in the order of their arrival."""
    session = call.query.get("sessionId", "").strip()
    if not session:
        raise CallRefusedError(400, "sessionId required")
    where = Filters(kinds=(OBSERVATION,), session=session, agent=call.agent_filter())
    if not ({"limit", "offset"} & set(call.query)):
        return Answer(200, parts=listed("observations", rows(store, where, None, 0)))
    limit, offset = call.page()
    end = encoded({"total": store.count(where), "offset": offset, "limit": limit})
    return Answer(200, parts=listed("observations", rows(store, where, limit, offset), end))


def rows(
    store: MemoryStore, where: Filters, limit: int | None, offset: int, *, whole: bool = False
) -> Iterator[dict[str, Any]]:
    """Yield observations as rows, some at a time."""
    left = limit
    while left is None or left > 0:
        count = _FETCHED if left is None else min(_FETCHED, left)
        found = store.list(where, limit=count, offset=offset, oldest_first=True)
        for one in found:
            if isinstance(one, Observation):
                yield observation_row(one, whole=whole)
        if len(found) < count:
            return
        offset += len(found)
        left = None if left is None else left - len(found)
