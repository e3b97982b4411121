"""What happened in a session of DSH, or in one of ours, read from its log (dsh-sessions 3, 5)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from dshloop.transcripts.happenings import MOST_OPEN, Happening, Outline, text_in
from dshloop.transcripts.header import Header
from dshloop.transcripts.scan import open_scan
from dshloop.transcripts.vocabulary import Event

PROGRAM = "dsh"


def outline(path: Path) -> Outline:
    """Tell about the session. Raises SESSION_NOT_FOUND, SESSION_UNREADABLE."""
    found = Outline(path, PROGRAM)
    with open_scan(path) as scan:
        for event in scan:
            found.seen(event["time"] / 1000)
            title = _data(event).get("title")
            if event["type"] == "session/title" and isinstance(title, str):
                found.title = title
        if scan.header is not None:
            found.id, found.cwd = scan.header.id, scan.header.cwd or ""
            found.seen(scan.header.created_at / 1000 if scan.header.created_at else None)
        faults = [one for one in scan.findings if one.severity == "error"]
        found.faults = [(one.line or 0, one.message) for one in faults]
    found.id = found.id or path.parent.name
    return found


def happenings(path: Path) -> Iterator[Happening]:
    """Give what happened, each call where its result stands; what a fork has inherited is left
    out, since the session it was forked from has it."""
    open_calls: dict[str, Happening] = {}
    with open_scan(path) as scan:
        session = scan.header.id if scan.header is not None else path.parent.name
        inherited = _Inherited(scan.header)
        for event in scan:
            if not inherited.has(event):
                yield from _happened(event, f"{session}:{event['seq']}", open_calls)
    yield from open_calls.values()


def in_events(session: str, events: Iterable[Event]) -> Iterator[Happening]:
    """Give what happened in some events of a session, with the ids that its log gives."""
    open_calls: dict[str, Happening] = {}
    for event in events:
        yield from _happened(event, f"{session}:{event['seq']}", open_calls)
    yield from open_calls.values()


class _Inherited:
    """Which events at the beginning of a log are copies."""

    def __init__(self, header: Header | None) -> None:
        raw: Mapping[str, Any] = {} if header is None else header.raw
        length = raw.get("seedLength")
        self._length = length if isinstance(length, int) and raw.get("parentSession") else 0
        self._seeded = raw.get("isSeeded") is True and bool(raw.get("parentSession"))

    def has(self, event: Event) -> bool:
        """Tell whether an event is one; they are asked about in order."""
        if self._seeded:
            self._seeded = event["type"] != "session/end-seed"
            return True
        return bool(event["seq"] < self._length)


def _happened(event: Event, name: str, open_calls: dict[str, Happening]) -> Iterator[Happening]:
    kind, data, at = event["type"], _data(event), event["time"] / 1000
    if kind == "user/message":
        text = text_in(data.get("content"))
        if _source(data).get("kind") == "user" and text.strip():
            yield Happening("prompt", name, at, text=text)
    elif kind == "assistant/message":
        message = data.get("message")
        text = text_in(message.get("content")) if isinstance(message, dict) else ""
        if text.strip():
            yield Happening("answer", name, at, text=text)
    elif kind == "tool/call":
        call = Happening("call", name, at, tool=str(data.get("name") or ""),
                         input=data.get("arguments"))  # fmt: skip
        open_calls[str(data.get("callId"))] = call
        if len(open_calls) > MOST_OPEN:
            yield open_calls.pop(next(iter(open_calls)))
    elif kind == "tool/result":
        yield _result(data, name, at, open_calls)


def _result(
    data: Mapping[str, Any], name: str, at: float, open_calls: dict[str, Happening]
) -> Happening:
    message = data.get("message")
    message = message if isinstance(message, dict) else {}
    call_id = _source(message).get("callId")
    call = open_calls.pop(str(call_id), Happening("call", name, at, tool="tool"))
    content, failed = message.get("content"), message.get("isError") is True
    first = content[0] if isinstance(content, list) and content else None
    if isinstance(first, dict) and first.get("type") == "tool-result":  # v0
        content, failed = first.get("content"), failed or first.get("isError") is True
    return call._replace(at=at, output=text_in(content), failed=failed or "error" in data)


def _data(event: Event) -> Mapping[str, Any]:
    return event["data"] if isinstance(event["data"], dict) else {}


def _source(message: Mapping[str, Any]) -> Mapping[str, Any]:
    source = message.get("source")
    return source if isinstance(source, dict) else {}
