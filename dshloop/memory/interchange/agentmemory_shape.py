"""Sessions, memories and observations as the rows of agentmemory, and back: pure.

The shapes are those of its REST answers and of its export (agentmemory 3.2, 3.7, 5, 6). Keys of
theirs that ours have no place for are kept in the entry's ``source`` under ``row``; with ``whole``
a row carries, under ``dshloop``, what theirs have no place for. So a row that went through either
side comes back as it was. What is wrong with a row is a RowError.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from dshloop.memory.entries import (
    DEFAULT_IMPORTANCE,
    DEFAULT_STRENGTH,
    DEFAULT_TYPE,
    TYPES,
    Memory,
    Observation,
    Session,
    title_of,
)
from dshloop.memory.interchange import fields
from dshloop.memory.interchange.fields import RowError
from dshloop.memory.observing import cut
from dshloop.times import iso_time

NARRATIVE_UNITS = 400
"""UTF-16 units of a narrative, an ellipsis included (agentmemory 4)."""

KIND = "agentmemory"
"""The ``kind`` of the source of what came from a row."""

LESSON = "lesson"
"""What lessons are called as documents (memory/server keeps them so)."""

CONFIDENCE = 0.3
OURS = "dshloop"

Some = TypeVar("Some", Memory, Observation, Session)

_MEMORY_KEYS = frozenset(
    """
    id createdAt updatedAt type title content concepts files sessionIds strength version parentId
    supersedes isLatest agentId project forgetAfter
    """.split()  # noqa: SIM905
)
_OBSERVATION_KEYS = frozenset(
    """
    id sessionId timestamp type title subtitle narrative concepts files importance agentId
    """.split()  # noqa: SIM905
)
SESSION_KEYS = frozenset(
    """
    id project cwd startedAt status observationCount summary firstPrompt agentId updatedAt endedAt
    """.split()  # noqa: SIM905
)


# --- memories ----------------------------------------------------------------------------------


def memory_row(memory: Memory, *, whole: bool = False) -> dict[str, Any]:
    """Give a memory as agentmemory's row."""
    row = _kept_row(memory.source)
    row.setdefault("sourceObservationIds", [])
    row.setdefault("origin", {"channel": "agent", "capturedAt": iso_time(memory.created_at)})
    row |= {
        "id": memory.id,
        "createdAt": iso_time(memory.created_at),
        "updatedAt": iso_time(memory.updated_at),
        "type": memory.type,
        "title": memory.title,
        "content": memory.content,
        "concepts": list(memory.concepts),
        "files": list(memory.files),
        "sessionIds": [] if memory.session is None else [memory.session],
        "strength": _plain(memory.strength),
        "version": memory.version,
        "supersedes": [] if memory.previous is None else [memory.previous],
        "isLatest": memory.latest,
    }
    _put(row, "parentId", memory.previous)
    _put(row, "agentId", memory.agent)
    _put(row, "project", memory.project)
    _put(row, "forgetAfter", None if memory.expires_at is None else iso_time(memory.expires_at))
    if whole:
        times = ("created_at", "updated_at", "expires_at")
        ours = _exact(memory, times) | _own_source(memory.source)
        _put(row, OURS, ours | ({"repeats": memory.repeats} if memory.repeats != 1 else {}))
    return row


def memory_of(row: Mapping[str, Any], now: float) -> Memory:
    """Read a memory's row; ``now`` stands for a time that it doesn't tell. Raises RowError."""
    ours = _ours(row)
    content = fields.required(row, "content")
    supersedes = fields.texts(row, "supersedes")
    created = fields.moment(row, "createdAt")
    kind = fields.text(row, "type", DEFAULT_TYPE)
    memory = Memory(
        id=prefixed(fields.required(row, "id"), "mem_"),
        type=kind if kind in TYPES else DEFAULT_TYPE,
        title=fields.text(row, "title") or title_of(content),
        content=content,
        concepts=fields.texts(row, "concepts"),
        files=fields.texts(row, "files"),
        project=fields.text(row, "project").strip(),
        agent=fields.some_text(row, "agentId"),
        session=next(iter(fields.texts(row, "sessionIds")), None),
        source=_source(row, _MEMORY_KEYS | ({"type"} if kind in TYPES else set())),
        created_at=_first(created, fields.moment(row, "updatedAt"), now),
        updated_at=_first(fields.moment(row, "updatedAt"), created, now),
        strength=min(10.0, max(0.0, fields.number(row, "strength", DEFAULT_STRENGTH))),
        expires_at=fields.moment(row, "forgetAfter"),
        version=fields.count(row, "version", 1),
        previous=_previous(fields.some_text(row, "parentId") or next(iter(supersedes), None)),
        latest=row.get("isLatest") is not False,
        repeats=fields.count(ours, "repeats", 1),
    )
    return _restored(memory, ours)


