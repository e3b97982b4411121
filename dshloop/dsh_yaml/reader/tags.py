"""Explicit tags: the types of js-yaml's JSON schema, and DSH's ``!!js``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dshloop.dsh_yaml.reader.cursor import Cursor
from dshloop.dsh_yaml.reader.properties import YAML_TAG
from dshloop.dsh_yaml.scalars import NotOfTypeError, read_bool, read_float, read_int, read_null
from dshloop.dsh_yaml.values import JsExpr, Value


def _read_text(value: Value) -> Value:
    return "" if value is None else value


def _read_js(value: Value) -> JsExpr:
    if not isinstance(value, str):
        raise NotOfTypeError
    return JsExpr(value)


def _from_text(read: Callable[[str], Value]) -> Callable[[Value], Value]:
    """Let a reader of text refuse what a node on the next line has already been made."""

    def refusing(value: Value) -> Value:
        if not isinstance(value, str):
            raise NotOfTypeError
        return read(value)

    return refusing


_SCALARS: dict[str, Callable[[Any], Value]] = {
    "str": _read_text,
    "null": lambda value: None if value is None else _from_text(read_null)(value),
    "bool": _from_text(read_bool),
    "int": _from_text(read_int),
    "float": _from_text(read_float),
    "js": _read_js,
}
_KINDS: dict[str, dict[str, Callable[[Any], Value]]] = {
    "scalar": _SCALARS,
    "sequence": {"seq": lambda value: [] if value is None else value},
    "mapping": {"map": lambda value: {} if value is None else value},
}


def construct(cursor: Cursor, tag: str, kind: str | None, value: Value) -> Value:
    """Give the value of a tagged node; `kind` is None when it has no content."""
    name = tag.removeprefix(YAML_TAG) if tag.startswith(YAML_TAG) else None
    wanted = next((k for k, types in _KINDS.items() if name in types), None)
    if name is None or wanted is None or kind not in (None, wanted):
        raise cursor.fault(f"unknown tag !<{tag}>")
    if kind is None and value is not None:  # another tag on the line before made it
        raise cursor.fault(
            f'unacceptable node kind for !<{tag}> tag; it should be "{wanted}", not "null"'
        )
    try:
        return _KINDS[wanted][name](value)
    except NotOfTypeError:
        raise cursor.fault(f"cannot resolve a node with !<{tag}> explicit tag") from None
