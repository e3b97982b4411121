"""One pass over a DSH log in constant memory: header, events, findings (dsh-sessions 2 to 8)."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

from dshloop.errors import SessionNotFoundError, SessionUnreadableError
from dshloop.files import require_file, shown, why
from dshloop.transcripts.findings import Finding
from dshloop.transcripts.framing import text_of
from dshloop.transcripts.header import Header, header_faults, read_header, version_fault
from dshloop.transcripts.packed import (
    MalformedRowError,
    expand_row,
    expand_sources,
    is_packed,
)
from dshloop.transcripts.vocabulary import (
    V0,
    V4,
    Event,
    envelope_fault,
    is_retired,
    known_types,
    surface_fault,
)


@contextmanager
def open_scan(path: Path) -> Iterator[Scan]:
    """Open a log for one pass; the header is read already when the block begins."""
    try:
        require_file(path.stat())
        with path.open("rb") as file:
            yield Scan(path, file)
    except FileNotFoundError as error:
        raise SessionNotFoundError(
            f"there is no session log {shown(path)}", file=shown(path)
        ) from error
    except OSError as error:
        raise SessionUnreadableError(
            f"can't read {shown(path)}: {why(error)}", file=shown(path)
        ) from error


class Scan:
    """One pass over a log: iterate it once for its events.

    While ``damaged`` is true, events come from behind the first damage.
    """

    def __init__(self, path: Path, file: BinaryIO) -> None:
        self.path = path
        self.findings: list[Finding] = []
        self.damaged = False
        self.good_bytes = 0
        self.text_bytes = 0
        self._text, self.compressed = text_of(file, self.findings.append)
        self._line = 0
        self._expected = 0
        self._refusal = ""
        self._committed = False  # a turn/end stands at or behind the damage
        self._unknown: set[str] = set()
        self.version = V4 if path.name.startswith("session.v4.") else V0
        self.header = self._read_header()

    # --- line 1 --------------------------------------------------------------------------------

    def _read_header(self) -> Header | None:
        raw = self._text.readline()
        self._line, self.text_bytes = 1, len(raw)
        if not raw.endswith(b"\n"):
            self._no_header("empty or header-less session log")
            return None
        try:
            value = _decode(raw)
        except (ValueError, RecursionError):
            self._no_header("corrupt session log: header line is not valid JSON")
            return None
        if not isinstance(value, dict) or value.get("type") != "session":
            self._no_header("corrupt session log: first line is not a session header")
            return None
        self.good_bytes = len(raw)
        header = read_header(value)
        self._check_header(header)
        return header

    def _no_header(self, message: str) -> None:
        self.damaged = True
        self.findings.append(Finding("NO_HEADER", "error", message, line=1, byte=0, refuses=True))

    def _check_header(self, header: Header) -> None:
        fault = version_fault(header)
        if fault is not None:
            self.version = V4 if header.version > V0 else V0
            self.findings.append(Finding("VERSION", "error", fault, line=1, byte=0, refuses=True))
            return
        self.version = header.version
        for message in header_faults(header):
            self.findings.append(Finding("HEADER", "error", message, line=1, byte=0, refuses=True))

    # --- events --------------------------------------------------------------------------------

    def __iter__(self) -> Iterator[Event]:
        """Yield the events in the order of the file."""
        for raw in self._text:
            start = self.text_bytes
            self.text_bytes += len(raw)
            self._line += 1
            if not raw.endswith(b"\n"):
                self._torn_tail(raw, start)
                break
            yield from self._events_of(raw, start)
            if not self.damaged:
                self.good_bytes = self.text_bytes
        self._finish()

    def _events_of(self, raw: bytes, start: int) -> Iterator[Event]:
        value = self._parse(raw, start)
        if value is None:
            return
        kind = value.get("type")
        if self.version == V0 and is_packed(kind):
            yield from self._row(value, start)
            return
        fault = envelope_fault(value)
        if fault is not None:
            self._bad("BAD_EVENT", f"it has an invalid event envelope: {fault}", start)
        else:
            self._contiguous(value["seq"], start, ends_turn=kind == "turn/end")
            self._understand(value, start)
            yield value

    def _parse(self, raw: bytes, start: int) -> dict[str, Any] | None:
        """Give the object on a line; report what isn't one, and bytes that are no UTF-8."""
        try:
            value = _decode(raw)
        except UnicodeDecodeError:
            return self._parse_lossy(raw, start)
        except (ValueError, RecursionError) as error:
            self._bad("BAD_LINE", _reason(raw, error), start)
            return None
        if isinstance(value, dict):
            return value
        self._bad("BAD_LINE", "it is JSON, but not an object", start)
        return None

    def _parse_lossy(self, raw: bytes, start: int) -> dict[str, Any] | None:
        text = raw.decode("utf-8", "replace")
        try:
            value = _DECODER.decode(text)
        except (ValueError, RecursionError) as error:
            self._bad("BAD_LINE", _reason(raw, error), start)
            return None
        message = f"line {self._line} holds bytes that are not UTF-8; shown as U+FFFD"
        self.findings.append(Finding("NOT_UTF8", "warning", message, line=self._line, byte=start))
        return value if isinstance(value, dict) else None

    def _row(self, row: dict[str, Any], start: int) -> Iterator[Event]:
        try:
            events = expand_row(row)
        except MalformedRowError as error:
            self._bad("BAD_ROW", str(error), start)
            return
        self._contiguous(row["seq0"], start)
        for event in events:
            self._expected = event["seq"] + 1
            yield event

    def _contiguous(self, seq: int, start: int, *, ends_turn: bool = False) -> None:
        if seq != self._expected:
            message = f"seq gap at line {self._line} (expected {self._expected}, got {seq})"
            where = f"seq gap in committed region at line {self._line - 1}"
            self._damage("SEQ_GAP", message, start, seq=self._expected)
            self._refusal = self._refusal or (
                f"corrupt session log: {where} (expected {self._expected}, got {seq})"
            )
        self._committed = self._committed or (self.damaged and ends_turn)
        self._expected = seq + 1

    def _understand(self, event: Event, start: int) -> None:
        """Report what DSH would not interpret; expand what v4 stores shortened."""
        if self.version == V4 and "sourceEventSeqs" in event:
            event["sourceEventSeqs"] = expand_sources(event["sourceEventSeqs"])
        if event["type"] not in known_types(self.version):
            self._unknown_type(event, start)
            return
        if is_retired(event):
            message = f"event type {event['type']} (seq {event['seq']}) is retired"
            self._about("RETIRED_TYPE", message, event, start, refuses=True)
        fault = surface_fault(event, self.version)
        if fault is not None:
            self._about("SURFACE_OP", f"{fault} (seq {event['seq']})", event, start)

    def _unknown_type(self, event: Event, start: int) -> None:
        kind = event["type"]
        if event.get("ignorable") is True or kind in self._unknown:
            return
        self._unknown.add(kind)
        name = self.header.id if self.header else ""
        message = (
            f'session "{name}" contains event type "{kind}" (seq {event["seq"]}) unknown to this '
            "harness and not marked ignorable; refusing to interpret the log — it was likely "
            "written by a newer harness"
        )
        self._about("UNKNOWN_TYPE", message, event, start, refuses=True)

    # --- faults --------------------------------------------------------------------------------

    def _about(
        self, code: str, message: str, event: Event, start: int, *, refuses: bool = False
    ) -> None:
        place = (self._line, start, event["seq"])
        self.findings.append(
            Finding(code, "error" if refuses else "warning", message, *place, refuses)
        )

    def _bad(self, code: str, reason: str, start: int) -> None:
        self._damage(code, f"line {self._line} is no event: {reason}", start, seq=self._expected)
        self._refusal = self._refusal or (
            f"corrupt session log: unparsable committed event at line {self._line - 1}"
        )

    def _damage(self, code: str, message: str, start: int, *, seq: int) -> None:
        self.damaged = True
        self.findings.append(Finding(code, "error", message, self._line, start, seq))

    def _torn_tail(self, raw: bytes, start: int) -> None:
        message = f"the last {len(raw)} bytes are an unfinished line"
        self.findings.append(
            Finding("TORN_TAIL", "warning", message, self._line, start, self._expected)
        )

    def _finish(self) -> None:
        if self._committed and self._refusal:
            first = next(finding for finding in self.findings if finding.line and finding.line > 1)
            self.findings.append(
                Finding("CORRUPT", "error", self._refusal, first.line, first.byte, first.seq, True)
            )


def _reject_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


_DECODER = json.JSONDecoder(parse_constant=_reject_constant)
_parse_json: Callable[[str], Any] = _DECODER.decode


def _decode(raw: bytes) -> Any:
    return _parse_json(raw.decode("utf-8"))


def _reason(raw: bytes, error: Exception) -> str:
    nuls = raw.count(b"\0")
    if nuls:
        return f"it holds {nuls} NUL bytes"
    if isinstance(error, RecursionError):
        return "its JSON is nested too deeply"
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg} at column {error.colno}" if raw.strip() else "it is empty"
    return str(error)
