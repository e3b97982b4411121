"""How a turn that was left open is closed: the events DSH appends at load (dsh-sessions 8)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from dshloop.transcripts.vocabulary import V0, Event

UNKNOWN_OUTCOME = (
    "The tool call was interrupted after it was recorded, but no result was durably recorded. "
    "Its outcome is unknown. Decide whether to retry from the tool semantics: retry only if the "
    "operation is read-only or idempotent; if it may have side effects, first verify external "
    "state or ask the user. Do not retry blindly."
)
NOT_STARTED = (
    "The tool call was interrupted before the Harness recorded it as started. "
    "Retry it if it is still needed."
)


@dataclass(slots=True)
class Progress:
    """Where a log stands after the events seen so far; feed it with `see`."""

    seq: int = -1
    time: int = 0
    turn: Any = None
    step: Any = None
    last_turn: int = 0
    asked: list[str] = field(default_factory=list)  # tool calls of the open step, in order
    started: dict[str, int] = field(default_factory=dict)  # call id -> seq of its tool/call
    answered: set[str] = field(default_factory=set)

    def see(self, event: Mapping[str, Any]) -> None:
        """Take one event, in order, into account."""
        self.seq, self.time = event["seq"], event["time"]
        handle = _HANDLERS.get(event["type"])
        data = event["data"]
        if handle is not None and isinstance(data, dict):
            handle(self, data)

    def _turn_start(self, data: Mapping[str, Any]) -> None:
        self.turn, self.step = data.get("turn"), None
        if type(self.turn) is int:
            self.last_turn = max(self.last_turn, self.turn)

    def _turn_end(self, _data: Mapping[str, Any]) -> None:
        self.turn = self.step = None

    def _step_start(self, data: Mapping[str, Any]) -> None:
        self.step = data.get("step")
        self.asked, self.started, self.answered = [], {}, set()

    def _step_end(self, _data: Mapping[str, Any]) -> None:
        self.step = None

    def _message(self, data: Mapping[str, Any]) -> None:
        self.asked.extend(asked_calls(data.get("message")))

    def _call(self, data: Mapping[str, Any]) -> None:
        self.started[str(data.get("callId"))] = self.seq

    def _result(self, data: Mapping[str, Any]) -> None:
        message = data.get("message")
        source = message.get("source") if isinstance(message, dict) else None
        if isinstance(source, dict):
            self.answered.add(str(source.get("callId")))


_HANDLERS = {
    "turn/start": Progress._turn_start,
    "turn/end": Progress._turn_end,
    "step/start": Progress._step_start,
    "step/end": Progress._step_end,
    "assistant/message": Progress._message,
    "tool/call": Progress._call,
    "tool/result": Progress._result,
}


def closers(progress: Progress, version: int) -> list[Event]:
    """Give the events that close an open turn, none when the log rests between turns.

    They carry the last event's time, and seqs go on from the last one.
    """
    if progress.turn is None:
        return []
    payloads = list(_payloads(progress, version))
    return [
        {"type": kind, "seq": progress.seq + 1 + place, "time": progress.time, **rest}
        for place, (kind, rest) in enumerate(payloads)
    ]


def closers_of(events: Iterable[Mapping[str, Any]], version: int) -> list[Event]:
    """Give `closers` for a list of events."""
    progress = Progress()
    for event in events:
        progress.see(event)
    return closers(progress, version)


def _payloads(progress: Progress, version: int) -> Iterator[tuple[str, dict[str, Any]]]:
    turn, step = progress.turn, progress.step
    if step is not None:
        open_calls = [call for call in progress.asked if call not in progress.answered]
        for place, call in enumerate(open_calls):
            yield "tool/result", lost_result(progress, call, progress.seq + 1 + place, version)
        yield "step/end", {"data": {"turn": turn, "step": step}}
    yield "turn/end", {"data": {"turn": turn, "reason": {"kind": "interrupted"}}}


def lost_result(progress: Progress, call: str, seq: int, version: int) -> dict[str, Any]:
    """Give all but type, seq and time of the ``tool/result`` for a call whose own one is lost."""
    started = progress.started.get(call)
    text = NOT_STARTED if started is None else UNKNOWN_OUTCOME
    error = (
        {"name": "ToolNotStartedError", "code": "TOOL_NOT_STARTED"}
        if started is None
        else {"name": "ToolOutcomeUnknownError", "code": "TOOL_OUTCOME_UNKNOWN"}
    )
    message = _result_message(call, f"interrupted-tool-result-{call}-{seq}", text, version)
    data = {"turn": progress.turn, "step": progress.step, "message": message, "error": error}
    sources = {} if started is None else {"sourceEventSeqs": [started]}
    return {"data": data, "surfaceOp": "append", **sources}


def _result_message(call: str, message_id: str, text: str, version: int) -> dict[str, Any]:
    content = [{"type": "text", "text": text}]
    source = {"kind": "tool", "callId": call}
    if version == V0:
        block = {"type": "tool-result", "toolCallId": call, "isError": True, "content": content}
        return {"id": message_id, "role": "user", "source": source, "content": [block]}
    return {
        "id": message_id,
        "role": "tool",
        "toolCallId": call,
        "isError": True,
        "source": source,
        "content": content,
    }


def asked_calls(message: object) -> Iterator[str]:
    """Give the ids of the tool calls in a message, in order."""
    content = message.get("content") if isinstance(message, dict) else None
    for block in content if isinstance(content, list) else ():
        if isinstance(block, dict) and block.get("type") == "tool-call":
            yield str(block.get("id"))
