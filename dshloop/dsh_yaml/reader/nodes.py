"""Nodes: which kind begins here, its tag, its anchor."""

from __future__ import annotations

from dshloop.dsh_yaml.reader.block import read_block
from dshloop.dsh_yaml.reader.block_mapping import read_block_mapping
from dshloop.dsh_yaml.reader.block_sequence import read_block_sequence
from dshloop.dsh_yaml.reader.context import MAX_DEPTH, Context, EntryMarks
from dshloop.dsh_yaml.reader.cursor import Cursor
from dshloop.dsh_yaml.reader.flow import read_flow
from dshloop.dsh_yaml.reader.properties import Directives, read_name, read_tag
from dshloop.dsh_yaml.reader.tags import construct
from dshloop.dsh_yaml.reader.text import read_double_quoted, read_plain, read_single_quoted
from dshloop.dsh_yaml.scalars import resolve_plain
from dshloop.dsh_yaml.values import Value, text_of

PLAIN_TAG = "?"


class NodeReader(Cursor):
    """Reads nodes; `tag`, `anchor`, `kind` and `result` describe the one read last."""

    def __init__(self, text: str, source: str) -> None:
        super().__init__(text, source)
        self.depth = 0
        self.marks: dict[int, EntryMarks] = {}
        self.anchors: dict[str, Value] = {}
        self.directives = Directives()
        self.tag: str | None = None
        self.anchor: str | None = None
        self.kind: str | None = None
        self.result: Value = None

    def compose(
        self, parent_indent: int, context: Context, *, seek: bool = False, compact: bool = True
    ) -> bool:
        """Read a node that is indented deeper than its parent; False when nothing is there."""
        if self.depth >= MAX_DEPTH:
            raise self.fault(f"nesting exceeded maxDepth ({MAX_DEPTH})")
        self.depth += 1
        self._forget()
        in_block = context in (Context.BLOCK_OUT, Context.BLOCK_IN)
        collections = in_block
        at_new_line = False
        deeper = 1
        if seek and self.skip_space():
            at_new_line = True
            deeper = _compare(self.indent, parent_indent)
        start: tuple[int, ...] | None = None
        reads_properties = deeper == 1
        while reads_properties:
            here = self._place()
            if not self._read_property(at_new_line=at_new_line):
                break
            start = start or here
            if self.skip_space():
                at_new_line = True
                collections = in_block
                deeper = _compare(self.indent, parent_indent)
            else:
                collections = False
        collections = collections and (at_new_line or compact)
        has_content = False
        if deeper == 1 or context is Context.BLOCK_OUT:
            flow_indent = parent_indent + (1 if in_block else 0)
            column = self.pos - self.line_start
            if deeper == 1:
                has_content = self._read_content(
                    context, start, flow_indent, in_block=in_block, collections=collections
                )
            elif deeper == 0:
                has_content = collections and read_block_sequence(self, column)
        self._resolve()
        self.depth -= 1
        return self.tag is not None or self.anchor is not None or has_content

    def _read_property(self, *, at_new_line: bool) -> bool:
        """Read a tag or an anchor, unless it belongs to the first key of a nested mapping."""
        char = self.text[self.pos]
        if char == "!":
            if self.tag is not None:
                if at_new_line:
                    return False
                raise self.fault("duplication of a tag property")
            self.tag = read_tag(self, self.directives.handles)
        elif char == "&":
            if self.anchor is not None:
                if at_new_line:
                    return False
                raise self.fault("duplication of an anchor property")
            self.anchor = read_name(self, "anchor")
        else:
            return False
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
        column = self.pos - self.line_start
        if collections and (
            read_block_sequence(self, column) or read_block_mapping(self, column, flow_indent)
        ):
            return True
        if read_flow(self, flow_indent):
            return True
        may_be_key = start is not None and in_block and not collections
        found = (
            (
                may_be_key
                and self.text[self.pos] not in "|>"
                and self._read_mapping_from_property(start or (), flow_indent)
            )
            or self._read_scalar(context, flow_indent, in_block=in_block)
            or self._read_alias()
        )
        self._store_anchor()
        return found

    def _read_scalar(self, context: Context, flow_indent: int, *, in_block: bool) -> bool:
        text = read_block(self, flow_indent) if in_block else None
        if text is None:
            text = read_single_quoted(self)
        if text is None:
            text = read_double_quoted(self)
        if text is None and self.text[self.pos] != "*":
            text = read_plain(self, flow_indent, in_flow=context is Context.FLOW_IN)
            if text is not None and self.tag is None:
                self.tag = PLAIN_TAG
        if text is None:
            return False
        self.kind = "scalar"
        self.result = text
        return True

    def _read_alias(self) -> bool:
        if self.text[self.pos] != "*":
            return False
        name = read_name(self, "alias")
        if name not in self.anchors:
            raise self.fault(f'unidentified alias "{name}"')
        self.result = self.anchors[name]
        self.skip_space()
        if self.tag is not None or self.anchor is not None:
            raise self.fault("alias node should not have any properties")
        return True

    def _resolve(self) -> None:
        """Give the node read last the value that its tag, or a plain scalar's look, asks for."""
        if self.tag == PLAIN_TAG:
            if self.result is not None and self.kind != "scalar":
                raise self.fault(
                    f'unacceptable node kind for !<?> tag; it should be "scalar", not "{self.kind}"'
                )
            if isinstance(self.result, str):
                self.result = resolve_plain(self.result)
        elif self.tag == "!":
            return
        elif self.tag is not None:
            self.result = self._mark_new(construct(self, self.tag, self.kind, self.result))
        self._store_anchor()

    def _mark_new(self, value: Value) -> Value:
        """Mark an empty map or list that a tag without content made."""
        if isinstance(value, dict | list) and id(value) not in self.marks:
            self.mark(value, self.pos)
        return value

    def _store_anchor(self) -> None:
        if self.anchor is not None:
            self.anchors[self.anchor] = self.result

    def _forget(self) -> None:
        self.tag = self.anchor = self.kind = self.result = None

    def _place(self) -> tuple[int, ...]:
        return self.pos, self.line, self.line_start, self.indent, self.first_tab

    def _return_to(self, place: tuple[int, ...]) -> None:
        self.pos, self.line, self.line_start, self.indent, self.first_tab = place

    def _read_mapping_from_property(self, start: tuple[int, ...], flow_indent: int) -> bool:
        """Read a block mapping whose first key has the properties that were just read."""
        place, node = self._place(), (self.tag, self.anchor, self.kind, self.result)
        anchors = dict(self.anchors)
        self._return_to(start)
        self._forget()
        if (
            read_block_mapping(self, self.pos - self.line_start, flow_indent)
            and self.kind == "mapping"
        ):
            return True
        self.anchors = anchors
        self._return_to(place)
        self.tag, self.anchor, self.kind, self.result = node
        return False

    def mark(self, container: Value, start: int) -> dict[str | int, int]:
        """Note where a map or list begins; give the table for its entries."""
        marks = self.marks[id(container)] = EntryMarks(container, start)
        return marks.keys

    def done(self, kind: str, tag: str | None, anchor: str | None, result: Value) -> bool:
        """Set what was read; always True, for the caller to return."""
        self.kind, self.tag, self.anchor, self.result = kind, tag, anchor, result
        return True

    def note_item(self, at: int, *, pair: bool = False) -> None:
        """Be told of the item of a list that was just read; who keeps spans listens."""

    def store_pair(
        self,
        mapping: dict[str, Value],
        keys: dict[str | int, int],
        key: Value,
        value: Value,
        at: int,
    ) -> None:
        """Add an entry to a mapping, its key made a string first."""
        if isinstance(key, list) and any(isinstance(item, list) for item in key):
            raise self.fault("nested arrays are not supported inside keys")
        name = text_of(key)
        if name in mapping:
            raise self.fault("duplicated mapping key", at)
        mapping[name] = value
        keys[name] = at


def _compare(indent: int, parent: int) -> int:
    """Give 1 for deeper than the parent, 0 for equal, -1 for less."""
    return (indent > parent) - (indent < parent)
