"""Reading and replacing one file of the user's, whole or not at all.

Every write of a file that a person or another program also edits ends here: a temporary file
beside it, flushed to the disk, renamed over it. Who writes several files as one step uses
`dshloop.journal`; who shares a file with another process holds a lock of `dshloop.locks` too.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import EllipsisType
from typing import NamedTuple

from dshloop.errors import ChangedSinceReadError, UnreadableFileError, WriteFailedError

BOM = b"\xef\xbb\xbf"
NEW_FILE_MODE = 0o644

_REASONS = {
    errno.EACCES: "permission denied",
    errno.EPERM: "permission denied",
    errno.EROFS: "the file system is read-only",
    errno.ENOSPC: "no space is left on the disk",
    errno.EDQUOT: "the disk quota is used up",
    errno.EISDIR: "it is a folder",
    errno.ENOTDIR: "a part of its path is a file, not a folder",
    errno.ENOENT: "its folder does not exist",
    errno.ELOOP: "its symbolic links run in a circle",
    errno.ENAMETOOLONG: "its name is too long",
    errno.EIO: "the disk reported an error",
}
# What a shell's `<(command)` and `-` style arguments name: pipes that are open already.
_OPEN_DESCRIPTORS = ("/dev/fd/", "/dev/stdin", "/proc/self/fd/")


class Text(NamedTuple):
    """A file's text without its byte order mark, and whether it had one."""

    value: str
    bom: bool


def why(error: OSError) -> str:
    """Say in plain words, without the path, why the system refused."""
    known = _REASONS.get(error.errno or 0)
    return known or (error.strerror or str(error) or type(error).__name__).lower()


def shown(path: Path | str) -> str:
    """Give a path as text that any stream can print: bytes that are no UTF-8 as ``\\xNN``."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def digest(data: bytes | None) -> str | None:
    """Give the SHA-256 of a content in hex; None stands for an absent file and stays None."""
    import hashlib  # loads OpenSSL

    return None if data is None else hashlib.sha256(data).hexdigest()


def read_bytes(path: Path, limit: int | None = None) -> bytes | None:
    """Read a regular file; None when it is absent (also behind a dangling link).

    Of one with more than ``limit`` bytes, or of a pipe that never ends, one byte more than that is
    given. Raises UNREADABLE_FILE for a folder, a pipe or device that isn't an open descriptor, and
    for whatever the system refuses.
    """
    try:
        if not str(path).startswith(_OPEN_DESCRIPTORS):
            require_file(path.stat())
        if limit is None:
            return path.read_bytes()
        with path.open("rb") as file:
            return file.read(limit + 1)
    except FileNotFoundError:
        return None
    except OSError as error:
        reason = why(error)
    except ValueError:
        reason = "its name holds a null character"
    raise UnreadableFileError(f"can't read {shown(path)}: {reason}", file=shown(path))


def read_text(path: Path) -> Text | None:
    """Read a UTF-8 file, with or without a byte order mark; None when it is absent.

    Raises UNREADABLE_FILE with line, column and byte offset of the first byte that is no UTF-8.
    """
    data = read_bytes(path)
    return None if data is None else decode(data, path)


def require_text(path: Path) -> Text:
    """Read a UTF-8 file that has to be there. Raises as `read_text`, also when it is absent."""
    text = read_text(path)
    if text is None:
        raise UnreadableFileError(f"there is no file {shown(path)}", file=shown(path))
    return text


def decode(data: bytes, path: Path) -> Text:
    """Decode what was read from `path`; the errors of `read_text`."""
    bom = data.startswith(BOM)
    try:
        return Text(data[len(BOM) if bom else 0 :].decode("utf-8"), bom)
    except UnicodeDecodeError as error:
        offset = error.start + (len(BOM) if bom else 0)
    line = data.count(b"\n", 0, offset) + 1
    start = data.rfind(b"\n", 0, offset) + 1
    column = len(data[start:offset].decode("utf-8", "replace").lstrip("\ufeff")) + 1
    raise UnreadableFileError(
        f"{shown(path)}:{line}:{column}: byte 0x{data[offset]:02x} is not UTF-8 text",
        hint="Save the file as UTF-8.",
        file=shown(path),
        line=line,
        column=column,
        offset=offset,
    )


def real_file(path: Path) -> Path:
    """Give the absolute path of the file that a write to `path` reaches through its links."""
    return Path(os.path.realpath(path))


def replace_file(
    path: Path,
    data: bytes,
    *,
    mode: int | None = None,
    expected: bytes | EllipsisType | None = ...,
    follow: bool = True,
    temporary: str | None = None,
) -> None:
    """Put `data` in the place of a file in one step that survives a crash.

    A link is followed to its file (`follow=False`: is replaced itself); an existing file keeps its
    mode and, where we may, its owner; a new one gets `mode`, else 0644 less the umask. `expected`
    is the content that was read (None = absent); `temporary` a name for the file beside it, for
    callers that clean up after a crash. The folder must be there.

    Raises CHANGED_SINCE_READ when the content is no longer `expected`, WRITE_FAILED when the
    system refuses. Nothing is changed then and nothing is left over; only when the disk fails at
    the very last flush, of the folder, the new content may be in place already.
    """
    if not isinstance(expected, EllipsisType):
        require_unchanged(path, expected)
    with writing(path):
        target = real_file(path) if follow else path
        old = _status(target, follow=follow)
        if old is not None and not os.access(target, os.W_OK):
            raise OSError(0, "the file is read-only")
        beside = target.with_name(temporary or f".dshloop-{os.urandom(6).hex()}.tmp")
        try:
            _write_new(beside, data, _wanted_mode(mode, old), old)
            _rename_over(beside, target)
        except BaseException:
            with contextlib.suppress(OSError):
                beside.unlink()
            raise
        sync_folder(target.parent)


def remove_file(path: Path, *, expected: bytes | EllipsisType | None = ...) -> None:
    """Remove a file or a link itself, lastingly; an absent one is fine. Errors: `replace_file`."""
    if not isinstance(expected, EllipsisType):
        require_unchanged(path, expected)
    with writing(path):
        path.unlink(missing_ok=True)
        sync_folder(path.parent)


def require_unchanged(path: Path, expected: bytes | None) -> None:
    """Raise CHANGED_SINCE_READ unless the file still holds what was read (None = absent)."""
    now = read_bytes(path)
    if now == expected:
        return
    happened = "was removed" if now is None else "changed" if expected is not None else "appeared"
    raise ChangedSinceReadError(
        f"{shown(path)} {happened} since it was read; nothing was written",
        file=shown(path),
        expected=digest(expected),
        found=digest(now),
    )


@contextlib.contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn an OSError inside into WRITE_FAILED, naming `path` and the reason."""
    try:
        yield
    except OSError as error:
        reason = why(error)
    except ValueError as error:
        if "null" not in str(error):
            raise
        reason = "its name holds a null character"
    else:
        return
    raise WriteFailedError(f"can't write {shown(path)}: {reason}", file=shown(path))


