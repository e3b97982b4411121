"""Edits as data, and the values they are to give, made without touching what was read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from dshloop.dsh_yaml import Value, order_keys, set_key

Path: TypeAlias = Sequence[str | int]


@dataclass(frozen=True, slots=True)
class Edit:
    """One edit; `insert` puts `value` before item `index` of the list at `path`."""

    kind: Literal["set", "unset", "insert"]
    path: Path
    value: Value = None
    index: int = 0

    def of(self, value: Value) -> Value:
        """Give the value that the edit makes of another."""
        if self.kind == "set":
            return with_value(value, self.path, self.value)
        if self.kind == "unset":
            return without_value(value, self.path)
        return with_item(value, self.path, self.index, self.value)

    def covers(self, other: Edit) -> bool:
        """Tell whether nothing of another edit is left once this one is made."""
        inside = tuple(other.path[: len(self.path)]) == tuple(self.path)
        return inside and self.kind != "insert"

    def neighbours(self, depth: int, count: int) -> tuple[int, int] | None:
        """Say which of `count` items of the list `depth` steps down the path the edit touches."""
        if depth == len(self.path):
            if self.kind != "insert" or not count:
                return None
            return max(self.index - 2, 0), max(self.index, 1)
        index = self.path[depth]
        if not isinstance(index, int) or index >= count:
            return None
        if self.kind != "unset" or depth < len(self.path) - 1:
            return index, index + 1
        if count < 2:
            return None
        return (index, index + 2) if index == 0 else (index - 1, index + 1)

    def within(self, depth: int, first: int) -> Edit:
        """Give the edit for a list `depth` steps down that only has its items from `first` on."""
        if depth == len(self.path):
            return replace(self, path=(), index=self.index - first)
        index = self.path[depth]
        assert isinstance(index, int)
        return replace(self, path=(index - first, *self.path[depth + 1 :]))


def with_value(value: Value, path: Path, new: Value) -> Value:
    """Give the value with another one at a path; maps that are missing on the way are made."""
    if not path:
        return new
    head, rest = path[0], path[1:]
    if isinstance(value, list):
        items = list(value)
        items[_index(head)] = with_value(items[_index(head)], rest, new)
        return items
    members = dict(value) if isinstance(value, dict) else {}
    set_key(members, str(head), with_value(members.get(str(head)), rest, new))
    return members


def as_read(value: Value) -> Value:
    """Give a value as reading its text would: keys in JavaScript's order, nothing shared."""
    if isinstance(value, dict):
        copy = {str(key): as_read(member) for key, member in value.items()}
        order_keys(copy)
        return copy
    return [as_read(item) for item in value] if isinstance(value, list) else value


def without_value(value: Value, path: Path) -> Value:
    """Give the value without the key or item at a path."""
    head, rest = path[0], path[1:]
    copy: Value = list(value) if isinstance(value, list) else dict(value)
    if rest:
        copy[head] = without_value(copy[head], rest)
    else:
        del copy[head]
    return copy


def with_item(value: Value, path: Path, index: int, item: Value) -> Value:
    """Give the value with an item put into the list at a path; null counts as an empty list."""
    if path:
        copy: Value = list(value) if isinstance(value, list) else dict(value)
        copy[path[0]] = with_item(copy[path[0]], path[1:], index, item)
        return copy
    items = list(value) if value is not None else []
    items.insert(index, item)
    return items


def _index(step: str | int) -> int:
    if not isinstance(step, int):
        raise TypeError(f"{step!r} is no index of a list")
    return step
