"""What is, was or shall be at a path: a file, a link, a whole folder, or nothing."""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

from dshloop.errors import UnreadableFileError
from dshloop.files import read_bytes, shown, why


@dataclass(frozen=True, slots=True)
class Link:
    """A symbolic link with its target as it stands in the link."""

    target: str


@dataclass(frozen=True, slots=True)
class Tree:
    """A whole folder; `source` is where it comes from when it is yet to be placed."""

    digest: str
    files: int = 0
    size: int = 0
    source: Path | None = None


Content: TypeAlias = bytes | Link | Tree | None
"""The content of a path in memory; None = nothing is there."""


@dataclass(frozen=True, slots=True)
class State:
    """The content of a path as the journal notes it.

    `value` is the SHA-256 of a file, the target of a link or the digest of a folder; `mode` is
    a file's; `files` counts what is in a folder and `size` bytes.
    """

    kind: Literal["file", "link", "tree"]
    value: str
    mode: int | None = None
    size: int = 0
    files: int = 0

    def as_json(self) -> dict[str, Any]:
        """Give the value that `state_from` reads."""
        found: dict[str, Any] = {"kind": self.kind, "value": self.value}
        if self.mode is not None:
            found["mode"] = self.mode
        if self.kind != "link":
            found["size"] = self.size
        if self.kind == "tree":
            found["files"] = self.files
        return found


def state_from(values: Mapping[str, Any] | None) -> State | None:
    """Read what `State.as_json` gave; KeyError, TypeError or ValueError on anything else."""
    if values is None:
        return None
    kind = values["kind"]
    if kind not in ("file", "link", "tree"):
        raise ValueError(f"unknown kind {kind!r}")
    mode = values.get("mode")
    return State(
        kind=kind,
        value=str(values["value"]),
        mode=None if mode is None else int(mode),
        size=int(values.get("size", 0)),
        files=int(values.get("files", 0)),
    )


def same(one: State | None, other: State | None) -> bool:
    """Whether the contents are equal; the mode is not content."""
    if one is None or other is None:
        return one is other
    return (one.kind, one.value) == (other.kind, other.value)


def look(path: Path) -> tuple[State | None, bytes | None]:
    """Find out what is at a path now, links not followed; with the bytes when it is a file."""
    try:
        status = path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return None, None
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            return None, None
        raise UnreadableFileError(f"can't read {shown(path)}: {why(error)}") from None
    if stat.S_ISLNK(status.st_mode):
        return State("link", os.readlink(path)), None  # noqa: PTH115 (Path.readlink changes "./x")
    if stat.S_ISDIR(status.st_mode):
        return tree_state(path), None
    data = read_bytes(path)
    return (None, None) if data is None else (file_state(data, stat.S_IMODE(status.st_mode)), data)


def file_state(data: bytes, mode: int | None) -> State:
    """Describe a file with this content and mode."""
    return State("file", hashlib.sha256(data).hexdigest(), mode, len(data))


def tree_state(folder: Path) -> State:
    """Describe a folder: names, contents, links and execute bits count, times and owners don't."""
    whole = hashlib.sha256()
    files = size = 0
    for relative, kind, value, length in _walk(folder, b""):
        whole.update(b"%s\0%s\0%s\n" % (kind, relative, value))
        files += kind in (b"file", b"program")
        size += length
    return State("tree", whole.hexdigest(), None, size, files)


def _walk(folder: Path, prefix: bytes) -> Iterator[tuple[bytes, bytes, bytes, int]]:
    """Yield (relative name, kind, value, bytes) of all that is in a folder, in one order."""
    try:
        with os.scandir(folder) as found:
            entries = sorted(found, key=lambda entry: os.fsencode(entry.name))
    except OSError as error:
        raise UnreadableFileError(f"can't read {shown(folder)}: {why(error)}") from None
    for entry in entries:
        relative = prefix + os.fsencode(entry.name)
        path = Path(entry.path)
        if entry.is_symlink():
            yield relative, b"link", os.fsencode(os.readlink(path)), 0  # noqa: PTH115
        elif entry.is_dir():
            yield relative, b"folder", b"", 0
            yield from _walk(path, relative + b"/")
        elif entry.is_file():
            yield relative, *_describe_file(path)
        else:
            yield relative, b"special", b"", 0


def _describe_file(path: Path) -> tuple[bytes, bytes, int]:
    data = read_bytes(path) or b""
    kind = b"program" if path.stat().st_mode & 0o100 else b"file"
    return kind, hashlib.sha256(data).hexdigest().encode(), len(data)
