"""Flow collections: ``[...]`` and ``{...}``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dshloop.dsh_yaml.reader.context import Context
from dshloop.dsh_yaml.reader.cursor import END, SPACE_OR_BREAK
from dshloop.dsh_yaml.values import Value, order_keys

if TYPE_CHECKING:
    from dshloop.dsh_yaml.reader.nodes import NodeReader


def read_flow(reader: NodeReader, min_indent: int) -> bool:
    """Read ``[...]`` or ``{...}``; False when neither begins here."""
    opening = reader.text[reader.pos]
    if opening not in "[{":
        return False
    terminator = "]" if opening == "[" else "}"
    result: list[Value] | dict[str, Value] = [] if opening == "[" else {}
    keys = reader.mark(result, reader.pos)
    tag, anchor = reader.tag, reader.anchor
    if anchor is not None:
        reader.anchors[anchor] = result
    reader.pos += 1
    after_comma = True
    while reader.text[reader.pos] != END:
        reader.skip_space()
        char = reader.text[reader.pos]
        if char == terminator:
            reader.pos += 1
            if isinstance(result, dict):
                order_keys(result)
            kind = "mapping" if isinstance(result, dict) else "sequence"
            return reader.done(kind, tag, anchor, result)
        if not after_comma:
            raise reader.fault("missed comma between flow collection entries")
        if char == ",":
            raise reader.fault("expected the node content, but found ','")
        _read_entry(reader, result, keys, min_indent)
        reader.skip_space()
        after_comma = reader.text[reader.pos] == ","
        if after_comma:
            reader.pos += 1
    raise reader.fault("unexpected end of the stream within a flow collection")


def _read_entry(
    reader: NodeReader,
    result: list[Value] | dict[str, Value],
    keys: dict[str | int, int],
    min_indent: int,
) -> None:
    explicit = reader.text[reader.pos] == "?" and reader.text[reader.pos + 1] in SPACE_OR_BREAK
    if explicit:
        reader.pos += 1
        reader.skip_space()
    at, line = reader.pos, reader.line
    reader.compose(min_indent, Context.FLOW_IN)
    key, value = reader.result, None
    reader.skip_space()
    is_pair = explicit
    if (explicit or reader.line == line) and reader.text[reader.pos] == ":":
        is_pair = True
        reader.pos += 1
        reader.skip_space()
        reader.compose(min_indent, Context.FLOW_IN)
        value = reader.result
    if isinstance(result, dict):
        reader.store_pair(result, keys, key, value, at)
        return
    keys[len(result)] = at
    if is_pair:
        pair: dict[str, Value] = {}
        reader.store_pair(pair, reader.mark(pair, at), key, value, at)
        result.append(pair)
    else:
        result.append(key)
    reader.note_item(at, pair=is_pair)
