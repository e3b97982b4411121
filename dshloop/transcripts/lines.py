"""One line of a log as JSON, and what can be saved of a line that is none."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

from dshloop.transcripts.vocabulary import envelope_fault

SEPARATORS = ("\u2028".encode(), "\u2029".encode())
"""Line separators that JSON allows inside a text, where careless readers split a log."""

_START = re.compile(r'\{\s*"type"\s*:')


def _reject_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


_DECODER = json.JSONDecoder(parse_constant=_reject_constant)
parse_json: Callable[[str], Any] = _DECODER.decode


def decode_line(raw: bytes) -> Any:
    """Parse a line. Raises ValueError (UnicodeDecodeError for no UTF-8), RecursionError."""
    return parse_json(raw.decode("utf-8"))


def reason(raw: bytes, error: Exception) -> str:
    """Say why a line can't be parsed."""
    nuls = raw.count(b"\0")
    if nuls:
        return f"it holds {nuls} NUL bytes"
    if isinstance(error, RecursionError):
        return "its JSON is nested too deeply"
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg} at column {error.colno}" if raw.strip() else "it is empty"
    return str(error)


def salvage(raw: bytes) -> list[dict[str, Any]]:
    """Give the whole header and events on a line that doesn't parse, NUL bytes taken out.

    Records that were glued together come apart; of one that is torn nothing is guessed.
    """
    text = raw.replace(b"\0", b"").decode("utf-8", "replace")
    return list(_records(text))


def rejoin(pieces: list[bytes]) -> dict[str, Any] | None:
    """Give the one event whose line was split at line separators; None when it isn't one."""
    whole = b"".join(
        piece if piece.endswith(SEPARATORS) else piece + SEPARATORS[0] for piece in pieces[:-1]
    )
    try:
        value = decode_line(whole + pieces[-1])
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) and envelope_fault(value) is None else None


def _records(text: str) -> Iterator[dict[str, Any]]:
    at = 0
    while (found := _START.search(text, at)) is not None:
        at = found.start()
        try:
            value, end = _DECODER.raw_decode(text, at)
        except (ValueError, RecursionError):
            at += 1
            continue
        if value.get("type") == "session" or envelope_fault(value) is None:
            yield value
            at = end
        else:
            at += 1
