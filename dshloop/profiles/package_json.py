"""The text of a package.json: read strictly, as JavaScript reads it, with its indentation."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from dshloop.errors import ManifestInvalidError


def json_object(text: str, path: Path) -> dict[str, Any]:
    """Parse JSON text that must hold an object; names file, line and column otherwise."""
    try:
        value = json.loads(text, parse_constant=_refuse_constant, parse_float=_double)
    except json.JSONDecodeError as fault:
        raise ManifestInvalidError(
            f"{path} is not valid JSON: {fault.msg} ({fault.lineno}:{fault.colno})",
            hint="Mend the file; dsh can't read it either.",
            file=str(path),
            line=fault.lineno,
            column=fault.colno,
        ) from fault
    except RecursionError:
        raise ManifestInvalidError(f"{path} is nested too deep", file=str(path)) from None
    except ValueError as fault:
        reason = "it holds an endless number" if "digits" in str(fault) else fault
        raise ManifestInvalidError(f"{path} is not valid JSON: {reason}", file=str(path)) from fault
    if not isinstance(value, dict):
        raise ManifestInvalidError(
            f"profile manifest {path} must hold a JSON object", file=str(path), line=1, column=1
        )
    return value


def _refuse_constant(text: str) -> Any:
    raise ValueError(f"{text} is not a JSON value")


def _double(text: str) -> float | None:
    """Read a number; one too large becomes null, as when dsh writes the file again."""
    value = float(text)
    return None if math.isinf(value) else value


def indent_of(text: str) -> str:
    """Give the indentation of the first indented line, two blanks when there is none."""
    for line in text.splitlines()[1:]:
        stripped = line.lstrip(" \t")
        if stripped and stripped != line:
            return line[: len(line) - len(stripped)]
    return "  "
