"""A session as the pieces that a page shows: who said what, and which tools were called."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from dshloop.sessions.calls import answered_call
from dshloop.transcripts.vocabulary import Event

Kind = Literal["turn", "user", "context", "assistant", "thinking", "tool", "end", "system"]


@dataclass(frozen=True, slots=True)
class Piece:
    """One thing on the page.

    ``label`` is the turn's number, the model, the tool's name, or whose context it is; ``result``
    is that of a tool (None: there is none), ``failed`` whether it is an error. ``time`` in ms,
    ``seq`` that of its event.
    """

    kind: Kind
    text: str = ""
    label: str = ""
    result: str | None = None
    failed: bool = False
    time: int = 0
    seq: int = 0


def pieces(events: Iterable[Event]) -> Iterator[Piece]:
    """Give the pieces in order; a tool call stands where its result came, or where it never did."""
    calls: dict[str, Piece] = {}
    for event in events:
        kind, data = event["type"], event["data"]
        if not isinstance(data, Mapping):
            continue
        if kind in _BOUNDARIES:
            yield from calls.values()
            calls = {}
        if kind == "tool/call":
            arguments, name = str(data.get("arguments", "")), str(data.get("name", ""))
            call = Piece("tool", arguments, name, time=event["time"], seq=event["seq"])
            calls[str(data.get("callId"))] = call
        elif kind == "tool/result":
            asked = calls.pop(
                answered_call(data) or "", Piece("tool", time=event["time"], seq=event["seq"])
            )
            yield _answered(asked, data)
        else:
            for piece in _said(kind, data, event["time"]):
                yield replace(piece, seq=event["seq"])
    yield from calls.values()


_BOUNDARIES = frozenset({"step/end", "turn/end", "turn/start", "step/start"})


def last_turns(events: Sequence[Event], count: int | None) -> Sequence[Event]:
    """Give the events from the beginning of the last ``count`` turns on; None gives all."""
    if count is None:
        return events
    starts = [at for at, event in enumerate(events) if event["type"] == "turn/start"]
    if count <= 0:
        return []
    return events if count >= len(starts) else events[starts[-count] :]


def _answered(call: Piece, data: Mapping[str, Any]) -> Piece:
    message = data.get("message")
    failed = "error" in data or is_error(message)
    return replace(call, result=content_text(message), failed=failed)


def _said(kind: str, data: Mapping[str, Any], time: int) -> Iterator[Piece]:
    if kind == "turn/start":
        yield Piece("turn", label=str(data.get("turn", "")), time=time)
    elif kind == "user/message":
        yield _user(data, time)
    elif kind == "assistant/message":
        yield from _assistant(data, time)
    elif kind == "system/message":
        yield Piece("system", content_text(data.get("message")), "system prompt", time=time)
    elif kind == "turn/end":
        said = _ending(data)
        if said:
            yield Piece("end", said, str(data.get("turn", "")), time=time)


def _user(data: Mapping[str, Any], time: int) -> Piece:
    """Tell a person's words from whatever else came in as a message of the user."""
    source = data.get("source")
    source = source if isinstance(source, Mapping) else {}
    text = content_text(data)
    if source.get("kind") == "user":
        return Piece("user", text, time=time)
    return Piece("context", text, context_label(source), time=time)


def context_label(source: Mapping[str, Any]) -> str:
    """Name who added context, and in which form: ``plugin agentmemory recall``."""
    names = [str(source[name]) for name in ("kind", "plugin", "form") if source.get(name)]
    return " ".join(names) or "?"


def is_recalled(source: object) -> bool:
    """Whether memory put a message in, by the message's source."""
    if not isinstance(source, Mapping) or source.get("kind") != "plugin":
        return False
    return source.get("form") in ("recall", "semantic")


def _assistant(data: Mapping[str, Any], time: int) -> Iterator[Piece]:
    message = data.get("message")
    if not isinstance(message, Mapping):
        return
    source = message.get("source")
    model = str(source.get("model") or "") if isinstance(source, Mapping) else ""
    content = message.get("content")
    blocks = content if isinstance(content, list) else []
    thought = [str(b.get("text", "")) for b in blocks if _type(b) == "reasoning"]
    if any(thought):
        yield Piece("thinking", "\n".join(thought), model, time=time)
    said = "\n".join(filter(None, (block_text(b) for b in blocks if _type(b) != "reasoning")))
    if data.get("interrupted"):
        said = f"{said} [interrupted]".strip()
    if said:
        yield Piece("assistant", said, model, time=time)


def _ending(data: Mapping[str, Any]) -> str:
    reason = data.get("reason")
    kind = reason.get("kind") if isinstance(reason, Mapping) else None
    if not isinstance(reason, Mapping) or kind == "completed":
        return ""
    error = reason.get("error")
    more = f": {error.get('message')} ({error.get('code')})" if isinstance(error, Mapping) else ""
    cause = reason.get("reason")
    said = cause.get("reason") if isinstance(cause, Mapping) else None
    return f"ended: {kind}{more or (f': {said}' if said else '')}"


# --- what a message says -----------------------------------------------------------------------


def content_text(message: object) -> str:
    """Give the readable text of a message's blocks, in order."""
    content = message.get("content") if isinstance(message, Mapping) else None
    blocks = content if isinstance(content, list) else []
    return "\n".join(filter(None, map(block_text, blocks)))


def _type(block: object) -> object:
    return block.get("type") if isinstance(block, Mapping) else None


def block_text(block: object) -> str | None:
    """Give what of a block is to be read; an image or a file is its name."""
    if not isinstance(block, Mapping):
        return None
    kind = block.get("type")
    if kind == "tool-result":
        return content_text(block)
    if kind in ("image", "file"):
        attachment = block.get("attachment")
        name = attachment.get("name") if isinstance(attachment, Mapping) else None
        return f"[{kind}: {name}]" if name else f"[{kind}]"
    text = block.get("text")
    return text if isinstance(text, str) else None


def is_error(message: object) -> bool:
    """Whether the message of a tool's result says that the call failed, in v0 or v4."""
    if not isinstance(message, Mapping):
        return False
    content = message.get("content")
    blocks = content if isinstance(content, list) else []
    nested = (isinstance(block, Mapping) and block.get("isError") is True for block in blocks)
    return message.get("isError") is True or any(nested)
