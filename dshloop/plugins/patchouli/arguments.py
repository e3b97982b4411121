"""Arguments of tool calls checked as DSH checks them, with its messages (patchouli 7). Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from dshloop.host.tools import Tool, ToolFailure
from dshloop.lossless_json import js_text

_ARTICLES = {"object": "an object", "array": "an array", "integer": "an integer"}


class DshTool(Tool):
    """A tool whose arguments are checked the way DSH does it."""

    def read_arguments(self, raw: str) -> Any:
        """Read and check arguments. Raises ToolFailure, INVALID_ARGS."""
        try:
            arguments = json.loads(raw) if raw.strip() else {}
        except (ValueError, RecursionError) as error:
            raise _wrong(f"they are no JSON: {error}") from error
        fault = next(faults(self.parameters, arguments, ""), None)
        if fault is not None:
            raise _wrong(fault)
        return arguments


def faults(schema: Mapping[str, Any], value: Any, path: str) -> Iterator[str]:
    """Yield what is wrong with a value: types, required and unknown properties, enums."""
    kind = schema.get("type")
    if "enum" in schema and not any(_same(value, each) for each in schema["enum"]):
        yield f'"{path}" must be one of {js_text(list(schema["enum"]))}'
    elif kind is not None and not _is_a(kind, value):
        yield f'"{path}" must be {_ARTICLES.get(kind, f"a {kind}")}'
    elif kind == "object":
        yield from _object_faults(schema, value, path)
    elif kind == "array":
        for number, item in enumerate(value):
            yield from faults(schema.get("items", {}), item, f"{path}[{number}]")


def _object_faults(schema: Mapping[str, Any], value: Any, path: str) -> Iterator[str]:
    known = schema.get("properties", {})
    inside = f"{path}." if path else ""
    for name in schema.get("required", ()):
        if name not in value:
            yield f'missing required property "{inside}{name}"'
    for name, item in value.items():
        if name in known:
            yield from faults(known[name], item, f"{inside}{name}")
        elif schema.get("additionalProperties") is False:
            yield (f'"{inside}{name}" is not a declared property (additionalProperties: false)')


def _is_a(kind: str, value: Any) -> bool:
    if kind == "integer":
        whole = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
        return whole and not isinstance(value, bool)
    if kind == "number":
        return isinstance(value, int | float) and not isinstance(value, bool)
    types = {"string": str, "object": dict, "array": list, "boolean": bool, "null": type(None)}
    return isinstance(value, types[kind])


def _same(value: Any, allowed: Any) -> bool:
    return type(value) is type(allowed) and bool(value == allowed)


def _wrong(message: str) -> ToolFailure:
    return ToolFailure(f"invalid arguments: {message}", "ToolArgsError", "INVALID_ARGS")
