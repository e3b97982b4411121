"""A store's records as a file that appears whole or not at all."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from dshloop.files import real_file, require_file, sync_folder, writing
from dshloop.memory.answers import Filters, Record
from dshloop.memory.interchange import (
    agentmemory,
    agentmemory_export,
    jsonl,
    markdown,
    markdown_pages,
)
from dshloop.memory.interchange.carrying import cleaned, source_of
from dshloop.memory.interchange.paging import Source
from dshloop.memory.interchange.records import identity
from dshloop.memory.interchange.report import Report
from dshloop.memory.store import MemoryReader

FORMATS = (jsonl.NAME, agentmemory.NAME, markdown.NAME)
_GATHERED = 1 << 18  # bytes


def exported(
    store: MemoryReader,
    format_: str,
    where: Filters | None,
    report: Report,
    now: float,
    *,
    redacted: bool = False,
) -> Iterator[bytes]:
    """Give the bytes of an export; secrets are counted, and with ``redacted`` taken out."""
    source = _Watched(source_of(store), report, redacted=redacted)
    if format_ == agentmemory.NAME:
        return agentmemory_export.write(source.rows, where, report, now)
    return jsonl.write(source.rows(where), report)


def write_pages(
    path: Path,
    store: MemoryReader,
    where: Filters | None,
    report: Report,
    told: Callable[[int], None],
    *,
    redacted: bool = False,
) -> int:
    """Write the memories as a new folder of Markdown; give its bytes.

    Raises OUTPUT_EXISTS, WRITE_FAILED.
    """
    source = _Watched(source_of(store), report, redacted=redacted)
    return markdown_pages.write_folder(path, source.rows(where), report, told)


class _Watched:
    """A store's records, looked through for secrets; each is counted once."""

    def __init__(self, source: Source, report: Report, *, redacted: bool) -> None:
        self._source = source
        self._report = report
        self._redacted = redacted
        self._counted: set[tuple[str, str]] = set()

    def rows(self, where: Filters | None = None) -> Iterator[Record]:
        """Give the records."""
        for record in self._source.rows(where):
            clean, found = cleaned(record)
            if found and (name := identity(record)) not in self._counted:
                self._counted.add(name)
                self._report.redacted += found
            yield clean if self._redacted else record


def write_file(path: Path, pieces: Iterable[bytes], told: Callable[[int], None]) -> int:
    """Write pieces to a new file beside, then rename it over (0600); give its size.

    Raises WRITE_FAILED; what was there before stays then.
    """
    with writing(path):
        target = real_file(path)
        if target.exists():
            require_file(target.stat())  # renaming over a device would take it away
        beside = target.with_name(f".dshloop-{os.urandom(6).hex()}.tmp")
        try:
            size = _write(beside, pieces, told)
            beside.replace(target)
        except BaseException:
            with contextlib.suppress(OSError):
                beside.unlink()
            raise
        sync_folder(target.parent)
        return size


def gathered(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Join small pieces, so that few writes are needed."""
    held: list[bytes] = []
    size = 0
    for piece in pieces:
        held.append(piece)
        size += len(piece)
        if size >= _GATHERED:
            yield b"".join(held)
            held, size = [], 0
    yield b"".join(held)


def _write(path: Path, pieces: Iterable[bytes], told: Callable[[int], None]) -> int:
    size = 0
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0),
                         0o600)  # fmt: skip
    with os.fdopen(descriptor, "wb") as file:
        for piece in gathered(pieces):
            file.write(piece)
            size += len(piece)
            told(size)
        file.flush()
        os.fsync(file.fileno())
    return size
