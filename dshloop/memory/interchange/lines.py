"""A file of lines, read in constant memory: split at LF only, every line for itself."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, BinaryIO, NamedTuple

from dshloop.files import BOM
from dshloop.memory.interchange.records import decoded

LONGEST = 256 << 20
"""Bytes of a line; of a longer one only that is kept in memory, and nothing is made of it."""


class Line(NamedTuple):
    """A line with its number from 1: the JSON value, or why it is none."""

    number: int
    value: Any
    fault: str = ""


def json_lines(file: BinaryIO) -> Iterator[Line]:
    """Parse each line that isn't blank; a torn or foreign one is a fault and hides no other."""
    for number, raw in _raw_lines(file):
        if number == 1:
            raw = raw.removeprefix(BOM)
        if raw.strip():
            yield _parsed(number, raw)


def _raw_lines(file: BinaryIO) -> Iterator[tuple[int, bytes]]:
    number = 0
    while raw := file.readline(LONGEST):
        number += 1
        whole = raw.endswith(b"\n")
        while not whole and len(raw) == LONGEST and (more := file.readline(LONGEST)):
            raw, whole = b"\x00" * LONGEST, more.endswith(b"\n")  # no JSON: a fault
        yield number, raw


def _parsed(number: int, raw: bytes) -> Line:
    try:
        return Line(number, decoded(raw.decode("utf-8", "surrogatepass")))
    except RecursionError:
        return Line(number, None, "its JSON is nested too deeply")
    except UnicodeDecodeError:
        return Line(number, None, "it is not UTF-8")
    except ValueError:
        whole = raw.endswith(b"\n")
        return Line(number, None, "it is no JSON" if whole else "it is cut off")
