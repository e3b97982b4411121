"""JavaScript's rules for values that YAML files hold (dsh-profiles 7)."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any, TypeAlias

Value: TypeAlias = Any
"""dict, list, str, bool, None, int (safe integers), float (all other numbers) or JsExpr."""

MAX_SAFE_INTEGER = 2**53 - 1
_INDEX_KEY = re.compile(r"0|[1-9][0-9]{0,9}")
_MAX_INDEX = 2**32 - 2


@dataclass(frozen=True, slots=True)
class JsExpr:
    """The source text of a ``!!js`` scalar; DSH evaluates it when the row is mounted."""

    source: str

    def as_json(self) -> dict[str, str]:
        """Give the value as DSH prints it in JSON."""
        return {"__jsExpr": self.source}


def truthy(value: Value) -> bool:
    """Tell what ``if (value)`` does: empty lists and maps are true."""
    if isinstance(value, list | dict):
        return True
    return bool(value) and value == value


def number(value: float) -> int | float:
    """Give a double as this package keeps it: an int when it is a safe integer, not -0."""
    if value == 0:
        return value if math.copysign(1, value) < 0 else 0
    if abs(value) <= MAX_SAFE_INTEGER and value == int(value):
        return int(value)
    return float(value)


def number_text(value: int | float) -> str:
    """Print a number as ``String(number)`` does: ``1e+21``, ``1e-7``, ``Infinity``."""
    if isinstance(value, int) and abs(value) <= MAX_SAFE_INTEGER:
        return str(value)
    value = float(value)
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    if value == 0:
        return "0"
    sign = "-" if value < 0 else ""
    mantissa, _, power = f"{abs(value)!r}".partition("e")
    whole, _, fraction = mantissa.partition(".")
    fraction = "" if fraction == "0" else fraction
    digits = (whole + fraction).lstrip("0")
    point = len(whole) + int(power or 0) - (len(whole + fraction) - len(digits))
    digits = digits.rstrip("0")
    return sign + _place_point(digits, point)


def _place_point(digits: str, point: int) -> str:
    """Lay out digits whose decimal point stands before index `point` (ECMA-262 6.1.6.1.20)."""
    count = len(digits)
    if count <= point <= 21:
        return digits + "0" * (point - count)
    if 0 < point <= 21:
        return f"{digits[:point]}.{digits[point:]}"
    if -6 < point <= 0:
        return f"0.{'0' * -point}{digits}"
    exponent = point - 1
    mantissa = digits if count == 1 else f"{digits[0]}.{digits[1:]}"
    return f"{mantissa}e{'+' if exponent >= 0 else '-'}{abs(exponent)}"


def text_of(value: Value) -> str:
    """Give ``String(value)`` for what can be a key; lists join their elements with commas."""
    if isinstance(value, str):
        return value
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return number_text(value)
    if isinstance(value, list):
        return ",".join("" if item is None else text_of(item) for item in value)
    return "[object Object]"


def is_index(key: str) -> bool:
    """Tell whether JavaScript puts this key first, in ascending order (0 to 4294967294)."""
    return key[:1].isdigit() and _INDEX_KEY.fullmatch(key) is not None and int(key) <= _MAX_INDEX


def order_keys(mapping: dict[str, Value]) -> None:
    """Bring the keys into JavaScript's order, in place, so that shared references stay."""
    if not any(map(is_index, mapping)):
        return
    pairs = list(mapping.items())
    first = sorted((pair for pair in pairs if is_index(pair[0])), key=lambda pair: int(pair[0]))
    mapping.clear()
    mapping.update(first)
    mapping.update(pairs)


def set_key(mapping: dict[str, Value], key: str, value: Value) -> None:
    """Assign ``mapping[key]``: an old key keeps its place, a new one goes where it belongs."""
    reorder = key not in mapping and is_index(key)
    mapping[key] = value
    if reorder:
        order_keys(mapping)


def identity(value: Value) -> tuple[str, Value]:
    """Give what two values have in common exactly when ``===`` (and a Map) holds them equal.

    Numbers compare by value, true is not 1, maps, lists and expressions are only themselves.
    """
    if isinstance(value, bool):
        return "boolean", value
    if isinstance(value, int | float):
        return "number", float(value)
    if isinstance(value, str):
        return "string", value
    return ("null", None) if value is None else ("object", id(value))


def utf16_length(text: str) -> int:
    """Count UTF-16 units, the unit of JavaScript's lengths and columns."""
    if text.isascii():
        return len(text)
    return len(text) + sum(char > "\uffff" for char in text)
