"""A new session of ours that begins with what was said in another one."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from dshloop.errors import ForkPointError, SessionUnreadableError, UsageError
from dshloop.files import shown, writing
from dshloop.paths import private_folder
from dshloop.sessions.events import lenient_line, new_event, new_header
from dshloop.sessions.naming import log_path
from dshloop.sessions.to_v0 import v0_events
from dshloop.sessions.writing import new_log
from dshloop.transcripts.header import Header
from dshloop.transcripts.scan import Scan, open_scan
from dshloop.transcripts.vocabulary import V0, VERSIONS, Event

_POINT = re.compile(r"(?:(turn|seq):)?([0-9]{1,15})")
# what belongs to the turn that is over though it is written behind its end
_AFTERWARDS = frozenset(
    {"session/title", "session/title-llm-request", "session-log-deepseek/delivery-accepted"}
)


@dataclass(frozen=True, slots=True)
class Forked:
    """A fork that was made: how many turns and events it begins with, what it left behind."""

    id: str
    path: Path
    parent: str
    turns: int
    events: int
    left_out: int

    def as_json(self) -> dict[str, Any]:
        """Give it as a JSON object."""
        return {
            "id": self.id,
            "path": shown(self.path),
            "parent": self.parent,
            "turns": self.turns,
            "events": self.events,
            "left_out": self.left_out,
        }


@dataclass(frozen=True, slots=True)
class _Cut:
    """Where the seed ends: behind so many events and turns, of so many events in all."""

    events: int
    turns: int
    total: int


class Seed(NamedTuple):
    """What a fork begins with: the other session's header and its events as v0 has them.

    ``left_out`` counts the events behind them.
    """

    header: Header
    events: list[Event]
    left_out: int


def read_seed(source: Path, at: str | None = None) -> Seed:
    """Read the events of ``source`` up to the end of a turn; ``at`` and errors as `fork_log`."""
    with open_scan(source) as scan:
        header = _require_header(source, scan)
        cut = _find_cut(scan, at)
    with _seed(source, cut) as seed:
        return Seed(header, list(seed), cut.total - cut.events)


def fork_log(
    source: Path, root: Path, session_id: str, *, at: str | None, now: int, cwd: str | None = None
) -> Forked:
    """Write a new log under ``root`` whose seed is ``source`` up to the end of a turn.

    ``at`` is a turn's number (``3``, ``turn:3``) or an event (``seq:40``; the last turn that had
    ended by then); a number above the last turn is an event's. Without it, all turns that have
    ended. ``now`` is in epoch ms; ``cwd`` another working directory than the session's own.

    Raises FORK_POINT_NOT_FOUND, SESSION_UNREADABLE, OUTPUT_EXISTS when the id is taken,
    WRITE_FAILED.
    """
    with open_scan(source) as scan:
        header = _require_header(source, scan)
        cut = _find_cut(scan, at)
    path = log_path(root, header.cwd if cwd is None else cwd, session_id)
    with _seed(source, cut) as seed:
        length = sum(1 for _ in seed)
    made = new_header(
        session_id,
        created_at=now,
        cwd=header.cwd if cwd is None else cwd,
        agent_preset=header.agent_preset,
        parent_session=header.id,
        seed_length=length,
    )
    with writing(path):
        private_folder(path.parent)
    with new_log(path) as file, _seed(source, cut) as seed:
        file.write(lenient_line(made))
        for event in seed:
            file.write(lenient_line(event))
        file.write(lenient_line(new_event("session/end-seed", {}, seq=length, time=now)))
    return Forked(session_id, path, header.id, cut.turns, length, cut.total - cut.events)


@contextmanager
def _seed(source: Path, cut: _Cut) -> Iterator[Iterator[Event]]:
    """Give the events of the seed as v0 has them."""
    with open_scan(source) as scan:
        events = islice(scan, cut.events)
        yield events if scan.version == V0 else v0_events(events)


def _require_header(source: Path, scan: Scan) -> Header:
    header = scan.header
    if header is None or header.version not in VERSIONS:
        raise SessionUnreadableError(
            f"can't fork {shown(source)}: {scan.findings[0].message}", file=shown(source)
        )
    return header


def _find_cut(scan: Scan, at: str | None) -> _Cut:
    """Go through a log for the ends of its turns; events behind damage count as left out."""
    kind, number = _point(at)
    cut, last, total, behind_end = None, 0, 0, False
    for event in scan:
        total += 1
        if scan.damaged:
            continue
        if event["type"] == "turn/end":
            last = _turn(event)
            wanted = {"turn": last <= number, "seq": event["seq"] <= number}
            behind_end = wanted.get(kind, True)
            if behind_end:
                cut = _Cut(total, last, 0)
        elif behind_end and event["type"] in _AFTERWARDS:
            cut = _Cut(total, last, 0)
        else:
            behind_end = False
    if kind == "turn" and at is not None and number > last and not at.startswith("turn"):
        return _find_again(scan.path, number)
    if cut is None or (kind == "turn" and cut.turns != number):
        raise ForkPointError(
            f"no turn of {shown(scan.path)} has ended"
            if cut is None and at is None
            else f"no turn of {shown(scan.path)} ends at {at}",
            at=at,
        )
    return replace(cut, total=total)


def _find_again(path: Path, number: int) -> _Cut:
    """Take a number above the last turn for that of an event."""
    with open_scan(path) as scan:
        return _find_cut(scan, f"seq:{number}")


def _point(at: str | None) -> tuple[str, int]:
    if at is None:
        return "", 0
    found = _POINT.fullmatch(at)
    if found is None:
        raise UsageError(f'--at is a turn like 3 or an event like seq:40, not "{at}"')
    return found[1] or "turn", int(found[2])


def _turn(event: Event) -> int:
    turn = event["data"].get("turn") if isinstance(event["data"], dict) else None
    return turn if type(turn) is int else 0
