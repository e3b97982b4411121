"""The inbox of an agent as its log tells it: dsh can't load a log that takes out what isn't in."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from dshloop.transcripts.vocabulary import Event, is_count

SPLICED = "agent/inbox/spliced"


class InboxCheck:
    """Feed it every event of type `SPLICED`, in order."""

    def __init__(self) -> None:
        self._waiting: Counter[str] = Counter()

    def see(self, event: Event) -> dict[str, Any] | None:
        """Give the event's data as they must be where they are not, None where they are."""
        data = event["data"]
        if not isinstance(data, Mapping):
            return None
        target = str(data.get("target"))
        start, removed, inserted = _splice(data)
        there = self._waiting[target]
        at = min(start, there)
        taken = min(removed, there - at)
        self._waiting[target] += len(inserted) - taken
        if (at, taken) == (start, removed):
            return None
        mended = {**data, "start": at, "removedCount": taken}
        if not taken:
            del mended["removedCount"]
        return mended


def is_idle(data: Mapping[str, Any]) -> bool:
    """Whether a splice neither takes out nor puts in."""
    _, removed, inserted = _splice(data)
    return not removed and not inserted


def _splice(data: Mapping[str, Any]) -> tuple[int, int, list[Any]]:
    start, removed, inserted = data.get("start"), data.get("removedCount"), data.get("inserted")
    return (
        start if isinstance(start, int) and is_count(start) else 0,
        removed if isinstance(removed, int) and is_count(removed) else 0,
        inserted if isinstance(inserted, list) else [],
    )
