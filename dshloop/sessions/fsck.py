"""Check a log: everything that is wrong with it, counted and located, in one pass."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dshloop.files import shown
from dshloop.sessions.calls import WATCHED, CallCheck
from dshloop.sessions.naming import LOCK_NAME, encode_id
from dshloop.transcripts.dsh import LOG_NAMES
from dshloop.transcripts.findings import Finding
from dshloop.transcripts.header import Header
from dshloop.transcripts.lines import SEPARATORS
from dshloop.transcripts.scan import Row, Scan, open_scan

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


def _read(scan: Scan, found: Counter[str]) -> tuple[int, bool]:
    """Go through a log; give the number of its events and whether its last turn is open."""
    calls, place, is_open = CallCheck(), 0, False
    first, second = SEPARATORS
    for row in scan.rows():
        if first in row.raw or second in row.raw:
            _report_separators(scan, row)
        for event in row.events:
            kind = event["type"]
            if kind in WATCHED:
                found[kind] += 1
                for fault in calls.see(event, place):
                    at = (row.line, row.start, fault.seq)
                    scan.report(Finding(fault.code, "error", fault.message, *at))
                if kind in ("turn/start", "turn/end"):
                    is_open = kind == "turn/start"
            place += 1
    return place, is_open


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
