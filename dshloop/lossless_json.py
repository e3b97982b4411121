r"""JSON values that survive being written down, and their text as JavaScript spells it.

Accepted are None, bool, str, finite floats but -0.0, ints that a double holds, and lists and dicts
of them with text keys: exactly these types, subclasses are refused (patchouli 4). All walks are
iterative, so depth is limited by memory only.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Any

_INDEX = re.compile(r"0|[1-9][0-9]{0,9}")
_MOST_INDEX = 4294967294
_ESCAPED = re.compile('["\\\\\x00-\x1f\ud800-\udfff]')
_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")
_SHORT = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r"}
_SAFE = 2**53
_PLAIN_BELOW = 1e21


class NotLossless(TypeError):  # noqa: N818 - says what a value is
    """A value that JSON would change; ``pointer`` (RFC 6901) is its first one in document order.

    A key that is no text is reported at the object that holds it, a cycle where an ancestor is
    met again.
    """

    def __init__(self, pointer: str, reason: str) -> None:
        super().__init__(f"{pointer or 'the value itself'}: {reason}")
        self.pointer = pointer
        self.reason = reason


class _Frame:
    """A list or dict under way: what of it is to be copied yet, and where the copy goes."""

    __slots__ = ("copy", "items", "key", "source")

    def __init__(self, source: Any, key: Any) -> None:
        self.source, self.key = source, key
        self.copy: Any = {} if type(source) is dict else []
        self.items: Iterator[tuple[Any, Any]] = iter(
            source.items() if type(source) is dict else enumerate(source)
        )


def snapshot(value: Any) -> Any:
    """Give a detached copy of a value. Raises NotLossless for one that JSON would change."""
    fault = _fault(value)
    if fault is not None:
        raise NotLossless("", fault)
    if type(value) not in (list, dict):
        return value
    top = _Frame(value, None)
    _require_keys(top, [])
    frames, ancestors = [top], {id(value)}
    while frames:
        frame = frames[-1]
        key, item = next(frame.items, (_OVER, None))
        if key is _OVER:
            frames.pop()
            ancestors.discard(id(frame.source))
            continue
        fault = "it contains itself" if id(item) in ancestors else _fault(item)
        if fault is not None:
            raise NotLossless(_pointer(frames, key), fault)
        if type(item) not in (list, dict):
            _put(frame, key, item)
            continue
        inner = _Frame(item, key)
        _require_keys(inner, frames)
        _put(frame, key, inner.copy)
        frames.append(inner)
        ancestors.add(id(item))
    return top.copy


_OVER: Any = object()


def _put(frame: _Frame, key: Any, item: Any) -> None:
    if type(frame.copy) is dict:
        frame.copy[key] = item
    else:
        frame.copy.append(item)


def _require_keys(frame: _Frame, above: list[_Frame]) -> None:
    if type(frame.source) is dict and not all(type(key) is str for key in frame.source):
        place = _pointer(above, frame.key) if frame.key is not None else ""
        raise NotLossless(place, "it has a key that is no text")


def _pointer(frames: list[_Frame], last: Any) -> str:
    """Name the place under a key of the innermost frame; the outermost has no key of its own."""
    steps = [*(frame.key for frame in frames[1:]), last]
    return "".join(f"/{str(step).replace('~', '~0').replace('/', '~1')}" for step in steps)


def _fault(value: Any) -> str | None:
    """Say what is wrong with one value itself, None when nothing is."""
    kind = type(value)
    if kind is str or kind is bool or value is None or kind is list or kind is dict:
        return None
    if kind is int:
        return None if _survives(value) else "the integer is not what a double holds"
    if kind is float:
        if not math.isfinite(value):
            return f"{value} is no JSON number"
        return "negative zero" if value == 0 and math.copysign(1, value) < 0 else None
    return f"{kind.__name__} is no JSON value"


def _survives(number: int) -> bool:
    if -_SAFE <= number <= _SAFE:
        return True
    from decimal import Decimal

    try:
        return Decimal(repr(float(number))) == number
    except OverflowError:
        return False


# --- text ------------------------------------------------------------------------------------


def js_text(value: Any) -> str:
    """Write a lossless value as JavaScript's ``JSON.stringify`` does (patchouli 4.4)."""
    parts: list[str] = []
    pending: list[Any] = [value]  # values, and texts between them as _Text
    while pending:
        item = pending.pop()
        if type(item) is _Text:
            parts.append(item)
        elif type(item) is dict:
            pending.append(_Text("}"))
            members = _in_order(item)
            for place in range(len(members) - 1, -1, -1):
                key, member = members[place]
                pending += (member, _Text(f"{',' * (place > 0)}{js_string(key)}:"))
            parts.append("{")
        elif type(item) is list:
            pending.append(_Text("]"))
            for place in range(len(item) - 1, -1, -1):
                pending.append(item[place])
                if place:
                    pending.append(_Text(","))
            parts.append("[")
        else:
            parts.append(_leaf(item))
    return "".join(parts)


