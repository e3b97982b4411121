"""Where each node of a YAML text begins and ends, as offsets into the text without its BOM."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from dshloop.dsh_yaml.document import Document

Kind: TypeAlias = Literal["mapping", "sequence", "scalar", "alias", "pair", "empty"]
"""`pair` is ``a: 1`` as an item of a flow list; `empty` a value that isn't written."""


@dataclass(slots=True)
class Span:
    """One node. The text from `start` (its tag or anchor) to `end` is all of it.

    `asked` is where the reader began to look: right behind the colon of a block mapping.
    `content` is where it begins without tag and anchor. Blanks, comments and line breaks behind
    a node are not in it, except blank lines that a block scalar keeps.
    """

    kind: Kind
    asked: int
    start: int
    content: int
    end: int
    flow: bool = False
    anchor: str | None = None
    tagged: bool = False
    entries: list[Entry] = field(default_factory=list)

    def entry(self, key: str | int) -> Entry | None:
        """Give the entry of a key, or the item with that index."""
        if self.kind == "sequence":
            return self.entries[key] if isinstance(key, int) and key < len(self.entries) else None
        return next((entry for entry in self.entries if entry.key == key), None)


@dataclass(slots=True)
class Entry:
    """One entry of a map or list, from `at`: its ``?``, its key, or its dash.

    `value` is None where nothing is written and no colon either: ``{a}``, ``-``. `known` is
    false for a few rare ways to write explicit keys, whose entries can't be edited.
    """

    key: str | int
    at: int
    name: Span | None
    value: Span | None
    known: bool = True

    @property
    def end(self) -> int:
        """Where its text ends; for a bare dash behind it, for a bare colon too."""
        if self.value is not None:
            return self.value.end
        return self.name.end if self.name is not None else self.at + 1


@dataclass(frozen=True, slots=True)
class Spans:
    """A document with the span of its node.

    `uses` maps anchors' offsets to their aliases'; `anchored` tells whether there is any anchor.
    """

    document: Document
    root: Span
    uses: Mapping[int, set[int]]
    anchored: bool


def load_spans(text: str, *, source: str) -> Spans:
    """Read a text as `load_document` does, which takes half the time, and keep all spans."""
    from dshloop.dsh_yaml.reader.documents import read_with
    from dshloop.dsh_yaml.reader.span_reader import SpanReader

    reader = SpanReader(text, source)
    document = read_with(reader)
    return Spans(document, reader.root, reader.uses, reader.anchored)
