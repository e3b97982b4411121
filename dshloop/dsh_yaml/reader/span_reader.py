"""The reader that also keeps where each node begins and ends, for edits of the text."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from dshloop.dsh_yaml.reader.context import Context
from dshloop.dsh_yaml.reader.nodes import NodeReader
from dshloop.dsh_yaml.spans import Entry, Kind, Span
from dshloop.dsh_yaml.values import Value, text_of

_ALIAS = re.compile(r"\*[^ \t\n\r,\[\]{}\0]+")
_BLANKS = " \t\r\n"


@dataclass(slots=True)
class _Frame:
    """What is known of the node being read; offsets are -1 until they are."""

    asked: int
    first: int = -1
    properties_end: int = -1
    content: int = -1
    alias_end: int = -1
    anchor: str | None = None
    tagged: bool = False
    entries: list[Entry] = field(default_factory=list)
    children: list[Span] = field(default_factory=list)
    """Spans read below this node that are no entry yet."""

    def own_by_key(self, start: int) -> None:
        """Learn that tag and anchor are those of the first key of a mapping."""
        self.content = start
        self.first = self.properties_end = -1
        self.anchor, self.tagged = None, False


class SpanReader(NodeReader):
    """A `NodeReader` with `root`, the span of the document's node, and `uses`.

    `uses` has, for the offset of each anchor, the offsets of the aliases that stand for it.
    """

    def __init__(self, text: str, source: str) -> None:
        super().__init__(text, source)
        self.uses: dict[int, set[int]] = {}
        self._anchored: dict[str, int] = {}
        self._frame = _Frame(0)

    @property
    def root(self) -> Span:
        """The span of the document's node; an empty one when there is none."""
        children = self._frame.children
        return children[0] if children else Span("empty", self.pos, self.pos, self.pos, self.pos)

    @property
    def anchored(self) -> bool:
        """Whether the text has an anchor."""
        return bool(self._anchored)

    def compose(
        self, parent_indent: int, context: Context, *, seek: bool = False, compact: bool = True
    ) -> bool:
        """Read a node as `NodeReader` does, and keep its span."""
        outer = self._frame
        frame = self._frame = _Frame(self.pos)
        found = super().compose(parent_indent, context, seek=seek, compact=compact)
        self._frame = outer
        outer.children.append(self._adopted(frame) or self._span(frame))
        return found

    def store_pair(
        self,
        mapping: dict[str, Value],
        keys: dict[str | int, int],
        key: Value,
        value: Value,
        at: int,
    ) -> None:
        """Add an entry to a mapping, and its span to the node that is being read."""
        super().store_pair(mapping, keys, key, value, at)
        frame = self._frame
        spans, frame.children = frame.children, []
        name = spans.pop(0) if spans and spans[0].asked == at else None
        content = spans.pop(0) if spans else None
        known = not spans and (name or content) is not None
        known = known and (content is None or content.asked > at)
        if at and self.text[at - 1] == "?":
            at -= 1
        elif name is not None and self.text[self._trimmed(at, 0) - 1] == "?":  # in a flow map
            known = False
        frame.entries.append(Entry(text_of(key), at, name, content, known=known))

    def note_item(self, at: int, *, pair: bool = False) -> None:
        """Keep the span of an item; a pair in a flow list is an item that can't be looked into."""
        frame = self._frame
        if frame.content == -1:
            frame.content = at
        if pair:
            end = frame.entries.pop().end
            item: Span | None = Span("pair", at, at, at, end, flow=True)
        else:
            item = frame.children.pop() if frame.children else None
        index = len(frame.entries)
        frame.entries.append(Entry(index, at, None, item))

    def _read_property(self, *, at_new_line: bool) -> bool:
        at, is_anchor = self.pos, self.text[self.pos] == "&"
        if not super()._read_property(at_new_line=at_new_line):
            return False
        frame = self._frame
        frame.first = at if frame.first == -1 else frame.first
        frame.properties_end = self.pos
        if is_anchor:
            frame.anchor = self.anchor
            self._anchored[self.anchor or ""] = at
        else:
            frame.tagged = True
        return True

    def _read_content(
        self,
        context: Context,
        start: tuple[int, ...] | None,
        flow_indent: int,
        *,
        in_block: bool,
        collections: bool,
    ) -> bool:
        self._frame.content = self.pos
        return super()._read_content(
            context, start, flow_indent, in_block=in_block, collections=collections
        )

    def _read_mapping_from_property(self, start: tuple[int, ...], flow_indent: int) -> bool:
        frame = self._frame
        entries, frame.entries = frame.entries, []
        children, frame.children = frame.children, []
        if super()._read_mapping_from_property(start, flow_indent):
            frame.own_by_key(start[0])
            return True
        frame.entries, frame.children = entries, children
        return False

    def _read_alias(self) -> bool:
        at = self.pos
        if not super()._read_alias():
            return False
        match = _ALIAS.match(self.text, at)
        if match is not None:
            self._frame.alias_end = match.end()
            self.uses.setdefault(self._anchored[match[0][1:]], set()).add(at)
        return True

    def _adopted(self, frame: _Frame) -> Span | None:
        """Take over the node that was read as the key of a mapping, but is none."""
        if frame.entries or not frame.children or frame.children[-1].kind == "empty":
            return None
        child = frame.children[-1]
        child.asked = frame.asked
        if frame.first != -1:
            child.start = frame.first
            child.anchor = child.anchor or frame.anchor
            child.tagged = child.tagged or frame.tagged
        return child

    def _span(self, frame: _Frame) -> Span:
        kind: Kind = "empty"
        if frame.alias_end != -1:
            kind = "alias"
        elif self.kind is not None and frame.content != -1:
            kind = self.kind  # type: ignore[assignment]
        if kind == "empty":
            start = frame.first if frame.first != -1 else frame.asked
            end = max(start, frame.properties_end)
            return Span(
                kind, frame.asked, start, end, end, anchor=frame.anchor, tagged=frame.tagged
            )
        start = frame.first if frame.first != -1 else frame.content
        flow = kind in ("mapping", "sequence") and self._is_flow(frame)
        end = self._end(frame, kind, flow=flow)
        return Span(
            kind, frame.asked, start, frame.content, end,
            flow=flow, anchor=frame.anchor, tagged=frame.tagged, entries=frame.entries,
        )  # fmt: skip

    def _is_flow(self, frame: _Frame) -> bool:
        if self.text[frame.content] not in "[{":
            return False
        return not frame.entries or frame.entries[0].at > frame.content

    def _end(self, frame: _Frame, kind: Kind, *, flow: bool) -> int:
        if kind == "alias":
            return frame.alias_end
        if kind in ("mapping", "sequence") and not flow:
            return frame.entries[-1].end
        if kind == "scalar" and self.text[frame.content] in "|>":
            return self._block_end(frame.content)
        return self._trimmed(self.pos, frame.content)

    def _block_end(self, content: int) -> int:
        """Give the end of the last line of a block scalar, with blank lines only if they count."""
        if "+" in self.text[content : content + 3]:
            return self._without_break(max(self.line_start, content + 2))
        end = self._trimmed(min(self.pos, self.length), content)
        while end < self.length and self.text[end] in " \t":
            end += 1
        return end

    def _without_break(self, end: int) -> int:
        if self.text[end - 1] == "\n":
            end -= 1
        if self.text[end - 1] == "\r":
            end -= 1
        return end

    def _trimmed(self, end: int, floor: int) -> int:
        while end > floor + 1 and self.text[end - 1] in _BLANKS:
            end -= 1
        return end
