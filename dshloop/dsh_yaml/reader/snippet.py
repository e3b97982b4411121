"""The excerpt of the text under an error message."""

from __future__ import annotations

import re

_MAX_WIDTH = 79
_LINES_BEFORE = 3
_LINES_AFTER = 2
_LINE_BREAK = re.compile(r"\r?\n|\r|\0")


def snippet(text: str, offset: int) -> str:
    """Show the line of an offset with its neighbours, numbered, and a caret below the place."""
    starts, ends = _lines(text)
    found = max((n for n, start in enumerate(starts) if start <= offset), default=0)
    first = max(found - _LINES_BEFORE, 0)
    last = max(found, min(found + _LINES_AFTER, len(ends) - 2))
    width = len(str(min(found + _LINES_AFTER, len(ends) - 1)))
    room = _MAX_WIDTH - (1 + width + 3)
    column = offset - starts[found]
    shown: list[str] = []
    for number in range(first, last + 1):
        line, caret = _cut(text[starts[number] : ends[number]], column, room)
        shown.append(f" {number + 1:>{width}} | {line}")
        if number == found:
            shown.append("-" * (1 + width + 3 + caret) + "^")
    return "\n".join(shown)


def _lines(text: str) -> tuple[list[int], list[int]]:
    starts, ends = [0], []
    for match in _LINE_BREAK.finditer(text):
        ends.append(match.start())
        starts.append(match.end())
    return starts, [*ends, len(text)]


def _cut(line: str, column: int, room: int) -> tuple[str, int]:
    """Shorten a line around a column; give it and the column's new place."""
    half = room // 2 - 1
    head = tail = ""
    start, end = 0, len(line)
    if column > half:
        head = " ... "
        start = column - half + len(head)
    if len(line) - column > half:
        tail = " ..."
        end = column + half - len(tail)
    return head + line[start:end].replace("\t", "→") + tail, column - start + len(head)
