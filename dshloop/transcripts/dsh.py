"""Read a DSH session log, v0 or v4, plain or compressed (dsh-sessions 1 to 8).

`open_scan` goes through a log once, in constant memory; `read_transcript` keeps what it gives.
Reading is tolerant: what DSH would refuse is a finding, and events behind damage still come.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dshloop.transcripts.closers import closers_of
from dshloop.transcripts.findings import Finding
from dshloop.transcripts.header import Header
from dshloop.transcripts.packed import expand_stream
from dshloop.transcripts.scan import open_scan
from dshloop.transcripts.vocabulary import Event

_COUNTED = {
    "turn/start": "turns",
    "step/start": "steps",
    "tool/call": "calls",
    "tool/result": "results",
}


@dataclass(frozen=True, slots=True)
class Transcript:
    """A log that was read.

    ``events`` is the good prefix, contiguous from seq 0; ``later`` what is whole behind damage.
    ``header`` is None when line 1 is damaged. ``text_bytes`` and ``good_bytes`` are lengths of
    the decoded text: all of it, and up to the end of the good prefix.
    """

    path: Path
    header: Header | None
    version: int
    compressed: bool
    events: list[Event]
    later: list[Event]
    findings: list[Finding]
    good_bytes: int
    text_bytes: int

    @property
    def damage(self) -> Finding | None:
        """The first fault that cost something, None for a whole log."""
        return next((finding for finding in self.findings if finding.code not in _HARMLESS), None)

    @property
    def refusal(self) -> Finding | None:
        """The fault for which DSH refuses to load this log, None when it loads."""
        return next((finding for finding in self.findings if finding.refuses), None)

    @property
    def counts(self) -> dict[str, int]:
        """How many turns, steps, tool calls and tool results the log holds."""
        return count_events([*self.events, *self.later])

    def closers(self) -> list[Event]:
        """The events that close what the good prefix left open."""
        return closers_of(self.events, self.version)


@dataclass(frozen=True, slots=True)
class Head:
    """The beginning of a log; ``whole`` when it is all of it, ``refusal`` as in Transcript."""

    header: Header | None
    events: list[Event]
    whole: bool
    refusal: Finding | None


_HARMLESS = frozenset({"SURFACE_OP", "UNKNOWN_TYPE", "RETIRED_TYPE", "HEADER", "VERSION"})


def count_events(events: list[Event]) -> dict[str, int]:
    """Count turns, steps, calls and results."""
    found = Counter(event["type"] for event in events)
    return {name: found[kind] for kind, name in _COUNTED.items()}


def counts_text(counts: Mapping[str, int]) -> str:
    """Say counts to people: ``1 turn, 3 steps``."""
    return ", ".join(
        f"{count:,} {name.removesuffix('s') if count == 1 else name}"
        for name, count in counts.items()
    )


def stream_chunks(event: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Give the chunk records ``{type, time, chunk}`` of a v4 message or attempt, all unpacked."""
    return expand_stream(event["data"].get("stream", []))


def read_transcript(path: Path) -> Transcript:
    """Read a whole log. Raises SESSION_NOT_FOUND, or SESSION_UNREADABLE when nothing is whole."""
    events: list[Event] = []
    later: list[Event] = []
    with open_scan(path) as scan:
        for event in scan:
            (later if scan.damaged else events).append(event)
        scan.require_anything()
    return Transcript(
        path=path,
        header=scan.header,
        version=scan.version,
        compressed=scan.compressed,
        events=events,
        later=later,
        findings=scan.findings,
        good_bytes=scan.good_bytes,
        text_bytes=scan.text_bytes,
    )


def read_head(path: Path, limit: int = 1 << 16) -> Head:
    """Read the events of the first ``limit`` decoded bytes of a log, for listings."""
    events: list[Event] = []
    whole = True
    with open_scan(path) as scan:
        for event in scan:
            events.append(event)
            if scan.text_bytes >= limit:
                whole = False
                break
    refusal = next((finding for finding in scan.findings if finding.refuses), None)
    return Head(scan.header, events, whole, refusal)
