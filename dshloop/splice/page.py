"""One text with its spans: the way to a path in it, and what may not be touched."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from dshloop.dsh_yaml.spans import Entry, Span, Spans
from dshloop.errors import SpliceRefusedError
from dshloop.splice.change import Path
from dshloop.splice.lines import column


class Cut(NamedTuple):
    """A piece of the text and what stands there afterwards."""

    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Place:
    """Where a value stands: `lead` is right behind its colon or dash, `base` their column.

    `holder` is the map or list it is in and `entry` its entry there, both None for the root.
    """

    node: Span
    lead: int
    base: int
    holder: Span | None = None
    entry: Entry | None = None

    @property
    def in_flow(self) -> bool:
        """Whether it stands in a flow map or list, which holds no block style."""
        return self.holder is not None and self.holder.flow

    @property
    def in_item(self) -> bool:
        """Whether it is an item of a list, so that a map begins on the line of the dash."""
        return self.holder is not None and self.holder.kind == "sequence"


@dataclass(frozen=True, slots=True)
class Page:
    """A text without BOM, and its spans."""

    text: str
    spans: Spans

    @property
    def root(self) -> Place:
        """The place of the document's value."""
        node = self.spans.root
        return Place(node, min(node.start, len(self.text)), 0)

    def child(self, place: Place, key: str | int) -> Place | None:
        """Give the place of a key or item; None when it isn't there.

        SPLICE_REFUSED for a place that is reached through an alias or a shared anchor.
        """
        node = place.node
        self.require_own(node)
        if node.kind not in ("mapping", "sequence"):
            return None
        entry = node.entry(key)
        if entry is None:
            return None
        if not entry.known:
            raise self.refusal(entry.at, "its key is written in a way that can't be edited")
        return self._place(node, entry)

    def follow(self, path: Path) -> list[Place]:
        """Give the places from the root to a path, as far as they are there."""
        places = [self.root]
        for key in path:
            found = self.child(places[-1], key)
            if found is None:
                break
            places.append(found)
        return places

    def require_own(self, node: Span) -> None:
        """Refuse to change inside of what an alias stands for, here or elsewhere."""
        if node.kind == "alias":
            name = self.text[node.start : node.end]
            raise self.refusal(node.start, f"it stands at the anchor of the alias {name}")
        uses = self.spans.uses.get(self._anchor(node)) if node.anchor is not None else None
        if uses:
            raise self._shared(node.anchor or "", uses)

    def require_removable(self, start: int, end: int) -> None:
        """Refuse to take away an anchor that an alias elsewhere stands for."""
        for anchor, uses in self.spans.uses.items():
            left = [use for use in uses if not start <= use < end]
            if start <= anchor < end and left:
                name = self.text[anchor + 1 : end].split(None, 1)[0]
                raise self._shared(name, left)

    def refusal(self, offset: int, why: str) -> SpliceRefusedError:
        """Make the error for what stands at an offset."""
        line = self.line(offset)
        return SpliceRefusedError(
            f"{self.spans.document.source}: line {line} can't be edited: {why}",
            file=self.spans.document.source,
            line=line,
        )

    def line(self, offset: int) -> int:
        """Give the line of an offset, from 1."""
        return self.spans.document.text.position(offset).line

    def _place(self, node: Span, entry: Entry) -> Place:
        """Give the place of an entry; one without any text gets an empty node."""
        base = column(self.text, entry.at)
        value = entry.value
        if node.kind == "sequence":
            lead = entry.at + (0 if node.flow else 1)
        elif value is None:
            lead = entry.end
        elif node.flow and entry.name is not None:
            lead = self.text.index(":", entry.name.end) + 1
        else:
            lead = value.asked
        if value is None or (value.kind == "empty" and value.start == value.end):
            value = Span("empty", lead, lead, lead, lead)
        return Place(value, lead, base, node, entry)

    def _anchor(self, node: Span) -> int:
        """Give the offset of a node's own anchor, which a tag may precede."""
        return self.text.index(f"&{node.anchor}", node.start)

    def _shared(self, anchor: str, uses: Iterable[int]) -> SpliceRefusedError:
        lines = sorted({self.line(use) for use in uses})
        where = ("line " if len(lines) == 1 else "lines ") + ", ".join(map(str, lines))
        source = self.spans.document.source
        return SpliceRefusedError(
            f"{source}: the value with the anchor &{anchor} can't be edited: {where} shares it",
            file=source,
            line=lines[0],
            anchor=anchor,
        )


def spliced(text: str, cuts: Sequence[Cut]) -> str:
    """Make the cuts, which don't overlap; those at one place in the order given."""
    parts = []
    at = 0
    for cut in sorted(cuts, key=lambda cut: (cut.start, cut.end)):
        parts += [text[at : cut.start], cut.text]
        at = cut.end
    return "".join([*parts, text[at:]])


def overlapping(cuts: Sequence[Cut]) -> bool:
    """Tell whether two of the cuts take the same bytes."""
    ordered = sorted(cuts, key=lambda cut: (cut.start, cut.end))
    return any(after.start < cut.end for cut, after in pairwise(ordered))
