"""A v4 log of dsh as the v0 log that we write (dsh-sessions 5 and 6)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from dshloop.sessions.references import Renumbering, renumbered
from dshloop.transcripts.packed import MalformedRowError, expand_stream
from dshloop.transcripts.vocabulary import SURFACE_V0, V0_TYPES, Event

_RENAMED = {
    "tool/ptc-dispatch-start": "tool/code-dispatch-start",
    "tool/ptc-dispatch": "tool/code-dispatch",
}


def v0_events(events: Iterable[Event]) -> Iterator[Event]:
    """Give the events of a v4 log as v0 has them, contiguous from 0.

    Streams become chunk events before their message. What v0 doesn't know stays, marked
    ``ignorable``, and leaves the surface: v0 has the system prompt in its request header.
    """
    seqs = Renumbering()
    for event in events:
        yield from as_v0(event, seqs)


def as_v0(event: Event, seqs: Renumbering) -> Iterator[Event]:
    """Give what one event of v4 becomes, with the seqs that come next."""
    data, chunks = event["data"], []
    if event["type"] in ("assistant/message", "assistant/attempt") and isinstance(data, Mapping):
        chunks = list(_chunks(event, data, seqs))
        yield from chunks
        if event["type"] == "assistant/attempt":
            return
        data = {name: value for name, value in data.items() if name != "stream"}
    kind = _RENAMED.get(event["type"], event["type"])
    new = renumbered({**event, "type": kind, "data": data}, seqs, seqs.take(event["seq"]))
    if chunks:
        new["sourceEventSeqs"] = [each["seq"] for each in chunks]
    if kind == "tool/result":
        new["data"] = _result(new["data"])
    operation = new.get("surfaceOp")
    if isinstance(operation, Mapping) and "startSeq" in operation:
        new["surfaceOp"] = {
            "op": "replace",
            "start": operation["startSeq"],
            "end": operation.get("endSeq"),
        }
    if kind not in SURFACE_V0:
        new.pop("surfaceOp", None)
    if kind not in V0_TYPES:
        new["ignorable"] = True
    yield new


def _chunks(event: Event, data: Mapping[str, Any], seqs: Renumbering) -> Iterator[Event]:
    try:
        records = expand_stream(data.get("stream", []))
    except MalformedRowError:
        return
    place = {"turn": data.get("turn"), "step": data.get("step")}
    for record in records:
        seq = seqs.next
        seqs.skip()
        time = record.get("time", event["time"])
        made = {**place, "chunk": record["chunk"]}
        yield {"type": "assistant/chunk", "seq": seq, "time": time, "data": made}


def _result(data: Any) -> Any:
    message = data.get("message") if isinstance(data, Mapping) else None
    if not isinstance(message, Mapping) or message.get("role") != "tool":
        return data
    block = {
        "type": "tool-result",
        "toolCallId": message.get("toolCallId"),
        "content": message.get("content", []),
    }
    if message.get("isError"):
        block["isError"] = True
    kept = {name: message[name] for name in ("id", "source") if name in message}
    return {**data, "message": {**kept, "role": "user", "content": [block]}}
