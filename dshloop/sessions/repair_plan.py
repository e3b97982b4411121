"""What a damaged log needs to be whole: the first pass of a repair (repair.py)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from dshloop.sessions.calls import WATCHED, CallCheck
from dshloop.sessions.fsck import is_strict
from dshloop.sessions.inbox_check import SPLICED, InboxCheck, is_idle
from dshloop.sessions.nesting import Nesting
from dshloop.transcripts.scan import Row, Scan
from dshloop.transcripts.vocabulary import Event, is_retired

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
class Plan:
    """By the place of an event: those left out, the calls that get a result before it, the
    starts and ends that are missing there, the calls whose asking message is, and
    what the data of a splice of the inbox must be.
    """

    places: int = 0
    left_out: set[int] = field(default_factory=set)
    unanswered: dict[int, list[str]] = field(default_factory=dict)
    missing: dict[int, tuple[tuple[str, dict[str, Any]], ...]] = field(default_factory=dict)
    unasked: dict[int, list[Mapping[str, Any]]] = field(default_factory=dict)
    inbox: dict[int, dict[str, Any]] = field(default_factory=dict)
    asking: int | None = None  # where the message belongs that asked for the calls at hand


def make_plan(scan: Scan, done: Repaired) -> Plan:
    """Go through a log and decide; counts what is lost and mended in ``done``."""
    plan, calls, nesting, inbox = Plan(), CallCheck(), Nesting(), InboxCheck()
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
            if event["type"] in (SPLICED, "user/message"):
                _splice(event, plan, inbox, strict=calls.strict)
            plan.places += 1
    done.dropped = len(plan.left_out) - done.repeated
    return plan


def _count(row: Row, done: Repaired) -> None:
    if not row.events:
        done.lost += 1
    elif not row.exact:
        done.mended += 1


def _judge(event: Event, plan: Plan, calls: CallCheck) -> None:
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


def _nest(event: Event, plan: Plan, nesting: Nesting, *, strict: bool) -> None:
    if plan.places in plan.left_out:
        return
    wrong = nesting.see(event, plan.places)
    if wrong is None or not strict:
        return
    if wrong.missing:
        plan.missing[plan.places] = wrong.missing
    else:
        plan.left_out.add(plan.places)


def _splice(event: Event, plan: Plan, inbox: InboxCheck, *, strict: bool) -> None:
    said = event["type"] == "user/message"
    mended = inbox.claimed(event) if said else inbox.see(event)
    if mended is None or not strict:
        return
    if said:
        before = plan.missing.get(plan.places, ())
        plan.missing[plan.places] = (*before, (SPLICED, mended))
        return
    if is_idle(mended):
        plan.left_out.add(plan.places)
    else:
        plan.inbox[plan.places] = mended
