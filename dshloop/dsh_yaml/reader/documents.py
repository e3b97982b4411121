"""Whole texts: directives, document separators, and that there is one document only."""

from __future__ import annotations

from dshloop.dsh_yaml.document import Document
from dshloop.dsh_yaml.reader.context import Context
from dshloop.dsh_yaml.reader.nodes import NodeReader
from dshloop.dsh_yaml.reader.properties import Directives


def read_document(text: str, source: str) -> Document:
    """Read the one document of a text; an empty text is null.

    Raises DSH_YAML_INVALID with js-yaml's reason, line and column.
    """
    return read_with(NodeReader(text, source))


def read_with(reader: NodeReader) -> Document:
    """Read the one document of the text that a reader was made for."""
    reader.indent = reader.skip_spaces()
    values = []
    starts = []
    while reader.pos < reader.length - 1:
        starts.append(reader.pos)
        values.append(_read_one(reader))
    if len(values) > 1:
        raise reader.fault(
            "expected a single document in the stream, but found more", starts[1], says_place=False
        )
    return Document(reader.source, values[0] if values else None, reader.text_map, reader.marks)


def _read_one(reader: NodeReader) -> object:
    reader.directives = Directives()
    reader.anchors = {}
    reader.directives.read(reader)
    reader.skip_space()
    if reader.indent == 0 and reader.text.startswith("---", reader.pos):
        reader.pos += 3
        reader.skip_space()
    elif reader.directives.found:
        raise reader.fault("directives end mark is expected")
    reader.compose(reader.indent - 1, Context.BLOCK_OUT)
    reader.skip_space()
    result = reader.result
    if reader.pos == reader.line_start and reader.at_separator():
        if reader.text[reader.pos] == ".":
            reader.pos += 3
            reader.skip_space()
    elif reader.pos < reader.length - 1:
        raise reader.fault("end of the stream or a document separator is expected")
    return result
