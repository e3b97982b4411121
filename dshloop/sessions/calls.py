"""Tool calls that don't add up: twice, without a result, or a result without its call.

A provider refuses a history in which a call has no result, so one lost line can end a session.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from dshloop.transcripts.closers import asked_calls
from dshloop.transcripts.vocabulary import Event

Code = Literal["ORPHAN_CALL", "ORPHAN_RESULT", "DUPLICATE_CALL", "DUPLICATE_RESULT", "UNASKED_CALL"]

_BOUNDARIES = frozenset({"step/start", "step/end", "turn/start", "turn/end"})
WATCHED = _BOUNDARIES | {"assistant/message", "tool/call", "tool/result"}
"""The types of event that say anything about calls."""

_NOT_STARTED = "TOOL_NOT_STARTED"


@dataclass(frozen=True, slots=True)
class CallFault:
    """What is wrong with one call; ``place`` is that of the event at fault.

    For a call without a result, ``place`` is where the result belongs: before that event.
    """

    code: Code
    call: str
    place: int
    seq: int

    @property
    def message(self) -> str:
        """Say it in one sentence."""
        said = {
            "ORPHAN_CALL": "has no result",
            "ORPHAN_RESULT": "has a result, but the call itself is not there",
            "UNASKED_CALL": "is in no answer of the model",
            "DUPLICATE_CALL": "is there twice",
            "DUPLICATE_RESULT": "has two results",
        }
        return f'tool call "{self.call}" {said[self.code]}'


@dataclass(slots=True)
class CallCheck:
    """Feed it every event of `WATCHED`, in order; it keeps no more than the calls of one turn."""

    strict: bool = False  # tell of calls that no answer asks for
    _asked: dict[str, int] = field(default_factory=dict)  # call id -> seq
    _started: dict[str, int] = field(default_factory=dict)
    _answered: set[str] = field(default_factory=set)
    _waiting: list[CallFault] = field(default_factory=list)  # until it is known how the turn ends

    def see(self, event: Event, place: int) -> list[CallFault]:
        """Take an event into account; ``place`` counts events from 0. Give what it reveals."""
        kind, data = event["type"], event["data"]
        if kind in _BOUNDARIES:
            return list(self._boundary(kind, data, place))
        if not isinstance(data, Mapping):
            return []
        if kind == "assistant/message" and not data.get("interrupted"):
            for call in asked_calls(data.get("message")):
                self._asked[call] = event["seq"]
        elif kind == "tool/call":
            return self._call(str(data.get("callId")), event["seq"], place)
        elif kind == "tool/result":
            return self._result(data, event["seq"], place)
        return []

    def _call(self, call: str, seq: int, place: int) -> list[CallFault]:
        if call in self._started:
            return [CallFault("DUPLICATE_CALL", call, place, seq)]
        self._started[call] = seq
        if self.strict and call not in self._asked:
            return [CallFault("UNASKED_CALL", call, place, seq)]
        return []

    def _result(self, data: Mapping[str, Any], seq: int, place: int) -> list[CallFault]:
        call = answered_call(data)
        if call is None:
            return []
        if call in self._answered:
            return [CallFault("DUPLICATE_RESULT", call, place, seq)]
        error = data.get("error")
        never = isinstance(error, Mapping) and error.get("code") == _NOT_STARTED
        if call not in self._started and not never:
            return [CallFault("ORPHAN_RESULT", call, place, seq)]
        self._answered.add(call)
        return []

    def _boundary(self, kind: str, data: Any, place: int) -> Iterator[CallFault]:
        if self._asked or self._started:
            for call in self._started:
                if call in self._answered:
                    continue
                yield CallFault("ORPHAN_CALL", call, place, self._started[call])
            for call in self._asked:
                if call not in self._started and call not in self._answered:
                    fault = CallFault("ORPHAN_CALL", call, place, self._asked[call])
                    self._waiting.append(fault)
            self._asked, self._started, self._answered = {}, {}, set()
        if kind in ("turn/end", "turn/start") and self._waiting:
            if kind == "turn/start" or not _cut_short(data):
                yield from self._waiting
            self._waiting = []


def answered_call(data: Mapping[str, Any]) -> str | None:
    """Give the id of the call that a ``tool/result`` answers."""
    message = data.get("message")
    source = message.get("source") if isinstance(message, Mapping) else None
    call = source.get("callId") if isinstance(source, Mapping) else None
    return call if isinstance(call, str) else None


def _cut_short(data: Any) -> bool:
    """Whether a turn ended at max-tokens: the calls of its last message are not run then."""
    reason = data.get("reason") if isinstance(data, Mapping) else None
    return isinstance(reason, Mapping) and reason.get("kind") == "max-tokens"
