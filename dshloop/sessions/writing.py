"""Write a new file line by line: it is there whole, or not at all, and never over another one."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from dshloop.errors import OutputExistsError
from dshloop.files import shown, sync_folder, writing

_DESCRIPTORS = "/proc/self/fd"
_BATCH = 1 << 20  # bytes of text in one Zstandard frame


@contextmanager
def new_log(path: Path, *, mode: int = 0o600) -> Iterator[BinaryIO]:
    """Give a file to write to; it gets its name when the block ends without an error.

    Where the system can, it has no name until then, so that a killed process leaves nothing. A
    name that ends in ``.zstd`` makes it Zstandard frames as DSH writes them, the first one with
    the first line alone. Raises OUTPUT_EXISTS, WRITE_FAILED.
    """
    if os.path.lexists(path):
        raise _exists(path)
    with writing(path):
        descriptor, draft = _open_draft(path, mode)
    try:
        with writing(path), os.fdopen(descriptor, "wb", _BATCH) as file:
            target: Any = _Frames(file) if path.name.endswith(".zstd") else file
            yield target
            target.flush()
            os.fsync(file.fileno())
            try:
                _give_name(file.fileno(), draft, path)
            except FileExistsError:
                raise _exists(path) from None
            sync_folder(path.parent)
    finally:
        if draft is not None:
            draft.unlink(missing_ok=True)


def _open_draft(path: Path, mode: int) -> tuple[int, Path | None]:
    """Open a file without a name in the folder of `path`, or one with a name of its own."""
    nameless = getattr(os, "O_TMPFILE", None)
    if nameless is not None and os.path.isdir(_DESCRIPTORS):  # noqa: PTH112
        with contextlib.suppress(OSError):
            return os.open(path.parent, nameless | os.O_WRONLY, mode), None
    draft = path.with_name(f".{path.name[:200]}.{os.urandom(6).hex()}.tmp")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    return os.open(draft, flags, mode), draft


def _give_name(descriptor: int, draft: Path | None, path: Path) -> None:
    if draft is not None:
        name_once(draft, path)
        return
    folder = os.open(path.parent, os.O_RDONLY)
    try:  # with a folder given, the link to the file is followed
        os.link(f"{_DESCRIPTORS}/{descriptor}", path.name, src_dir_fd=folder, dst_dir_fd=folder)
    finally:
        os.close(folder)


class _Frames:
    """A log as Zstandard frames: one for the header, then one for each batch of lines."""

    def __init__(self, file: BinaryIO) -> None:
        import zstandard

        parameters = zstandard.ZstdCompressionParameters(write_checksum=1, write_content_size=0)
        self._compressor = zstandard.ZstdCompressor(compression_params=parameters)
        self._file = file
        self._batch: list[bytes] = []
        self._size = 0
        self._begun = False

    def write(self, line: bytes) -> None:
        """Take one line."""
        self._batch.append(line)
        self._size += len(line)
        if not self._begun or self._size >= _BATCH:
            self._begun = True
            self.flush()

    def flush(self) -> None:
        """Close the frame that is being filled."""
        if self._batch:
            self._file.write(self._compressor.compress(b"".join(self._batch)))
            self._batch, self._size = [], 0
        self._file.flush()


def name_once(draft: Path, path: Path) -> None:
    """Give a file its name. Raises FileExistsError when that is taken.

    Where links are unknown there is a moment between looking and renaming; locks guard it.
    """
    try:
        os.link(draft, path)
    except FileExistsError:
        raise
    except OSError as error:
        if error.errno not in (errno.EPERM, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK):
            raise
        if os.path.lexists(path):
            raise FileExistsError(errno.EEXIST, "it exists") from None
        draft.rename(path)


def publish(draft: Path, path: Path, data: bytes) -> int:
    """Write a new file whole and give its descriptor; FileExistsError when the name is taken."""
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    descriptor = os.open(draft, flags, 0o600)
    try:
        write_all(descriptor, data)
        os.fsync(descriptor)
        name_once(draft, path)
    except BaseException:
        os.close(descriptor)
        raise
    finally:
        draft.unlink(missing_ok=True)
    sync_folder(path.parent)
    return descriptor


def keep_cut_lines(path: Path, descriptor: int, size: int) -> None:
    """Copy what will be cut to a file beside the log when a whole line is among it."""
    os.lseek(descriptor, size, os.SEEK_SET)
    cut = b"".join(iter(lambda: os.read(descriptor, 1 << 20), b""))
    if b"\n" in cut:
        copy = path.with_name(f"cut-{size}-{os.urandom(3).hex()}.jsonl")
        descriptor = os.open(copy, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            write_all(descriptor, cut)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def write_all(descriptor: int, data: bytes) -> None:
    """Write data to its last byte, however little the system takes at once."""
    written = os.write(descriptor, data)
    while written < len(data):
        written += os.write(descriptor, memoryview(data)[written:])


def _exists(path: Path) -> OutputExistsError:
    return OutputExistsError(f"{shown(path)} exists already", file=shown(path))
