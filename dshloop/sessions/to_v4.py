"""Our v0 log as the v4 log that dsh 0.2 resumes (dsh-sessions 5 to 7)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from dshloop.sessions.references import Renumbering, renumbered
from dshloop.transcripts.header import HEADER_KEYS, Header
from dshloop.transcripts.packed import pack_sources
from dshloop.transcripts.vocabulary import SURFACE_V4, V4, V4_TYPES, Event

_RENAMED = {
    "tool/code-dispatch-start": "tool/ptc-dispatch-start",
    "tool/code-dispatch": "tool/ptc-dispatch",
}
_TEAM = ("team/member", "team/task", "team/message/queued", "team/message/delivered")
DEFAULT_PRESET = "standard"
"""What dsh runs a session with that names no preset."""

_PRODUCERS = {
    "compact": "compact-checkpoint",
    "tools-code-mode": "ptc-mode",
    "dsh-compaction-basic": "compact-basic",
    "@deepseek-ai/dsh-system-prompt": "runtime-context",
}
"""What v4 calls the plugins whose messages have a kind of another name than theirs."""


def v4_header(header: Header) -> dict[str, Any]:
    """Give the header in v4's keys; ``cwd`` and the rest as they are."""
    raw = {name: value for name, value in header.raw.items() if name in HEADER_KEYS}
    return {**raw, "version": V4, "isSeeded": False}


def v4_events(events: Iterable[Event], preset: str | None = None) -> Iterator[Event]:
    """Give the events of a v0 log as v4 has them, contiguous from 0.

    ``preset`` is the header's: dsh 0.2 wants one beside every binding. Chunks go into their
    message, or into an attempt when no message came of them; the system prompt comes out of the
    request header. What v4 doesn't know is marked ``ignorable``.
    """
    return _Conversion(preset or DEFAULT_PRESET).run(events)


class _Conversion:
    """One pass; holds back the beginning of a step until its system prompt is known."""

    def __init__(self, preset: str) -> None:
        self._preset = preset
        self._seqs = Renumbering()
        self._chunks: list[Event] = []
        self._held: list[Event] | None = None
        self._system: str | None = None

    def run(self, events: Iterable[Event]) -> Iterator[Event]:
        for event in events:
            kind = event["type"]
            if kind == "assistant/chunk":
                yield from self._release(None)
                self._chunks.append(event)
                continue
            if kind == "step/start":
                yield from self._release(None)
                yield from self._attempt()
                self._held = [event]
            elif self._held is not None and kind not in _ENDS_HOLD:
                self._held.append(event)
            else:
                yield from self._release(event if kind == "request/header" else None)
                yield from self._plain(event)
        yield from self._release(None)
        yield from self._attempt()

    def _release(self, header: Event | None) -> Iterator[Event]:
        """Let a step's beginning go, with the system prompt of the header that follows it."""
        held, self._held = self._held, None
        prompt = _system(header)
        new = prompt if prompt and prompt != self._system else None
        if prompt:
            self._system = prompt
        if held is None and new is not None and header is not None:
            yield self._prompt(header, new)
        for at, event in enumerate(held or ()):
            yield from self._plain(event)
            if at == 0 and new is not None:
                yield self._prompt(event, new)

    def _prompt(self, beside: Event, prompt: str) -> Event:
        seq = self._seqs.next
        self._seqs.skip()
        data = beside["data"] if isinstance(beside["data"], Mapping) else {}
        message = {
            "role": "system",
            "content": [{"type": "text", "text": prompt}],
            "source": {"kind": "system-prompt"},
            "id": str(uuid5(NAMESPACE_URL, f"{beside['time']}/{seq}")),
        }
        made = {"turn": data.get("turn", 1), "step": data.get("step", 1), "message": message}
        return {
            "type": "system/message",
            "seq": seq,
            "time": beside["time"],
            "data": made,
            "surfaceOp": "append",
        }

    def _plain(self, event: Event) -> Iterator[Event]:
        if event["type"] != "assistant/message":
            yield from self._attempt()
        kind = str(_RENAMED.get(event["type"], event["type"]))
        new = renumbered(event, self._seqs, self._seqs.take(event["seq"]))
        new["type"] = kind
        if isinstance(new["data"], Mapping):
            new["data"] = self._data(kind, _attributed(new["data"]))
        if kind == "assistant/message":
            new.pop("sourceEventSeqs", None)
        elif "sourceEventSeqs" in new:
            new["sourceEventSeqs"] = pack_sources(new["sourceEventSeqs"])
        operation = new.get("surfaceOp")
        if isinstance(operation, Mapping) and "start" in operation:
            bounds = {"startSeq": operation["start"], "endSeq": operation.get("end")}
            new["surfaceOp"] = {"op": "replace", **bounds}
        if kind not in SURFACE_V4:
            new.pop("surfaceOp", None)
        if kind not in V4_TYPES:
            new["ignorable"] = True
        yield new

    def _data(self, kind: str, data: Mapping[str, Any]) -> dict[str, Any]:
        if kind == "assistant/message":
            return {**data, "stream": self._stream()}
        if kind == "tool/result":
            return _result(data)
        if kind == "request/header":
            return {**data, "header": _request_header(data.get("header"))}
        if kind == "agent-preset/selected":
            return self._selected(data)
        if kind in _TEAM:
            return _team(data)
        return dict(data)

    def _selected(self, data: Mapping[str, Any]) -> dict[str, Any]:
        """Name the preset that holds where only a binding was recorded."""
        named = data.get("agentPreset")
        if isinstance(named, str) and named:
            self._preset = named
        return {**data, "agentPreset": self._preset}

    def _attempt(self) -> Iterator[Event]:
        """Give the chunks that no message came of as an attempt."""
        if not self._chunks:
            return
        last = self._chunks[-1]
        place = {name: last["data"].get(name) for name in ("turn", "step")}
        seq = self._seqs.next
        self._seqs.skip()
        data = {**place, "stream": self._stream()}
        yield {"type": "assistant/attempt", "seq": seq, "time": last["time"], "data": data}

    def _stream(self) -> list[dict[str, Any]]:
        chunks, self._chunks = self._chunks, []
        return [
            {"type": "chunk", "time": each["time"], "chunk": each["data"]["chunk"]}
            for each in chunks
        ]


