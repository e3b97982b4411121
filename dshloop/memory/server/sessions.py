"""Sessions: start, end, list, summarize, and their replay."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from dshloop.memory.answers import Filters
from dshloop.memory.entries import OBSERVATION, NewSession, Observation, Session
from dshloop.memory.interchange.agentmemory_shape import observation_row, session_row
from dshloop.memory.server import commits, context
from dshloop.memory.server.calls import Answer, Call, CallRefusedError, encoded, text_in
from dshloop.memory.server.memories import listed
from dshloop.memory.store import DocumentStore, MemoryStore
from dshloop.times import iso_time

TITLE = 200
_STARTED = "sessionId, project, and cwd are required non-empty strings"
_ENDED = "sessionId is required and must be a non-empty string"
_REQUIRED = "sessionId is required"
_KINDS = {"prompt_submit": "prompt", "post_tool_failure": "tool_error"}


def start(call: Call, store: MemoryStore) -> Answer:
    """Begin a session, or resume it; its agent's context comes along."""
    id_, project, cwd = call.needed(_STARTED, "sessionId", "project", "cwd")
    title = text_in(call.body, "title")
    agent = call.writing_agent() or call.settings.agent
    new = NewSession(id_, project, cwd, agent, None if title is None else title[:TITLE])
    session = store.start_session(new)
    row = session_row(session)
    row.pop("updatedAt", None)
    if session.title is not None:
        row.setdefault("firstPrompt", session.title)
    text = context.build(call.state, store, session.project, agent, exclude=id_).text
    return Answer(200, {"session": row, "context": text})


def end(call: Call, store: MemoryStore) -> Answer:
    """Mark a session as completed; an unknown one stays unknown (agentmemory 13, D2)."""
    (id_,) = call.needed(_ENDED, "sessionId")
    store.end_session(id_)
    return Answer(200, {"success": True})


def sessions(call: Call, store: MemoryStore) -> Answer:
    """List sessions in the order they began."""
    limit, offset = call.page()
    agent, project = call.agent_filter(), call.query.get("project", "").strip() or None
    named = call.query.get("sessionId")
    if named is not None:
        one = store.get_session(named)
        known = one is not None and agent in (None, one.agent) and project in (None, one.project)
        found, total = ([one] if known and one else []), int(known)
    else:
        found = list(
            store.sessions(
                project=project, agent=agent, limit=limit, offset=offset, oldest_first=True
            )
        )
        total = offset + len(found)
        if len(found) == limit or (offset and not found):
            total = len(store.sessions(project=project, agent=agent, limit=None))
    answer: dict[str, Any] = {"sessions": list(_rows(store, found))}
    if {"limit", "offset"} & set(call.query) or total > len(found):
        answer |= {"total": total, "offset": offset, "limit": limit}
    return Answer(200, answer)


def summarize(call: Call, store: MemoryStore) -> Answer:
    """Say that there is no language model that could."""
    (id_,) = call.needed(_REQUIRED, "sessionId")
    known = store.get_session(id_) is not None
    error = "empty_provider_response" if known else "session_not_found"
    return Answer(200, {"success": False, "error": error})


def replay_sessions(call: Call, store: MemoryStore) -> Answer:
    """List sessions, the last started first."""
    limit, offset = call.page()
    found = store.sessions(agent=call.agent_filter(), limit=limit, offset=offset)
    end = encoded({"success": True, "offset": offset, "limit": limit})
    return Answer(200, parts=listed("sessions", _rows(store, list(found)), end))


def replay_load(call: Call, store: MemoryStore) -> Answer:
    """Show a session's observations as events with their offsets in time."""
    id_ = call.query.get("sessionId", "").strip()
    if not id_:
        raise CallRefusedError(400, _REQUIRED)
    session = store.get_session(id_)
    agent = call.agent_filter()
    if session is None or agent not in (None, session.agent):
        now = call.state.now()
        nothing = {
            "sessionId": "",
            "startedAt": now,
            "endedAt": now,
            "totalDurationMs": 0,
            "eventCount": 0,
            "events": [],
        }
        return Answer(200, {"success": True, "timeline": nothing, "session": None})
    limit, offset = call.page()
    where = Filters(kinds=(OBSERVATION,), session=id_)
    entries = store.list(where, limit=limit, offset=offset, oldest_first=True)
    events = [_event(one, session) for one in entries if isinstance(one, Observation)]
    last = max((event["offsetMs"] for event in events), default=0)
    timeline = {
        "sessionId": id_,
        "startedAt": iso_time(session.started_at),
        "endedAt": None if session.ended_at is None else iso_time(session.ended_at),
        "totalDurationMs": last,
        "eventCount": store.count(where),
        "events": events,
    }
    return Answer(200, {"success": True, "timeline": timeline, "session": session_row(session)})


def _event(entry: Observation, session: Session) -> dict[str, Any]:
    row = observation_row(entry)
    return {
        "id": entry.id,
        "sessionId": entry.session,
        "ts": row["timestamp"],
        "offsetMs": max(0, round(1000 * (entry.created_at - session.started_at))),
        "durationMs": 0,
        "kind": _KINDS.get(entry.hook, "tool" if entry.hook == "post_tool_use" else entry.hook),
        "label": entry.title,
        "body": row["narrative"],
    }


def _rows(store: MemoryStore, found: list[Session]) -> Iterator[Mapping[str, Any]]:
    """Yield rows, with the commits that were linked to them."""
    linked = commits.by_session(store) if isinstance(store, DocumentStore) else {}
    for one in found:
        shas = linked.get(one.id)
        row = session_row(one)
        if one.title is not None:
            row.setdefault("firstPrompt", one.title)
        yield row | {"commitShas": shas} if shas else row
