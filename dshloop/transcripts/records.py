"""Lines of JSON that other agents write, one by one; a bad one costs only itself."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from dshloop.errors import SessionNotFoundError, SessionUnreadableError
from dshloop.files import require_file, shown, why

LONGEST = 256 << 20  # bytes of a line that is read


class Line(NamedTuple):
    """A line's number and object, or what is wrong with it."""

    number: int
    value: dict[str, Any]
    fault: str = ""


@contextmanager
def open_log(path: Path) -> Iterator[BinaryIO]:
    """Open a log. Raises SESSION_NOT_FOUND, SESSION_UNREADABLE."""
    try:
        require_file(path.stat())
        with path.open("rb") as file:
            yield file
    except FileNotFoundError as error:
        raise SessionNotFoundError(f"there is no log {shown(path)}", file=shown(path)) from error
    except OSError as error:
        raise SessionUnreadableError(
            f"can't read {shown(path)}: {why(error)}", file=shown(path)
        ) from error


def lines(path: Path) -> Iterator[Line]:
    """Give the lines that aren't blank, split at LF only."""
    with open_log(path) as file:
        number = 0
        while raw := file.readline(LONGEST):
            number += 1
            if raw.strip(b"\0 \t\r\n"):
                yield _line(number, raw)


def _line(number: int, raw: bytes) -> Line:
    try:
        value = json.loads(raw.replace(b"\0", b""))
    except (ValueError, RecursionError):
        return Line(number, {}, "it is no JSON" if raw.endswith(b"\n") else "it is cut off")
    if not isinstance(value, dict):
        return Line(number, {}, "it is no object")
    return Line(number, value)


def moment(value: Any) -> float | None:
    """Give Unix seconds of an ISO 8601 text."""
    from datetime import UTC, datetime

    if not isinstance(value, str):
        return None
    try:
        found = datetime.fromisoformat(value)
        return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None
