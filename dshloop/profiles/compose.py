"""Compose layers to rows, and say for every row and key who set it (design 3)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

from dshloop.dsh_yaml import Value, identity, stringify, to_json
from dshloop.dsh_yaml.extent import check_writable
from dshloop.errors import DshYamlUnwritableError
from dshloop.profiles.dump import attribute, dump_rows
from dshloop.profiles.layers import Layer, PatchFile, Place
from dshloop.profiles.patch import (
    Assignment,
    Composer,
    Insertion,
    Row,
    Skip,
    children_of,
)


class Warned(NamedTuple):
    """One line that DSH prints on stderr: the label of the layer, and what it says."""

    layer: str
    message: str


class Placed(NamedTuple):
    """A row where it stands in the tree; `groups` are the rows around it, outermost first."""

    row: Row
    groups: tuple[Row, ...]


@dataclass(frozen=True)
class Composition:
    """The rows that a list of layers composes to, and how each of them came to be.

    Nobody changes `rows`. All lookups take the row objects themselves, since ids may be missing
    or there twice; `find` gives the rows of an id.
    """

    layers: tuple[Layer, ...]
    rows: list[Value]
    skips: tuple[Skip, ...]
    assignments: tuple[Assignment, ...]
    insertions: tuple[Insertion, ...]
    _composer: Composer = field(repr=False)

    @property
    def warnings(self) -> list[Warned]:
        """DSH's warnings in order."""
        return [Warned(skip.patch.layer.label, skip.message) for skip in self.skips]

    def walk(self) -> Iterator[Placed]:
        """Yield each row of the tree, groups before their rows; a shared row at each place."""
        yield from _walk(self.rows, ())

    def find(self, row_id: Value) -> list[Placed]:
        """Give the rows with this id (same type and value), in the order of the tree.

        With more than one the last one inserted takes the patches: `target` tells which.
        """
        wanted = identity(row_id)
        return [placed for placed in self.walk() if identity(placed.row.get("id")) == wanted]

    def target(self, row_id: Value) -> Row | None:
        """Give the row that a further patch with this id would change."""
        return self._composer.known(row_id)

    @property
    def expressions(self) -> dict[int, Value]:
        """What rows inherit as ``__jsExpr``, by their Python ids; see `Composer.expressions`."""
        return self._composer.expressions()

    def inserted(self, row: Row) -> Place | None:
        """Say which layer brought the row, and where it stands there."""
        return self._place(row)

    def history(self, row: Row, key: str | None = None) -> list[Assignment]:
        """Give what patches assigned to a row (to `key` only), oldest first."""
        changes = self._changes.get(id(row), [])
        return [change for change in changes if key is None or change.key == key]

    def origin(self, row: Row, path: Sequence[str | int] = ()) -> Place | None:
        """Say who set the value at a path in a row: ``("config", "options", 0)``.

        The last patch that assigned the row's key, else the layer that brought the row; in both
        cases where that very value is written. None for a path that leads nowhere.
        """
        if not path:
            return self.inserted(row)
        container: Value = row
        for step in path[:-1]:
            container = _member(container, step)
        last = path[-1]
        if not _has(container, last):
            return None
        if container is row:
            changes = self.history(row, str(last))
            if changes:
                return changes[-1].place
        return self._place(container, last) or self.origin(row, path[:-1])

    def place(self, container: Value, key: str | int | None = None) -> Place | None:
        """Say where a map or list that some layer brought stands, or its entry `key`."""
        return self._place(container, key)

    def source(self, container: Value) -> tuple[Layer, PatchFile, Value] | None:
        """Give layer, file and original of a map or list that some layer brought."""
        return self._sources.get(id(container))

    def detached(self) -> list[Assignment]:
        """Give assignments to rows that are no longer in the tree, so that nobody sees them."""
        seen = {id(placed.row) for placed in self.walk()}
        return [change for change in self.assignments if id(change.row) not in seen]

    def duplicates(self) -> dict[str, list[Placed]]:
        """Give the rows of each id that more than one row has, by the id's JSON."""
        found: dict[tuple[str, Value], dict[int, Placed]] = {}
        for placed in self.walk():
            row_id = placed.row.get("id")
            if row_id is not None:
                found.setdefault(identity(row_id), {})[id(placed.row)] = placed
        rows = [list(placed.values()) for placed in found.values() if len(placed) > 1]
        return {stringify(same[0].row["id"]): same for same in rows}

    def _place(self, container: Value, key: str | int | None = None) -> Place | None:
        source = self._sources.get(id(container))
        if source is None:
            return None
        layer, file, original = source
        return layer.place(file, original, key)

    @cached_property
    def _changes(self) -> dict[int, list[Assignment]]:
        changes: dict[int, list[Assignment]] = {}
        for change in self.assignments:
            changes.setdefault(id(change.row), []).append(change)
        return changes

    @cached_property
    def _sources(self) -> dict[int, tuple[Layer, PatchFile, Value]]:
        """id of a map or list of the composition -> where it was copied from."""
        return {
            id(copy): (copies.layer, copies.file, original)
            for copies in self._composer.copies
            for original, copy in copies.made.values()
        }


