"""Packed rows: many streamed deltas in one line (v0) or one stream record (v4) (dsh-sessions 4)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeGuard

from dshloop.transcripts.vocabulary import Event, is_count, is_integer

_DELTAS = {
    "text-chunks": ("text-delta", "text", "texts"),
    "reasoning-chunks": ("reasoning-delta", "text", "texts"),
    "tool-call-chunks": ("tool-call-delta", "argumentsDelta", "args"),
}
_LONGEST_RUN = 10_000_000  # events; a longer pair in sourceEventSeqs is left as it is


class MalformedRowError(ValueError):
    """A packed row has wrong keys or lengths; readers report it as a finding."""


def is_packed(kind: object) -> TypeGuard[str]:
    """Whether the ``type`` of a line or record is that of a packed row."""
    return isinstance(kind, str) and kind in _DELTAS


def expand_row(row: Mapping[str, Any]) -> Iterator[Event]:
    """Give the ``assistant/chunk`` events of one packed line of a v0 log.

    Raises MalformedRowError before the first event.
    """
    kind, data = row["type"], row.get("data")
    if row.keys() != {"type", "seq0", "time0", "data"} or not isinstance(data, dict):
        raise MalformedRowError(f"malformed {kind} storage row: wrong keys")
    if not is_count(row["seq0"]):
        raise MalformedRowError(f"malformed {kind} storage row: seq0 is no integer from 0")
    pieces = _pieces(kind, data, row["time0"], {"turn", "step"})
    turn, step = data["turn"], data["step"]
    return (
        {
            "type": "assistant/chunk",
            "seq": seq,
            "time": time,
            "data": {"turn": turn, "step": step, "chunk": chunk},
        }
        for seq, (time, chunk) in enumerate(pieces, row["seq0"])
    )


def expand_stream(stream: object) -> list[dict[str, Any]]:
    """Give the records ``{type: chunk, time, chunk}`` of a v4 message's or attempt's stream.

    Raises MalformedRowError.
    """
    if not isinstance(stream, list):
        raise MalformedRowError("malformed stream: not a list")
    return [record for stored in stream for record in _expand_record(stored)]


def _expand_record(record: object) -> Iterator[dict[str, Any]]:
    if not isinstance(record, dict):
        raise MalformedRowError("malformed stream record: not an object")
    kind = record.get("type")
    if kind == "chunk" and isinstance(record.get("chunk"), dict):
        yield record
    elif is_packed(kind):
        rest = {name: value for name, value in record.items() if name not in ("type", "time0")}
        for time, chunk in _pieces(kind, rest, record.get("time0"), set()):
            yield {"type": "chunk", "time": time, "chunk": chunk}
    else:
        raise MalformedRowError(f"malformed stream record of type {kind!r}")


def _pieces(
    kind: str, data: Mapping[str, Any], time0: Any, extra: set[str]
) -> list[tuple[int, dict[str, Any]]]:
    """Give time and chunk of every member; raises MalformedRowError."""
    delta, text_key, list_key = _DELTAS[kind]
    fault = _fault(kind, data, time0, {"index", "dt", list_key} | extra)
    if fault:
        raise MalformedRowError(f"malformed {kind} storage row: {fault}")
    shared = {name: data[name] for name in ("id", "name") if name in data}
    start = {"type": delta, "index": data["index"], **shared}
    time, pieces = time0, []
    for gap, text in zip([0, *data["dt"]], data[list_key], strict=True):
        time += gap
        pieces.append((time, {**start, text_key: text}))
    return pieces


def _fault(kind: str, data: Mapping[str, Any], time0: object, wanted: set[str]) -> str | None:
    allowed = {"id", "name"} if kind == "tool-call-chunks" else set()
    if data.keys() - allowed != wanted or ("id" in allowed and "id" not in data):
        return "wrong keys"
    texts, gaps = data[_DELTAS[kind][2]], data["dt"]
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        return "its texts are not a list of strings"
    if not isinstance(gaps, list) or not all(is_integer(gap) for gap in gaps):
        return "dt is not a list of integers"
    if not texts or len(gaps) != len(texts) - 1:
        return f"{len(texts)} texts and {len(gaps)} gaps"
    numbers = (time0, *(data[name] for name in wanted if name in ("index", "turn", "step")))
    return None if all(is_integer(number) for number in numbers) else "a number is missing"


def expand_sources(sources: object) -> object:
    """Expand the inclusive pairs ``[7, 12]`` of v4's ``sourceEventSeqs``; keep all else."""
    if not isinstance(sources, list) or all(type(item) is int for item in sources):
        return sources
    expanded: list[Any] = []
    for item in sources:
        if _is_run(item):
            expanded.extend(range(item[0], item[1] + 1))
        else:
            expanded.append(item)
    return expanded


def pack_sources(sources: list[int]) -> list[int | list[int]]:
    """Shorten runs of three or more seqs to inclusive pairs, as v4 stores them."""
    packed: list[int | list[int]] = []
    for seq in sources:
        last = packed[-1] if packed else None
        if isinstance(last, list) and last[1] + 1 == seq:
            last[1] = seq
        elif len(packed) > 1 and packed[-2:] == [seq - 2, seq - 1]:
            packed[-2:] = [[seq - 2, seq]]
        else:
            packed.append(seq)
    return packed


def _is_run(item: object) -> bool:
    if not isinstance(item, list) or len(item) != 2 or not all(map(is_count, item)):
        return False
    return bool(0 <= item[1] - item[0] <= _LONGEST_RUN)
