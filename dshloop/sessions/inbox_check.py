"""The inbox of an agent as its log tells it: dsh can't load a log that takes out what isn't in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dshloop.transcripts.vocabulary import Event, is_count

SPLICED = "agent/inbox/spliced"


class InboxCheck:
    """Feed it every splice and every ``user/message``, in order; it keeps the ids that wait."""

    def __init__(self) -> None:
        self._waiting: dict[str, list[str]] = {}

    def see(self, event: Event) -> dict[str, Any] | None:
        """Give a splice's data as they must be where they are not, None where they are."""
        data = event["data"]
        if not isinstance(data, Mapping):
            return None
        waiting = self._waiting.setdefault(str(data.get("target")), [])
        start, removed, inserted = _splice(data)
        at = min(start, len(waiting))
        taken = min(removed, len(waiting) - at)
        waiting[at : at + taken] = map(_id, inserted)
        if (at, taken) == (start, removed):
            return None
        mended = {**data, "start": at, "removedCount": taken}
        if not taken:
            del mended["removedCount"]
        return mended

    def claimed(self, event: Event) -> dict[str, Any] | None:
        """Give the splice that is missing where a message is said that still waits."""
        said = _id(event["data"])
        for target, waiting in self._waiting.items():
            if said and said in waiting:
                at = waiting.index(said)
                del waiting[at]
                return {"target": target, "start": at, "removedCount": 1, "inserted": []}
        return None


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


def _id(message: object) -> str:
    found = message.get("id") if isinstance(message, Mapping) else None
    return found if isinstance(found, str) else ""
