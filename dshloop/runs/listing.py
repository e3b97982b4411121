"""Sessions as rows of a list: what they are about, where they stand, what they run on."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dshloop.files import shown
from dshloop.loops.binding import Stored, stored_binding
from dshloop.paths import Places
from dshloop.sessions.catalog import (
    Summary,
    entries,
    entries_of,
    in_folder,
    summarize,
)
from dshloop.times import iso_time

_MACHINE_MADE = re.compile(r"(session-)?[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-")
_SHORT_ID = 13  # characters: of a uuid7 the time in milliseconds


@dataclass(frozen=True, slots=True)
class Row:
    """One session in a list; ``short_id`` is the beginning of its id that fits no other."""

    summary: Summary
    stored: Stored
    short_id: str

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
            "created_at": iso_time(header.created_at / 1000) if header else None,
            "updated_at": iso_time(entry.updated),
            "version": header.version if header else None,
            "size": entry.size,
            "path": shown(entry.path),
            "fault": self.summary.fault,
        }


@dataclass(frozen=True, slots=True)
class Listing:
    """The newest sessions; ``more`` and ``elsewhere`` count those that were left out."""

    rows: list[Row]
    more: int
    elsewhere: int


def list_sessions(places: Places, cwd: Path | None, *, limit: int | None) -> Listing:
    """List sessions newest first: those of a working directory, or all when it is None."""
    everything = entries(places)
    short = short_ids([entry.id for entry in everything])
    candidates = everything if cwd is None else entries_of(everything, cwd)
    rows: list[Row] = []
    looked_at = 0
    for entry in candidates:
        if limit is not None and len(rows) >= limit:
            break
        looked_at += 1
        summary = summarize(entry)
        if cwd is None or in_folder(summary, cwd):
            rows.append(Row(summary, stored_of(summary), short[entry.id]))
    left_out = len(candidates) - looked_at
    return Listing(rows, left_out, len(everything) - len(rows) - left_out)


def short_ids(ids: Iterable[str]) -> dict[str, str]:
    """Shorten the ids that were made by a machine to what tells them apart; keep chosen names."""
    ordered = sorted(set(ids))
    short = {}
    for before, each, after in zip(["", *ordered], ordered, [*ordered[1:], ""], strict=False):
        shared = max(_shared_length(each, before), _shared_length(each, after))
        machine_made = _MACHINE_MADE.match(each)
        length = max(_SHORT_ID, shared + 1) if machine_made else len(each)
        short[each] = each[:length].rstrip("-")
    return short


def _shared_length(one: str, other: str) -> int:
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(one), len(other)))


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
