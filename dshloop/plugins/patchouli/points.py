"""The twelve points as requests `{meta, data}`, made of plain values (patchouli 3). Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from dshloop.lossless_json import snapshot
from dshloop.memory.outbox_entries import HopelessEntryError
from dshloop.plugins.patchouli.recall import PLUGIN

Operation = Literal["update", "retrieve"]
Request = dict[str, Any]
Event = Mapping[str, Any]

TOOL_RETRIEVE = "tool/memory-retrieve"
TOOL_UPDATE = "tool/memory-update"
SESSION_START = "agent/session-start"
PRE_STEP = "agent/pre-step"
TURN_STOPPING = "agent/turn-stopping"
POST_EXECUTE = "tools/post-execute"
CREATED = "agent/created"
DISPOSED = "agent/disposed"
REQUEST_ERROR = "agent/request-error"
AGENT_ERROR = "agent/error"
TURN_END = "session/turn-end"
TOOL_RESULT = "tools/result"
POINTS = (
    TOOL_RETRIEVE, TOOL_UPDATE, SESSION_START, PRE_STEP, TURN_STOPPING, POST_EXECUTE, CREATED,
    DISPOSED, REQUEST_ERROR, AGENT_ERROR, TURN_END, TOOL_RESULT,
)  # fmt: skip

ORIGIN: Mapping[str, str] = {"type": "agent-loop", "id": PLUGIN}


@dataclass(frozen=True, slots=True)
class Seen:
    """An agent and its session as observations show them; ``header`` is the log's first line."""

    agent: Mapping[str, Any]
    header: Mapping[str, Any]

    @property
    def session_id(self) -> str:
        """The session's id."""
        return str(self.header["id"])


def meta_of(point: str, header: Mapping[str, Any], **extra: Any) -> dict[str, Any]:
    """Make the meta of a point; an empty cwd is one, an absent one is none."""
    cwd = header.get("cwd")
    session_id = header["id"]
    attributes = {"point": point, "sessionId": session_id}
    if cwd is not None:
        attributes["workspaceRoot"] = cwd
    scope = session_id if cwd is None else cwd
    return {"source": dict(ORIGIN), "scope": scope, "attributes": {**attributes, **extra}}


def observation(seen: Seen, events: Sequence[Event] | None = None, **more: Any) -> dict[str, Any]:
    """Make the data of an observation; what is None in ``more`` stays."""
    session: dict[str, Any] = {"header": shown_header(seen.header)}
    if events is not None:
        session["events"] = list(events)
    return {"agent": seen.agent, "session": session, **more}


def shown_header(header: Mapping[str, Any]) -> dict[str, Any]:
    """Give a header as DSH's sessions have it: without the type of its line."""
    return {key: value for key, value in header.items() if key != "type"}


def request(
    point: str,
    seen: Seen,
    events: Sequence[Event] | None = None,
    extra: Mapping[str, Any] | None = None,
    **more: Any,
) -> Request:
    """Make a detached request of an observation. Raises NotLossless, its pointer in ``data``."""
    return {
        "meta": meta_of(point, seen.header, **(extra or {})),
        "data": snapshot(observation(seen, events, **more)),
    }


def turn_events(events: Sequence[Event], turn: Any) -> list[Event]:
    """Give the events from a turn's newest start to the end of the log, none without a start."""
    start = turn_start(events, turn)
    return [] if start is None else [event for event in events if event["seq"] >= start]


def turn_start(events: Iterable[Event], turn: Any, until: int | None = None) -> int | None:
    """Give the seq of the newest start of a turn, at most ``until``."""
    found = None
    for event in events:
        if until is not None and event["seq"] > until:
            break
        if is_turn(event, "turn/start", turn):
            found = event["seq"]
    return found


def is_turn(event: Event, kind: str, turn: Any) -> bool:
    """Whether an event is the start or the end of a turn."""
    data = event.get("data")
    return event["type"] == kind and isinstance(data, Mapping) and data.get("turn") == turn


class BrokenTurnError(HopelessEntryError):
    """A log doesn't hold the turn whose end it was to hold; trying again is no use."""


def stored_turn(events: Sequence[Event], turn: Any, end: int) -> list[Event]:
    """Give a turn out of a log that was read back (patchouli 5). Raises BrokenTurnError."""
    kept = [event for event in events if event["seq"] <= end]
    last = kept[-1] if kept else None
    if last is None or last["seq"] != end or not is_turn(last, "turn/end", turn):
        raise BrokenTurnError(f"persisted session has no matching turn/end at seq {end}")
    reason = last["data"].get("reason")
    if not isinstance(reason, Mapping) or "kind" not in reason:
        raise BrokenTurnError(f"the turn/end at seq {end} has no reason")
    start = turn_start(kept, turn)
    if start is None:
        raise BrokenTurnError(f"persisted session has no matching turn/start for turn {turn}")
    kept = [event for event in kept if event["seq"] >= start]
    if [event["seq"] for event in kept] != list(range(start, end + 1)):
        raise BrokenTurnError(f"persisted turn {turn} is not contiguous")
    return kept


def turn_end(
    agent: Mapping[str, Any], header: Mapping[str, Any], events: Sequence[Event]
) -> Request:
    """Make the request of a turn that ended; ``header`` and ``events`` as they were read back."""
    event = events[-1]
    ended = event["data"]
    meta = meta_of(TURN_END, header, turn=ended["turn"], outcome=ended["reason"]["kind"])
    session = {"header": shown_header(header)}
    data = {"agent": agent, "session": session, "event": event, "events": list(events)}
    return {"meta": meta, "data": snapshot(data)}
