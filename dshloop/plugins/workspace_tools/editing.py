"""The tool `edit`: one text of a file for another, or a new file, in one step."""

from __future__ import annotations

import contextlib
import os
import stat
from typing import Any

from dshloop.files import require_file, shown, why
from dshloop.host.tools import ToolFailure
from dshloop.plugins.workspace_tools.workspace import Place, Workspace, refuse_gits

LARGEST = 8 * 1024 * 1024
_READ = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)


def edit(workspace: Workspace, path: str, new: str, old: str | None = None) -> str:
    """Change or make a file; say what was done.

    Raises ToolFailure as `Workspace.file`; NOT_UNIQUE, NOT_THERE, FILE_EXISTS, BINARY_FILE,
    CHANGED_SINCE_READ, PROTECTED and WRITE_FAILED. The file is as it was then.
    """
    data = _bytes(new)
    with workspace.place(path, make=old is None) as place:
        _require_own(place, path)
        try:
            if old is None:
                _create(place, data)
                return f"made {shown(place.path)}, {len(data)} bytes"
            before, status = _read(place, path)
            after, line = replaced(before, _bytes(old), data, path)
            _replace(place, before, after, status, path)
        except FileNotFoundError:
            raise
        except FileExistsError as error:
            said = f"{shown(path)} is there already: give `old`, the text to replace"
            raise ToolFailure(said, "FileExistsError", "FILE_EXISTS") from error
        except OSError as error:
            said = f"can't write {shown(path)}: {why(error)}"
            raise ToolFailure(said, "WriteError", "WRITE_FAILED") from error
    return f"changed {shown(place.path)} at line {line}"


def replaced(before: bytes, old: bytes, new: bytes, path: str) -> tuple[bytes, int]:
    """Give the file with one text in the place of another, and the line where.

    Line ends of Windows are found by plain ones, and kept. Raises ToolFailure.
    """
    if old not in before and b"\r\n" in before and b"\r" not in old:
        old, new = old.replace(b"\n", b"\r\n"), new.replace(b"\n", b"\r\n")
    count = _count(before, old)
    if count == 0:
        said = f"`old` doesn't stand in {shown(path)}: read it and copy the text exactly"
        raise ToolFailure(said, "EditError", "NOT_THERE")
    if count > 1:
        said = f"`old` stands {count} times in {shown(path)}: give more of what is around it"
        raise ToolFailure(said, "EditError", "NOT_UNIQUE")
    at = before.index(old)
    return before[:at] + new + before[at + len(old) :], before.count(b"\n", 0, at) + 1


def _count(text: bytes, part: bytes) -> int:
    """Count where a part stands, overlapping too: each would be another edit."""
    count, at = 0, text.find(part)
    while at >= 0:
        count, at = count + 1, text.find(part, at + 1)
    return count


def _bytes(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise ToolFailure("the text is no Unicode text", "EditError", "BAD_TEXT") from error


def _require_own(place: Place, path: str) -> None:
    if not place.name:
        raise ToolFailure(f"{shown(path)} is a folder", "EditError", "NOT_A_FILE")
    refuse_gits(place.path.split("/"), path)


def _read(place: Place, path: str) -> tuple[bytes, os.stat_result]:
    require_file(os.stat(place.name, dir_fd=place.folder, follow_symlinks=False))
    descriptor = os.open(place.name, _READ, dir_fd=place.folder)
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        require_file(status)
        data = file.read(LARGEST + 1)
    if len(data) > LARGEST or b"\0" in data:
        said = f"{shown(path)} is binary or larger than {LARGEST} bytes"
        raise ToolFailure(said, "EditError", "BINARY_FILE")
    return data, status


def _create(place: Place, data: bytes) -> None:
    """Make a file that isn't there: whole, or not at all."""
    umask = os.umask(0o077)  # it can only be read by setting it
    os.umask(umask)
    with _beside(place, data, 0o666 & ~umask) as temporary:
        os.link(
            temporary,
            place.name,
            src_dir_fd=place.folder,
            dst_dir_fd=place.folder,
            follow_symlinks=False,
        )


def _replace(place: Place, before: bytes, after: bytes, status: os.stat_result, path: str) -> None:
    with _beside(place, after, stat.S_IMODE(status.st_mode)) as temporary:
        if not os.access(place.name, os.W_OK, dir_fd=place.folder):
            raise OSError(0, "the file is read-only")
        if _read(place, path)[0] != before:
            said = f"{shown(path)} changed meanwhile; nothing was written"
            raise ToolFailure(said, "EditError", "CHANGED_SINCE_READ")
        os.replace(temporary, place.name, src_dir_fd=place.folder, dst_dir_fd=place.folder)


@contextlib.contextmanager
def _beside(place: Place, data: bytes, mode: int) -> Any:
    """Write a file beside the one that is meant, in the folder that is open; gone at the end."""
    name = f".dshloop-{os.urandom(6).hex()}.tmp"
    try:
        descriptor = os.open(name, _NEW, 0o600, dir_fd=place.folder)
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fchmod(descriptor, mode)
            os.fsync(descriptor)
        yield name
        os.fsync(place.folder)
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name, dir_fd=place.folder)