def sync_folder(folder: Path) -> None:
    """Make renames and removals in a folder last; does nothing where that has no meaning."""
    if sys.platform == "win32":
        return
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP, errno.EBADF):
            raise
    finally:
        os.close(descriptor)


def require_file(found: os.stat_result) -> None:
    """Raise OSError for what isn't a regular file: opening a pipe or a device may never end."""
    if not stat.S_ISREG(found.st_mode):
        raise OSError(0, f"it is {_kind_name(found.st_mode)}, not a file")


def _kind_name(mode: int) -> str:
    names = {
        stat.S_IFDIR: "a folder",
        stat.S_IFIFO: "a named pipe",
        stat.S_IFSOCK: "a socket",
        stat.S_IFCHR: "a device",
        stat.S_IFBLK: "a device",
    }
    return names.get(stat.S_IFMT(mode), "something else")


def _status(target: Path, *, follow: bool) -> os.stat_result | None:
    try:
        found = target.stat(follow_symlinks=follow)
    except FileNotFoundError:
        return None
    if stat.S_ISLNK(found.st_mode):
        return None
    if stat.S_ISDIR(found.st_mode):
        raise IsADirectoryError(errno.EISDIR, "it is a folder")
    require_file(found)
    return found


def _wanted_mode(mode: int | None, old: os.stat_result | None) -> int:
    if mode is not None:
        return mode
    if old is not None:
        return stat.S_IMODE(old.st_mode)
    umask = os.umask(0o077)  # it can only be read by setting it
    os.umask(umask)
    return NEW_FILE_MODE & ~umask


def _write_new(path: Path, data: bytes, mode: int, old: os.stat_result | None) -> None:
    """Write and flush a file that isn't there yet; private until it is whole."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    with os.fdopen(os.open(path, flags, 0o600), "wb") as file:
        file.write(data)
        file.flush()
        if sys.platform != "win32":
            if old is not None and (old.st_uid, old.st_gid) != (os.getuid(), os.getgid()):
                with contextlib.suppress(PermissionError):
                    os.fchown(file.fileno(), old.st_uid, old.st_gid)
            os.fchmod(file.fileno(), mode)
        os.fsync(file.fileno())


def _rename_over(source: Path, target: Path) -> None:
    """Rename; on Windows try again for a second, since scanners hold files open for a moment."""
    delays = (0.02, 0.04, 0.08, 0.16, 0.2, 0.2, 0.2) if sys.platform == "win32" else ()
    for delay in delays:
        try:
            source.replace(target)
        except PermissionError:
            time.sleep(delay)
        else:
            return
    source.replace(target)
