"""Answers on the wire of Messages: named events in, chunks out, with the checks that DSH 0.2 makes.

message_start, then for each block start, deltas and stop, then message_delta with the reason and
message_stop. Unknown events are passed over, so that a server may grow.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from dshloop.llm.failures import WireError, of_stream_error
from dshloop.llm.messages import Chunk
from dshloop.llm.sse import ServerEvent
from dshloop.llm.wire import (
    CallBlock,
    TextBlock,
    closed_early,
    count,
    empty_answer,
    read_object,
    refused,
)

_FINISHES = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_use": "tool-calls",
    "max_tokens": "max-tokens",
    "model_context_window_exceeded": "max-tokens",
}
_DELTAS = {  # type of a delta -> the type of block it fits, its key
    "text_delta": ("text", "text"),
    "thinking_delta": ("thinking", "thinking"),
    "signature_delta": ("thinking", "signature"),
    "input_json_delta": ("tool_use", "partial_json"),
}


class MessagesReader:
    """Makes chunks of the events of one answer, and checks that they come in order."""

    def __init__(self, model: str) -> None:
        self.done = False
        self._model = model
        self._begun = False
        self._open: dict[int, _Open] = {}  # by the wire's own index
        self._notes: list[dict[str, Any]] = []  # one a block, in our order
        self._usage: dict[str, Any] = {}
        self._stop: str | None = None

    def read(self, event: ServerEvent) -> Sequence[Chunk]:
        """Take one event."""
        frame = read_object(event.data)
        kind = frame.get("type")
        if not isinstance(kind, str):
            raise WireError("an event of the model's stream has no type")
        if event.name and event.name != kind:
            raise WireError(f"SSE event type mismatch: {event.name} and {kind}")
        if kind == "content_block_delta":
            return self._delta(frame)
        handler = _EVENTS.get(kind)
        return handler(self, frame) if handler is not None else ()

    def end(self) -> Sequence[Chunk]:
        """Say that the stream is over: too early, unless it is done."""
        if not self.done:
            raise closed_early()
        return ()

    def _error(self, frame: Mapping[str, Any]) -> Sequence[Chunk]:
        raise WireError.of(of_stream_error(frame.get("error")))

    def _start(self, frame: Mapping[str, Any]) -> Sequence[Chunk]:
        if self._begun:
            raise WireError("the model's stream begins twice")
        self._begun = True
        message = frame.get("message")
        self._count(message.get("usage") if isinstance(message, dict) else None)
        return ()

    def _block_start(self, frame: Mapping[str, Any]) -> Sequence[Chunk]:
        index, block = frame.get("index"), frame.get("content_block")
        if not self._begun or type(index) is not int or not isinstance(block, dict):
            raise WireError("a block of the model's stream begins out of place")
        if index in self._open:
            raise WireError(f"block {index} of the model's stream begins twice")
        opened = _Open(len(self._notes), block)
        self._notes.append(opened.note)
        self._open[index] = opened
        return opened.start()

    def _delta(self, frame: Mapping[str, Any]) -> Sequence[Chunk]:
        index, delta = frame.get("index"), frame.get("delta")
        opened = self._open.get(index) if type(index) is int else None
        if opened is None or not isinstance(delta, dict):
            raise WireError("the model's stream goes on with a block that is not open")
        return opened.add(delta)

    def _block_stop(self, frame: Mapping[str, Any]) -> Sequence[Chunk]:
        index = frame.get("index")
        opened = self._open.pop(index, None) if type(index) is int else None
        if opened is None:
            raise WireError("the model's stream ends a block that is not open")
        return opened.finish()

    def _message_delta(self, frame: Mapping[str, Any]) -> Sequence[Chunk]:
        delta = frame.get("delta")
        reason = delta.get("stop_reason") if isinstance(delta, dict) else None
        if reason is not None:
            self._stop = str(reason)
        self._count(frame.get("usage"))
        return ()

    def _message_stop(self, _frame: Mapping[str, Any]) -> Sequence[Chunk]:
        if self._open or self._stop is None or not self._begun:
            raise WireError("the model's stream ends with a block open or without a reason")
        if self._stop == "refusal":
            raise refused("it would break its rules")
        kind = _FINISHES.get(self._stop)
        if kind is None:
            raise WireError(f'the model ended for the unknown reason "{self._stop}"')
        if not self._notes and kind == "stop":
            raise empty_answer()
        for note in self._notes:
            problem = note.pop("problem", None)
            if problem is not None and kind != "max-tokens":
                raise WireError(problem)
        self.done = True
        return [
            {"type": "usage", "usage": read_usage(self._usage)},
            {"type": "finish", "reason": {"kind": kind}, "replayState": self._replay_state()},
        ]

    def _replay_state(self) -> dict[str, Any]:
        response = {"kind": "messages", "version": 1, "model": self._model}
        return {"response": response, "blocks": self._notes}

    def _count(self, usage: object) -> None:
        if isinstance(usage, dict):
            self._usage.update({key: value for key, value in usage.items() if value is not None})


class _Open:
    """A block that is coming in, and the note that is kept of it for the next request."""

    def __init__(self, index: int, block: Mapping[str, Any]) -> None:
        self.kind = block.get("type")
        self.note: dict[str, Any] = {}
        self._given: Any = block.get("input")
        self._first = ""
        if self.kind == "tool_use":
            if not block.get("id") or not block.get("name"):
                raise WireError("the model calls a tool without an id or a name")
            self._call = CallBlock(index, str(block["id"]), str(block["name"]))
            self.note["type"] = "tool-call"
            return
        if self.kind not in ("text", "thinking", "redacted_thinking"):
            raise WireError(f'the model answers with a block of the unknown type "{self.kind}"')
        self._text = TextBlock(index, "text" if self.kind == "text" else "reasoning")
        self.note["type"] = self._text.kind
        self._first = str(block.get(self.kind) or "")
        for key, name in (("signature", "signature"), ("data", "redacted")):
            if isinstance(block.get(key), str) and block[key]:
                self.note[name] = block[key]

    def start(self) -> list[Chunk]:
        """Give the chunks the block begins with."""
        if self.kind == "tool_use":
            return self._call.add("")
        return [self._text.start(), *self._text.add(self._first)]

    def add(self, delta: Mapping[str, Any]) -> Sequence[Chunk]:
        """Take a delta in that fits the block."""
        kind = str(delta.get("type"))
        fits, key = _DELTAS.get(kind, ("", ""))
        value = delta.get(key)
        if kind == "citations_delta":
            return ()
        if fits != self.kind or not isinstance(value, str):
            raise WireError(f"a {kind} does not fit a {self.kind} block")
        if key == "signature":
            self.note[key] = self.note.get(key, "") + value
            return ()
        return self._call.add(value) if fits == "tool_use" else self._text.add(value)

    def finish(self) -> list[Chunk]:
        """Give the chunks the block ends with."""
        if self.kind != "tool_use":
            return self._text.finish()
        arguments = self._call.arguments
        chunks: list[Chunk] = []
        if not arguments:
            given = self._given if isinstance(self._given, dict) else {}
            arguments = json.dumps(given, ensure_ascii=False)
            chunks += self._call.add(arguments)
        if not _is_object(arguments):
            self.note["problem"] = "the arguments of a tool call are no JSON object"
        return [*chunks, self._call.finish(arguments)]


_EVENTS = {
    "message_start": MessagesReader._start,
    "content_block_start": MessagesReader._block_start,
    "content_block_stop": MessagesReader._block_stop,
    "message_delta": MessagesReader._message_delta,
    "message_stop": MessagesReader._message_stop,
    "error": MessagesReader._error,
}


def _is_object(raw: str) -> bool:
    try:
        return isinstance(json.loads(raw), dict)
    except (ValueError, RecursionError):
        return False


def read_usage(usage: Mapping[str, Any]) -> dict[str, int]:
    """Give the counts of an answer, which are disjoint on this wire. Raises WireError."""
    keys = {
        "inputTokens": "input_tokens",
        "outputTokens": "output_tokens",
        "cacheReadTokens": "cache_read_input_tokens",
        "cacheWriteTokens": "cache_creation_input_tokens",
    }
    for wire in keys.values():
        value = usage.get(wire, 0)
        if type(value) is not int or value < 0:
            raise WireError(f"the usage of the answer has {wire} {value!r}, which is no count")
    found = {ours: count(usage.get(wire)) for ours, wire in keys.items()}
    return {
        key: value
        for key, value in found.items()
        if value or key in ("inputTokens", "outputTokens")
    }
