"""Entries that say exactly the same."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from hashlib import blake2b

from dshloop.errors import DshloopError
from dshloop.memory.audit.findings import Finding, shortened
from dshloop.memory.entries import Entry, Memory, Observation
from dshloop.memory.store import MemoryStore

_SAME_MOMENT = 300.0
"""Seconds in which the same observation of a session is a double, not history (agentmemory 5)."""


def digest_of(entry: Entry) -> int:
    """Tell equal texts of one owner: white space and case aside, 63 bits."""
    said = " ".join(entry.content.lower().split())
    if isinstance(entry, Memory):
        owner = "\0".join(("m", entry.project, entry.agent or ""))
    else:
        owner = "\0".join(("o", entry.session, entry.hook, entry.title))
    text = f"{owner}\0{said}".encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(text, digest_size=8).digest(), "big") >> 1


class Doubles:
    """Digests of all entries, and the numbers of those that come again."""

    def __init__(self) -> None:
        self._first: dict[int, int] = {}
        self._groups: dict[int, array[int]] = {}
        self._times = array("d")

    def add(self, entry: Entry, digest: int, row: int) -> None:
        """Take the next entry into account; rows are numbered from 0 without a gap."""
        at = entry.created_at if isinstance(entry, Observation) else 0.0
        self._times.append(at)
        first = self._first.get(digest)
        if first is None:
            self._first[digest] = row
        elif abs(at - self._times[first]) <= _SAME_MOMENT:
            self._groups.setdefault(first, array("Q")).append(row)
        else:
            self._first[digest] = row

    def findings(self, store: MemoryStore, ids: list[str]) -> Iterator[Finding]:
        """Give the groups; the first of each takes the labels of the others over."""
        for first, rows in self._groups.items():
            group = (ids[first], *(ids[row] for row in rows))
            entries = [one for id_ in group if (one := _entry(store, id_)) is not None]
            if len(entries) < 2:
                continue
            kept, *others = entries
            detail = f"{len(entries)} times: {shortened([kept.content])}"
            yield Finding(
                "DUPLICATE",
                tuple(one.id for one in entries),
                detail,
                amended=united(kept, others),
                forgotten=tuple(one.id for one in others),
            )


def united(kept: Entry, others: list[Entry]) -> Entry | None:
    """Give an entry with the labels of others that say the same; None when nothing is new."""
    concepts = dict.fromkeys(one for entry in (kept, *others) for one in entry.concepts)
    files = dict.fromkeys(one for entry in (kept, *others) for one in entry.files)
    repeats = sum(entry.repeats for entry in (kept, *others))
    both = kept._replace(concepts=tuple(concepts), files=tuple(files), repeats=repeats)
    return None if both == kept else both


def _entry(store: MemoryStore, id_: str) -> Entry | None:
    try:
        return store.get(id_)
    except DshloopError:
        return None
