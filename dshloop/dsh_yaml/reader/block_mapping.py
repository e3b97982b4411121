"""Block mappings: ``key: value`` lines at one indentation, or ``? key`` and ``: value``."""

from __future__ import annotations

import re
from enum import Enum
from typing import TYPE_CHECKING

from dshloop.dsh_yaml.reader.context import MAX_DEPTH, Context, EntryMarks
from dshloop.dsh_yaml.reader.cursor import END, SPACE_OR_BREAK
from dshloop.dsh_yaml.scalars import resolve_plain
from dshloop.dsh_yaml.values import Value, order_keys

if TYPE_CHECKING:
    from dshloop.dsh_yaml.reader.nodes import NodeReader

_SIMPLE_KEY = re.compile(r"([A-Za-z0-9_./][A-Za-z0-9_./-]*)(?=:[ \n])")


def read_block_mapping(reader: NodeReader, indent: int, flow_indent: int) -> bool:
    """Read a mapping; True too when one other node was read instead, False when nothing."""
    if reader.first_tab != -1:
        return False
    return _BlockMapping(reader, indent, flow_indent).read()


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
