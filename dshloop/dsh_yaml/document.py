"""A read YAML file: its value, and where in the text each part of it stands."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from dshloop.dsh_yaml.values import Value, utf16_length

_LINE_BREAK = re.compile(r"\r\n|\n|\r")


class Position(NamedTuple):
    """A place in a text, both from 1; columns count UTF-16 units as js-yaml's do."""

    line: int
    column: int


class Marks(Protocol):
    """Where one map or list and its entries begin, as offsets into the text."""

    container: Value
    start: int

    def entry(self, key: str | int) -> int | None:
        """Give the offset of a key, or of the item with that index; None when there is none."""


class TextMap:
    """Turns offsets of a text into lines and columns; the table is built on first use."""

    __slots__ = ("_starts", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self._starts: list[int] | None = None

    def position(self, offset: int) -> Position:
        """Give line and column of an offset."""
        if self._starts is None:
            self._starts = [0, *(match.end() for match in _LINE_BREAK.finditer(self.text))]
        line = bisect_right(self._starts, offset)
        return Position(line, utf16_length(self.text[self._starts[line - 1] : offset]) + 1)


@dataclass(frozen=True, slots=True)
class Document:
    """One YAML document; maps and lists of `value` are never changed by anyone."""

    source: str
    value: Value
    text: TextMap
    marks: Mapping[int, Marks] = field(repr=False)

    def position(self, container: Value, key: str | int | None = None) -> Position | None:
        """Say where a map or list of `value` begins, or its entry `key` (a key or an index).

        None for what is not of this document, and for scalars: ask their container.
        """
        offset = self.start(container, key)
        return None if offset is None else self.text.position(offset)

    def start(self, container: Value, key: str | int | None = None) -> int | None:
        """Say the same as `position` as an offset into `text.text`."""
        marks = self.marks.get(id(container))
        if marks is None or marks.container is not container:
            return None
        return marks.start if key is None else marks.entry(key)
