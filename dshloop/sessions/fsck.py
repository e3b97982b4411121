"""Check a log: everything that is wrong with it, counted and located, in one pass."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dshloop.files import shown
from dshloop.sessions.calls import WATCHED, CallCheck
from dshloop.sessions.inbox_check import SPLICED, InboxCheck
from dshloop.sessions.naming import LOCK_NAME, encode_id
from dshloop.sessions.nesting import Nesting
from dshloop.transcripts.findings import Finding
from dshloop.transcripts.header import Header
from dshloop.transcripts.lines import SEPARATORS
from dshloop.transcripts.scan import Row, Scan, open_scan
from dshloop.transcripts.vocabulary import LOG_NAMES, V4, Event

_COUNTED = {
    "turn/start": "turns",
    "step/start": "steps",
    "tool/call": "calls",
    "tool/result": "results",
}


@dataclass(frozen=True, slots=True)
class Checked:
    """What a check found. ``findings`` may be cut off after many; ``counts`` has all of them."""

    path: Path
    header: Header | None
    version: int
    compressed: bool
    bytes: int
    events: int
    content: dict[str, int]
    open: bool
    counts: dict[str, int]
    findings: list[Finding]

    @property
    def sound(self) -> bool:
        """Whether nothing is wrong; an open turn is not: it is closed when the session goes on."""
        return not any(finding.severity == "error" for finding in self.findings)

    def as_json(self) -> dict[str, Any]:
        """Give all of it as a JSON object."""
        return {
            "id": self.header.id if self.header else None,
            "path": shown(self.path),
            "version": self.version,
            "compressed": self.compressed,
            "bytes": self.bytes,
            "events": self.events,
            "content": self.content,
            "open": self.open,
            "sound": self.sound,
            "counts": self.counts,
            "findings": [finding.as_json() for finding in self.findings],
        }


def check_log(path: Path, *, stored: bool = False) -> Checked:
    """Read a log to its end; ``stored`` when it stands in a folder of sessions.

    Then the folder is looked at too. Raises SESSION_NOT_FOUND, SESSION_UNREADABLE when the file
    can't be opened; a file that is no log at all has its findings.
    """
    found = Counter[str]()
    with open_scan(path) as scan:
        events, is_open = _read(scan, found)
    if stored:
        for finding in _folder_faults(path, scan.header):
            scan.report(finding)
    return Checked(
        path=path,
        header=scan.header,
        version=scan.version,
        compressed=scan.compressed,
        bytes=scan.text_bytes,
        events=events,
        content={name: found[kind] for kind, name in _COUNTED.items()},
        open=is_open,
        counts=dict(scan.counts),
        findings=scan.findings,
    )


def stray_files(root: Path) -> Iterator[Finding]:
    """Report what lies among the folders of a root of sessions and is none of them."""
    if not root.is_dir():
        return
    for folder in sorted(root.iterdir()):
        if not folder.is_dir():
            yield _foreign(folder)
            continue
        for inner in sorted(folder.iterdir()):
            if not inner.is_dir():
                yield _foreign(inner)


def is_strict(scan: Scan) -> bool:
    """Whether turns, steps and calls must fit each other: in v4, and where events were lost.

    A v0 log is read by dsh however its turns are nested.
    """
    return scan.damaged or scan.version == V4


def _read(scan: Scan, found: Counter[str]) -> tuple[int, bool]:
    """Go through a log; give the number of its events and whether its last turn is open."""
    place, is_open = 0, False
    look = _Look(scan)
    first, second = SEPARATORS
    for row in scan.rows():
        if first in row.raw or second in row.raw:
            _report_separators(scan, row)
        for event in row.events:
            kind = event["type"]
            if kind in _LOOKED_AT:
                found[kind] += 1
                look.at(row, event, place)
                if kind in ("turn/start", "turn/end"):
                    is_open = kind == "turn/start"
            place += 1
    return place, is_open


_LOOKED_AT = WATCHED | {SPLICED, "user/message", "system/message", "assistant/attempt"}


class _Look:
    """What calls, turns and steps are told of."""

    def __init__(self, scan: Scan) -> None:
        self.scan = scan
        self.calls, self.nesting, self.inbox = CallCheck(), Nesting(), InboxCheck()

    def at(self, row: Row, event: Event, place: int) -> None:
        """Look at one event of a line."""
        strict = self.calls.strict = is_strict(self.scan)
        if event["type"] in (SPLICED, "user/message") and self._off(event) and strict:
            message = f"seq {event['seq']} takes out of the inbox what is not in it"
            if event["type"] != SPLICED:
                message = f"the message of seq {event['seq']} was never taken out of the inbox"
            at = (row.line, row.start, event["seq"])
            self.scan.report(Finding("INBOX", "error", message, *at))
        wrong = self.nesting.see(event, place)
        if wrong is not None and strict:
            at = (row.line, row.start, wrong.seq)
            self.scan.report(Finding("NESTING", "error", wrong.message, *at))
        if event["type"] in WATCHED:
            for fault in self.calls.see(event, place):
                at = (row.line, row.start, fault.seq)
                self.scan.report(Finding(fault.code, "error", fault.message, *at))

    def _off(self, event: Event) -> bool:
        if event["type"] == SPLICED:
            return self.inbox.see(event) is not None
        return self.inbox.claimed(event) is not None


def _report_separators(scan: Scan, row: Row) -> None:
    count = sum(row.raw.count(separator) for separator in SEPARATORS)
    seq = row.events[0]["seq"] if row.events else None
    holds = f"line {row.line} holds U+2028 or U+2029 {count} times"
    message = f"{holds}, where some readers cut a line in two"
    scan.report(Finding("LINE_SEPARATOR", "error", message, row.line, row.start, seq))


# --- the folder --------------------------------------------------------------------------------


def _folder_faults(path: Path, header: Header | None) -> Iterator[Finding]:
    for each in sorted(path.parent.iterdir()):
        if not _ours(each.name):
            yield _foreign(each)
    if header is not None and header.id and encode_id(header.id) != path.parent.name:
        message = (
            f'the log is that of session "{header.id}", but stands in the folder of another: '
            "dsh refuses to start with it"
        )
        yield Finding("WRONG_FOLDER", "error", message, 1, 0)


def _ours(name: str) -> bool:
    draft = name.startswith(".session.jsonl.") and name.endswith(".tmp")
    cut = name.startswith("cut-") and name.endswith(".jsonl")
    return draft or cut or name in (*LOG_NAMES, LOCK_NAME)


def _foreign(path: Path) -> Finding:
    return Finding("FOREIGN_FILE", "error", f"{shown(path)} is no part of a session")
