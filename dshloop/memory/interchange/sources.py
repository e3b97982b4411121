"""What a file to import is, and its records."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from dshloop.errors import ImportInvalidError, UnreadableFileError
from dshloop.files import require_file, shown, why
from dshloop.memory.interchange import agentmemory, jsonl, markdown, mcp_memory
from dshloop.memory.interchange.lines import json_lines
from dshloop.memory.interchange.report import Item, Report

AUTO = "auto"
FORMATS = (jsonl.NAME, agentmemory.NAME, mcp_memory.NAME, markdown.NAME)
_START = 4096
_FIRST_KEY = re.compile(rb'\{\s*"([^"\\]{1,40})"\s*:')
_OF_GRAPHS = ("type", "name", "entityType", "from", "to", "relationType", "entities", "relations")
_EXPORT = (
    "version", "exportedAt", "sessions", "observations", "memories", "exportData", "success",
)  # fmt: skip
_LOOKED_AT = 20  # lines of a file whose first ones are torn


def records(path: Path, format_: str, report: Report, *, project: str) -> Iterator[Item]:
    """Give what a file or folder holds. Raises IMPORT_INVALID, UNREADABLE_FILE."""
    if format_ == AUTO and (path.is_dir() or path.suffix.lower() in markdown.SUFFIXES):
        format_ = markdown.NAME
    if format_ == markdown.NAME:
        if not path.exists():
            raise UnreadableFileError(f"there is no {shown(path)}", file=shown(path))
        yield from markdown.read(path, project=project)
        return
    with opened(path) as file:
        kind = told(file, path) if format_ == AUTO else format_
        yield from _read(kind, file, report, project, path.stat().st_mtime)


def stream_records(file: BinaryIO, format_: str, report: Report, *, project: str,
                   at: float) -> Iterator[Item]:  # fmt: skip
    """Give what a file that is open already holds; it can be read again from its start."""
    kind = told(file, Path("standard input")) if format_ == AUTO else format_
    yield from _read(kind, file, report, project, at)


def told(file: BinaryIO, path: Path) -> str:
    """Tell the format by the first lines that are whole. Raises IMPORT_INVALID."""
    found = _told(file)
    file.seek(0)
    if found is None:
        raise ImportInvalidError(f"{shown(path)} is in no format that is read", file=shown(path))
    return found


@contextmanager
def opened(path: Path) -> Iterator[BinaryIO]:
    """Open a regular file. Raises UNREADABLE_FILE."""
    try:
        require_file(path.stat())
        file = path.open("rb")
    except FileNotFoundError:
        raise UnreadableFileError(f"there is no file {shown(path)}", file=shown(path)) from None
    except OSError as error:
        raise UnreadableFileError(
            f"can't read {shown(path)}: {why(error)}", file=shown(path)
        ) from error
    with file:
        yield file


def _told(file: BinaryIO) -> str | None:
    start = file.read(_START).lstrip(b"\xef\xbb\xbf \t\r\n")
    file.seek(0)
    if start.startswith(b"---"):
        return markdown.NAME
    if b"\n" not in start and len(start) > _START // 2:
        return _by_key(_FIRST_KEY.match(start))
    for line in json_lines(file):
        found = _by_value(line.value) if not line.fault else None
        if found is not None:
            return found
        if line.number >= _LOOKED_AT:
            break
    spread = start.startswith(b"{") and any(_quoted(key) in start for key in _EXPORT)
    return agentmemory.NAME if spread else None  # one object over many lines


def _by_value(value: object) -> str | None:
    if jsonl.is_ours(value):
        return jsonl.NAME
    if mcp_memory.is_graph(value):
        return mcp_memory.NAME
    if not isinstance(value, dict):
        return None
    if "kind" in value and ("id" in value or "key" in value):
        return jsonl.NAME
    return agentmemory.NAME if any(key in value for key in _EXPORT) else None


def _by_key(first: re.Match[bytes] | None) -> str | None:
    """Tell by the first key of a line that is too long to be read for it."""
    if first is None:
        return None
    key = first[1].decode("utf-8", "replace")
    if key == "kind":
        return jsonl.NAME
    return mcp_memory.NAME if key in _OF_GRAPHS else agentmemory.NAME


def _quoted(key: str) -> bytes:
    return f'"{key}"'.encode()


def _read(kind: str, file: BinaryIO, report: Report, project: str, at: float) -> Iterator[Item]:
    if kind == jsonl.NAME:
        return jsonl.read(file, report)
    if kind == agentmemory.NAME:
        return agentmemory.read(file, report)
    if kind == mcp_memory.NAME:
        return mcp_memory.read(file, project=project, at=at)
    raise ImportInvalidError("Markdown is read from files and folders, not from standard input")
