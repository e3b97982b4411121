"""JSON as dshloop prints it: UTF-8 text, one line, nothing that a strict reader refuses."""

from __future__ import annotations

import json
import math
import re
from typing import Any

_SURROGATE = re.compile("[\ud800-\udfff]")


def json_text(value: Any) -> str:
    r"""Write a value as one line of JSON (design: Output).

    NaN, infinities and -0 become ``{"$num": "NaN"}``, lone surrogates ``\udXXX``; values with an
    ``as_json()`` method are asked for it; paths become text.
    """
    try:
        text = _dump(value)
        if "-0.0" in text:
            text = _dump(_strict(value))
    except (ValueError, TypeError):
        text = _dump(_strict(value))
    return _SURROGATE.sub(lambda match: f"\\u{ord(match.group()):04x}", text)


def _dump(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def _strict(value: Any) -> Any:
    if isinstance(value, float):
        return _number(value)
    if isinstance(value, dict):
        return {str(key): _strict(member) for key, member in value.items()}
    if isinstance(value, (list, tuple)):
        return [_strict(member) for member in value]
    if hasattr(value, "as_json"):
        return _strict(value.as_json())
    if value is None or isinstance(value, (str, int)):
        return value
    return str(value)


def _number(value: float) -> Any:
    if math.isnan(value):
        return {"$num": "NaN"}
    if math.isinf(value):
        return {"$num": "Infinity" if value > 0 else "-Infinity"}
    if value == 0 and math.copysign(1, value) < 0:
        return {"$num": "-0"}
    return value
