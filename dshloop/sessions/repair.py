"""Make a copy of a damaged log that passes `check_log`; the log itself is only read.

Two passes: the first decides what goes and what is added, the second writes. An event keeps its
place; where any were lost, those behind get new seqs, and so does what refers to them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from dshloop.errors import SessionUnreadableError
from dshloop.files import shown
from dshloop.sessions.calls import WATCHED, CallCheck
from dshloop.sessions.events import lenient_line
from dshloop.sessions.fsck import is_strict
from dshloop.sessions.naming import decode_id
from dshloop.sessions.nesting import Nesting
from dshloop.sessions.references import Renumbering, renumbered
from dshloop.sessions.writing import new_log
from dshloop.transcripts.closers import Progress, lost_result
from dshloop.transcripts.header import HEADER_KEYS, RETIRED, is_absolute
from dshloop.transcripts.lines import SEPARATORS
from dshloop.transcripts.packed import pack_sources
from dshloop.transcripts.scan import Row, Scan, open_scan
from dshloop.transcripts.vocabulary import V4, VERSIONS, Event, is_count, is_retired, known_types

_REMEMBERED = 10_000  # lines in which a line that comes again is looked for


@dataclass(slots=True)
class Repaired:
    """What a repair did. ``events`` are in the copy; all others count events or lines.

    ``lost``: lines of which nothing could be saved; ``mended``: damaged lines that gave events;
    ``dropped``: results whose call is lost, calls and results that came twice, retired events;
    ``repeated``: lines that came again word for word; ``added``: results for calls that had none,
    starts and ends of turns and steps that were lost;
    ``renumbered``: events with another seq; ``marked``: events of unknown types, now ignorable;
    ``header``: the header was mended or made.
    """

    events: int = 0
    kept: int = 0
    mended: int = 0
    lost: int = 0
    dropped: int = 0
    repeated: int = 0
    added: int = 0
    renumbered: int = 0
    marked: int = 0
    header: bool = False

    def as_json(self) -> dict[str, Any]:
        """Give the counts as a JSON object."""
        return asdict(self)


@dataclass(slots=True)
class _Plan:
    """By the place of an event: those left out, the calls that get a result before it, the
    starts and ends that are missing there, and the calls whose asking message is.
    """

    places: int = 0
    left_out: set[int] = field(default_factory=set)
    unanswered: dict[int, list[str]] = field(default_factory=dict)
    missing: dict[int, tuple[tuple[str, dict[str, Any]], ...]] = field(default_factory=dict)
    unasked: dict[int, list[Mapping[str, Any]]] = field(default_factory=dict)
    asking: int | None = None  # where the message belongs that asked for the calls at hand


def repair_log(path: Path, out: Path) -> Repaired:
    """Write a mended copy; plain JSON lines, or Zstandard frames when its name ends so.

    Raises OUTPUT_EXISTS, WRITE_FAILED (and leaves nothing then), SESSION_UNREADABLE for a format
    that we don't know or a file in which there is no event at all.
    """
    done = Repaired()
    with open_scan(path) as scan:
        plan = _plan(scan, done)
        done.lost += scan.counts["TORN_TAIL"]
        _require_known(path, scan, plan)
    with new_log(out) as file, open_scan(path) as scan:
        header = _header(scan)
        done.header = header is not None
        file.write(scan.header_line if header is None else lenient_line(header))
        _Copy(scan, file, plan, done).run()
    return done


def _require_known(path: Path, scan: Scan, plan: _Plan) -> None:
    fault = next((each for each in scan.findings if each.code == "VERSION"), None)
    if fault is not None and scan.header is not None and scan.header.version not in (-1, *VERSIONS):
        raise SessionUnreadableError(f"can't repair {shown(path)}: {fault.message}", file=str(path))
    if plan.places == 0 and scan.header is None:
        raise SessionUnreadableError(
            f"can't repair {shown(path)}: no header and no event in it is whole", file=str(path)
        )


# --- what to do --------------------------------------------------------------------------------


def _plan(scan: Scan, done: Repaired) -> _Plan:
    plan, calls, nesting = _Plan(), CallCheck(), Nesting()
    recent: dict[tuple[int, int], None] = {}
    for row in scan.rows():
        _count(row, done)
        key = (row.events[0]["seq"], hash(row.raw)) if row.events else None
        if key is not None and row.exact and scan.damaged and key in recent:
            plan.left_out.update(range(plan.places, plan.places + len(row.events)))
            done.repeated += len(row.events)
            plan.places += len(row.events)
            continue
        if key is not None:
            recent[key] = None
            if len(recent) > _REMEMBERED:
                del recent[next(iter(recent))]
        for event in row.events:
            calls.strict = is_strict(scan)
            _judge(event, plan, calls)
            _nest(event, plan, nesting, strict=calls.strict)
            plan.places += 1
    done.dropped = len(plan.left_out) - done.repeated
    return plan


def _count(row: Row, done: Repaired) -> None:
    if not row.events:
        done.lost += 1
    elif not row.exact:
        done.mended += 1


def _judge(event: Event, plan: _Plan, calls: CallCheck) -> None:
    if is_retired(event):
        plan.left_out.add(plan.places)
    if event["type"] not in WATCHED:
        return
    if not event["type"].startswith("tool/"):
        plan.asking = None
    for fault in calls.see(event, plan.places):
        if fault.code == "UNASKED_CALL":
            plan.asking = fault.place if plan.asking is None else plan.asking
            plan.unasked.setdefault(plan.asking, []).append(event["data"])
        elif fault.code == "ORPHAN_CALL":
            plan.unanswered.setdefault(fault.place, []).append(fault.call)
        else:
            plan.left_out.add(fault.place)


def _nest(event: Event, plan: _Plan, nesting: Nesting, *, strict: bool) -> None:
    if plan.places in plan.left_out:
        return
    wrong = nesting.see(event, plan.places)
    if wrong is None or not strict:
        return
    if wrong.missing:
        plan.missing[plan.places] = wrong.missing
    else:
        plan.left_out.add(plan.places)


# --- the copy ----------------------------------------------------------------------------------


class _Copy:
    """The second pass: writes what the plan leaves."""

    def __init__(self, scan: Scan, file: BinaryIO, plan: _Plan, done: Repaired) -> None:
        self.scan, self.file, self.plan, self.done = scan, file, plan, done
        self.seqs = Renumbering()
        self.progress = Progress()
        self.model = {"provider": "?", "model": "?"}  # of the last request

    def run(self) -> None:
        place = 0
        for row in self.scan.rows():
            places = range(place, place + len(row.events))
            place = places.stop
            if place > self.plan.places:  # written since the first pass
                break
            if self._untouched(row, places):
                self.file.write(row.raw)
                for event in row.events:
                    self.seqs.take(event["seq"])
                    self._see(event)
                self.done.kept += len(row.events)
            else:
                for at, event in zip(places, row.events, strict=True):
                    self._copy(event, at)
        self.done.events = self.seqs.next

    def _untouched(self, row: Row, places: range) -> bool:
        """Whether a line can be copied as it stands."""
        if not row.exact or not row.events or not self.seqs.identical:
            return False
        if row.events[0]["seq"] != self.seqs.next or any(each in row.raw for each in SEPARATORS):
            return False
        plan = self.plan
        changes = (plan.left_out, plan.unanswered, plan.missing, plan.unasked)
        if any(at in each for at in places for each in changes):
            return False
        return not self._needs_mark(row.events[0])

    def _copy(self, event: Event, place: int) -> None:
        for call in self.plan.unanswered.get(place, ()):
            self._answer(call)
        for kind, data in self.plan.missing.get(place, ()):
            self._add({"type": kind, "data": data})
        if place in self.plan.unasked:
            self._ask(self.plan.unasked[place])
        if place in self.plan.left_out:
            return
        old = event["seq"]
        new = self.seqs.take(old)
        if not self.seqs.identical:
            event = renumbered(event, self.seqs, new)
        if self._needs_mark(event):
            event = {**event, "ignorable": True}
            self.done.marked += 1
        self._write(event)
        self.done.kept += 1
        self.done.renumbered += old != new

    def _answer(self, call: str) -> None:
        """Give a call the result that DSH gives one whose own it doesn't find."""
        rest = lost_result(self.progress, call, self.seqs.next, self.scan.version)
        self._add({"type": "tool/result", **rest})

    def _ask(self, calls: list[Mapping[str, Any]]) -> None:
        """Put a message in front of calls whose own one is lost: their names are all there."""
        content = [
            {
                "type": "tool-call",
                "id": call.get("callId"),
                "name": call.get("name"),
                "arguments": call.get("arguments"),
            }
            for call in calls
        ]
        message = {
            "id": f"mended-{self.seqs.next}",
            "role": "assistant",
            "content": content,
            "source": {"kind": "model", **self.model},
        }
        place = {"turn": self.progress.turn, "step": self.progress.step}
        data: dict[str, Any] = {**place, "message": message}
        if self.scan.version == V4:
            data["stream"] = []
        self._add({"type": "assistant/message", "data": data, "surfaceOp": "append"})

    def _add(self, event: Event) -> None:
        seq, time = self.seqs.next, self.progress.time
        self.seqs.skip()
        self._write({"type": event["type"], "seq": seq, "time": time, **event})
        self.done.added += 1

    def _write(self, event: Event) -> None:
        self._see(event)
        if self.scan.version == V4 and "sourceEventSeqs" in event:
            event = {**event, "sourceEventSeqs": pack_sources(event["sourceEventSeqs"])}
        self.file.write(lenient_line(event))

    def _see(self, event: Event) -> None:
        self.progress.see(event)
        if event["type"] == "request/header":
            header = event["data"].get("header") if isinstance(event["data"], dict) else None
            config = header.get("config") if isinstance(header, dict) else None
            if isinstance(config, dict):
                self.model = {name: str(config.get(name, "?")) for name in ("provider", "model")}

    def _needs_mark(self, event: Event) -> bool:
        known = event["type"] in known_types(self.scan.version)
        return not known and event.get("ignorable") is not True