_ENDS_HOLD = frozenset(
    {"request/header", "assistant/message", "step/end", "turn/end", "turn/start", "tool/call"}
)


def _request_header(header: object) -> dict[str, Any]:
    """Leave out what v4 has elsewhere (the prompt) and what only we record (a seed)."""
    kept = header if isinstance(header, Mapping) else {}
    new = {name: value for name, value in kept.items() if name != "system"}
    if isinstance(kept.get("config"), Mapping):
        new["config"] = {name: value for name, value in kept["config"].items() if name != "seed"}
    return new


def _system(header: Event | None) -> str | None:
    data = header["data"] if header is not None else None
    inner = data.get("header") if isinstance(data, Mapping) else None
    prompt = inner.get("system") if isinstance(inner, Mapping) else None
    return prompt if isinstance(prompt, str) and prompt else None


def _result(data: Mapping[str, Any]) -> dict[str, Any]:
    message = data.get("message")
    content = message.get("content") if isinstance(message, Mapping) else None
    block = content[0] if isinstance(content, list) and content else None
    if not isinstance(message, Mapping) or not isinstance(block, Mapping):
        return dict(data)
    if block.get("type") != "tool-result":
        return dict(data)
    kept = {name: message[name] for name in ("id", "source") if name in message}
    return {
        **data,
        "message": {
            "role": "tool",
            "toolCallId": block.get("toolCallId"),
            "content": block.get("content", []),
            "isError": bool(block.get("isError")),
            **kept,
        },
    }


def _attributed(data: Mapping[str, Any]) -> dict[str, Any]:
    """Name the producer of every message in an event's data as v4 does."""
    changed = dict(data)
    if "source" in data:
        changed["source"] = _source(data["source"])
    if isinstance(data.get("message"), Mapping):
        changed["message"] = _attributed(data["message"])
    for name in ("inserted", "messages"):
        if isinstance(data.get(name), list):
            changed[name] = [
                _attributed(each) if isinstance(each, Mapping) else each for each in data[name]
            ]
    return changed


def _source(source: Any) -> Any:
    """Give a plugin's source the plugin's own kind: v4 has no ``plugin`` any more."""
    if not isinstance(source, Mapping) or source.get("kind") != "plugin":
        return source
    plugin = str(source.get("plugin") or "plugin-context")
    rest = {name: value for name, value in source.items() if name not in ("kind", "plugin")}
    return {"kind": _PRODUCERS.get(plugin, plugin), **rest}


def _team(data: Mapping[str, Any]) -> dict[str, Any]:
    changed = {**data, "version": 2}
    if isinstance(data.get("message"), Mapping):
        changed["message"] = {k: v for k, v in data["message"].items() if k != "delivery"}
    return changed
