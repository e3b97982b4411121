"""Sessions as rows of a list: what they are about, where they stand, what they run on."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dshloop.files import shown
from dshloop.loops.binding import Stored, stored_binding
from dshloop.paths import Places
from dshloop.sessions.catalog import (
    Entry,
    Summary,
    entries,
    entries_of,
    in_folder,
    parent_of,
    summarize,
)
from dshloop.times import iso_time

if TYPE_CHECKING:
    from dshloop.sessions.index import SessionIndex

_MACHINE_MADE = re.compile(r"(session-)?[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-")
_WORTH_KEEPING = 20  # summaries for which an index is made where there is none yet
_BATCH, _SMALLEST_BATCH = 500, 50  # logs that the index is asked for at once
_SHORT_ID = 13  # characters: of a uuid7 the time in milliseconds


@dataclass(frozen=True, slots=True)
class Row:
    """One session in a list; ``short_id`` is the beginning of its id that fits no other.

    ``parent`` is that of the session whose agent began it, None where none did.
    """

    summary: Summary
    stored: Stored
    short_id: str
    parent: str | None = None

    @property
    def state(self) -> str:
        """Where the session stands, in a word for people."""
        return shown_state(self.summary)

    def as_json(self) -> dict[str, Any]:
        """Give the row as a JSON object; times are ISO 8601 in UTC."""
        entry, header = self.summary.entry, self.summary.header
        return {
            "id": entry.id,
            "home": entry.home,
            "title": self.summary.title,
            "cwd": header.cwd if header else None,
            "turns": self.summary.turns,
            "state": self.summary.state,
            **binding_json(self.stored),
            "origin": header.origin if header else None,
            "parent": parent_of(self.summary),
            "depth": header.delegation_depth if header else 0,
            "created_at": iso_time(header.created_at / 1000) if header else None,
            "updated_at": iso_time(entry.updated),
            "version": header.version if header else None,
            "size": entry.size,
            "path": shown(entry.path),
            "fault": self.summary.fault,
            "fault_code": self.summary.fault_code,
        }


@dataclass(frozen=True, slots=True)
class Listing:
    """The newest sessions; ``more`` and ``elsewhere`` count those that were left out."""

    rows: list[Row]
    more: int
    elsewhere: int


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which sessions are asked for; None asks for any. ``since`` is in epoch seconds."""

    cwd: Path | None = None
    since: float | None = None
    loop: str | None = None
    driver: str | None = None
    preset: str | None = None
    state: str | None = None

    @property
    def narrow(self) -> bool:
        """Whether anything but the folder is asked for."""
        asked = (self.since, self.loop, self.driver, self.preset, self.state)
        return any(each is not None for each in asked)

    def fits(self, summary: Summary, stored: Stored) -> bool:
        """Whether a session is one of those."""
        pairs = (
            (self.loop, stored.loop),
            (self.driver, stored.driver),
            (self.preset, stored.preset),
            (self.state, shown_state(summary)),
        )
        here = self.cwd is None or in_folder(summary, self.cwd)
        return here and all(asked in (None, found) for asked, found in pairs)


def list_sessions(
    places: Places,
    cwd: Path | None,
    *,
    limit: int | None,
    wanted: Wanted | None = None,
    index: SessionIndex | None = None,
) -> Listing:
    """List sessions newest first: those of a working directory, or all when it is None.

    ``wanted`` narrows them further; ``index`` is where what was read of logs is kept.
    """
    asked = replace(wanted or Wanted(), cwd=cwd)
    everything = entries(places)
    candidates = everything if cwd is None else entries_of(everything, cwd)
    if asked.since is not None:
        candidates = [entry for entry in candidates if entry.updated >= asked.since]
    found: list[tuple[Summary, Stored]] = []
    looked_at = 0
    for summary in _summaries(candidates, limit, index):
        looked_at += 1
        stored = stored_of(summary)
        if asked.fits(summary, stored):
            found.append((summary, stored))
            if limit is not None and len(found) >= limit:
                break
    rows = _rows(found, [entry.id for entry in everything])
    left_out = len(candidates) - looked_at
    return Listing(rows, left_out, len(everything) - len(rows) - left_out)


def _rows(found: Sequence[tuple[Summary, Stored]], known: Sequence[str]) -> list[Row]:
    """Name each session, and its parent, by what tells it apart from all that are known."""
    parents = [parent_of(summary) for summary, _ in found]
    named = {summary.entry.id for summary, _ in found} | set(filter(None, parents))
    short = short_ids([*known, *named], named)
    return [
        Row(summary, stored, short[summary.entry.id], parent and short[parent])
        for (summary, stored), parent in zip(found, parents, strict=True)
    ]


def _summaries(
    candidates: Sequence[Entry], limit: int | None, index: SessionIndex | None
) -> Iterator[Summary]:
    """Look into logs one after the other; what the index knows isn't read again."""
    if limit == 0:
        return
    batch = max(limit or _BATCH, _SMALLEST_BATCH)
    for start in range(0, len(candidates), batch):
        part = candidates[start : start + batch]
        known = {} if index is None else index.summaries(part)
        new: list[Summary] = []
        try:
            for entry in part:
                summary = known.get(entry.file)
                if summary is None:
                    summary = summarize(entry)
                    new.append(summary)
                yield summary
        finally:
            if index is not None and (index.exists or len(new) >= _WORTH_KEEPING):
                index.remember(new)


def short_ids(ids: Iterable[str], wanted: Iterable[str] | None = None) -> dict[str, str]:
    """Shorten the ids that were made by a machine to what tells them apart; keep chosen names.

    All of them, or only those that are ``wanted``.
    """
    ordered = sorted(set(ids))
    return {each: _short(each, ordered) for each in (ordered if wanted is None else wanted)}


def _short(each: str, ordered: list[str]) -> str:
    if not _MACHINE_MADE.match(each):
        return each
    at = bisect_left(ordered, each)
    neighbours = ordered[max(at - 1, 0) : at] + ordered[at + 1 : at + 2]
    shared = max((_shared_length(each, other) for other in neighbours), default=0)
    return each[: max(_SHORT_ID, shared + 1)].rstrip("-")


def _shared_length(one: str, other: str) -> int:
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(one), len(other)))


_REFUSED = {"VERSION": "other version", "UNKNOWN_TYPE": "unknown events"}


def shown_state(summary: Summary) -> str:
    """Tell damage from what a newer harness wrote; else how the last turn ended."""
    if summary.fault:
        return _REFUSED.get(summary.fault_code or "", "damaged")
    return summary.state or ""


def stored_of(summary: Summary) -> Stored:
    """Tell what a listed session runs on, from the events that were looked at."""
    preset = summary.header.agent_preset if summary.header else None
    return stored_binding(list(summary.events), preset)


def binding_json(stored: Stored) -> dict[str, Any]:
    """Give loop, driver and where they are known from."""
    return {
        "loop": stored.loop,
        "driver": stored.driver,
        "binding": "recorded" if stored.recorded else "inferred",
        "inferred_from": stored.inferred_from,
        "preset": stored.preset,
    }
