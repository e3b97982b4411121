"""Values of a composition as they were when a patch was applied.

Rows and lists are shared and changed in place by later patches; here those are taken back.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeAlias

from dshloop.dsh_yaml import Value
from dshloop.profiles.compose import Composition
from dshloop.profiles.patch import UNDEFINED, Assignment, Patch, Row

Moment: TypeAlias = tuple[int, int, float]
"""Number of the layer, of the file in it, and of the patch there (less a half: before it)."""


@dataclass(frozen=True)
class Past:
    """The past of one composition; nothing that is given here is part of it any more."""

    composition: Composition

    def before(self, change: Assignment) -> Value:
        """Give what an assignment replaced, UNDEFINED for a key that was new."""
        layer, file, number = self._moment(change.patch)
        return _Rewound(self, (layer, file, number - 0.5)).value(change.before)

    def after(self, change: Assignment) -> Value:
        """Give what a patch assigned, as it was behind that patch."""
        return _Rewound(self, self._moment(change.patch)).value(change.after)

    def inserted(self, row: Row) -> Row:
        """Give a row as the layer that brought it wrote it."""
        source = self.composition.source(row)
        if source is None:
            return dict(row)
        layer, file, original = source
        number = next(n for n, item in enumerate(file.patches, 1) if _holds(item, original))
        moment = self._moment(Patch(layer, file, number))
        rewound: Row = _Rewound(self, moment).value(row)
        return rewound

    @cached_property
    def _layers(self) -> dict[int, int]:
        return {id(layer): number for number, layer in enumerate(self.composition.layers)}

    def _moment(self, patch: Patch) -> Moment:
        files = patch.layer.files
        file = next(number for number, one in enumerate(files) if one is patch.file)
        return self._layers[id(patch.layer)], file, patch.number

    @cached_property
    def assigned(self) -> dict[int, list[tuple[Moment, Assignment]]]:
        """id of a row -> the assignments to it, oldest first."""
        found: dict[int, list[tuple[Moment, Assignment]]] = {}
        for change in self.composition.assignments:
            found.setdefault(id(change.row), []).append((self._moment(change.patch), change))
        return found

    @cached_property
    def grown(self) -> dict[int, list[tuple[Moment, int]]]:
        """id of a list of rows -> how many rows were put at its end, and when."""
        found: dict[int, list[tuple[Moment, int]]] = {}
        for insertion in self.composition.insertions:
            grown = self._moment(insertion.patch), len(insertion.elements)
            found.setdefault(id(insertion.into), []).append(grown)
        return found


@dataclass(slots=True)
class _Rewound:
    past: Past
    moment: Moment
    made: dict[int, Value] = field(default_factory=dict)

    def value(self, value: Value) -> Value:
        if not isinstance(value, dict | list):
            return value
        if id(value) not in self.made:
            new: Value = type(value)()
            self.made[id(value)] = new
            if isinstance(value, dict):
                new.update({key: self.value(item) for key, item in self._row(value).items()})
            else:
                new += [self.value(item) for item in value[: self._length(value)]]
        return self.made[id(value)]

    def _row(self, row: Row) -> Row:
        then = dict(row)
        for moment, change in reversed(self.past.assigned.get(id(row), ())):
            if moment <= self.moment:
                break
            if change.before is UNDEFINED:
                then.pop(change.key, None)
            else:
                then[change.key] = change.before
        return then

    def _length(self, rows: list[Value]) -> int:
        grown = self.past.grown.get(id(rows), ())
        return len(rows) - sum(count for moment, count in grown if moment > self.moment)


def _holds(value: Value, wanted: Value) -> bool:
    """Tell whether a map or list is part of a value."""
    pending, seen = [value], set[int]()
    while pending:
        current = pending.pop()
        if current is wanted:
            return True
        if isinstance(current, dict | list) and id(current) not in seen:
            seen.add(id(current))
            pending += current.values() if isinstance(current, dict) else current
    return False
