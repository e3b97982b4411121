"""What came of an import or export: what was carried, what was not and why."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from dshloop.memory.answers import Document, Put
from dshloop.memory.interchange.records import kind_of

MOST_PLACES = 5
"""So many places are told of each reason."""


class Item(NamedTuple):
    """A thing read from a file: its record, or the ``fault`` for which there is none; ``place`` is
    a line number, a file or an id."""

    record: Any
    place: int | str
    fault: str = ""


@dataclass(slots=True)
class Report:
    """Counts of one run.

    ``outcomes`` counts what became of records (see `Put`), by kind; ``lost`` what was not carried,
    by reason, with the first places; ``redacted`` secrets taken out.
    """

    outcomes: Counter[tuple[str, str]] = field(default_factory=Counter)
    lost: Counter[str] = field(default_factory=Counter)
    places: dict[str, list[int | str]] = field(default_factory=dict)
    redacted: int = 0
    notes: list[str] = field(default_factory=list)

    def put(self, done: Put) -> None:
        """Count what came of a record."""
        self.outcomes[done.outcome, kind_of(done.record)] += 1
        if done.outcome in _LEFT:
            one = done.record
            place = one.key if isinstance(one, Document) else one.id
            self.lose(_LEFT[done.outcome], place)

    def lose(self, reason: str, place: int | str, count: int = 1) -> None:
        """Count something that was not carried."""
        self.lost[reason] += count
        known = self.places.setdefault(reason, [])
        if len(known) < MOST_PLACES and place not in known:
            known.append(place)

    def total(self, outcome: str) -> int:
        """Count the records with an outcome."""
        return sum(count for (what, _), count in self.outcomes.items() if what == outcome)

    @property
    def changed(self) -> int:
        """How many records were added or changed."""
        return sum(self.total(outcome) for outcome in ("added", "replaced", "merged"))

    def as_json(self) -> dict[str, Any]:
        """Give the value that ``--json`` shows."""
        names = ("added", "replaced", "merged", "same", "kept", "forgotten")
        return {
            **{name: self._kinds(name) for name in names},
            "not_carried": [
                {"reason": reason, "count": count, "places": self.places[reason]}
                for reason, count in self.lost.most_common()
            ],
            "redacted": self.redacted,
        }

    def _kinds(self, outcome: str) -> dict[str, int]:
        kinds = ("session", "memory", "observation", "document")
        return {kind: self.outcomes[outcome, kind] for kind in kinds}


_LEFT = {
    "kept": "the store has another one with this id (--on-conflict)",
    "unplaced": "the store has no place for it",
    "forgotten": "it was forgotten in this store (--on-conflict overwrite brings it back)",
}
