"""What happened around a moment, an entry, or whatever a word finds (agentmemory 3.8)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from dshloop.errors import MemoryEmptyError, MemoryNotFoundError
from dshloop.memory.answers import Filters
from dshloop.memory.entries import Entry
from dshloop.memory.moments import looks_like_date, read_moment
from dshloop.memory.store import MemoryReader

_ID = re.compile(r"(?:mem|obs)_[0-9a-f]+|[0-9a-f]{8,32}")


class Placed(NamedTuple):
    """An entry and how many places it stands from the anchor; 0 is the anchor, or what follows a
    moment."""

    position: int
    entry: Entry

    def as_json(self) -> dict[str, Any]:
        """Give the entry's value with its ``position``."""
        return {"position": self.position, **self.entry.as_json()}


def timeline(
    store: MemoryReader,
    anchor: str,
    where: Filters,
    *,
    before: int,
    after: int,
    now: float,
) -> tuple[Placed, ...]:
    """Give the entries around an anchor in order of time, some before it and some after.

    A date or age is a moment, an id its entry, anything else words whose best hit is taken; around
    an entry are the neighbours of its session. Raises MEMORY_NOT_FOUND, MEMORY_EMPTY, DATE_INVALID.
    """
    if not anchor.strip():
        raise MemoryEmptyError("a timeline needs a date, an id or some words")
    if looks_like_date(anchor):
        return _around_moment(store, read_moment(anchor, now).start, where, before, after)
    entry = _anchor(store, anchor, where)
    around = store.around(entry.id, before=before, after=after)
    return _placed(around, next(at for at, one in enumerate(around) if one.id == entry.id))


def _around_moment(
    store: MemoryReader, moment: float, where: Filters, before: int, after: int
) -> tuple[Placed, ...]:
    until = moment if where.until is None else min(moment, where.until)
    since = moment if where.since is None else max(moment, where.since)
    earlier = store.list(where._replace(until=until), limit=before) if before else ()
    later = store.list(where._replace(since=since), limit=after + 1, oldest_first=True)
    if not (earlier or later):
        raise MemoryNotFoundError("nothing is stored around this moment")
    return _placed([*reversed(earlier), *later], len(earlier))


def _anchor(store: MemoryReader, anchor: str, where: Filters) -> Entry:
    if _ID.fullmatch(anchor.strip()):
        try:
            return store.get(anchor.strip())
        except MemoryNotFoundError:
            if "_" in anchor:
                raise
    hits = store.recall(anchor, where, limit=1)
    if not hits:
        raise MemoryNotFoundError(f"nothing is stored about {anchor!r}", anchor=anchor)
    return hits[0].entry


def _placed(entries: Sequence[Entry], zero: int) -> tuple[Placed, ...]:
    return tuple(Placed(at - zero, entry) for at, entry in enumerate(entries))
