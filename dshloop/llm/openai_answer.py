"""Answers on the wire of chat completions: ``data:`` frames in, chunks out.

A stream that ends without ``[DONE]`` was closed too early. Reasoning comes as
``reasoning_content`` or ``reasoning``. Usage and finish are told when all is there.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from dshloop.llm.failures import WireError, of_stream_error
from dshloop.llm.messages import Chunk
from dshloop.llm.sse import ServerEvent
from dshloop.llm.wire import (
    DONE,
    CallBlock,
    TextBlock,
    closed_early,
    count,
    empty_answer,
    read_object,
    refused,
)

_FINISHES = {
    "stop": "stop",
    "tool_calls": "tool-calls",
    "function_call": "tool-calls",
    "length": "max-tokens",
}


class ChatReader:
    """Makes chunks of the frames of one answer; usage and finish come when all is there."""

    def __init__(self) -> None:
        self.done = False
        self._count = 0  # blocks begun
        self._text: TextBlock | None = None  # the one that is open
        self._calls: dict[int, CallBlock] = {}  # by the wire's own index
        self._ids: dict[int, object] = {}  # what the wire calls them
        self._finish: str | None = None
        self._usage: Mapping[str, Any] | None = None

    def read(self, event: ServerEvent) -> Sequence[Chunk]:
        """Take one frame."""
        if event.data == DONE:
            return self._conclude()
        frame = read_object(event.data)
        if frame.get("error"):
            raise WireError.of(of_stream_error(frame["error"]))
        if isinstance(frame.get("usage"), dict):
            self._usage = frame["usage"]
        choices = frame.get("choices")
        if not choices:
            return ()
        choice = choices[0] if isinstance(choices, list) else None
        if not isinstance(choice, dict):
            raise WireError("the model's stream holds a choice that is no object")
        if choice.get("finish_reason"):
            self._finish = str(choice["finish_reason"])
        delta = choice.get("delta")
        return self._delta(delta) if isinstance(delta, dict) else ()

    def end(self) -> Sequence[Chunk]:
        """Say that the stream is over: too early, unless it is done."""
        if not self.done:
            raise closed_early()
        return ()

    def _delta(self, delta: Mapping[str, Any]) -> Sequence[Chunk]:
        chunks: list[Chunk] = []
        reasoning = delta.get("reasoning_content") or delta.get("reasoning")
        if reasoning and isinstance(reasoning, str):
            chunks += self._add("reasoning", reasoning)
        text = delta.get("content") or delta.get("refusal")
        if text and isinstance(text, str):
            chunks += self._add("text", text)
        calls = delta.get("tool_calls")
        if calls and not isinstance(calls, list):
            raise WireError("the model's stream holds tool calls that are no list")
        for call in calls or ():
            chunks += self._call(call)
        return chunks

    def _add(self, kind: Any, text: str) -> Sequence[Chunk]:
        block = self._text
        if block is not None and block.kind == kind:
            return block.add(text)
        chunks = self._close_text()
        self._text = block = TextBlock(self._next(), kind)
        return [*chunks, block.start(), *block.add(text)]

    def _close_text(self) -> list[Chunk]:
        block, self._text = self._text, None
        return [] if block is None else block.finish()

    def _call(self, given: object) -> list[Chunk]:
        if not isinstance(given, dict):
            raise WireError("the model's stream holds a tool call that is no object")
        function = given.get("function")
        function = function if isinstance(function, dict) else {}
        name, arguments = function.get("name"), function.get("arguments")
        chunks = self._close_text()
        block = self._call_of(given, bool(name))
        if name and not block.name:
            block.name = str(name)
        return chunks + block.add(arguments if isinstance(arguments, str) else "")

    def _call_of(self, given: Mapping[str, Any], named: bool) -> CallBlock:
        """Find the call a delta belongs to: by index, or a new one for an id with a name."""
        call_id, index = given.get("id"), given.get("index")
        if type(index) is not int:
            index = len(self._calls) - (0 if call_id or not self._calls else 1)
        known = self._calls.get(index)
        again = known is not None and (not call_id or call_id == self._ids[index])
        if known is not None and not (named and known.name and not again):
            return known
        while index in self._calls:  # some servers give all their calls the index 0
            index += 1
        own = call_id if call_id and call_id not in self._ids.values() else None  # or all one id
        block = CallBlock(self._next(), str(own or f"call_{uuid.uuid4().hex}"))
        self._calls[index], self._ids[index] = block, call_id
        return block

    def _next(self) -> int:
        self._count += 1
        return self._count - 1

    def _conclude(self) -> list[Chunk]:
        """Close what is open; an answer whose end was never named was cut."""
        if self._finish is None:
            raise closed_early()
        kind = _FINISHES.get(self._finish) or _refusal(self._finish)
        chunks = self._close_text()
        for block in self._calls.values():
            if not block.name:
                raise WireError("the model calls a tool without naming it")
            chunks.append(block.finish(block.arguments))
        if self._calls and kind == "stop":
            kind = "tool-calls"
        if not self._count and kind != "max-tokens":
            raise empty_answer()
        self.done = True
        if self._usage is not None:
            chunks.append({"type": "usage", "usage": read_usage(self._usage)})
        chunks.append({"type": "finish", "reason": {"kind": kind}})
        return chunks


def _refusal(reason: str) -> str:
    if reason == "insufficient_system_resource":  # DeepSeek's word for being overloaded
        raise WireError("the server ran out of resources", "SERVER")
    if reason == "content_filter":
        raise refused("its content filter")
    raise WireError(f'the model ended for the unknown reason "{reason}"')


def read_usage(usage: Mapping[str, Any]) -> dict[str, int]:
    """Give the counts of a frame as disjoint ones (dsh-sessions 5).

    The wire counts cached tokens among those of the prompt, reasoning among those of the answer.
    """
    prompt, output = count(usage.get("prompt_tokens")), count(usage.get("completion_tokens"))
    cached = count(_inner(usage, "prompt_tokens_details", "cached_tokens"))
    cached = cached or count(usage.get("prompt_cache_hit_tokens"))
    thought = count(_inner(usage, "completion_tokens_details", "reasoning_tokens"))
    found = {
        "inputTokens": max(0, prompt - cached),
        "outputTokens": max(0, output - thought),
    }
    more = {"cacheReadTokens": cached, "reasoningTokens": thought}
    return {**found, **{key: value for key, value in more.items() if value}}


def _inner(usage: Mapping[str, Any], outer: str, inner: str) -> object:
    details = usage.get(outer)
    return details.get(inner) if isinstance(details, dict) else None
