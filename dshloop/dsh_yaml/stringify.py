"""Values as JSON: as DSH prints them in messages, and as ``--json`` prints them."""

from __future__ import annotations

import json
import math
import re

from dshloop.dsh_yaml.extent import check_writable
from dshloop.dsh_yaml.values import JsExpr, Value, number_text

_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_quote = json.JSONEncoder(ensure_ascii=False).encode


def escape_surrogates(text: str) -> str:
    r"""Write lone surrogates of a JSON text as ``\udXXX``, so that it can be encoded."""
    return _LONE_SURROGATE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def stringify(value: Value) -> str:
    """Give ``JSON.stringify(value)``; NaN and infinities are ``null``, -0 is ``0``.

    Raises DSH_YAML_UNWRITABLE for a value that contains itself.
    """
    check_writable(value)
    return _text(value)


def _text(value: Value) -> str:
    if isinstance(value, str):
        return escape_surrogates(_quote(value))
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return number_text(value) if math.isfinite(value) else "null"
    if isinstance(value, list):
        return f"[{','.join(map(_text, value))}]"
    if isinstance(value, JsExpr):
        return f'{{"__jsExpr":{_text(value.source)}}}'
    return "{%s}" % ",".join(f"{_text(key)}:{_text(item)}" for key, item in value.items())  # noqa: UP031


def to_json(value: Value) -> Value:
    """Give the value as ``--json`` has it: ``{"$num": "NaN"}``, ``{"__jsExpr": source}``."""
    if isinstance(value, dict):
        return {key: to_json(item) for key, item in value.items()}
    if isinstance(value, list):
        return [to_json(item) for item in value]
    if isinstance(value, JsExpr):
        return {"__jsExpr": value.source}
    if isinstance(value, float):
        return _number_json(value)
    return value


def _number_json(value: float) -> Value:
    if not math.isfinite(value):
        return {"$num": number_text(value)}
    if value == 0 and math.copysign(1, value) < 0:
        return {"$num": "-0"}
    return value