# --- observations ------------------------------------------------------------------------------


def observation_row(observation: Observation, *, whole: bool = False) -> dict[str, Any]:
    """Give an observation as agentmemory's row; its narrative is cut unless ``whole``."""
    row = _kept_row(observation.source)
    row.setdefault("facts", [])
    row.setdefault("confidence", CONFIDENCE)
    row.setdefault("origin", _origin(observation))
    text = observation.content
    row |= {
        "id": observation.id,
        "sessionId": observation.session,
        "timestamp": iso_time(observation.created_at),
        "type": observation.type,
        "title": observation.title,
        "narrative": text if whole else cut(text, NARRATIVE_UNITS),
        "concepts": list(observation.concepts),
        "files": list(observation.files),
        "importance": _plain(observation.importance),
    }
    _put(row, "subtitle", observation.subtitle)
    _put(row, "agentId", observation.agent)
    if whole:
        more = _exact(observation, ("created_at",)) | _own_source(observation.source)
        more |= {"hook": observation.hook, "project": observation.project}
        _put(
            row, OURS, more | ({"repeats": observation.repeats} if observation.repeats > 1 else {})
        )
    return row


def observation_of(row: Mapping[str, Any], project: str, now: float) -> Observation:
    """Read an observation's row; the project is its session's. Raises RowError."""
    ours = _ours(row)
    observation = Observation(
        id=prefixed(fields.required(row, "id"), "obs_"),
        session=fields.required(row, "sessionId"),
        hook=fields.text(ours, "hook") or _hook(row),
        type=fields.text(row, "type", "other"),
        title=fields.text(row, "title"),
        subtitle=fields.text(row, "subtitle"),
        content=fields.text(row, "narrative"),
        concepts=fields.texts(row, "concepts"),
        files=fields.texts(row, "files"),
        project=fields.text(ours, "project", project),
        agent=fields.some_text(row, "agentId"),
        source=_source(row, _OBSERVATION_KEYS),
        created_at=_first(fields.moment(row, "timestamp"), None, now),
        importance=min(10.0, max(0.0, fields.number(row, "importance", DEFAULT_IMPORTANCE))),
        repeats=fields.count(ours, "repeats", 1),
    )
    return _restored(observation, ours)


# --- sessions ----------------------------------------------------------------------------------


def session_row(session: Session, *, whole: bool = False) -> dict[str, Any]:
    """Give a session as agentmemory's row."""
    row: dict[str, Any] = {
        "id": session.id,
        "project": session.project,
        "cwd": session.cwd,
        "startedAt": iso_time(session.started_at),
        "status": "active" if session.active else "completed",
        "observationCount": session.observations,
        "updatedAt": iso_time(session.updated_at),
    }
    _put(row, "agentId", session.agent)
    _put(row, "firstPrompt", session.first_prompt)
    _put(row, "summary", session.title if session.summary is None else session.summary)
    _put(row, "endedAt", None if session.ended_at is None else iso_time(session.ended_at))
    if whole:
        ours: dict[str, Any] = _exact(session, ("started_at", "updated_at", "ended_at"))
        if session.summary is not None:
            ours |= {"title": session.title, "summary": session.summary}
        _put(row, OURS, ours)
    return row


