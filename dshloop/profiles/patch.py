"""The patch language: layers applied in order to an empty list of rows (dsh-profiles 5, 7)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from dshloop.dsh_yaml import JsExpr, Value, identity, set_key, stringify, truthy
from dshloop.errors import PatchInvalidError
from dshloop.profiles.layers import Layer, PatchFile, Place
from dshloop.profiles.row_names import resolve_name

Row = dict[str, Value]
SkipReason = Literal["id-missing", "row-missing", "not-a-group", "name-mismatch"]
_NEVER_ASSIGNED = frozenset(("id", "insert", "name"))


class Undefined:
    """What JavaScript reads from a key that is not there."""

    def __bool__(self) -> bool:
        return False

    def __repr__(self) -> str:
        return "undefined"


UNDEFINED = Undefined()


@dataclass(frozen=True, slots=True, eq=False)
class Patch:
    """One item of a layer's file; `number` counts from 1 in that file."""

    layer: Layer
    file: PatchFile
    number: int

    @property
    def place(self) -> Place:
        """Where the item stands."""
        return self.layer.place(self.file, self.file.patches, self.number - 1)

    def place_of(self, key: str) -> Place:
        """Where the item says `key`."""
        item = self.file.patches[self.number - 1]
        return self.layer.place(self.file, item, key) if isinstance(item, dict) else self.place


@dataclass(frozen=True, slots=True, eq=False)
class Skip:
    """A patch that did nothing, with DSH's warning."""

    patch: Patch
    reason: SkipReason
    message: str
    row: Row | None = None
    """The row it would have changed, for a name mismatch and for what is no group."""


@dataclass(frozen=True, slots=True, eq=False)
class Assignment:
    """One key of a row set by a patch; `before` is UNDEFINED for a new key."""

    patch: Patch
    row: Row
    key: str
    before: Value
    after: Value
    lost: tuple[str, ...] = ()
    """Keys of the map that was there which the new value no longer has."""

    @property
    def place(self) -> Place:
        """Where the value was written."""
        return self.patch.place_of(self.key)


@dataclass(frozen=True, slots=True, eq=False)
class Insertion:
    """Rows put at the end of the top level (`parent` None) or of a group."""

    patch: Patch
    parent: Row | None
    elements: tuple[Value, ...]
    into: list[Value]


@dataclass(slots=True, eq=False)
class Copies:
    """The values of one file, copied once; what an alias shares stays shared."""

    layer: Layer
    file: PatchFile
    made: dict[int, tuple[Value, Value]] = field(default_factory=dict)
    """id of the original -> original and copy"""

    def copy(self, value: Value) -> Value:
        """Give the copy of a value; scalars are their own."""
        kind = type(value)
        if kind is not dict and kind is not list:
            return value
        found = self.made.get(id(value))
        if found is not None:
            return found[1]
        new: Value = kind()
        self.made[id(value)] = value, new
        if kind is dict:
            for key, item in value.items():
                new[key] = self.copy(item) if type(item) in (dict, list) else item
        else:
            new += [self.copy(item) if type(item) in (dict, list) else item for item in value]
        return new


