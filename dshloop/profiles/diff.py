"""What differs between two profiles, or two patch files: rows added, removed, moved, changed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path as FilePath
from typing import Any, Literal

from dshloop.dsh_yaml import Value, to_json
from dshloop.profiles.compose import Composition
from dshloop.profiles.explain_text import shown_value
from dshloop.profiles.layers import Layer, Place
from dshloop.profiles.masking import masked
from dshloop.profiles.patch import UNDEFINED, Row, children_of
from dshloop.profiles.row_names import file_url, id_text
from dshloop.splice import same

Path = tuple[str | int, ...]
State = Literal["added", "removed", "changed", "moved"]


@dataclass(frozen=True, slots=True)
class KeyChange:
    """One value of a row that differs; UNDEFINED where one side has nothing."""

    path: Path
    before: Value
    after: Value

    def as_json(self) -> dict[str, Any]:
        """Give the value for --json."""
        told: dict[str, Any] = {"key": list(self.path)}
        for name, value in (("before", self.before), ("after", self.after)):
            if value is not UNDEFINED:
                told[name] = to_json(value)
        return told


@dataclass(frozen=True, slots=True)
class RowChange:
    """One row that differs. `groups` are the ids around it, `before_groups` those it was in."""

    row: str
    state: State
    groups: tuple[str, ...]
    before_groups: tuple[str, ...]
    changes: tuple[KeyChange, ...] = ()
    moved: bool = False
    place: Place | None = None

    def as_json(self) -> dict[str, Any]:
        """Give the value for --json."""
        return {
            "row": self.row,
            "state": self.state,
            "moved": self.moved,
            "groups": list(self.groups),
            "before_groups": list(self.before_groups),
            "changes": [change.as_json() for change in self.changes],
            **({} if self.place is None else self.place.as_json()),
        }


@dataclass(frozen=True, slots=True)
class Item:
    """One row, or one patch of a file, as a thing to compare."""

    key: str
    value: Row
    groups: tuple[str, ...]
    place: Place | None


@dataclass(frozen=True, slots=True)
class Difference:
    """All rows that differ, in the order of the second side, removed ones last."""

    one: str
    other: str
    rows: tuple[RowChange, ...]

    def as_json(self) -> dict[str, Any]:
        """Give the value for --json."""
        states: Sequence[State] = ("added", "removed", "changed", "moved")
        return {
            "a": self.one,
            "b": self.other,
            "equal": not self.rows,
            **{state: sum(row.state == state for row in self.rows) for state in states},
            "rows": [row.as_json() for row in self.rows],
        }

    def as_text(self) -> str:
        """Give the lines people see; "" when nothing differs."""
        return "".join(f"{line}\n" for row in self.rows for line in _lines(row))


def compare(
    one: tuple[str, Sequence[Item]], other: tuple[str, Sequence[Item]], *, reveal: bool = False
) -> Difference:
    """Compare two named lists of items; secrets are masked unless `reveal`."""
    (one_name, before), (other_name, after) = one, other
    old, new = {item.key: item for item in before}, {item.key: item for item in after}
    moved = _moved(old, new)
    rows: list[RowChange] = []
    for key, item in new.items():
        change = _changed(old.get(key), item, key in moved)
        if change is not None:
            rows.append(change)
    rows += [
        RowChange(key, "removed", (), item.groups, _whole(item, removed=True), place=item.place)
        for key, item in old.items()
        if key not in new
    ]
    return Difference(one_name, other_name, tuple(rows if reveal else map(_hidden, rows)))


def items_of_composition(composition: Composition, folder: FilePath | None = None) -> list[Item]:
    """Give the rows of a composition; one without id is told by its name and number.

    Names of modules in `folder`, the profile's own, are told from there on: a copy of a profile
    has the same rows.
    """
    own = None if folder is None else f"{file_url(str(folder))}/"
    seen: dict[str, int] = {}
    items = []
    for placed in composition.walk():
        groups = tuple(id_text(group.get("id")) for group in placed.groups)
        row = _from_own_folder(_alone(placed.row), own)
        key = _numbered(_name(row), seen)
        items.append(Item(key, row, groups, composition.inserted(placed.row)))
    return items


def _from_own_folder(row: Row, own: str | None) -> Row:
    name = row.get("name")
    if own is None or not isinstance(name, str) or not name.startswith(own):
        return row
    return {**row, "name": f"./{name.removeprefix(own)}"}


def items_of_layer(layer: Layer) -> list[Item]:
    """Give what one layer says: the rows it inserts, and its patches by the row they change."""
    seen: dict[str, int] = {}
    items: list[Item] = []
    for file in layer.files:
        for patch in file.patches:
            if not isinstance(patch, dict):
                continue
            place = layer.place(file, patch)
            if patch.get("insert") is None:
                key = _numbered(f"patch of {id_text(patch.get('id'))}", seen)
                items.append(Item(key, patch, (), place))
                continue
            into = patch.get("id")
            groups = () if into is None else (id_text(into),)
            for row, around in _rows(patch["insert"], groups):
                key = _numbered(_name(row), seen)
                items.append(Item(key, _alone(row), around, layer.place(file, row)))
    return items


def _rows(rows: Value, groups: tuple[str, ...]) -> Iterator[tuple[Row, tuple[str, ...]]]:
    for row in rows if isinstance(rows, list) else ():
        if isinstance(row, dict):
            yield row, groups
            yield from _rows(children_of(row), (*groups, id_text(row.get("id"))))


def _name(row: Row) -> str:
    if row.get("id") is not None:
        return id_text(row["id"])
    return f"row of {row.get('name')}"


def _numbered(key: str, seen: dict[str, int]) -> str:
    seen[key] = seen.get(key, 0) + 1
    return key if seen[key] == 1 else f"{key} ({seen[key]})"


def _alone(row: Row) -> Row:
    """Give a row without the rows in it, which are compared for themselves."""
    return {key: value for key, value in row.items() if key != "config"} if _group(row) else row


def _group(row: Row) -> bool:
    return children_of(row) is not None


def _changed(old: Item | None, new: Item, moved: bool) -> RowChange | None:
    if old is None:
        return RowChange(
            new.key, "added", new.groups, (), _whole(new, removed=False), place=new.place
        )
    changes = tuple(differing(old.value, new.value))
    if not changes and not moved:
        return None
    state: State = "changed" if changes else "moved"
    return RowChange(new.key, state, new.groups, old.groups, changes, moved, new.place)


def _whole(item: Item, *, removed: bool) -> tuple[KeyChange, ...]:
    sides = ((value, UNDEFINED) if removed else (UNDEFINED, value) for value in item.value.values())
    return tuple(KeyChange((key,), *side) for key, side in zip(item.value, sides, strict=True))


def differing(one: Value, other: Value, path: Path = ()) -> Iterator[KeyChange]:
    """Yield the deepest values that differ; lists of one length item by item, else whole."""
    if isinstance(one, dict) and isinstance(other, dict):
        for key in dict.fromkeys([*one, *other]):
            before, after = one.get(key, UNDEFINED), other.get(key, UNDEFINED)
            yield from differing(before, after, (*path, key))
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for index, (before, after) in enumerate(zip(one, other, strict=True)):
            yield from differing(before, after, (*path, index))
    elif one is not other and (UNDEFINED in (one, other) or not same(one, other)):
        yield KeyChange(path, one, other)


def _moved(old: Mapping[str, Item], new: Mapping[str, Item]) -> set[str]:
    """Find rows in another group, or in another order among the rows that stayed beside them."""
    common = [key for key in new if key in old]
    moved = {key for key in common if old[key].groups != new[key].groups}
    for groups in {new[key].groups for key in common}:
        after = [key for key in common if key not in moved and new[key].groups == groups]
        before = [key for key in old if key in set(after)]
        moved |= set(after) - set(_longest_common(before, after))
    return moved


def _longest_common(before: Sequence[str], after: Sequence[str]) -> list[str]:
    """Give the most keys that stand in one order on both sides (patience; n log n)."""
    from bisect import bisect_left

    order = {key: number for number, key in enumerate(before)}
    tails: list[int] = []
    ends: list[str] = []
    previous: dict[str, str | None] = {}
    for key in after:
        at = bisect_left(tails, order[key])
        previous[key] = ends[at - 1] if at else None
        if at == len(tails):
            tails.append(order[key])
            ends.append(key)
        else:
            tails[at], ends[at] = order[key], key
    kept: list[str] = []
    last = ends[-1] if ends else None
    while last is not None:
        kept.append(last)
        last = previous[last]
    return kept


def _hidden(row: RowChange) -> RowChange:
    from dataclasses import replace

    changes = tuple(
        KeyChange(change.path, _mask(change.before, change.path), _mask(change.after, change.path))
        for change in row.changes
    )
    return replace(row, changes=changes)


def _mask(value: Value, path: Path) -> Value:
    return value if value is UNDEFINED else masked(value, path)


def _lines(row: RowChange) -> Iterator[str]:
    mark = {"added": "+", "removed": "-", "changed": "~", "moved": ">"}[row.state]
    inside = f"  in {' > '.join(row.groups or row.before_groups)}"
    yield f"{mark} {row.row}{inside if row.groups or row.before_groups else ''}"
    if row.moved:
        before, after = (
            " > ".join(one) or "the top level" for one in (row.before_groups, row.groups)
        )
        yield f"    moved from {before} to {after}" if before != after else "    moved in its list"
    for change in row.changes:
        key = ".".join(map(str, change.path))
        if row.state in ("added", "removed"):
            value = change.after if row.state == "added" else change.before
            yield f"    {key}: {shown_value(value)}"
        else:
            yield f"    {key}: {shown_value(change.before)} -> {shown_value(change.after)}"
