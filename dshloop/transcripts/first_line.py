"""Line 1 of a log: its header, or what is left of one (dsh-sessions 2 and 8)."""

from __future__ import annotations

from typing import Any, NamedTuple

from dshloop.transcripts.findings import Finding
from dshloop.transcripts.header import Header, header_faults, read_header, version_fault
from dshloop.transcripts.lines import decode_line, salvage
from dshloop.transcripts.vocabulary import V0, V4, Event, envelope_fault


class FirstLine(NamedTuple):
    """What the first line gave.

    ``whole`` when it is a header and nothing else; ``beside`` are events that stand on it,
    ``version`` is that of the format, None where only the file's name can tell.
    """

    header: Header | None
    version: int | None
    whole: bool
    beside: list[Event]
    findings: list[Finding]


def read_first_line(raw: bytes) -> FirstLine:
    """Read a first line, with its line feed if it has one."""
    if not raw.endswith(b"\n"):
        return _nothing("empty or header-less session log", [])
    try:
        value = decode_line(raw)
    except (ValueError, RecursionError):
        return _damaged(raw)
    if not isinstance(value, dict) or value.get("type") != "session":
        event = isinstance(value, dict) and envelope_fault(value) is None
        beside = [value] if event else []
        return _nothing("corrupt session log: first line is not a session header", beside)
    return _header(value, [], [])


def _damaged(raw: bytes) -> FirstLine:
    """Take a header, and the events that are glued to it, out of a line that doesn't parse."""
    saved = salvage(raw)
    beside = [each for each in saved if each["type"] != "session"]
    lost = _nothing("corrupt session log: header line is not valid JSON", beside)
    found = next((each for each in saved if each["type"] == "session"), None)
    return lost if found is None else _header(found, beside, lost.findings)


def _nothing(message: str, beside: list[Event]) -> FirstLine:
    fault = Finding("NO_HEADER", "error", message, line=1, byte=0, refuses=True)
    return FirstLine(None, None, False, beside, [fault])


def _header(value: dict[str, Any], beside: list[Event], damage: list[Finding]) -> FirstLine:
    header = read_header(value)
    fault = version_fault(header)
    if fault is not None:
        version, faults = V4 if header.version > V0 else V0, [("VERSION", fault)]
    else:
        version, faults = header.version, [("HEADER", each) for each in header_faults(header)]
    findings = [
        Finding(code, "error", message, line=1, byte=0, refuses=True) for code, message in faults
    ]
    return FirstLine(header, version, not damage, beside, [*damage, *findings])
