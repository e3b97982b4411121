"""One pass over a DSH log in constant memory: header, events, findings (dsh-sessions 2 to 8)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from dshloop.errors import SessionNotFoundError, SessionUnreadableError
from dshloop.files import require_file, shown, why
from dshloop.transcripts.findings import Finding
from dshloop.transcripts.first_line import read_first_line
from dshloop.transcripts.framing import text_of
from dshloop.transcripts.lines import decode_line, parse_json, reason, rejoin, salvage
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
    plain_types,
    surface_fault,
)

MOST_FINDINGS = 1000
"""So many findings are kept; all are counted."""
_BARE = 4  # keys of an event without the optional ones
_LONGEST_SPLIT = 64  # lines that are tried as parts of one


class Row(NamedTuple):
    """What one line gave: its events in order; ``exact`` when it is no more and no less."""

    raw: bytes
    line: int
    start: int
    events: list[Event]
    exact: bool


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
    """One pass over a log: iterate it, or its `rows`, once.

    While ``damaged`` is true, events come from behind the first damage. ``counts`` has the number
    of findings of each code.
    """

    def __init__(self, path: Path, file: BinaryIO) -> None:
        self.path = path
        self.findings: list[Finding] = []
        self.counts: Counter[str] = Counter()
        self.damaged = False
        self.good_bytes = 0
        self.text_bytes = 0
        self._text, self.compressed = text_of(file, self.report)
        self._line = 1
        self._expected = 0
        self._refusal = ""
        self._committed = False  # a turn/end stands at or behind the damage
        self._unknown: set[str] = set()
        self._pieces: list[bytes] = []  # the lines just before that gave nothing
        self.header_line = self._text.readline()
        self._read_first_line()

    def _read_first_line(self) -> None:
        raw = self.header_line
        first = read_first_line(raw)
        self.header, self._beside_header = first.header, first.beside
        named = V4 if self.path.name.startswith("session.v4.") else V0
        self.version = named if first.version is None else first.version
        self.damaged, self.text_bytes = not first.whole, len(raw)
        self.good_bytes = len(raw) if first.whole else 0
        for finding in first.findings:
            self.report(finding)

    def report(self, finding: Finding) -> None:
        """Count a finding, and keep it while there is room."""
        self.counts[finding.code] += 1
        if len(self.findings) < MOST_FINDINGS or finding.refuses:
            self.findings.append(finding)

    def require_anything(self) -> None:
        """Behind the last event: raise SESSION_UNREADABLE where no line of it was whole."""
        if self.header is None and not self._expected:
            finding = self.findings[0]
            raise SessionUnreadableError(
                f"{shown(self.path)}: {finding.message}",
                file=shown(self.path),
                line=finding.line,
                byte=finding.byte,
            )

    # --- events --------------------------------------------------------------------------------

    def __iter__(self) -> Iterator[Event]:
        """Yield the events in the order of the file."""
        for row in self.rows():
            yield from row.events

    def rows(self) -> Iterator[Row]:
        """Yield what each line behind the header gave; lines that gave nothing too."""
        if self._beside_header:
            saved = [self._saved(event, 0) for event in self._beside_header]
            yield Row(b"", 1, 0, saved, False)
        for raw in self._text:
            start = self.text_bytes
            self.text_bytes += len(raw)
            self._line += 1
            if not raw.endswith(b"\n"):
                self._torn_tail(raw, start)
                break
            yield self._row(raw, start)
            if not self.damaged:
                self.good_bytes = self.text_bytes
        self._finish()

    def _row(self, raw: bytes, start: int) -> Row:
        try:
            value = decode_line(raw)
        except (ValueError, RecursionError) as error:
            return self._damaged_row(raw, start, error)
        if not isinstance(value, dict):
            self._bad("BAD_LINE", "it is JSON, but not an object", start)
            return self._nothing(raw, start)
        if self.version == V0 and is_packed(value.get("type")):
            return self._packed_row(raw, start, value)
        fault = envelope_fault(value)
        if fault is not None:
            self._bad("BAD_EVENT", f"it has an invalid event envelope: {fault}", start)
            return self._nothing(raw, start)
        if value["seq"] == self._expected and not self.damaged:
            self._expected += 1
        else:
            self._contiguous(value["seq"], start, ends_turn=value["type"] == "turn/end")
        self._understand(value, start)
        return Row(raw, self._line, start, [value], True)

    def _nothing(self, raw: bytes, start: int) -> Row:
        if raw.startswith(b"{") or len(self._pieces) >= _LONGEST_SPLIT:
            self._pieces = []
        self._pieces.append(raw.rstrip(b"\r\n"))
        return Row(raw, self._line, start, [], False)

    def _damaged_row(self, raw: bytes, start: int, error: Exception) -> Row:
        """Take what is whole out of a line that doesn't parse."""
        if isinstance(error, UnicodeDecodeError):
            lossy = self._lossy_row(raw, start)
            if lossy is not None:
                return lossy
        saved = [each for each in salvage(raw) if each["type"] != "session"]
        if saved:
            code = "NUL_BYTES" if b"\0" in raw else "GLUED"
            self._bad(code, f"{reason(raw, error)}; {_records(len(saved))}", start)
            events = [self._saved(each, start) for each in saved]
            return Row(raw, self._line, start, events, False)
        self._bad("NUL_BYTES" if b"\0" in raw else "BAD_LINE", reason(raw, error), start)
        whole = rejoin([*self._pieces, raw.rstrip(b"\r\n")]) if self._pieces else None
        if whole is None:
            return self._nothing(raw, start)
        count = len(self._pieces) + 1
        message = f"{count} lines up to line {self._line} are one event, split inside a text"
        self.report(Finding("SPLIT_LINE", "error", message, self._line, start, whole["seq"]))
        return Row(raw, self._line, start, [self._saved(whole, start)], False)

    def _lossy_row(self, raw: bytes, start: int) -> Row | None:
        """Read a line with bytes that are not UTF-8; None when it is no event even so."""
        try:
            value = parse_json(raw.decode("utf-8", "replace"))
        except (ValueError, RecursionError):
            return None
        if not isinstance(value, dict) or envelope_fault(value) is not None:
            return None
        message = f"line {self._line} holds bytes that are not UTF-8; shown as U+FFFD"
        self.report(Finding("NOT_UTF8", "error", message, line=self._line, byte=start))
        self._contiguous(value["seq"], start, ends_turn=value["type"] == "turn/end")
        self._understand(value, start)
        return Row(raw, self._line, start, [value], False)

    def _packed_row(self, raw: bytes, start: int, row: dict[str, Any]) -> Row:
        try:
            events = list(expand_row(row))
        except MalformedRowError as error:
            self._bad("BAD_ROW", str(error), start)
            return self._nothing(raw, start)
        self._contiguous(row["seq0"], start)
        self._expected = events[-1]["seq"] + 1
        return Row(raw, self._line, start, events, True)

    def _saved(self, event: Event, start: int) -> Event:
        """Take an event from a damaged line into account; DSH can't see it there."""
        committed = self._committed
        self._contiguous(event["seq"], start)
        self._committed = committed
        self._understand(event, start)
        return event

    def _contiguous(self, seq: int, start: int, *, ends_turn: bool = False) -> None:
        if seq != self._expected:
            self._gap(seq, start)
        if self._pieces:
            self._pieces = []
        self._committed = self._committed or (self.damaged and ends_turn)
        self._expected = seq + 1

    def _gap(self, seq: int, start: int) -> None:
        """Report a jump in seq, unless it is where a line that gave nothing was."""
        place = f"(expected {self._expected}, got {seq})"
        if seq < self._expected or not self._pieces:
            code, word = ("SEQ_GAP", "gap") if seq > self._expected else ("SEQ_BACK", "step back")
            message = f"seq {word} at line {self._line} {place}"
            self._damage(code, message, start, seq=self._expected)
        where = f"seq gap in committed region at line {self._line - 1}"
        self._refusal = self._refusal or f"corrupt session log: {where} {place}"

    def _understand(self, event: Event, start: int) -> None:
        """Report what DSH would not interpret; expand what v4 stores shortened."""
        if len(event) == _BARE and event["type"] in plain_types(self.version):
            return
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
        self.report(Finding(code, "error" if refuses else "warning", message, *place, refuses))

    def _bad(self, code: str, why_not: str, start: int) -> None:
        self._damage(code, f"line {self._line} is no event: {why_not}", start, seq=self._expected)
        self._refusal = self._refusal or (
            f"corrupt session log: unparsable committed event at line {self._line - 1}"
        )

    def _damage(self, code: str, message: str, start: int, *, seq: int) -> None:
        self.damaged = True
        self.report(Finding(code, "error", message, self._line, start, seq))

    def _torn_tail(self, raw: bytes, start: int) -> None:
        message = f"the last {len(raw)} bytes are an unfinished line"
        place = (self._line, start, self._expected)
        self.report(Finding("TORN_TAIL", "error", message, *place))

    def _finish(self) -> None:
        if self._committed and self._refusal:
            first = next(finding for finding in self.findings if finding.line and finding.line > 1)
            place = (first.line, first.byte, first.seq)
            self.report(Finding("CORRUPT", "error", self._refusal, *place, True))


def _records(count: int) -> str:
    return f"{count} whole record{'s' if count > 1 else ''} on it"
