"""Edits of rows and keys: planned on a composition, written by splice, proven by composing again.

A patch replaces a row's whole `config`. So a value is changed in place where the open layer
inserts the row or sets its `config` already; only otherwise an item is appended that repeats the
config in effect with the one key changed, and the edit says what that pins (design 3).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from dshloop.dsh_yaml import JsExpr, Value, set_key, truthy
from dshloop.dsh_yaml.extent import check_writable
from dshloop.errors import EditRefusedError, RowKeyNotFoundError
from dshloop.profiles.edits.desk import Desk, Spot, is_group
from dshloop.profiles.edits.layer_edit import LayerEdit, Note, finish, unchanged
from dshloop.profiles.patch import UNDEFINED, Row
from dshloop.profiles.row_path import RowPath, resolve_keys
from dshloop.splice import YamlText
from dshloop.splice.change import as_read, with_value, without_value

Make: TypeAlias = Callable[[Value, tuple[str | int, ...]], Value]


def set_config(desk: Desk, path: RowPath, value: Value) -> LayerEdit:
    """Plan a value at a path in a row's config (without keys: the whole config).

    Raises ROW_NOT_FOUND, ROW_KEY_NOT_FOUND for an item that isn't there, EDIT_REFUSED for what
    this layer can't change and for a side effect, SPLICE_REFUSED.
    """
    row = desk.row(path.row)
    value = as_read(value)
    spot = _config_spot(desk, row, path)
    if spot is None:
        return _append_config(desk, row, path, lambda old, keys: with_value(old, keys, value))
    keys = _keys_in(spot.value, path)
    text = desk.target.text.set((*desk.target.in_file(spot.path), *keys), value)
    new = with_value(None if spot.value is UNDEFINED else spot.value, keys, value)
    return finish(desk, text, _swap(desk, row, "config", new), _overridden(desk, row, "config"))


def unset_config(desk: Desk, path: RowPath) -> LayerEdit:
    """Plan a key's end in a row's config; without keys, of all that the layer says of config.

    Errors are those of `set_config`; ROW_KEY_NOT_FOUND when nothing is set there.
    """
    row = desk.row(path.row)
    if not path.keys:
        return _unset_whole(desk, row, path)
    spot = _config_spot(desk, row, path)
    if spot is None:
        _require_key(desk.effective(row, "config"), path)
        return _append_config(desk, row, path, without_value)
    keys = _require_key(spot.value, path)
    text = desk.target.text.unset((*desk.target.in_file(spot.path), *keys))
    new = without_value(spot.value, keys)
    return finish(desk, text, _swap(desk, row, "config", new), _overridden(desk, row, "config"))


def disable_row(desk: Desk, row_id: Value) -> LayerEdit:
    """Plan ``disabled: true`` on a row. ROW_NOT_FOUND, EDIT_REFUSED, SPLICE_REFUSED."""
    row = desk.row(row_id)
    if row.get("disabled") is True:
        return unchanged(desk, [_already(desk, row, "is disabled already")])
    return _set_disabled(desk, row, True)


def enable_row(desk: Desk, row_id: Value) -> LayerEdit:
    """Plan that a row runs: the layer's own `disabled` goes, else it says ``disabled: false``."""
    row = desk.row(row_id)
    if not truthy(row.get("disabled")):
        return unchanged(desk, [_already(desk, row, "is enabled already")])
    said = [spot for spot in desk.spots(row, "disabled") if spot.value is not UNDEFINED]
    beneath = desk.beneath(row, "disabled")
    if not said or truthy(beneath):
        return _set_disabled(desk, row, False)
    text = withdraw(desk, said)
    new = _swap(desk, row, "disabled", beneath)
    return finish(desk, text, new, _overridden(desk, row, "disabled"))


def withdraw(desk: Desk, spots: list[Spot]) -> YamlText:
    """Take keys away that the open layer says; a patch item left with nothing to say goes too."""
    text = desk.target.text
    for spot in sorted(spots, key=lambda spot: spot.patch, reverse=True):
        item = desk.target.layer.patches[spot.patch - 1] if spot.patch else {}
        alone = spot.patch and item.keys() <= {"id", "name", spot.path[-1]}
        path = desk.target.in_file(spot.path)
        text = text.unset(path[:-1] if alone else path)
    return text


def _config_spot(desk: Desk, row: Row, path: RowPath) -> Spot | None:
    """Give where the layer says the config that is to change; None when an item must be added."""
    if is_group(row):
        raise EditRefusedError(
            f"row {path.name} is a group: its config is the list of its rows",
            hint="Name one of the rows in it, or add one with row insert --group.",
            row=path.name,
        )
    spots = desk.spots(row, "config")
    if spots:
        return spots[-1]
    desk.require_reachable(row)
    return None


