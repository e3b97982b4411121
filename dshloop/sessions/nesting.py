"""Turns and steps within each other: dsh 0.2 refuses a log that lacks a start or an end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dshloop.transcripts.vocabulary import Event

BOUNDARIES = frozenset({"turn/start", "turn/end", "step/start", "step/end"})
_INSIDE = frozenset(
    {"assistant/message", "assistant/attempt", "assistant/chunk", "system/message"}
    | {"tool/call", "tool/result"}
)


@dataclass(frozen=True, slots=True)
class NestingFault:
    """A start or end that is missing before an event, or one that is too much.

    ``missing`` is what belongs before the event at ``place``, as types and data; without any, the
    event itself is the one too much.
    """

    place: int
    seq: int
    message: str
    missing: tuple[tuple[str, dict[str, Any]], ...] = ()


class Nesting:
    """Feed it every event in order; what it finds missing counts as being there from then on."""

    def __init__(self) -> None:
        self.turn: int | None = None
        self.step: int | None = None
        self._last_turn = 0
        self._last_step = 0
        self._missing: list[tuple[str, dict[str, Any]]] = []

    def see(self, event: Event, place: int) -> NestingFault | None:
        """Take an event into account; ``place`` counts events from 0."""
        kind, data = event["type"], event["data"]
        if not isinstance(data, Mapping):
            return None
        self._missing = []
        surplus = False
        if kind in BOUNDARIES:
            surplus = not self._boundary(kind, _number(data, "turn"), _number(data, "step"))
        elif kind in _INSIDE:
            self._enter(_number(data, "turn"), _number(data, "step"))
        elif kind == "user/message" and event.get("surfaceOp") == "append" and self.step is None:
            self._enter(self.turn or self._last_turn + 1, None)
        if surplus:
            return NestingFault(place, event["seq"], f"{kind} ends what was never begun")
        if not self._missing:
            return None
        names = ", ".join(name for name, _ in self._missing)
        message = f"before {kind} (seq {event['seq']}) is missing: {names}"
        return NestingFault(place, event["seq"], message, tuple(self._missing))

    def _boundary(self, kind: str, turn: int | None, step: int | None) -> bool:
        """Take a start or an end; False when there is nothing to end."""
        if kind == "turn/start":
            self._leave_turn()
            self._begin_turn(turn or self._last_turn + 1)
        elif kind == "step/start":
            self._leave_step()
            self._require_turn(turn)
            self._begin_step(step or self._last_step + 1)
        elif kind == "step/end":
            if self.step is None:
                return False
            self.step = None
        else:
            if self.turn is None:
                return False
            self._leave_step()
            self.turn = None
        return True

    def _enter(self, turn: int | None, step: int | None) -> None:
        """Be inside a turn and a step, opening what is not open."""
        here = self.turn == turn and self.step is not None and step in (None, self.step)
        if turn is None or here:
            return
        if self.step is not None and step is not None and step != self.step:
            self._leave_step()
        self._require_turn(turn)
        if self.step is None:
            number = step or self._last_step + 1
            place = {"turn": self.turn, "step": number}
            self._missing.append(("step/start", place))
            self._begin_step(number)

    def _require_turn(self, turn: int | None) -> None:
        wanted = turn or self.turn or self._last_turn + 1
        if self.turn == wanted:
            return
        self._leave_turn()
        self._missing.append(("turn/start", {"turn": wanted}))
        self._begin_turn(wanted)

    def _begin_turn(self, turn: int) -> None:
        self.turn, self.step = turn, None
        self._last_turn, self._last_step = turn, 0

    def _begin_step(self, step: int) -> None:
        self.step = self._last_step = step

    def _leave_step(self) -> None:
        if self.step is not None:
            self._missing.append(("step/end", {"turn": self.turn, "step": self.step}))
            self.step = None

    def _leave_turn(self) -> None:
        self._leave_step()
        if self.turn is not None:
            reason = {"kind": "interrupted"}
            self._missing.append(("turn/end", {"turn": self.turn, "reason": reason}))
            self.turn = None


def _number(data: Mapping[str, Any], name: str) -> int | None:
    value = data.get(name)
    return value if type(value) is int and value > 0 else None
