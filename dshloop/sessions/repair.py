"""Make a copy of a damaged log that passes `check_log`; the log itself is only read.

Two passes: the first decides what goes and what is added, the second writes. An event keeps its
place; where any were lost, those behind get new seqs, and so does what refers to them.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

from dshloop.errors import SessionUnreadableError
from dshloop.files import shown
from dshloop.sessions.events import lenient_line
from dshloop.sessions.references import Renumbering, renumbered
from dshloop.sessions.repair_header import mended_header
from dshloop.sessions.repair_plan import Plan, Repaired, make_plan
from dshloop.sessions.writing import new_log
from dshloop.transcripts.closers import Progress, lost_result
from dshloop.transcripts.lines import SEPARATORS
from dshloop.transcripts.packed import pack_sources
from dshloop.transcripts.scan import Row, Scan, open_scan
from dshloop.transcripts.vocabulary import V4, VERSIONS, Event, known_types

__all__ = ["Repaired", "repair_log"]

# dsh wants the messages cited that a title was made from, and none for a title by the user
_CITING = frozenset({"session/title", "session/title-llm-request"})


def repair_log(path: Path, out: Path) -> Repaired:
    """Write a mended copy; plain JSON lines, or Zstandard frames when its name ends so.

    Raises OUTPUT_EXISTS, WRITE_FAILED (and leaves nothing then), SESSION_UNREADABLE for a format
    that we don't know or a file in which there is no event at all.
    """
    done = Repaired()
    with open_scan(path) as scan:
        plan = make_plan(scan, done)
        done.lost += scan.counts["TORN_TAIL"]
        _require_known(path, scan, plan)
    with new_log(out) as file, open_scan(path) as scan:
        header = mended_header(scan)
        done.header = header is not None
        file.write(scan.header_line if header is None else lenient_line(header))
        _Copy(scan, file, plan, done).run()
    return done


def _require_known(path: Path, scan: Scan, plan: Plan) -> None:
    fault = next((each for each in scan.findings if each.code == "VERSION"), None)
    if fault is not None and scan.header is not None and scan.header.version not in (-1, *VERSIONS):
        raise SessionUnreadableError(f"can't repair {shown(path)}: {fault.message}", file=str(path))
    if plan.places == 0 and scan.header is None:
        raise SessionUnreadableError(
            f"can't repair {shown(path)}: no header and no event in it is whole", file=str(path)
        )


# --- the copy ----------------------------------------------------------------------------------


class _Copy:
    """The second pass: writes what the plan leaves."""

    def __init__(self, scan: Scan, file: BinaryIO, plan: Plan, done: Repaired) -> None:
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
        changes = (plan.left_out, plan.unanswered, plan.missing, plan.unasked, plan.inbox)
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
        if place in self.plan.inbox:
            event = {**event, "data": self.plan.inbox[place]}
        old = event["seq"]
        if self._cites_nothing(event):
            if event["type"] != "session/title":
                self.done.dropped += 1
                return
            event = {**event, "data": {**event["data"], "source": {"kind": "user"}}}
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

    def _cites_nothing(self, event: Event) -> bool:
        """Whether all messages are lost that a title, or the request for one, was made from."""
        if event["type"] not in _CITING or not isinstance(event["data"], Mapping):
            return False
        cited = event["data"].get("messageSeqs")
        if not isinstance(cited, list) or not cited:
            return False
        return all(self.seqs.new(each) is None for each in cited)

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
