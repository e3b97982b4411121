"""A composition with one of its layers open for edits: where things stand, who overrides them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from dshloop.dsh_yaml import Value, truthy
from dshloop.dsh_yaml.values import text_of
from dshloop.errors import EditRefusedError
from dshloop.profiles.compose import Composition, compose
from dshloop.profiles.edits.target import Target, open_target, with_target
from dshloop.profiles.layers import Layer, Place
from dshloop.profiles.layout import Profile
from dshloop.profiles.patch import UNDEFINED, Assignment, Row, children_of
from dshloop.profiles.row_path import RowPath, parse_row_path, row_missing


class Spot(NamedTuple):
    """Where the open layer says a key of a row: a path in its patches, and the value there.

    `patch` is the number of the patch item, 0 where the row itself is written.
    """

    path: tuple[str | int, ...]
    value: Value
    patch: int = 0


@dataclass(frozen=True)
class Desk:
    """The layers of a profile, lowest first, of which number `at` is open as `target`."""

    target: Target
    layers: tuple[Layer, ...]
    at: int

    @cached_property
    def composition(self) -> Composition:
        """What all layers compose to now."""
        return compose(self.layers)

    @cached_property
    def below(self) -> Composition:
        """What the layers below the open one compose to."""
        return compose(self.layers[: self.at])

    @cached_property
    def through(self) -> Composition:
        """What the layers up to the open one compose to."""
        return compose(self.layers[: self.at + 1])

    @property
    def higher(self) -> tuple[Layer, ...]:
        """The layers that apply after the open one."""
        return self.layers[self.at + 1 :]

    def parse(self, path: str) -> RowPath:
        """Read ``ROW.key``; ROW_PATH_INVALID, ROW_NOT_FOUND."""
        return parse_row_path(path, self._ids())

    def row(self, row_id: Value) -> Row:
        """Give the row of an id: the one that patches reach, else the first; ROW_NOT_FOUND."""
        found = self.composition.find(row_id)
        if not found:
            raise row_missing(text_of(row_id), map(text_of, self._ids()))
        reached = self.composition.target(row_id)
        return next((placed.row for placed in found if placed.row is reached), found[0].row)

    def inserts(self, row: Row) -> bool:
        """Whether the open layer brought the row."""
        source = self.composition.source(row)
        return source is not None and source[0] is self.target.layer

    def spots(self, row: Row, key: str) -> list[Spot]:
        """Give where the open layer says a key of a row, the one that counts last.

        A row of its own comes first, the value UNDEFINED where it doesn't say the key.
        """
        found: list[Spot] = []
        if self.inserts(row):
            path = self.path_of(row)
            original = self._source(row)
            found.append(Spot((*path, key), original.get(key, UNDEFINED)))
        patches = self.target.layer.patches
        for change in self.composition.history(row, key):
            if change.patch.layer is self.target.layer:
                number = change.patch.number
                found.append(Spot((number - 1, key), patches[number - 1][key], number))
        return found

    def overriding(self, row: Row, key: str) -> list[Assignment]:
        """Give what higher layers assign to a key of a row."""
        return [
            change
            for change in self.composition.history(row, key)
            if any(change.patch.layer is layer for layer in self.higher)
        ]

    def effective(self, row: Row, key: str) -> Value:
        """Give the value of a key once the open layer is applied, UNDEFINED without one."""
        if not self.overriding(row, key):
            return row.get(key, UNDEFINED)
        return self._known(self.through, row).get(key, UNDEFINED)

    def beneath(self, row: Row, key: str) -> Value:
        """Give the value of a key that the layers below leave, UNDEFINED without one."""
        if self.inserts(row):
            return UNDEFINED
        return self._known(self.below, row).get(key, UNDEFINED)

    def require_reachable(self, row: Row) -> None:
        """Refuse a row that a patch in the open layer can't change, saying why."""
        row_id = row.get("id")
        name = text_of(row_id)
        if self.composition.target(row_id) is not row:
            raise EditRefusedError(
                f"no patch reaches row {name}: its group's config was replaced, or another row "
                "has its id",
                row=name,
            )
        brought = self.composition.source(row)
        if brought is not None and any(brought[0] is layer for layer in self.higher):
            raise EditRefusedError(
                f"row {name} comes from {brought[0].label}, which applies after this layer",
                hint=f"Edit that layer: {hint_for(brought[0])}.",
                row=name,
                layer=brought[0].label,
            )

    def path_of(self, row: Row) -> tuple[str | int, ...]:
        """Give where the open layer writes a row of its own, as a path in its patches."""
        path = _find(self.target.layer.patches, self._source(row))
        if path is None:
            raise EditRefusedError("the row is made by an alias and can't be edited alone")
        return path

    def origin(self, row: Row, key: str) -> Place | None:
        """Say who set a key of a row last."""
        return self.composition.origin(row, (key,))

    def _source(self, row: Row) -> Row:
        source = self.composition.source(row)
        assert source is not None
        original: Row = source[2]
        return original

    def _ids(self) -> list[Value]:
        ids = (placed.row.get("id") for placed in self.composition.walk())
        return [row_id for row_id in ids if truthy(row_id) and not isinstance(row_id, dict | list)]

    @staticmethod
    def _known(composition: Composition, row: Row) -> Row:
        return composition.target(row.get("id")) or {}


def open_desk(profile: Profile, layers: Sequence[Layer], layer: str = "profile") -> Desk:
    """Open a layer for edits: ``profile``, ``home`` or ``preset:ID``; errors of `open_target`."""
    target = open_target(profile, layers, layer)
    return Desk(target, *with_target(layers, target))


def hint_for(layer: Layer) -> str:
    """Say which option names a layer, or that none does."""
    if layer.kind in ("profile", "home"):
        return f"--layer {layer.kind}"
    return f"{layer.label} (by hand)"


def is_group(row: Row) -> bool:
    """Whether a row's config is a list of rows."""
    return children_of(row) is not None


def _find(patches: Sequence[Value], wanted: Row) -> tuple[str | int, ...] | None:
    """Find an inserted row by its identity; the first place in the order of the text."""
    for number, item in enumerate(patches):
        rows = item.get("insert") if isinstance(item, dict) else None
        found = _find_in(rows, wanted) if isinstance(rows, list) else None
        if found is not None:
            return (number, "insert", *found)
    return None


def _find_in(rows: list[Value], wanted: Row) -> tuple[str | int, ...] | None:
    for number, row in enumerate(rows):
        if row is wanted:
            return (number,)
        children = children_of(row) if isinstance(row, dict) else None
        found = _find_in(children, wanted) if children else None
        if found is not None:
            return (number, "config", *found)
    return None