def _append_config(desk: Desk, row: Row, path: RowPath, make: Make) -> LayerEdit:
    old = desk.effective(row, "config")
    keys = _keys_in(old, path)
    check_writable(None if old is UNDEFINED else old)
    new = make(None if old is UNDEFINED else old, keys)
    text = desk.target.text.append((), {"id": path.row, "config": new})
    notes = [*_pins(desk, row, path, old, keys), *_overridden(desk, row, "config")]
    return finish(desk, text, _swap(desk, row, "config", new), notes)


def _unset_whole(desk: Desk, row: Row, path: RowPath) -> LayerEdit:
    said = [spot for spot in desk.spots(row, "config") if spot.value is not UNDEFINED]
    if not said:
        raise RowKeyNotFoundError(
            f"{desk.target.kind} layer says nothing of the config of row {path.name}",
            hint="profile explain shows which layer does.",
            row=path.name,
        )
    new = _swap(desk, row, "config", desk.beneath(row, "config"))
    return finish(desk, withdraw(desk, said), new, _overridden(desk, row, "config"))


def _set_disabled(desk: Desk, row: Row, value: bool) -> LayerEdit:
    spots = desk.spots(row, "disabled")
    if spots:
        text = desk.target.text.set(desk.target.in_file(spots[-1].path), value)
    else:
        desk.require_reachable(row)
        text = desk.target.text.append((), {"id": row["id"], "disabled": value})
    new = _swap(desk, row, "disabled", value)
    return finish(desk, text, new, _overridden(desk, row, "disabled"))


def _swap(desk: Desk, row: Row, key: str, value: Value) -> Mapping[int, Value]:
    """Say what the row is to be afterwards: as it is when a higher layer has the last word."""
    if desk.overriding(row, key):
        return {}
    new = dict(row)
    if value is UNDEFINED:
        new.pop(key, None)
    else:
        set_key(new, key, value)
    return {id(row): new}


def _keys_in(config: Value, path: RowPath) -> tuple[str | int, ...]:
    """Resolve the keys of a path in a config, and see that maps or nothing lead there."""
    value = None if config is UNDEFINED else config
    keys = resolve_keys(value, path)
    for step, key in enumerate(keys):
        if isinstance(value, dict):
            value = value.get(str(key))
        elif isinstance(value, list) and isinstance(key, int):
            value = value[key]
        elif value is None:
            break
        else:
            shown = ".".join(["config", *map(str, keys[:step])])
            kind = "a !!js expression" if isinstance(value, JsExpr) else "no map"
            raise EditRefusedError(
                f"{path} can't be set: {shown} of row {path.name} is {kind}",
                hint=f"Set {shown} as a whole.",
                row=path.name,
            )
    return keys


def _require_key(config: Value, path: RowPath) -> tuple[str | int, ...]:
    keys = _keys_in(config, path)
    value: Value = None if config is UNDEFINED else config
    for key in keys:
        known = key in value if isinstance(value, dict) else isinstance(value, list)
        if not known:
            raise RowKeyNotFoundError(f"{path} isn't set", row=path.name, path=list(keys))
        value = value[key]
    return keys


def _pins(
    desk: Desk, row: Row, path: RowPath, old: Value, keys: tuple[str | int, ...]
) -> list[Note]:
    """Say which other keys an item repeats, so that their origin no longer decides them."""
    if not isinstance(old, dict) or not keys:
        return []
    others = tuple(key for key in old if key != keys[0] or len(keys) > 1)
    if not others:
        return []
    origin = desk.origin(row, "config")
    who = origin.label if origin else "a lower layer"
    shown = ", ".join(others)
    return [
        Note(
            "pinned",
            f"this layer now repeats the whole config of row {path.name}; what {who} says of "
            f"{shown} later no longer counts",
            path.name,
            others,
            origin,
        )
    ]


def _overridden(desk: Desk, row: Row, key: str) -> list[Note]:
    changes = desk.overriding(row, key)
    if not changes:
        return []
    place = changes[-1].place
    at = f":{place.line}" if place.line else ""
    return [
        Note(
            "overridden",
            f"{place.label}{at} sets {key} of row {row.get('id')} after this layer, so the edit "
            "has no effect there",
            str(row.get("id")),
            (key,),
            place,
        )
    ]


def _already(desk: Desk, row: Row, what: str) -> Note:
    place = desk.origin(row, "disabled")
    by = f" by {place.label}" if place and truthy(row.get("disabled")) else ""
    return Note("unchanged", f"row {row.get('id')} {what}{by}", str(row.get("id")), (), place)
