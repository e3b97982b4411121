"""A package archive (.tgz, .tar.gz, .tar) unpacked so that it can't harm: no way out, no bombs."""

from __future__ import annotations

import gzip
import tarfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO, cast

from dshloop.errors import ArchiveInvalidError, PackageNotFoundError
from dshloop.files import shown, why

MAX_BYTES = 512 * 1024 * 1024
MAX_FILES = 50_000
_MAX_READ = 16 * 1024 * 1024  # more than any header needs: tarfile reads one in a single call
_GZIP = b"\x1f\x8b"


def unpack(archive: Path, into: Path) -> None:
    """Unpack a package into an empty folder, without the first folder that npm packs around it.

    Raises PackageNotFoundError when there is no such file, ArchiveInvalidError (ARCHIVE_INVALID)
    when it is damaged, too large, or holds a link, a device or a name that leaves its folder.
    Limits: MAX_BYTES unpacked, MAX_FILES entries.
    """
    with _opened(archive) as tar:
        members = list(_checked(tar, archive))
        if not members:
            raise _invalid(archive, "it is empty")
        root = _root_depth(members)
        for member in members:
            parts = PurePosixPath(member.name).parts[root:]
            if member.isdir():
                into.joinpath(*parts).mkdir(parents=True, exist_ok=True)
            elif parts:
                inner = member.replace(name="/".join(parts), deep=False)
                try:
                    tar.extract(inner, into, filter="data")
                except OSError as fault:
                    reason = f"{member.name}: {why(fault)}"
                    raise _invalid(archive, reason, entry=member.name) from fault


@contextmanager
def _opened(archive: Path) -> Iterator[tarfile.TarFile]:
    try:
        with archive.open("rb") as file:
            packed = file.read(2) == _GZIP
            file.seek(0)
            plain = cast(IO[bytes], gzip.GzipFile(fileobj=file)) if packed else file
            bounded = cast(IO[bytes], _Bounded(plain, archive))
            with tarfile.open(fileobj=bounded, mode="r:") as tar:
                yield tar
            while bounded.read(_MAX_READ):  # the checksum stands behind all that tar reads
                pass
    except FileNotFoundError as fault:
        raise PackageNotFoundError(
            f"there is no archive {shown(archive)}", file=shown(archive)
        ) from fault
    except (tarfile.TarError, EOFError, zlib.error, gzip.BadGzipFile, UnicodeError) as fault:
        raise _invalid(archive, f"it is damaged or no tar archive ({fault})") from fault
    except OSError as fault:
        raise _invalid(archive, why(fault)) from fault


def _checked(tar: tarfile.TarFile, archive: Path) -> Iterator[tarfile.TarInfo]:
    total = 0
    for count, member in enumerate(tar, 1):
        total += member.size
        if count > MAX_FILES:
            raise _invalid(archive, f"it holds more than {MAX_FILES} files")
        if total > MAX_BYTES:
            raise _invalid(archive, f"it unpacks to more than {MAX_BYTES >> 20} MiB")
        if not (member.isfile() or member.isdir()):
            raise _invalid(archive, f"{member.name} is a link or a device", entry=member.name)
        if _leaves(member.name):
            raise _invalid(archive, f"{member.name} lies outside the package", entry=member.name)
        yield member


def _leaves(name: str) -> bool:
    path = PurePosixPath(name)
    return path.is_absolute() or ".." in path.parts or "\\" in name or name[1:2] == ":"


def _root_depth(members: list[tarfile.TarInfo]) -> int:
    """Give how many leading folders to drop: none where package.json is at the top already."""
    at_top = any(PurePosixPath(member.name).parts == ("package.json",) for member in members)
    return 0 if at_top else 1


def _invalid(archive: Path, reason: str, **details: str) -> ArchiveInvalidError:
    return ArchiveInvalidError(
        f"can't use the archive {shown(archive)}: {reason}",
        hint="Pack it again with npm pack or pnpm pack.",
        file=shown(archive),
        **details,
    )


class _Bounded:
    """A reader that ends a decompression bomb: it refuses to give more than MAX_BYTES."""

    def __init__(self, inner: IO[bytes], archive: Path) -> None:
        self._inner = inner
        self._archive = archive

    def read(self, size: int = -1) -> bytes:
        """Read as the inner file does, in pieces that can't fill the memory."""
        if size < 0 or size > _MAX_READ:
            raise _invalid(self._archive, "a header in it is too large")
        self._limit(self._inner.tell() + size)
        return self._inner.read(size)

    def seek(self, position: int, whence: int = 0) -> int:
        """Seek; forward in a compressed file this decompresses, hence the same limit."""
        self._limit(position)
        return self._inner.seek(position, whence)

    def tell(self) -> int:
        """Give the position in the unpacked stream."""
        return self._inner.tell()

    def _limit(self, position: int) -> None:
        # blocks and headers around the files come on top of what the files hold
        if position > MAX_BYTES + MAX_FILES * 2048:
            raise _invalid(self._archive, f"it unpacks to more than {MAX_BYTES >> 20} MiB")
