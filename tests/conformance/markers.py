"""The values of lossless_json.json, whose `$` markers stand for what JSON can't hold."""

from __future__ import annotations

import collections
import dataclasses
import datetime
import decimal
import enum
import fractions
import pathlib
import types
import uuid
from array import array
from collections.abc import Callable
from typing import Any


def unmarked(value: Any) -> Any:
    """Make the value that a case means."""
    if isinstance(value, list):
        return [unmarked(item) for item in value]
    if not isinstance(value, dict):
        return value
    if len(value) == 1:
        ((name, payload),) = value.items()
        if name in MAKERS:
            return MAKERS[name](payload)
        assert not name.startswith("$"), f"an unknown marker {name}"
    return {key: unmarked(item) for key, item in value.items()}


def _object(fields: dict[str, Any]) -> Any:
    made = types.SimpleNamespace()
    for key, item in fields.items():
        setattr(made, key, unmarked(item))
    return made


def _dataclass(fields: dict[str, Any]) -> Any:
    return dataclasses.make_dataclass("Made", fields)(*map(unmarked, fields.values()))


def _subclass(payload: dict[str, Any]) -> Any:
    base = {"dict": dict, "list": list, "str": str, "int": int, "float": float}[payload["of"]]
    return type("Sub", (base,), {})(unmarked(payload["value"]))


def _enum(value: Any) -> Any:
    if isinstance(value, str):
        return enum.Enum("Text", {"A": value}, type=str)["A"]
    return enum.IntEnum("Number", {"A": value})["A"]


def _shared(value: Any) -> Any:
    made = unmarked(value)
    return [made, made]


def _shared_keys(value: Any) -> Any:
    made = unmarked(value)
    return {"a": made, "b": made}


def _nest(payload: dict[str, Any]) -> Any:
    made = unmarked(payload["leaf"])
    for _ in range(payload["depth"]):
        made = [made] if payload["kind"] == "list" else {"k": made}
    return made


def _cycle(kind: str) -> Any:
    if kind == "list-self":
        outer: Any = []
        outer.append(outer)
        return outer
    if kind == "list-dict":
        outer = []
        outer.append({"k": outer})
        return outer
    first: dict[str, Any] = {}
    last = first
    for _ in range(49 if kind == "deep" else 0):
        last["k"] = {}
        last = last["k"]
    last["k"] = first
    return first


MAKERS: dict[str, Callable[[Any], Any]] = {
    "$float": float,
    "$int": int,
    "$chars": lambda points: "".join(map(chr, points)),
    "$repeat": lambda pair: pair[0] * pair[1],
    "$repeat_list": lambda pair: [unmarked(pair[0]) for _ in range(pair[1])],
    "$dict": lambda pairs: {unmarked(key): unmarked(item) for key, item in pairs},
    "$tuple": lambda items: tuple(map(unmarked, items)),
    "$set": lambda items: set(map(unmarked, items)),
    "$frozenset": lambda items: frozenset(map(unmarked, items)),
    "$bytes": bytes.fromhex,
    "$bytearray": bytearray.fromhex,
    "$datetime": datetime.datetime.fromisoformat,
    "$date": datetime.date.fromisoformat,
    "$decimal": decimal.Decimal,
    "$fraction": lambda pair: fractions.Fraction(*pair),
    "$complex": lambda pair: complex(*pair),
    "$uuid": uuid.UUID,
    "$path": pathlib.PurePosixPath,
    "$range": range,
    "$generator": lambda items: (item for item in items),
    "$function": lambda _: unmarked,
    "$class": lambda _: uuid.UUID,
    "$object": _object,
    "$dataclass": _dataclass,
    "$exception": Exception,
    "$ellipsis": lambda _: ...,
    "$sub": _subclass,
    "$ordereddict": lambda members: collections.OrderedDict(unmarked(members)),
    "$defaultdict": lambda members: collections.defaultdict(int, unmarked(members)),
    "$mappingproxy": lambda members: types.MappingProxyType(unmarked(members)),
    "$namedtuple": lambda fields: collections.namedtuple("Made", fields)(**unmarked(fields)),
    "$deque": lambda items: collections.deque(map(unmarked, items)),
    "$array": lambda items: array("i", items),
    "$enum": _enum,
    "$shared": _shared,
    "$shared_keys": _shared_keys,
    "$nest": _nest,
    "$cycle": _cycle,
}
