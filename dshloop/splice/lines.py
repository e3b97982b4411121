"""Lines of a text whose line breaks are LF, CR LF or CR, as YAML's are."""

from __future__ import annotations

import re

_BREAK = re.compile(r"\r\n|\n|\r")
_END = re.compile(r"[\r\n]|\Z")
_INDENT = re.compile(r"[ \t]*")


def newline_of(text: str) -> str:
    """Give the first line break of a text, LF when it has none."""
    found = _BREAK.search(text)
    return found[0] if found else "\n"


def line_start(text: str, offset: int) -> int:
    """Give where the line of an offset begins."""
    return max(text.rfind("\n", 0, offset), text.rfind("\r", 0, offset)) + 1


def line_end(text: str, offset: int) -> int:
    """Give where the line of an offset ends, before its line break."""
    found = _END.search(text, offset)
    return found.start() if found else len(text)


def next_line(text: str, offset: int) -> int:
    """Give where the next line begins; the end of the text when there is none."""
    found = _BREAK.search(text, offset)
    return found.end() if found else len(text)


def column(text: str, offset: int) -> int:
    """Count the characters before an offset in its line."""
    return offset - line_start(text, offset)


def begins_line(text: str, offset: int) -> bool:
    """Tell whether only blanks stand before an offset in its line."""
    return not text[line_start(text, offset) : offset].strip(" \t")


def same_line(text: str, one: int, other: int) -> bool:
    """Tell whether no line break is between two offsets."""
    return _BREAK.search(text, one, other) is None


def skip_gap(text: str, offset: int) -> int:
    """Step over blanks, line breaks and comments, as they stand between two nodes."""
    while offset < len(text):
        if text[offset] in " \t\r\n":
            offset += 1
        elif text[offset] == "#":
            offset = line_end(text, offset)
        else:
            break
    return offset


def block_end(text: str, end: int, margin: int) -> int:
    """Give where a block really ends: its last line, or the last comment line inside of it.

    Comment lines behind a block belong to it when they are indented deeper than `margin`, the
    column of its key or dash; blank lines between them too, blank lines behind them don't.
    """
    found = line_end(text, end)
    start = next_line(text, found)
    while start < len(text):
        indent = _INDENT.match(text, start)
        first = indent.end() if indent else start
        if text[first : first + 1] == "#":
            if first - start <= margin:
                break
            found = line_end(text, first)
        elif text[first : first + 1] not in ("\n", "\r"):
            break
        start = next_line(text, first)
    return found