class Composer:
    """Rows while layers are applied to them, and a record of all that happened."""

    def __init__(self) -> None:
        self.rows: list[Value] = []
        self.skips: list[Skip] = []
        self.assignments: list[Assignment] = []
        self.insertions: list[Insertion] = []
        self.copies: list[Copies] = []
        self._index: dict[tuple[str, Value], Row] = {}
        self._prototypes: dict[int, Value] = {}

    def apply(self, layer: Layer) -> None:
        """Apply the patches of a layer; PATCH_INVALID for an `insert` that is no list of rows."""
        items = [pair for file in layer.files for pair in self._copied(layer, file)]
        for patch, item in items:
            _check_insert(patch, item)
        for patch, item in items:
            self._apply(patch, {} if isinstance(item, JsExpr) else item)

    def _copied(self, layer: Layer, file: PatchFile) -> list[tuple[Patch, Value]]:
        copies = Copies(layer, file)
        self.copies.append(copies)
        items = enumerate(file.patches, start=1)
        return [self._copy(copies, Patch(layer, file, number), item) for number, item in items]

    @staticmethod
    def _copy(copies: Copies, patch: Patch, item: Value) -> tuple[Patch, Value]:
        try:
            return patch, copies.copy(item)
        except RecursionError:
            raise _invalid(patch, "its aliases nest it too deep") from None

    def _apply(self, patch: Patch, item: Row) -> None:
        insert = item.get("insert")
        row_id = item.get("id")
        if insert is not None:
            self._insert(patch, row_id, insert)
        elif not truthy(row_id):
            self._skip(patch, "id-missing", "patch: id is required for non-insert patches")
        else:
            self._change(patch, item, row_id)

    def known(self, row_id: Value) -> Row | None:
        """Give the row that a patch with this id changes."""
        return self._index.get(identity(row_id))

    def _skip(self, patch: Patch, reason: SkipReason, message: str, row: Row | None = None) -> None:
        self.skips.append(Skip(patch, reason, message, row))

    def _insert(self, patch: Patch, row_id: Value, elements: list[Value]) -> None:
        parent: Row | None = None
        target = self.rows
        if truthy(row_id):
            parent = self.known(row_id)
            if parent is None:
                message = f"patch insert: entry {stringify(row_id)} not found"
                self._skip(patch, "row-missing", message)
                return
            if not truthy(self._get(parent, "group")):
                message = f"patch insert: entry {stringify(row_id)} is not a group"
                self._skip(patch, "not-a-group", message, parent)
                return
            target = self._children(patch, parent)
        added = tuple(elements)
        target += added
        self.insertions.append(Insertion(patch, parent, added, target))
        self._enter(patch, elements)

    def _children(self, patch: Patch, group: Row) -> list[Value]:
        config = self._get(group, "config")
        if isinstance(config, list):
            return config
        children: list[Value] = []
        self._assign(patch, group, "config", children)
        return children

    def _enter(self, patch: Patch, elements: list[Value]) -> None:
        """Make the rows of an inserted list, and of its groups, known by their ids."""
        open_lists: dict[int, None] = {id(elements): None}
        pending: list[tuple[list[Value], Iterator[Value]]] = [(elements, iter(elements))]
        while pending:
            current, rest = pending[-1]
            row = next(rest, UNDEFINED)
            if row is UNDEFINED:
                pending.pop()
                open_lists.pop(id(current), None)
                continue
            if not isinstance(row, dict):
                continue
            row_id = row.get("id")
            if truthy(row_id):
                self._index[identity(row_id)] = row
            children = children_of(row)
            if children is None:
                continue
            if id(children) in open_lists:
                raise _invalid(patch, "a group contains itself through an alias")
            open_lists[id(children)] = None
            pending.append((children, iter(children)))

    def _change(self, patch: Patch, item: Row, row_id: Value) -> None:
        row = self.known(row_id)
        if row is None:
            self._skip(patch, "row-missing", f"patch: entry {stringify(row_id)} not found")
            return
        name = item.get("name")
        actual = self._get(row, "name")
        if truthy(name) and (actual is UNDEFINED or identity(name) != identity(actual)):
            expected = "undefined" if actual is UNDEFINED else stringify(actual)
            message = (
                f"patch: name mismatch for {stringify(row_id)} "
                f"(expected {expected}, got {stringify(name)}), skipping"
            )
            self._skip(patch, "name-mismatch", message, row)
            return
        for key, value in item.items():
            if key not in _NEVER_ASSIGNED:
                self._assign(patch, row, key, value)

    def _assign(self, patch: Patch, row: Row, key: str, value: Value) -> None:
        before = row.get(key, UNDEFINED)
        if key == "__proto__" and before is UNDEFINED:
            self._set_prototype(row, value)
            return
        lost: tuple[str, ...] = ()
        if isinstance(before, dict):
            kept = value if isinstance(value, dict) else {}
            lost = tuple(old for old in before if old not in kept)
        self.assignments.append(Assignment(patch, row, key, before, value, lost))
        set_key(row, key, value)

    def _set_prototype(self, row: Row, value: Value) -> None:
        """Keep what an assigned ``__proto__`` makes visible, as DSH would see it."""
        if isinstance(value, dict):
            self._prototypes[id(row)] = value
        elif isinstance(value, JsExpr):
            self._prototypes[id(row)] = value.as_json()
        elif value is None or isinstance(value, list):
            self._prototypes.pop(id(row), None)

    def expressions(self) -> dict[int, Value]:
        """Give what rows inherit as ``__jsExpr``, by their ids: a dump shows it instead."""
        parents = self._prototypes.items()
        found = ((row, self._get(parent, "__jsExpr")) for row, parent in parents)
        return {row: value for row, value in found if value is not UNDEFINED}

    def _get(self, row: Row, key: str) -> Value:
        seen: set[int] = set()
        while key not in row:
            seen.add(id(row))
            parent = self._prototypes.get(id(row))
            if parent is None or id(parent) in seen:
                return UNDEFINED
            row = parent
        return row[key]


def children_of(row: Row) -> list[Value] | None:
    """Give the rows of a group: what is marked as one and has a list."""
    children = row.get("config")
    return children if isinstance(children, list) and truthy(row.get("group")) else None


def _check_insert(patch: Patch, item: Value) -> None:
    """Refuse an `insert` that no DSH since 0.1.2 reads, and resolve relative row names."""
    insert = item.get("insert") if isinstance(item, dict) else None
    if insert is None:
        return
    if not isinstance(insert, list):
        raise _invalid(patch, "insert must be a list of rows")
    seen: set[int] = set()
    pending = [insert]
    while pending:
        rows = pending.pop()
        if id(rows) in seen:
            continue
        seen.add(id(rows))
        for row in rows:
            if row is None:
                raise _invalid(patch, "insert holds an empty row")
            if isinstance(row, dict):
                resolve_name(row, patch.file.path)
                pending += [children for children in (children_of(row),) if children is not None]


def _invalid(patch: Patch, what: str) -> PatchInvalidError:
    place = patch.place_of("insert")
    file = place.file or place.label
    return PatchInvalidError(
        f"entry {patch.number} in {file}: {what}",
        hint="Write insert as a list of mappings, each with an id and a name.",
        file=file,
        line=place.line,
        column=place.column,
        entry=patch.number,
    )
