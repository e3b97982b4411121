"""Nodes: which kind begins here, its tag, its anchor; block and flow collections."""

from __future__ import annotations

import re
from enum import Enum

from dshloop.dsh_yaml.reader.block import read_block
from dshloop.dsh_yaml.reader.cursor import END, SPACE_OR_BREAK, Cursor
from dshloop.dsh_yaml.reader.properties import Directives, read_name, read_tag
from dshloop.dsh_yaml.reader.tags import construct
from dshloop.dsh_yaml.reader.text import read_double_quoted, read_plain, read_single_quoted
from dshloop.dsh_yaml.scalars import resolve_plain
from dshloop.dsh_yaml.values import Value, order_keys, text_of

MAX_DEPTH = 100
PLAIN_TAG = "?"
_SIMPLE_KEY = re.compile(r"([A-Za-z0-9_./][A-Za-z0-9_./-]*)(?=:[ \n])")


class Context(Enum):
    """Where a node stands, which decides what it may be."""

    FLOW_IN = 1
    FLOW_OUT = 2
    BLOCK_IN = 3
    BLOCK_OUT = 4


class EntryMarks:
    """Offsets of a collection and of its entries (`Marks` of dsh_yaml.document)."""

    __slots__ = ("container", "keys", "start")

    def __init__(self, container: Value, start: int) -> None:
        self.container = container
        self.start = start
        self.keys: dict[str | int, int] = {}

    def entry(self, key: str | int) -> int | None:
        """Give the offset of a key or an item."""
        return self.keys.get(key)


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

    # --- one node

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
                has_content = collections and self.read_block_sequence(column)
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
            self.read_block_sequence(column) or self.read_block_mapping(column, flow_indent)
        ):
            return True
        if self.read_flow_collection(flow_indent):
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
            self._mark(value, self.pos)
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
            self.read_block_mapping(self.pos - self.line_start, flow_indent)
            and self.kind == "mapping"
        ):
            return True
        self.anchors = anchors
        self._return_to(place)
        self.tag, self.anchor, self.kind, self.result = node
        return False

    # --- collections

    def _mark(self, container: Value, start: int) -> dict[str | int, int]:
        marks = self.marks[id(container)] = EntryMarks(container, start)
        return marks.keys

    def done(self, kind: str, tag: str | None, anchor: str | None, result: Value) -> bool:
        """Set what was read; always True, for the caller to return."""
        self.kind, self.tag, self.anchor, self.result = kind, tag, anchor, result
        return True

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

    def read_flow_collection(self, min_indent: int) -> bool:
        """Read ``[...]`` or ``{...}``; False when neither begins here."""
        opening = self.text[self.pos]
        if opening not in "[{":
            return False
        terminator = "]" if opening == "[" else "}"
        result: list[Value] | dict[str, Value] = [] if opening == "[" else {}
        keys = self._mark(result, self.pos)
        tag, anchor = self.tag, self.anchor
        if anchor is not None:
            self.anchors[anchor] = result
        self.pos += 1
        after_comma = True
        while self.text[self.pos] != END:
            self.skip_space()
            char = self.text[self.pos]
            if char == terminator:
                self.pos += 1
                if isinstance(result, dict):
                    order_keys(result)
                kind = "mapping" if isinstance(result, dict) else "sequence"
                return self.done(kind, tag, anchor, result)
            if not after_comma:
                raise self.fault("missed comma between flow collection entries")
            if char == ",":
                raise self.fault("expected the node content, but found ','")
            self._read_flow_entry(result, keys, min_indent)
            self.skip_space()
            after_comma = self.text[self.pos] == ","
            if after_comma:
                self.pos += 1
        raise self.fault("unexpected end of the stream within a flow collection")

    def _read_flow_entry(
        self, result: list[Value] | dict[str, Value], keys: dict[str | int, int], min_indent: int
    ) -> None:
        explicit = self.text[self.pos] == "?" and self.text[self.pos + 1] in SPACE_OR_BREAK
        if explicit:
            self.pos += 1
            self.skip_space()
        at, line = self.pos, self.line
        self.compose(min_indent, Context.FLOW_IN)
        key, value = self.result, None
        self.skip_space()
        is_pair = explicit
        if (explicit or self.line == line) and self.text[self.pos] == ":":
            is_pair = True
            self.pos += 1
            self.skip_space()
            self.compose(min_indent, Context.FLOW_IN)
            value = self.result
        if isinstance(result, dict):
            self.store_pair(result, keys, key, value, at)
            return
        keys[len(result)] = at
        if is_pair:
            pair: dict[str, Value] = {}
            self.store_pair(pair, self._mark(pair, at), key, value, at)
            result.append(pair)
        else:
            result.append(key)

    def read_block_sequence(self, indent: int) -> bool:
        """Read ``- item`` lines at this indentation; False when none begins here."""
        if self.first_tab != -1:
            return False
        if not self._at_dash():
            if self.anchor is not None:
                self.anchors[self.anchor] = []
            return False
        tag, anchor = self.tag, self.anchor
        result: list[Value] = []
        keys = self._mark(result, self.pos)
        if anchor is not None:
            self.anchors[anchor] = result
        while self.text[self.pos] != END:
            if self.first_tab != -1:
                self.pos = self.first_tab
                raise self.fault("tab characters must not be used in indentation")
            if not self._at_dash():
                break
            keys[len(result)] = self.pos
            self.pos += 1
            if self.skip_space() and self.indent <= indent:
                result.append(None)
                continue
            keys[len(result)] = self.pos
            line = self.line
            self.compose(indent, Context.BLOCK_IN)
            result.append(self.result)
            self.skip_space()
            if (self.line == line or self.indent > indent) and self.text[self.pos] != END:
                raise self.fault("bad indentation of a sequence entry")
            if self.indent < indent:
                break
        return self.done("sequence", tag, anchor, result)

    def _at_dash(self) -> bool:
        return self.text[self.pos] == "-" and self.text[self.pos + 1] in SPACE_OR_BREAK

    def read_block_mapping(self, indent: int, flow_indent: int) -> bool:
        """Read ``key: value`` lines; True too when one other node was read instead."""
        if self.first_tab != -1:
            return False
        return _BlockMapping(self, indent, flow_indent).read()


