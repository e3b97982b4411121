"""Loop ids and driver names, and values as the dock's messages show them (loop-dock 2)."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from enum import Enum
from typing import Any, Final, TypeGuard

from dshloop.errors import InvalidDriverError, InvalidLoopIdError

NAME = re.compile(r"[a-z0-9][a-z0-9._-]*")
_EXPECTED = "expected a non-empty string matching /^[a-z0-9][a-z0-9._-]*$/"


class Absent(Enum):
    """The type of ABSENT, so that it can be told from every value."""

    ABSENT = "undefined"


ABSENT: Final = Absent.ABSENT  # no such key, which is not the same as null


def is_object(value: object) -> TypeGuard[Mapping[str, Any]]:
    """Whether a value is what JSON calls an object."""
    return type(value) is dict or isinstance(value, Mapping)


def is_name(value: object) -> TypeGuard[str]:
    """Whether a value is a valid loop id or driver name."""
    return isinstance(value, str) and NAME.fullmatch(value) is not None


def is_text(value: object) -> TypeGuard[str]:
    """Whether a value is a string with something in it."""
    return isinstance(value, str) and value != ""


def require_loop_id(value: object) -> str:
    """Give the value back if it is a loop id. Raises INVALID_LOOP_ID."""
    if is_name(value):
        return value
    raise InvalidLoopIdError(
        f"invalid loop id {quoted(value)}: {_EXPECTED}", field="loop", value=_json(value)
    )


def require_driver_name(value: object) -> str:
    """Give the value back if it is a driver name. Raises INVALID_DRIVER."""
    if is_name(value):
        return value
    raise InvalidDriverError(
        f"invalid driver name {quoted(value)}: {_EXPECTED}", field="driver", value=_json(value)
    )


def quoted(value: object) -> str:
    """Write a value as JSON, for a message; ABSENT is the bare word undefined."""
    if value is ABSENT:
        return "undefined"
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=repr)
    return text.encode("utf-8", "backslashreplace").decode()


def as_text(value: object) -> str:
    """Turn any value into text the way the original does: 5 -> "5", True -> "true"."""
    return value if isinstance(value, str) else quoted(value)


def listed(names: object) -> str:
    """Write names as a message lists them."""
    return ", ".join(names) if isinstance(names, list | tuple) and names else "none"


def _json(value: object) -> Any:
    """Make a value fit for an error's details."""
    if value is None or isinstance(value, str | int | float | bool):
        return value
    return quoted(value)
