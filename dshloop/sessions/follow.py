"""Follow a log that others write to: what is new in it, whatever happens to its file.

A log grows; its writer may cut what a killed one left; a file may be put in its place. What was
given already is known by seq and content, so that no event is missed and none comes twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from dshloop.errors import SessionNotFoundError
from dshloop.files import shown
from dshloop.locks import owner_of
from dshloop.locks.owner import Owner
from dshloop.sessions.naming import LOCK_NAME
from dshloop.transcripts.findings import Finding
from dshloop.transcripts.lines import decode_line, salvage
from dshloop.transcripts.packed import MalformedRowError, expand_row, is_packed
from dshloop.transcripts.scan import open_scan
from dshloop.transcripts.vocabulary import V0, Event, envelope_fault

PAUSE = 0.1  # seconds between looks at the file
_PATIENCE = 20  # looks at a file that is gone, or at a turn that nobody goes on with

Ended = Literal["turn-ended", "removed", "abandoned"]


@dataclass(frozen=True, slots=True)
class Note:
    """Something that happened to the file, for people."""

    message: str


class Follower:
    """One log that is followed; `read` gives what is new since the last time."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.turn_open = False
        self.turns_ended = 0
        self.findings: Sequence[Finding] = ()  # of the last reading from the beginning
        self._given: list[int] = []  # by seq, a hash of what was given
        self._inode = -1
        self._size = -1
        self._read_to = 0  # bytes of whole lines that were read; for plain logs
        self._last_line = b""
        self._plain = True
        self._version = V0

    def require_log(self) -> None:
        """Raise SESSION_UNREADABLE where nothing is a log yet; an empty file may become one."""
        if self._size:
            with open_scan(self.path) as scan:
                for _event in scan:
                    return
                scan.require_anything()

    @property
    def owner(self) -> Owner | None:
        """Who writes to the log now, as its lock says."""
        return owner_of(self.path.with_name(LOCK_NAME))

    @property
    def locks(self) -> bool:
        """Whether writers of this log lock it."""
        return self.path.with_name(LOCK_NAME).exists()

    def read(self) -> Iterator[Event | Note]:
        """Give what is new. Raises SESSION_NOT_FOUND while the file is gone."""
        try:
            found = self.path.stat()
        except FileNotFoundError:
            raise SessionNotFoundError(
                f"there is no session log {shown(self.path)}", file=shown(self.path)
            ) from None
        if (found.st_ino, found.st_size) == (self._inode, self._size):
            return
        replaced = self._inode not in (-1, found.st_ino)
        cut = found.st_size < self._size
        self._inode, self._size = found.st_ino, found.st_size
        if replaced or cut:
            yield Note("the file was replaced" if replaced else "the end of the file was cut off")
        if self._plain and self._read_to and not replaced and not cut:
            lines = self._new_lines()
            if lines is not None:
                yield from self._new(self._parsed(lines))
                return
            yield Note("the file was rewritten")
        yield from self._new(self._everything())

    # --- from the beginning ------------------------------------------------------------------

    def _everything(self) -> Iterator[Event]:
        with open_scan(self.path) as scan:
            self.findings = scan.findings
            self._plain, self._version = not scan.compressed, scan.version
            self._read_to, self._last_line = len(scan.header_line), scan.header_line
            for row in scan.rows():
                if row.raw:
                    self._read_to, self._last_line = row.start + len(row.raw), row.raw
                yield from row.events

    def _new(self, events: Iterable[Event]) -> Iterator[Event]:
        """Give the events that were not given yet; what was changed counts as new."""
        for event in events:
            seq, known = event["seq"], hash(repr(event))
            if seq < len(self._given) and self._given[seq] == known:
                continue
            del self._given[seq:]
            self._given.extend([0] * (seq - len(self._given)))
            self._given.append(known)
            if event["type"] in ("turn/start", "turn/end"):
                self.turn_open = event["type"] == "turn/start"
                self.turns_ended += not self.turn_open
            yield event

    # --- only what is new --------------------------------------------------------------------

    def _new_lines(self) -> list[bytes] | None:
        """Read the whole lines behind the last one; None when that isn't there any more."""
        start = self._read_to - len(self._last_line)
        with self.path.open("rb") as file:
            file.seek(start)
            data = file.read()
        if not data.startswith(self._last_line):
            return None
        *lines, _rest = data[len(self._last_line) :].split(b"\n")
        whole = [line + b"\n" for line in lines]
        if whole:
            self._read_to += sum(map(len, whole))
            self._last_line = whole[-1]
        return whole

    def _parsed(self, lines: list[bytes]) -> Iterator[Event]:
        for line in lines:
            try:
                value = decode_line(line)
            except (ValueError, RecursionError):
                yield from (each for each in salvage(line) if each["type"] != "session")
                continue
            if not isinstance(value, dict):
                continue
            if self._version == V0 and is_packed(value.get("type")):
                yield from _expanded(value)
            elif envelope_fault(value) is None:
                yield value


def _expanded(row: Event) -> Iterator[Event]:
    try:
        yield from expand_row(row)
    except MalformedRowError:
        return


def follow(
    follower: Follower, pause: Callable[[float], None], *, until_end: bool
) -> Iterator[Event | Note | Ended]:
    """Give what is new as it comes, and last how it ended; without ``until_end`` it goes on.

    With it, the end is that of the turn that is open, or of the next one. A turn whose writer is
    gone, and a session that nobody has open, end at once.
    """
    missing = idle = 0
    ended = follower.turns_ended
    while True:
        try:
            for each in follower.read():
                idle = 0
                yield each
            missing = 0
        except SessionNotFoundError:
            missing += 1
            if missing > _PATIENCE:
                yield "removed"
                return
        if until_end and follower.turns_ended > ended and not follower.turn_open:
            yield "turn-ended"
            return
        if until_end and follower.locks and follower.owner is None:
            idle += 1
            if not follower.turn_open or idle > _PATIENCE:
                yield "abandoned" if follower.turn_open else "turn-ended"
                return
        pause(PAUSE)