class _Text(str):
    __slots__ = ()


def _leaf(value: Any) -> str:
    if type(value) is str:
        return js_string(value)
    if value is None:
        return "null"
    if type(value) is bool:
        return "true" if value else "false"
    return js_number(value)


def _in_order(members: dict[str, Any]) -> list[tuple[str, Any]]:
    """Give members as JavaScript keeps them: array indexes first, by number."""
    found = [key for key in members if _is_index(key)]
    if not found:
        return list(members.items())
    first = sorted(found, key=int)
    rest = [pair for pair in members.items() if not _is_index(pair[0])]
    return [*((key, members[key]) for key in first), *rest]


def _is_index(key: str) -> bool:
    return key[:1].isdigit() and _INDEX.fullmatch(key) is not None and int(key) <= _MOST_INDEX


def js_string(text: str) -> str:
    """Write a text: short escapes, lone surrogates as escapes, all else as it is."""
    if not _ESCAPED.search(text):
        return f'"{text}"'
    joined = _PAIR.sub(_join, text)
    return f'"{_ESCAPED.sub(_escape, joined)}"'


def _join(pair: re.Match[str]) -> str:
    return pair[0].encode("utf-16-le", "surrogatepass").decode("utf-16-le")


def _escape(found: re.Match[str]) -> str:
    return _SHORT.get(found[0]) or f"\\u{ord(found[0]):04x}"


def js_number(number: int | float) -> str:
    """Write a number with the shortest digits that give the same double."""
    if type(number) is int and -_SAFE <= number <= _SAFE:
        return str(number)
    value = float(number)
    if value == 0:
        return "0"
    sign = "-" if value < 0 else ""
    digits, exponent = _digits(abs(value))
    return sign + _placed(digits, exponent, abs(value))


def _digits(value: float) -> tuple[str, int]:
    """Give the shortest digits, and how many of them stand before the point."""
    mantissa, _, power = repr(value).partition("e")
    whole, _, fraction = mantissa.partition(".")
    fraction = "" if fraction == "0" else fraction
    point = len(whole) + int(power or 0)
    digits = whole + fraction
    stripped = digits.lstrip("0")
    point -= len(digits) - len(stripped)
    return stripped.rstrip("0"), point


def _placed(digits: str, point: int, value: float) -> str:
    if value >= _PLAIN_BELOW or value < 1e-6:
        rest = f".{digits[1:]}" if len(digits) > 1 else ""
        power = point - 1
        return f"{digits[0]}{rest}e{'+' if power > 0 else '-'}{abs(power)}"
    if point <= 0:
        return f"0.{'0' * -point}{digits}"
    if point >= len(digits):
        return digits + "0" * (point - len(digits))
    return f"{digits[:point]}.{digits[point:]}"


WHITE = (
    "\t\n\v\f\r \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000\ufeff"
)
"""What JavaScript's ``trim`` takes away; Python's differs."""


def js_trim(text: str) -> str:
    """Take JavaScript's white space off both ends."""
    return text.strip(WHITE)
