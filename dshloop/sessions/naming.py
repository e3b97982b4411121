"""Names of sessions: ids, and the folders that stand for a working directory (dsh-sessions 1)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from dshloop.errors import SessionIdError
from dshloop.times import uuid7_digits

LOG_NAME = "session.jsonl"
LOCK_NAME = "session.lock"
_LONGEST_SLUG = 251
_LONGEST_NAME = 255  # bytes of a folder's name
_SEPARATORS = re.compile(r"[/\\:]+")
_ESCAPED = re.compile(r"[^A-Za-z0-9._-]")


def uuid7(now: float) -> str:
    """Make an id that sorts by time, in the usual five groups."""
    text = uuid7_digits(now)
    return "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))


def folder_of(cwd: str | None) -> str:
    """Give the folder that holds the sessions of a working directory; not reversible."""
    if cwd is None:
        return "_no-cwd"
    return f"--{slug(cwd)}--"


def slug(cwd: str) -> str:
    """Turn a path into a name: separators become ``-``, other characters ``~XXXX`` (UTF-16)."""
    name = _escape(_SEPARATORS.sub("-", cwd)).lstrip("-")
    return (name or "root")[:_LONGEST_SLUG]


def encode_id(session_id: str) -> str:
    """Give the folder name of a session id. Raises SESSION_ID_INVALID."""
    if not session_id:
        raise SessionIdError("a session id must not be empty")
    name = {".": "~002E", "..": "~002E~002E"}.get(session_id) or _escape(session_id)
    if len(name) > _LONGEST_NAME:
        raise SessionIdError(
            f"a session id of {len(session_id)} characters is too long", length=len(name)
        )
    return name


def decode_id(name: str) -> str:
    """Give the id that a folder name stands for; `encode_id` backwards."""
    if "~" not in name:
        return name
    units = re.sub(r"~([0-9A-F]{4})", lambda match: chr(int(match.group(1), 16)), name)
    return units.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


def log_path(root: Path, cwd: str | None, session_id: str) -> Path:
    """Give where a new session's log goes."""
    return root / folder_of(cwd) / encode_id(session_id) / LOG_NAME


def _escape(text: str) -> str:
    return _ESCAPED.sub(lambda match: "".join(_units(match.group())), text)


def _units(char: str) -> Iterator[str]:
    data = char.encode("utf-16-be", "surrogatepass")
    for place in range(0, len(data), 2):
        yield f"~{data[place]:02X}{data[place + 1]:02X}"