def compose(layers: Sequence[Layer]) -> Composition:
    """Apply layers, lowest first, to an empty list (dsh-profiles 5).

    DSH 0.1.2 and 0.2.1 compose alike; they differ only in which bundles they skip. Raises
    PATCH_INVALID for an `insert` that is no list of rows, or a group that contains itself.
    """
    composer = Composer()
    for layer in layers:
        composer.apply(layer)
    return Composition(
        tuple(layers),
        composer.rows,
        tuple(composer.skips),
        tuple(composer.assignments),
        tuple(composer.insertions),
        composer,
    )


def dump_text(composition: Composition) -> str:
    """Give what ``dsh --dump-config`` prints on stdout, byte for byte (dsh-profiles 9).

    Raises DSH_YAML_UNWRITABLE, with its place, when a row contains itself.
    """
    _require_writable(composition)
    shown = composition.expressions
    return dump_rows(composition.rows, attribute(composition.layers), shown)


def compose_json(composition: Composition) -> dict[str, Any]:
    """Give ``{"entries": [...], "warnings": [{"layer", "message"}]}``.

    Raises DSH_YAML_UNWRITABLE, with its place, when a row contains itself.
    """
    _require_writable(composition)
    warnings = [warned._asdict() for warned in composition.warnings]
    return {"entries": to_json(composition.rows), "warnings": warnings}


def _require_writable(composition: Composition) -> None:
    """Raise DSH_YAML_UNWRITABLE with the place of the row, or of the value a patch gave it."""
    if _writable(composition.rows):
        return
    for row in composition.rows:
        try:
            check_writable(row)
        except DshYamlUnwritableError as fault:
            changes = composition.history(row)
            culprits = [change.place for change in changes if not _writable(change.after)]
            place = culprits[-1] if culprits else composition.inserted(row)
            if place is None or place.file is None:
                raise
            said = f"{place.file}:{place.line}:{place.column}: {fault.message}"
            details = place.as_json()
            del details["label"]
            raise DshYamlUnwritableError(said, hint=fault.hint, **details) from None
    check_writable(composition.rows)


def _writable(value: Value) -> bool:
    try:
        check_writable(value)
    except DshYamlUnwritableError:
        return False
    return True


def _walk(rows: list[Value], groups: tuple[Row, ...]) -> Iterator[Placed]:
    for row in rows:
        if not isinstance(row, dict):
            continue
        yield Placed(row, groups)
        children = children_of(row)
        if children is not None and not any(row is group for group in groups):
            yield from _walk(children, (*groups, row))


def _has(container: Value, step: str | int) -> bool:
    if isinstance(container, dict):
        return step in container
    return isinstance(container, list) and isinstance(step, int) and 0 <= step < len(container)


def _member(container: Value, step: str | int) -> Value:
    return container[step] if _has(container, step) else None
