"""Block scalars: literal ``|`` and folded ``>``."""

from __future__ import annotations

from dataclasses import dataclass

from dshloop.dsh_yaml.reader.cursor import BREAK, END, SPACE, Cursor
from dshloop.dsh_yaml.reader.text import capture


@dataclass(slots=True)
class _Header:
    """What follows ``|`` or ``>``: `chomp` is "", "-" or "+"; `indent` None when not given."""

    chomp: str = ""
    indent: int | None = None


def read_block(cursor: Cursor, min_indent: int) -> str | None:
    """Read a block scalar with lines indented by `min_indent` or more; None if none is here."""
    style = cursor.text[cursor.pos]
    if style not in "|>":
        return None
    header = _read_header(cursor)
    if cursor.text[cursor.pos] in SPACE:
        cursor.skip_blanks()
        if cursor.text[cursor.pos] == "#":
            cursor.to_end_of_line()
    indent = min_indent if header.indent is None else min_indent + header.indent - 1
    return _read_lines(cursor, header, indent, folding=style == ">")


def _read_header(cursor: Cursor) -> _Header:
    header = _Header()
    while True:
        cursor.pos += 1
        char = cursor.text[cursor.pos]
        if char in "+-":
            if header.chomp:
                raise cursor.fault("repeat of a chomping mode identifier")
            header.chomp = char
        elif char in "0123456789":
            if char == "0":
                raise cursor.fault(
                    "bad explicit indentation width of a block scalar; it cannot be less than one"
                )
            if header.indent is not None:
                raise cursor.fault("repeat of an indentation width identifier")
            header.indent = int(char)
        else:
            return header


def _read_lines(cursor: Cursor, header: _Header, indent: int, *, folding: bool) -> str:
    detected = header.indent is not None
    parts: list[str] = []
    has_content = more_indented = False
    empty = 0
    text = cursor.text
    while text[cursor.pos] != END:
        cursor.read_break()
        cursor.indent = _skip_indent(cursor, indent if detected else None)
        if not detected and cursor.indent > indent:
            indent = cursor.indent
        char = text[cursor.pos]
        if char in BREAK:
            empty += 1
            continue
        if not detected and indent == 0:
            raise cursor.fault("missing indentation for block scalar")
        if cursor.indent < indent:
            parts.append(_chomped(header.chomp, empty, has_content=has_content))
            break
        breaks = "\n" * (empty + has_content)
        if folding:
            if char in SPACE:
                more_indented = True
            elif more_indented:
                more_indented = False
                breaks = "\n" * (empty + 1)
            else:
                breaks = "\n" * empty or " " * has_content
        parts.append(breaks)
        has_content = detected = True
        empty = 0
        start = cursor.pos
        cursor.to_end_of_line()
        parts.append(capture(cursor, start, cursor.pos, quoted=False))
    return "".join(parts)


def _skip_indent(cursor: Cursor, limit: int | None) -> int:
    start = cursor.pos
    found = cursor.skip_spaces()
    if limit is not None and found > limit:
        found = max(limit, 0)
        cursor.pos = start + found
    return found


def _chomped(chomp: str, empty: int, *, has_content: bool) -> str:
    if chomp == "+":
        return "\n" * (empty + has_content)
    return "\n" if has_content and not chomp else ""
