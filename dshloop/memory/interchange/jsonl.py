"""Our own format as a file: a header, a record a line, and an end line that shows it is whole."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, BinaryIO

from dshloop.errors import ImportInvalidError
from dshloop.memory.answers import Record
from dshloop.memory.interchange import records
from dshloop.memory.interchange.fields import RowError
from dshloop.memory.interchange.lines import json_lines
from dshloop.memory.interchange.report import Item, Report

NAME = "dshloop"


def is_ours(value: Any) -> bool:
    """Tell by the first line."""
    return isinstance(value, Mapping) and value.get("format") == records.FORMAT


def write(found: Iterable[Record], report: Report) -> Iterator[bytes]:
    """Give the lines of a file."""
    counts: Counter[str] = Counter()
    yield _bytes(records.header_line())
    for record in found:
        kind = records.kind_of(record)
        counts[kind] += 1
        report.outcomes["exported", kind] += 1
        yield _bytes(records.record_line(record))
    yield _bytes(records.end_line({kind: counts[kind] for kind in records.KINDS}))


def read(file: BinaryIO, report: Report) -> Iterator[Item]:
    """Give the records of a file, or what is wrong with a line. Raises IMPORT_INVALID."""
    ended = False
    for line in json_lines(file):
        if line.fault:
            yield Item(None, line.number, line.fault)
        elif is_ours(line.value):  # of files written one behind the other each has its own
            _check_version(line.value, line.number)
            ended = False
        elif isinstance(line.value, Mapping) and line.value.get("kind") == records.END:
            ended = True
        else:
            yield _item(line.value, line.number)
    if not ended:
        report.notes.append("the file has no end line: what stood behind is missing")


def _item(value: Any, number: int) -> Item:
    if not isinstance(value, Mapping):
        return Item(None, number, "it is no object")
    try:
        return Item(records.record_of(value), number)
    except RowError as error:
        return Item(None, number, str(error))


def _check_version(header: Mapping[str, Any], line: int) -> None:
    version = header.get("version")
    if version != records.VERSION:
        raise ImportInvalidError(
            f"the file has version {version} of its format, and this dshloop reads "
            f"{records.VERSION}",
            hint="Upgrade dshloop, or export again with the older one.",
            line=line,
        )


def _bytes(text: str) -> bytes:
    return text.encode() + b"\n"
