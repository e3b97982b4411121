"""Configs that the user's files set, against the schemas of their plugins."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from typing import Any, NamedTuple

from dshloop.dsh_yaml import JsExpr, Value, stringify
from dshloop.profiles.checks import kinds
from dshloop.profiles.checks.findings import Finding
from dshloop.profiles.checks.names import plugin_of
from dshloop.profiles.checks.subject import Case, Schema
from dshloop.profiles.layout import SCOPE
from dshloop.profiles.masking import masked
from dshloop.profiles.patch import Row
from dshloop.profiles.row_names import id_text

_TYPES: Mapping[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "number": (int, float),
    "integer": (int,),
    "boolean": (bool,),
    "null": (type(None),),
}


class Fault(NamedTuple):
    """What a schema does not take: an unknown key (`near` are those meant), or a value."""

    path: tuple[str | int, ...]
    what: str
    unknown: bool = False
    near: tuple[str, ...] = ()


def check_schemas(case: Case) -> Iterator[Finding]:
    """Check each config that a user's file has its hand in, as far as a schema is known."""
    rows = [placed.row for placed in case.composition.walk() if _by_user(case, placed.row)]
    schemas: Mapping[str, Schema] = case.schemas
    asked = any(str(row.get("name")).startswith(SCOPE) for row in rows)
    if asked and case.dsh_schemas is not None:
        schemas = {**case.dsh_schemas(case), **schemas}
    for row in rows:
        schema = schemas.get(str(plugin_of(row)))
        if schema is not None:
            yield from _of_row(case, row, schema)


def faults(schema: Schema, value: Value) -> list[Fault]:
    """Give what a JSON schema does not take; an expression is taken everywhere.

    Keys that a schema does not list are unknown unless it says what they may be.
    """
    return list(_faults(schema, value, (), schema.get("$defs", {})))


def _by_user(case: Case, row: Row) -> bool:
    """Whether a row's config, if it has one, was last written in a file of the user's."""
    if row.get("group") or not isinstance(row.get("config"), dict):
        return False
    return case.where_from(row["config"]) is not None


def _of_row(case: Case, row: Row, schema: Schema) -> Iterator[Finding]:
    row_id = None if row.get("id") is None else id_text(row["id"])
    for fault in faults(schema, row["config"]):
        place = case.composition.origin(row, ("config", *fault.path))
        key = ".".join(map(str, fault.path))
        if fault.unknown:
            why = f"{plugin_of(row)} does not know the config key {key}"
            fix = f"Did you mean {' or '.join(fault.near)}?" if fault.near else ""
            yield Finding(kinds.CONFIG_KEY_UNKNOWN, why, place, row_id, fix=fix)
        else:
            why = f"{key or 'config'} {fault.what}"
            yield Finding(kinds.CONFIG_VALUE_INVALID, why, place, row_id)


def _faults(
    schema: Mapping[str, Any], value: Value, path: tuple[str | int, ...], defs: Mapping[str, Any]
) -> Iterator[Fault]:
    schema = _resolved(schema, defs)
    if isinstance(value, JsExpr) or not schema:
        return
    if "anyOf" in schema:
        yield from _best(schema["anyOf"], value, path, defs)
        return
    wrong = _wrong(schema, value)
    if wrong:
        yield Fault(path, f"is {_shown(value, path)}; {wrong}")
    elif isinstance(value, dict):
        yield from _members(schema, value, path, defs)
    elif isinstance(value, list) and isinstance(schema.get("items"), dict):
        for index, item in enumerate(value):
            yield from _faults(schema["items"], item, (*path, index), defs)


def _resolved(schema: Mapping[str, Any], defs: Mapping[str, Any]) -> Mapping[str, Any]:
    seen: set[str] = set()
    while isinstance(schema.get("$ref"), str) and schema["$ref"] not in seen:
        seen.add(schema["$ref"])
        found = defs.get(schema["$ref"].rpartition("/")[2])
        schema = found if isinstance(found, dict) else {}
    return schema


def _best(
    choices: list[Any], value: Value, path: tuple[str | int, ...], defs: Mapping[str, Any]
) -> Iterator[Fault]:
    """Give the faults of the choice that comes nearest; those of the right type come first."""
    found: list[list[Fault]] = []
    for choice in choices:
        if isinstance(choice, dict) and not str(choice.get("$ref")).endswith("/loaderExpression"):
            found.append(list(_faults(choice, value, path, defs)))
    if found:
        nearest = min(found, key=lambda one: (any(f.path == path for f in one), len(one)))
        wanted = {fault.what for one in found for fault in one if fault.path == path}
        if len(wanted) > 1 and len(nearest) == 1 and nearest[0].path == path:
            takes = " or ".join(sorted({what.partition("; ")[2] for what in wanted}))
            yield Fault(path, f"is {_shown(value, path)}; {takes}")
            return
        yield from nearest


def _members(
    schema: Mapping[str, Any],
    value: dict[str, Value],
    path: tuple[str | int, ...],
    defs: Mapping[str, Any],
) -> Iterator[Fault]:
    known = schema.get("properties")
    known = known if isinstance(known, dict) else {}
    others = schema.get("additionalProperties")
    closed = bool(known) and others in (None, False) and "patternProperties" not in schema
    for key, member in value.items():
        if key in known:
            yield from _faults(known[key], member, (*path, key), defs)
        elif isinstance(others, dict):
            yield from _faults(others, member, (*path, key), defs)
        elif closed:
            near = tuple(get_close_matches(key, known, n=2))
            yield Fault((*path, key), "is unknown", True, near)
    for key in schema.get("required", ()):
        if key not in value:
            yield Fault(path, f"lacks {key}; it is required")


def _wrong(schema: Mapping[str, Any], value: Value) -> str:
    """Say what a scalar or the kind of a value should be; "" when it fits."""
    types = schema.get("type")
    types = [types] if isinstance(types, str) else types
    if types and not any(_is(value, name) for name in types):
        return f"it should be {' or '.join(types)}"
    if "const" in schema and not _same(schema["const"], value):
        return f"it should be {stringify(schema['const'])}"
    if "enum" in schema and not any(_same(one, value) for one in schema["enum"]):
        return f"it should be one of {', '.join(map(stringify, schema['enum']))}"
    if isinstance(value, int | float) and not isinstance(value, bool):
        low, high = schema.get("minimum"), schema.get("maximum")
        if low is not None and value < low:
            return f"the least is {stringify(low)}"
        if high is not None and value > high:
            return f"the most is {stringify(high)}"
    return ""


def _is(value: Value, name: str) -> bool:
    if isinstance(value, bool):
        return name == "boolean"
    return isinstance(value, _TYPES.get(name, (object,)))


def _same(one: Value, other: Value) -> bool:
    return type(one) is type(other) and bool(one == other)


def _shown(value: Value, path: tuple[str | int, ...]) -> str:
    if isinstance(value, dict | list):
        return "a mapping" if isinstance(value, dict) else "a list"
    return stringify(masked(value, path))
