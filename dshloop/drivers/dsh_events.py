"""What dsh tells of a turn, as events of our log (dsh-sessions 5, 6 and 11)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dshloop.drivers.peer import PeerTurn
from dshloop.errors import EngineAnswerError
from dshloop.host.turn import Reason
from dshloop.llm.messages import plain_text
from dshloop.sessions.references import Renumbering
from dshloop.sessions.to_v0 import as_v0
from dshloop.transcripts.vocabulary import Event, envelope_fault

_OURS = frozenset(
    {"turn/start", "agent/inbox/spliced", "session/end-seed", "agent-preset/selected"}
)
"""What our own host records of the same turn."""
_ROUTE = ("provider", "model", "contextWindow")


class DshEvents:
    """Takes the events of one dsh session, of v4, into the turns of ours.

    Numbers of turns and steps, and seqs, are ours; what v0 has no type for stays in dsh's own log.
    """

    def __init__(self, session: str) -> None:
        self.session = session
        self._seqs = Renumbering()
        self._system: str | None = None

    async def take(self, event: Any, turn: PeerTurn) -> Reason | None:
        """Record an event; gives the reason when it ends the turn. Raises ENGINE_ANSWER."""
        fault = envelope_fault(event) if isinstance(event, dict) else "it is no object"
        if fault is not None or not isinstance(event["data"], Mapping):
            raise EngineAnswerError(f"dsh told of an event that is none: {fault or 'no data'}")
        kind, data = event["type"], event["data"]
        if kind == "turn/end":
            return _reason(data.get("reason"))
        if kind == "step/start":
            if data.get("step") != 1:  # the first one has begun with what was said
                await turn.begin_step()
        elif kind == "step/end":
            turn.close_step()
        elif kind == "system/message":
            self._system = _text(data.get("message"))
        elif kind == "request/context":
            self.note(turn, data)
        elif kind == "user/message" and _is_prompt(data):
            self._seqs.next = turn.said
            self._seqs.take(event["seq"])
        elif kind not in _OURS:
            self._record(self._completed(event), turn)
        return None

    def note(self, turn: PeerTurn, route: Mapping[str, Any]) -> None:
        """Record which session of dsh's this is, and the model that it asks."""
        kept = {key: route[key] for key in _ROUTE if key in route}
        turn.peer_agent.note_session(self.session, kept)

    def _completed(self, event: Event) -> Event:
        """Put the system prompt where v0 has it."""
        header = event["data"].get("header")
        if event["type"] != "request/header" or self._system is None or "system" in (header or {}):
            return event
        return {**event, "data": {**event["data"], "header": {**header, "system": self._system}}}

    def _record(self, event: Event, turn: PeerTurn) -> None:
        self._seqs.next = len(turn.agent.session.events)
        try:
            for made in list(as_v0(event, self._seqs)):
                if made.get("ignorable"):
                    continue
                turn.record(
                    made["type"],
                    _placed(made["data"], turn),
                    surface_op=made.get("surfaceOp"),
                    sources=made.get("sourceEventSeqs"),
                )
        except (TypeError, ValueError, RecursionError) as fault:
            raise EngineAnswerError(
                f"dsh told of an event that is none: {event['type']}: {fault}"
            ) from fault


def _placed(data: Any, turn: PeerTurn) -> Any:
    if not isinstance(data, Mapping):
        return data
    return {name: turn.place.get(name, value) for name, value in data.items()}


def _is_prompt(message: Mapping[str, Any]) -> bool:
    """Whether this is what we have sent, which is in our log already."""
    source = message.get("source")
    return isinstance(source, Mapping) and source.get("kind") == "user"


def _text(message: Any) -> str | None:
    found = plain_text(message.get("content")) if isinstance(message, Mapping) else ""
    return found or None


def _reason(given: Any) -> Reason:
    if isinstance(given, Mapping) and isinstance(given.get("kind"), str):
        return dict(given)
    raise EngineAnswerError("dsh ended a turn without a reason")
