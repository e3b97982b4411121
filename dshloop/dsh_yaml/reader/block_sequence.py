"""Block sequences: ``- item`` lines at one indentation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dshloop.dsh_yaml.reader.context import Context
from dshloop.dsh_yaml.reader.cursor import END, SPACE_OR_BREAK
from dshloop.dsh_yaml.values import Value

if TYPE_CHECKING:
    from dshloop.dsh_yaml.reader.nodes import NodeReader


def read_block_sequence(reader: NodeReader, indent: int) -> bool:
    """Read ``- item`` lines at this indentation; False when none begins here."""
    if reader.first_tab != -1:
        return False
    if not _at_dash(reader):
        if reader.anchor is not None:
            reader.anchors[reader.anchor] = []
        return False
    tag, anchor = reader.tag, reader.anchor
    result: list[Value] = []
    keys = reader.mark(result, reader.pos)
    if anchor is not None:
        reader.anchors[anchor] = result
    while reader.text[reader.pos] != END:
        if reader.first_tab != -1:
            reader.pos = reader.first_tab
            raise reader.fault("tab characters must not be used in indentation")
        if not _at_dash(reader):
            break
        dash = keys[len(result)] = reader.pos
        reader.pos += 1
        if reader.skip_space() and reader.indent <= indent:
            result.append(None)
            reader.note_item(dash)
            continue
        keys[len(result)] = reader.pos
        line = reader.line
        reader.compose(indent, Context.BLOCK_IN)
        result.append(reader.result)
        reader.note_item(dash)
        reader.skip_space()
        if (reader.line == line or reader.indent > indent) and reader.text[reader.pos] != END:
            raise reader.fault("bad indentation of a sequence entry")
        if reader.indent < indent:
            break
    return reader.done("sequence", tag, anchor, result)


def _at_dash(reader: NodeReader) -> bool:
    return reader.text[reader.pos] == "-" and reader.text[reader.pos + 1] in SPACE_OR_BREAK