# --- the header --------------------------------------------------------------------------------


def _header(scan: Scan) -> dict[str, Any] | None:
    """Make a header that has no faults; None when the log's own has none."""
    faulty = scan.damaged or scan.counts["HEADER"] or scan.counts["VERSION"]
    if scan.header is not None and not faulty:
        return None
    raw = dict(scan.header.raw) if scan.header is not None else {}
    folder, given = scan.path.parent.name, raw.get("id")
    known = {
        "type": "session",
        "version": scan.version,
        "id": given if isinstance(given, str) and given else decode_id(folder),
        "createdAt": raw["createdAt"] if is_count(raw.get("createdAt")) else _first_time(scan),
        **_optional(raw),
    }
    if scan.version == V4:
        known["isSeeded"] = raw.get("isSeeded") is True
    depth = raw.get("delegationDepth")
    known["delegationDepth"] = depth if is_count(depth) else 0
    known.update({} if scan.version == V4 else _more(raw))
    return known


def _optional(raw: dict[str, Any]) -> dict[str, Any]:
    names = ("cwd", "parentSession", "origin", "agentPreset")
    found = {name: raw[name] for name in names if name in raw}
    if not is_absolute(found.get("cwd")):
        found.pop("cwd", None)
    if found.get("origin") != "subagent":
        found.pop("origin", None)
    return found


def _more(raw: dict[str, Any]) -> dict[str, Any]:
    """Give the keys of a v0 header that DSH doesn't know and doesn't mind."""
    return {name: raw[name] for name in raw if name not in HEADER_KEYS and name not in RETIRED}


def _first_time(scan: Scan) -> int:
    with open_scan(scan.path) as again:
        return next((max(0, event["time"]) for event in again), 0)
