"""What several stores answered as one answer: folded by text, with where each comes from. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple
from unicodedata import normalize

from dshloop.memory.answers import Hit
from dshloop.memory.entries import Entry

_SMOOTHING = 60
"""How little first ranks count above later ones (Cormack, Clarke and Büttcher, SIGIR 2009)."""


class Origin(NamedTuple):
    """The store that an entry was taken from, and where else the same text is: ``(store, id)``.

    ``ranks`` are the places it has in what stores found, from 1.
    """

    store: str
    also: tuple[tuple[str, str], ...] = ()
    ranks: Mapping[str, int] = {}

    def as_json(self) -> dict[str, Any]:
        """Give the keys that stand beside those of an entry."""
        others = [{"store": store, "id": id_} for store, id_ in self.also]
        ranks = {"ranks": dict(self.ranks)} if self.ranks else {}
        return {"store": self.store, "also_in": others, **ranks}


def same_text(content: str) -> str:
    """Give what texts have in common that say the same: letters without case, single blanks."""
    return " ".join(normalize("NFKC", content).casefold().split())


def merged_hits(answers: Mapping[str, Sequence[Hit]]) -> list[tuple[Hit, Origin]]:
    """Merge what stores found, by reciprocal rank; of equal ones the earlier store's comes first.

    ``answers`` are the hits of each store, best first.
    """
    entries = {store: [hit.entry for hit in hits] for store, hits in answers.items()}
    groups = _folded(entries)
    merged = []
    for group in groups:
        best = min(group, key=lambda place: place.rank)
        others = tuple((place.store, place.entry.id) for place in group if place is not best)
        ranks = {place.store: place.rank for place in group}
        origin = Origin(best.store, others, ranks)
        merged.append((answers[best.store][best.rank - 1], origin))
    merged.sort(key=lambda found: -worth(found[1].ranks))  # stable: stores in their order
    return merged


def worth(ranks: Mapping[str, int]) -> float:
    """Give what ranks in several stores are worth together."""
    return sum(1 / (_SMOOTHING + rank) for rank in ranks.values())


def merged_entries(
    answers: Mapping[str, Sequence[Entry]], *, oldest_first: bool = False
) -> list[tuple[Entry, Origin]]:
    """Merge what stores list, by creation; of the same text the earlier store's entry stays.

    It stands where the first of those with its text would, which is the same on every page.
    """
    first_of = min if oldest_first else max
    merged = []
    for group in _folded(answers):
        first, *others = group
        also = tuple((place.store, place.entry.id) for place in others)
        at = first_of(place.entry.created_at for place in group)
        merged.append((at, (first.entry, Origin(first.store, also))))
    merged.sort(key=lambda found: found[0], reverse=not oldest_first)
    return [found for _, found in merged]


class _Place(NamedTuple):
    store: str
    rank: int
    entry: Entry


def _folded(answers: Mapping[str, Sequence[Entry]]) -> list[list[_Place]]:
    """Group the entries of different stores that have the same kind and text.

    Two entries of one store stay two: the second of them goes with the second of another.
    """
    groups: dict[tuple[str, str, int], list[_Place]] = {}
    for store, entries in answers.items():
        seen: Counter[tuple[str, str]] = Counter()
        for place in _places(store, entries):
            text = place.entry.kind, same_text(place.entry.content)
            seen[text] += 1
            groups.setdefault((*text, seen[text]), []).append(place)
    return list(groups.values())


def _places(store: str, entries: Sequence[Entry]) -> Iterator[_Place]:
    for rank, entry in enumerate(entries, 1):
        yield _Place(store, rank, entry)
