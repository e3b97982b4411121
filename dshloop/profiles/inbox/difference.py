"""The patches that turn one list of rows into another: what a layer did, told from its effect."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from dshloop.dsh_yaml.values import JsExpr, Value, identity, truthy
from dshloop.profiles.patch import Row, children_of


class InexpressibleError(Exception):
    """No patches do this: a row without id changed, or a row or key vanished."""


def difference(before: Sequence[Value], after: Sequence[Value]) -> list[Row]:
    """Give patches that make ``after`` of ``before``: changes of rows, then one insert.

    Whole keys are assigned, new ones in the order in which they stand; rows at the end of a
    group are inserted there. Raises InexpressibleError.
    """
    if len(after) < len(before):
        raise InexpressibleError("rows vanished")
    patches = [
        patch
        for old, new in zip(before, after, strict=False)
        if not same(old, new)
        for patch in changes(old, new)
    ]
    return [*patches, *insertion(after[len(before) :])]


def insertion(rows: Sequence[Value]) -> list[Row]:
    """Give patches that put rows at the end: one insert, and what no insert may hold behind it.

    DSH refuses an insert with an empty row in a group, though a patch may assign one there.
    """
    if not rows:
        return []
    late = [row for row in rows if isinstance(row, dict) and _has_empty_row(row)]
    hollow = [{**row, "config": None} if row in late else row for row in rows]
    return [{"insert": hollow}, *({"id": row.get("id"), "config": row["config"]} for row in late)]


def changes(old: Value, new: Value) -> Iterator[Row]:
    """Give the patches of one row that is another one now."""
    if not isinstance(old, dict) or not isinstance(new, dict) or not truthy(old.get("id")):
        raise InexpressibleError("a row that can't be named changed")
    if not same(old["id"], new.get("id")) or not old.keys() <= new.keys():
        raise InexpressibleError(f"row {old['id']} lost a key or its id")
    grown = _grown_group(old, new)
    assigned = {
        key: value
        for key, value in new.items()
        if not (key in old and same(old[key], value)) and not (key == "config" and grown)
    }
    if assigned:
        yield {"id": old["id"], **assigned}
    if grown:
        for patch in difference(old["config"], new["config"]):
            yield {"id": old["id"], **patch} if "insert" in patch else patch


def same(one: Value, other: Value) -> bool:
    """Tell whether two values are one to DSH: types, order of keys, -0 and NaN included."""
    return plain(one) == plain(other)


def plain(value: Value) -> str:
    """Give the JSON of a value, with Python's words for what JSON lacks; `from_plain` reads it."""
    return json.dumps(value, default=_expression, separators=(",", ":"))


def from_plain(text: str | bytes) -> Any:
    """Read what `plain` wrote."""
    return json.loads(text, object_hook=from_json)


def _grown_group(old: Row, new: Row) -> bool:
    """Tell whether a group kept its rows, perhaps changed, and got others behind them."""
    rows, children = old.get("config"), new.get("config")
    if not truthy(old.get("group")) or not same(old["group"], new.get("group")):
        return False
    if not isinstance(rows, list) or not isinstance(children, list) or len(children) < len(rows):
        return False
    if any(child is None or _has_empty_row(child) for child in children[len(rows) :]):
        return False
    return all(map(_kept, rows, children))


def _has_empty_row(row: Value) -> bool:
    children = children_of(row) if isinstance(row, dict) else None
    return any(child is None or _has_empty_row(child) for child in children or ())


def _kept(old: Value, new: Value) -> bool:
    if same(old, new):
        return True
    if not isinstance(old, dict) or not isinstance(new, dict) or not truthy(old.get("id")):
        return False
    return identity(old["id"]) == identity(new.get("id")) and old.keys() <= new.keys()


def _expression(value: Any) -> Any:
    if isinstance(value, JsExpr):
        return value.as_json()
    raise TypeError(f"{type(value).__name__} is no value of a profile")


def from_json(value: dict[str, Any]) -> Any:
    """Give the ``!!js`` value that an object of DSH's JSON stands for, else the object."""
    if len(value) == 1 and isinstance(value.get("__jsExpr"), str):
        return JsExpr(value["__jsExpr"])
    return value