class _Key(Enum):
    """What stands where an implicit key may."""

    KEY = 1
    OTHER_NODE = 2
    NOTHING = 3


class _BlockMapping:
    """One block mapping while it is read; `explicit` between ``? key`` and its value."""

    def __init__(self, reader: NodeReader, indent: int, flow_indent: int) -> None:
        self.reader = reader
        self.indent = indent
        self.flow_indent = flow_indent
        self.tag, self.anchor = reader.tag, reader.anchor
        self.result: dict[str, Value] = {}
        if self.anchor is not None:
            reader.anchors[self.anchor] = self.result
        self.marks = EntryMarks(self.result, reader.pos)
        self.explicit = False
        self.detected = False
        self.key: Value = None
        self.at = reader.pos

    def read(self) -> bool:
        """Read all entries; True too when one other node was read instead."""
        reader = self.reader
        while reader.text[reader.pos] != END:
            if not self.explicit and reader.first_tab != -1:
                reader.pos = reader.first_tab
                raise reader.fault("tab characters must not be used in indentation")
            line = reader.line
            if reader.text[reader.pos] in "?:" and reader.text[reader.pos + 1] in SPACE_OR_BREAK:
                self._read_indicator()
                compact = True
            else:
                found = self._read_implicit_key(line)
                if found is _Key.NOTHING:
                    break
                if found is _Key.OTHER_NODE:
                    reader.tag, reader.anchor = self.tag, self.anchor
                    return True
                compact = False
            if reader.line == line or reader.indent > self.indent:
                self._read_value(compact=compact)
            if (reader.line == line or reader.indent > self.indent) and reader.text[
                reader.pos
            ] != END:
                raise reader.fault("bad indentation of a mapping entry")
            if reader.indent < self.indent:
                break
        return self._finish()

    def _read_indicator(self) -> None:
        reader = self.reader
        if reader.text[reader.pos] == "?":
            if self.explicit:
                self._store(None)
            self.detected = self.explicit = True
        elif self.explicit:
            self.explicit = False
        else:
            raise reader.fault(
                "incomplete explicit mapping pair; a key node is missed; "
                "or followed by a non-tabulated empty line"
            )
        reader.pos += 1

    def _read_implicit_key(self, line: int) -> _Key:
        reader = self.reader
        self.at = reader.pos
        simple = _SIMPLE_KEY.match(reader.text, reader.pos)
        if simple is not None and reader.depth < MAX_DEPTH:  # most keys; saves a third of the time
            reader.pos = simple.end()
            reader.result = resolve_plain(simple[1])
        elif not reader.compose(self.flow_indent, Context.FLOW_OUT):
            return _Key.NOTHING
        if reader.line != line:
            if self.detected:
                raise reader.fault(
                    "can not read a block mapping entry; a multiline key may not be an implicit key"
                )
            return _Key.OTHER_NODE
        reader.skip_blanks()
        if reader.text[reader.pos] != ":":
            if self.detected:
                raise reader.fault("can not read an implicit mapping pair; a colon is missed")
            return _Key.OTHER_NODE
        reader.pos += 1
        if reader.text[reader.pos] not in SPACE_OR_BREAK:
            raise reader.fault(
                "a whitespace character is expected after the key-value separator "
                "within a block mapping"
            )
        key = reader.result
        if self.explicit:
            self._store(None)
        self.detected = True
        self.explicit = False
        self.key = key
        return _Key.KEY

    def _read_value(self, *, compact: bool) -> None:
        reader = self.reader
        if self.explicit:
            self.at = reader.pos
        found = reader.compose(self.indent, Context.BLOCK_OUT, seek=True, compact=compact)
        if self.explicit:
            if found:
                self.key = reader.result
        else:
            self._store(reader.result if found else None)
        reader.skip_space()

    def _store(self, value: Value) -> None:
        self.reader.store_pair(self.result, self.marks.keys, self.key, value, self.at)
        self.key = None

    def _finish(self) -> bool:
        if self.explicit:
            self._store(None)
        if self.detected:
            order_keys(self.result)
            self.reader.marks[id(self.result)] = self.marks
            self.reader.done("mapping", self.tag, self.anchor, self.result)
        return self.detected


def _compare(indent: int, parent: int) -> int:
    """Give 1 for deeper than the parent, 0 for equal, -1 for less."""
    return (indent > parent) - (indent < parent)
