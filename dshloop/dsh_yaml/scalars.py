"""What a plain scalar means: js-yaml's JSON schema (dsh-profiles 8)."""

from __future__ import annotations

import math
import re

from dshloop.dsh_yaml.values import MAX_SAFE_INTEGER, Value, number

_NULLS: dict[str, None] = dict.fromkeys(("~", "null", "Null", "NULL"))
_BOOLEANS = dict.fromkeys(("true", "True", "TRUE"), True)
_BOOLEANS |= dict.fromkeys(("false", "False", "FALSE"), False)
_WORDS: dict[str, bool | None] = {**_NULLS, **_BOOLEANS}
_INTEGER = re.compile(r"([-+]?)(?:0b([01]+)|0o([0-7]+)|0x([0-9a-fA-F]+)|([0-9]+))")
_FLOAT = re.compile(r"[-+]?[0-9]+(?:\.[0-9]*)?(?:[eE][-+]?[0-9]+)?|\.[0-9]+(?:[eE][-+]?[0-9]+)?")
_SPECIAL = re.compile(r"([-+]?)\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")
_FIRST_OF_NUMBER = frozenset("-+.0123456789")
_MAX_DIGITS = 400  # more decimal digits than any finite double has


class NotOfTypeError(ValueError):
    """The text is none of the type asked for."""


def resolve_plain(text: str) -> Value:
    """Give the null, boolean or number that the text stands for, else the text itself."""
    if text in _WORDS:
        return _WORDS[text]
    if text[:1] not in _FIRST_OF_NUMBER:
        return text
    for read in (read_int, read_float):
        try:
            return read(text)
        except NotOfTypeError:
            continue
    return text


def is_ambiguous(text: str) -> bool:
    """Tell whether the text, written plain, would read back as something else."""
    return resolve_plain(text) is not text


def read_null(text: str) -> None:
    """Read one of the four words for null."""
    if text not in _NULLS:
        raise NotOfTypeError


def read_bool(text: str) -> bool:
    """Read one of the six words for true and false."""
    if text not in _BOOLEANS:
        raise NotOfTypeError
    return _BOOLEANS[text]


def read_int(text: str) -> int | float:
    """Read an integer; ``-00`` is -0 while ``-0`` is 0, and large ones are rounded to doubles."""
    match = _INTEGER.fullmatch(text)
    if match is None:
        raise NotOfTypeError
    sign, *bodies = match.groups()
    base, digits = next((b, d) for b, d in zip((2, 8, 16, 10), bodies, strict=True) if d)
    digits = digits.lstrip("0") or "0"
    if base == 10 and len(digits) > _MAX_DIGITS:
        raise NotOfTypeError
    value = int(digits, base)
    if value == 0:
        return -0.0 if sign == "-" and text != "-0" else 0
    value = -value if sign == "-" else value
    try:
        return value if abs(value) <= MAX_SAFE_INTEGER else float(value)
    except OverflowError:
        raise NotOfTypeError from None


def read_float(text: str) -> int | float:
    """Read a number or one of ``.inf`` and ``.nan``; what overflows is none."""
    special = _SPECIAL.fullmatch(text)
    if special is not None:
        if special[0][-1] in "nN":
            return math.nan
        return -math.inf if special[1] == "-" else math.inf
    if _FLOAT.fullmatch(text) is None:
        raise NotOfTypeError
    value = float(text)
    if math.isinf(value):
        raise NotOfTypeError
    return number(value)
