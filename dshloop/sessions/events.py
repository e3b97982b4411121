"""Events and headers as we write them: format v0, one JSON object a line (dsh-sessions 2, 3)."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from dshloop.transcripts.vocabulary import SURFACE_V0, V0, V0_TYPES, Event

_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode


def new_header(
    session_id: str,
    *,
    created_at: int,
    cwd: str | None,
    agent_preset: str | None = None,
    parent_session: str | None = None,
    seed_length: int | None = None,
) -> dict[str, Any]:
    """Make the header of a session of ours; what is absent is left out. Times are epoch ms."""
    optional = {
        "cwd": cwd,
        "parentSession": parent_session,
        "agentPreset": agent_preset,
        "seedLength": seed_length,
    }
    header: dict[str, Any] = {
        "type": "session",
        "version": V0,
        "id": session_id,
        "createdAt": created_at,
    }
    header.update({name: value for name, value in optional.items() if value is not None})
    header["delegationDepth"] = 0
    return header


def new_event(
    kind: str,
    data: Any,
    *,
    seq: int,
    time: int,
    surface_op: str | Mapping[str, Any] | None = None,
    sources: Sequence[int] | None = None,
    ignorable: bool = False,
) -> Event:
    """Make one event.

    Surface events get ``surfaceOp: append`` unless another is named. Raises ValueError for a type
    that DSH would not know (unless ``ignorable``) and for a surfaceOp where none may be.
    """
    if kind not in V0_TYPES and not ignorable:
        raise ValueError(f"{kind} is no event type of format v0; mark it ignorable")
    if kind in SURFACE_V0:
        surface_op = surface_op or "append"
    elif surface_op is not None:
        raise ValueError(f"{kind} must not have a surfaceOp")
    event: Event = {"type": kind, "seq": seq, "time": time, "data": data}
    if surface_op is not None:
        event["surfaceOp"] = surface_op
    if sources:
        event["sourceEventSeqs"] = list(sources)
    if ignorable:
        event["ignorable"] = True
    return event


_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode


def encode_line(value: Mapping[str, Any]) -> bytes:
    r"""Give one line of a log: UTF-8, LF at the end, lone surrogates as ``\udXXX``.

    Raises ValueError for what a log can't hold without loss (NaN, infinities; -0 is one too).
    """
    text = _encode(value)
    if "-0.0" in text and _has_negative_zero(value):
        raise ValueError("-0 can't be kept in a log")
    return _line(text)


def lenient_line(value: Mapping[str, Any]) -> bytes:
    """Give one line for what was read from a log: -0 stays, what no double holds is cut to one."""
    try:
        text = _encode(value)
    except ValueError:
        text = json.dumps(_finite(value), ensure_ascii=False, separators=(",", ":"))
    return _line(text)


def _line(text: str) -> bytes:
    """Encode; line separators are escaped, since careless readers cut a line at them."""
    if text.isascii():
        return text.encode() + b"\n"
    text = text.replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
    return text.encode("utf-8", "backslashreplace") + b"\n"


def _has_negative_zero(value: Any) -> bool:
    if isinstance(value, float):
        return value == 0 and math.copysign(1, value) < 0
    if isinstance(value, Mapping):
        return any(map(_has_negative_zero, value.values()))
    return isinstance(value, (list, tuple)) and any(map(_has_negative_zero, value))


def _finite(value: Any) -> Any:
    if isinstance(value, float) and math.isinf(value):
        return math.copysign(sys.float_info.max, value)
    if isinstance(value, Mapping):
        return {key: _finite(member) for key, member in value.items()}
    return [_finite(member) for member in value] if isinstance(value, list) else value
