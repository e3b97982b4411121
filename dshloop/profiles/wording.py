"""Faults of a bundle in the words of dsh 0.2.1 and of Node, for the lines that dsh prints."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from dshloop.dsh_yaml.stringify import stringify
from dshloop.errors import (
    DshloopError,
    DshYamlInvalidError,
    PatchInvalidError,
    PatchUnreadableError,
)

_STRING = re.compile(r'"(?:\\.|[^"\\])*"')
_JSON_FAULTS = {
    "Expecting ':' delimiter": "Expected ':' after property name",
    "Extra data": "Unexpected non-whitespace character after JSON",
    "Invalid control character at": "Bad control character in string literal",
}


def patch_fault(fault: DshloopError) -> str:
    """Word what is wrong with a bundle's patch file."""
    path = Path(str(fault.details.get("file", "")))
    if isinstance(fault, PatchUnreadableError):
        return f"Error: dsh: failed to read overlay {path}: Error: {_system_fault(path)}"
    if isinstance(fault, DshYamlInvalidError):
        details = fault.details
        at = f"({details.get('line')}:{details.get('column')})"
        snippet = details.get("snippet")
        return (
            f"Error: dsh: failed to parse overlay {path}: YAMLException: "
            f"{details.get('reason')} {at}" + (f"\n\n{snippet}" if snippet else "")
        )
    if isinstance(fault, PatchInvalidError) and "insert" in fault.message:
        if "empty row" in fault.message:
            return "TypeError: Cannot read properties of null (reading 'name')"
        if "itself" in fault.message:
            return "RangeError: Maximum call stack size exceeded"
        return "TypeError: patch.insert?.forEach is not a function"
    return f"Error: dsh: {fault.message}"


def json_fault(text: str, fault: json.JSONDecodeError) -> str:
    """Word a JSON fault as Node does."""
    at = fault.pos
    if fault.msg.startswith("Unterminated string"):
        return _at("Unterminated string", text, len(text))
    if not text[at:].strip():
        return "Unexpected end of JSON input"
    if fault.msg.startswith("Expecting value") or text[0] == "\ufeff":
        return f"Unexpected token '{text[at]}', {_excerpt(text, at)} is not valid JSON"
    if fault.msg.startswith("Invalid \\"):
        return _at("Bad escaped character", text, at + 1)
    return _at(_JSON_FAULTS.get(fault.msg) or _expected(text, fault), text, at)


def received(value: Any) -> str:
    """Describe a value as Node's argument errors do."""
    if value is None:
        return "null"
    if isinstance(value, dict):
        return "an instance of Object"
    if isinstance(value, list):
        return "an instance of Array"
    kind = "boolean" if isinstance(value, bool) else "number"
    return f"type {kind} ({stringify(value)})"


def _system_fault(path: Path) -> str:
    try:
        with path.open("rb"):
            pass
    except FileNotFoundError:
        return f"ENOENT: no such file or directory, open '{path}'"
    except IsADirectoryError:
        return "EISDIR: illegal operation on a directory, read"
    except NotADirectoryError:
        return f"ENOTDIR: not a directory, open '{path}'"
    except PermissionError:
        return f"EACCES: permission denied, open '{path}'"
    except OSError as fault:
        return f"{fault.strerror}, open '{path}'"
    return f"EIO: i/o error, read '{path}'"


def _expected(text: str, fault: json.JSONDecodeError) -> str:
    before = _STRING.sub('""', text[: fault.pos]).rstrip()
    if fault.msg.startswith("Expecting ','"):
        if _open_bracket(before) == "[":
            return "Expected ',' or ']' after array element"
        return "Expected ',' or '}' after property value"
    if before.endswith("{"):
        return "Expected property name or '}'"
    return "Expected double-quoted property name"


def _open_bracket(text: str) -> str:
    """Give the bracket that is open at the end of a JSON text without strings."""
    depth = 0
    for char in reversed(text):
        depth += (char in "]}") - (char in "[{")
        if depth < 0:
            return char
    return ""


def _at(what: str, text: str, position: int) -> str:
    line = text.count("\n", 0, position) + 1
    column = position - text.rfind("\n", 0, position)
    where = "" if what.endswith("JSON") else " in JSON"
    return f"{what}{where} at position {position} (line {line} column {column})"


def _excerpt(text: str, at: int, around: int = 10) -> str:
    if len(text) <= 2 * around:
        return f'"{text}"'
    head = '"' if at < around else '..."'
    tail = '"' if at >= len(text) - around else '"...'
    return f"{head}{text[max(at - around, 0) : at + around]}{tail}"
