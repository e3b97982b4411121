"""New seqs for events, and for what refers to them (dsh-sessions 3, 5 and 6)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from dshloop.transcripts.vocabulary import Event, is_count

_LISTS = ("messageSeqs", "shadowedSeqs")
_SINGLE = ("sourceEventSeq", "headerSeq")
_PAIRS = (("start", "end"), ("startSeq", "endSeq"))


class _Stretch(NamedTuple):
    """Old seqs from ``first`` to ``last`` that all moved by ``shift``."""

    first: int
    last: int
    shift: int


class Renumbering:
    """Which new seq each old one has, in the memory of the places where they part ways."""

    def __init__(self) -> None:
        self._stretches: list[_Stretch] = []
        self.next = 0

    @property
    def identical(self) -> bool:
        """Whether every event so far kept its seq."""
        return not self._stretches or (
            len(self._stretches) == 1 and self._stretches[0].first == self._stretches[0].shift == 0
        )

    def take(self, old: int) -> int:
        """Give the next new seq to an event; where an old seq comes twice the later one counts."""
        new, self.next = self.next, self.next + 1
        stretches = self._stretches
        if stretches and old == stretches[-1].last + 1 and new - old == stretches[-1].shift:
            stretches[-1] = stretches[-1]._replace(last=old)
        else:
            stretches.append(_Stretch(old, old, new - old))
        return new

    def skip(self) -> None:
        """Leave room for an event that has no old seq."""
        self.next += 1

    def new(self, old: object) -> int | None:
        """Give the new seq of an old one; None when that event is gone."""
        if not is_count(old):
            return None
        assert isinstance(old, int)
        for stretch in reversed(self._stretches):
            if stretch.first <= old <= stretch.last:
                return old + stretch.shift
        return None

    def span(self, first: object, last: object) -> tuple[int, int] | None:
        """Give the new bounds of what is left of a range of old seqs."""
        if not (is_count(first) and is_count(last)):
            return None
        assert isinstance(first, int)
        assert isinstance(last, int)
        found = [
            (max(first, each.first) + each.shift, min(last, each.last) + each.shift)
            for each in self._stretches
            if each.first <= last and each.last >= first
        ]
        return (min(found)[0], max(end for _, end in found)) if found else None


def renumbered(event: Event, seqs: Renumbering, seq: int) -> Event:
    """Give an event with its new seq and what it refers to; references to lost events go."""
    changed = {**event, "seq": seq}
    if "sourceEventSeqs" in event:
        sources = _known(event["sourceEventSeqs"], seqs)
        if sources:
            changed["sourceEventSeqs"] = sources
        else:
            del changed["sourceEventSeqs"]
    operation = event.get("surfaceOp")
    if isinstance(operation, Mapping):
        changed["surfaceOp"] = _range(operation, seqs) or "append"
    if isinstance(event["data"], Mapping):
        changed["data"] = _data(event["data"], seqs)
    return changed


def _data(data: Mapping[str, Any], seqs: Renumbering) -> dict[str, Any]:
    changed = dict(data)
    for name in _LISTS:
        if isinstance(data.get(name), list):
            changed[name] = _known(data[name], seqs)
    for name in _SINGLE:
        if is_count(data.get(name)):
            new = seqs.new(data[name])
            changed[name] = new
            if new is None:
                del changed[name]
    if is_count(data.get("throughSeq")):
        span = seqs.span(0, data["throughSeq"])
        changed["throughSeq"] = span[1] if span else 0
    if isinstance(data.get("shadowedRange"), Mapping):
        changed["shadowedRange"] = _range(data["shadowedRange"], seqs) or data["shadowedRange"]
    if isinstance(data.get("targets"), list):
        changed["targets"] = [_target(each, seqs) for each in data["targets"]]
    return changed


def _known(old: object, seqs: Renumbering) -> list[int]:
    found = (seqs.new(each) for each in old) if isinstance(old, list) else ()
    return [each for each in found if each is not None]


def _range(old: Mapping[str, Any], seqs: Renumbering) -> dict[str, Any] | None:
    for first, last in _PAIRS:
        if first in old:
            span = seqs.span(old[first], old.get(last))
            return None if span is None else {**old, first: span[0], last: span[1]}
    return dict(old)


def _target(target: Any, seqs: Renumbering) -> Any:
    new = seqs.new(target.get("seq")) if isinstance(target, Mapping) else None
    return target if new is None else {**target, "seq": new}
