"""Numbers of one or many sessions: turns, tokens, tools, models."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dshloop.errors import DshloopError
from dshloop.sessions.catalog import Entry
from dshloop.times import iso_time
from dshloop.transcripts.findings import Finding
from dshloop.transcripts.scan import open_scan
from dshloop.transcripts.vocabulary import Event

TOKENS = ("inputTokens", "outputTokens", "cacheReadTokens", "cacheWriteTokens", "reasoningTokens")
_NAMES = {
    "inputTokens": "input",
    "outputTokens": "output",
    "cacheReadTokens": "cache_read",
    "cacheWriteTokens": "cache_write",
    "reasoningTokens": "reasoning",
}
_COUNTED = {
    "turn/start": "turns",
    "step/start": "steps",
    "user/message": "messages",
    "assistant/message": "answers",
    "tool/call": "calls",
}


@dataclass(slots=True)
class Stats:
    """What was counted; ``models`` and ``tools`` by name, times in epoch ms (None: no event)."""

    sessions: int = 0
    unreadable: int = 0
    events: int = 0
    bytes: int = 0
    first: int | None = None
    last: int | None = None
    counts: Counter[str] = field(default_factory=Counter)
    ends: Counter[str] = field(default_factory=Counter)
    tokens: Counter[str] = field(default_factory=Counter)
    models: dict[str, Counter[str]] = field(default_factory=dict)
    tools: Counter[str] = field(default_factory=Counter)
    failed: Counter[str] = field(default_factory=Counter)

    def as_json(self) -> dict[str, Any]:
        """Give all of it; the most used come first."""
        return {
            "sessions": self.sessions,
            "unreadable": self.unreadable,
            "events": self.events,
            "bytes": self.bytes,
            "first": None if self.first is None else iso_time(self.first / 1000),
            "last": None if self.last is None else iso_time(self.last / 1000),
            **{name: self.counts[name] for name in _COUNTED.values()},
            "ends": dict(self.ends.most_common()),
            "tokens": {name: self.tokens[name] for name in _NAMES.values()},
            "models": {name: dict(each) for name, each in sorted(self.models.items())},
            "tools": [
                {"name": name, "calls": count, "failed": self.failed[name]}
                for name, count in self.tools.most_common()
            ],
        }


def gather(found: Iterable[Entry]) -> Stats:
    """Read logs to their ends and count; those that can't be read are counted as such."""
    stats = Stats()
    for entry in found:
        stats.sessions += 1
        stats.bytes += entry.size
        try:
            _read(stats, entry.path)
        except DshloopError:
            stats.unreadable += 1
    return stats


def stats_of(path: Path) -> tuple[Stats, Sequence[Finding]]:
    """Count one log; gives what is damaged in it, too. Raises SESSION_UNREADABLE."""
    stats = Stats(sessions=1)
    findings = _read(stats, path)
    stats.bytes = path.stat().st_size
    return stats, findings


def _read(stats: Stats, path: Path) -> Sequence[Finding]:
    with open_scan(path) as scan:
        count(stats, scan)
        scan.require_anything()
        return scan.findings


def count(stats: Stats, events: Iterable[Event]) -> None:
    """Count the events of one session."""
    names: dict[str, str] = {}  # call id -> tool
    time = 0
    for event in events:
        kind, data, time = event["type"], event["data"], event["time"]
        if stats.events == 0 or stats.first is None or time < stats.first:
            stats.first = time
        stats.events += 1
        if kind in _COUNTED:
            stats.counts[_COUNTED[kind]] += 1
        if isinstance(data, Mapping) and kind in _READERS:
            _READERS[kind](stats, data, names)
    if stats.events and (stats.last is None or time > stats.last):
        stats.last = time


def _answer(stats: Stats, data: Mapping[str, Any], _names: dict[str, str]) -> None:
    usage, message = data.get("usage"), data.get("message")
    source = message.get("source") if isinstance(message, Mapping) else None
    model = str(source.get("model")) if isinstance(source, Mapping) else "?"
    by_model = stats.models.setdefault(model, Counter())
    by_model["answers"] += 1
    for key, name in _NAMES.items():
        value = usage.get(key) if isinstance(usage, Mapping) else None
        if type(value) is int:
            stats.tokens[name] += value
            by_model[name] += value


def _call(stats: Stats, data: Mapping[str, Any], names: dict[str, str]) -> None:
    name = str(data.get("name"))
    names[str(data.get("callId"))] = name
    stats.tools[name] += 1


def _result(stats: Stats, data: Mapping[str, Any], names: dict[str, str]) -> None:
    message = data.get("message")
    source = message.get("source") if isinstance(message, Mapping) else None
    call = str(source.get("callId")) if isinstance(source, Mapping) else ""
    name = names.pop(call, None)
    if name is not None and "error" in data:
        stats.failed[name] += 1


def _end(stats: Stats, data: Mapping[str, Any], _names: dict[str, str]) -> None:
    reason = data.get("reason")
    stats.ends[str(reason.get("kind")) if isinstance(reason, Mapping) else "?"] += 1


_READERS = {
    "assistant/message": _answer,
    "tool/call": _call,
    "tool/result": _result,
    "turn/end": _end,
}
