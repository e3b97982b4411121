"""Write values as js-yaml 4.2's ``dump`` does, without aliases (dsh-profiles 9)."""

from __future__ import annotations

import math
import re

from dshloop.dsh_yaml.dump_scalars import INDENT, write_string
from dshloop.dsh_yaml.extent import check_writable
from dshloop.dsh_yaml.values import JsExpr, Value, number_text, utf16_length
from dshloop.errors import DshYamlUnwritableError

_LONGEST_IMPLICIT_KEY = 1024
_EXPONENT_WITHOUT_POINT = re.compile(r"-?[0-9]+e")


def dump(value: Value) -> str:
    """Give the YAML text of a value; it ends with a newline and reads back as the same value.

    What an alias shares is written out each time. Raises DSH_YAML_UNWRITABLE for a value that
    contains itself, or that would be endless for practical purposes.
    """
    check_writable(value)
    return _node(value, 0, compact=True) + "\n"


def _node(value: Value, level: int, *, compact: bool) -> str:
    if isinstance(value, dict):
        if "__jsExpr" in value:
            return _expression(value["__jsExpr"], level)
        return _mapping(value, level, compact=compact)
    if isinstance(value, list):
        return _sequence(value, level, compact=compact)
    if isinstance(value, str):
        return write_string(value, level, is_key=False)
    if isinstance(value, JsExpr):
        return _expression(value.source, level)
    return scalar_text(value)


def scalar_text(value: bool | int | float | None) -> str:
    """Write null, a boolean or a number."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if math.isnan(value):
        return ".nan"
    if math.isinf(value):
        return ".inf" if value > 0 else "-.inf"
    if value == 0:
        return "-0.0" if math.copysign(1, value) < 0 else "0"
    text = number_text(value)
    if value % 1 and _EXPONENT_WITHOUT_POINT.match(text):
        return text.replace("e", ".e")
    return text


def _expression(source: Value, level: int) -> str:
    """Write the source of a ``!!js`` node; in a map that looks like one it may be no string."""
    if isinstance(source, str):
        return f"!!js {write_string(source, level, is_key=False)}"
    if isinstance(source, list):
        return f"!!js {_sequence(source, level, compact=False)}"
    if isinstance(source, dict):
        return f"!!js {_mapping(source, level, compact=False)}"
    raise DshYamlUnwritableError(
        "a mapping has the key __jsExpr, which DSH writes as !!js, but its value is no text",
        hint="Write the expression as a !!js scalar.",
    )


def _sequence(items: list[Value], level: int, *, compact: bool) -> str:
    if not items:
        return "[]"
    lead = "\n" + " " * (INDENT * level)
    lines = []
    for item in items:  # a loop, since a comprehension would double the depth of the stack
        lines.append(f"- {_node(item, level + 1, compact=True)}")
    text = lead.join(lines)
    return text if compact else lead + text


def _mapping(mapping: dict[str, Value], level: int, *, compact: bool) -> str:
    if not mapping:
        return "{}"
    lead = "\n" + " " * (INDENT * level)
    lines = []
    for key, value in mapping.items():
        name = write_string(key, level + 1, is_key=True)
        long = utf16_length(name) > _LONGEST_IMPLICIT_KEY
        if long:
            name = f"? {name}{lead}"
        text = _node(value, level + 1, compact=long)
        lines.append(f"{name}:{text}" if text[:1] == "\n" else f"{name}: {text}")
    text = lead.join(lines)
    return text if compact else lead + text