def session_of(row: Mapping[str, Any], now: float) -> Session:
    """Read a session's row; its observations count as none until they are stored."""
    ours = _ours(row)
    told = row.get("summary")
    title = fields.some_text(told if isinstance(told, Mapping) else {"title": told}, "title")
    started = _first(fields.moment(row, "startedAt"), fields.moment(row, "updatedAt"), now)
    ended = fields.moment(row, "endedAt")
    if ended is None and row.get("status") in ("completed", "abandoned"):
        ended = _first(fields.moment(row, "updatedAt"), started, now)
    session = Session(
        id=fields.required(row, "id"),
        project=fields.text(row, "project"),
        cwd=fields.text(row, "cwd"),
        agent=fields.some_text(row, "agentId"),
        title=title,
        first_prompt=fields.some_text(row, "firstPrompt"),
        summary=dict(told) if isinstance(told, Mapping) else None,
        started_at=started,
        updated_at=_first(fields.moment(row, "updatedAt"), ended, started),
        ended_at=ended,
    )
    if "summary" in ours:
        named = ours.get("title")
        title = named if isinstance(named, str) else None
        session = session._replace(title=title, summary=ours["summary"])
    return _restored(session, ours)


# --- parts -------------------------------------------------------------------------------------


def prefixed(id_: str, prefix: str) -> str:
    """Give an id as ours begin, so that commands find it."""
    return id_ if id_.startswith(prefix) else prefix + id_


def _previous(id_: str | None) -> str | None:
    return None if id_ is None else prefixed(id_, "mem_")


def _put(row: dict[str, Any], key: str, value: Any) -> None:
    if value:
        row[key] = value
    else:
        row.pop(key, None)


def _plain(value: float) -> float | int:
    return int(value) if value.is_integer() else value


def _first(one: float | None, other: float | None, last: float) -> float:
    return one if one is not None else last if other is None else other


def _source(row: Mapping[str, Any], known: frozenset[str] | set[str]) -> dict[str, Any]:
    """Give where an entry came from, with the keys that ours have no place for."""
    rest = {key: value for key, value in row.items() if key not in known and key != OURS}
    return {"kind": KIND, "row": rest} if rest else {"kind": KIND}


def _kept_row(source: Mapping[str, Any]) -> dict[str, Any]:
    kept = source.get("row") if source.get("kind") == KIND else None
    return dict(kept) if isinstance(kept, Mapping) else {}


def _own_source(source: Mapping[str, Any]) -> dict[str, Any]:
    return {} if source.get("kind") == KIND else {"source": dict(source)}


def _exact(entry: Any, times: tuple[str, ...]) -> dict[str, float]:
    """Give the times that the row's text, which has milliseconds, doesn't tell exactly."""
    found = {name: getattr(entry, name) for name in times}
    return {
        name: value
        for name, value in found.items()
        if value is not None and fields.iso_moment(iso_time(value)) != value
    }


def _restored(entry: Some, ours: Mapping[str, Any]) -> Some:
    """Put back what a row carries under ``dshloop``."""
    more: dict[str, Any] = {
        name: found
        for name in ("created_at", "updated_at", "expires_at", "started_at", "ended_at")
        if name in entry._fields and (found := fields.finite(ours.get(name))) is not None
    }
    if isinstance(ours.get("source"), Mapping) and "source" in entry._fields:
        more["source"] = dict(ours["source"])
    return entry._replace(**more) if more else entry


def _ours(row: Mapping[str, Any]) -> Mapping[str, Any]:
    if not isinstance(row, Mapping):
        raise RowError("it is no object")
    ours = row.get(OURS)
    return ours if isinstance(ours, Mapping) else {}


def _origin(observation: Observation) -> dict[str, Any]:
    channel = observation.source.get("channel")
    detail = observation.source.get("detail")
    return {
        "channel": channel if isinstance(channel, str) else "agent",
        "capturedAt": iso_time(observation.created_at),
        **({"detail": detail} if isinstance(detail, str) else {}),
    }


def _hook(row: Mapping[str, Any]) -> str:
    """Tell the hook that a row came from; rows don't keep it (agentmemory 3.3)."""
    origin = row.get("origin")
    channel = origin.get("channel") if isinstance(origin, Mapping) else None
    if row.get("type") == "error":
        return "post_tool_failure"
    return {"user": "prompt_submit", "tool": "post_tool_use"}.get(str(channel), "import")
