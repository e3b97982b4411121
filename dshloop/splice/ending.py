"""A new last item of a document that is one block list, without looking at what comes before."""

from __future__ import annotations

from dshloop.dsh_yaml import Document
from dshloop.splice.change import Edit
from dshloop.splice.lines import column, line_end, line_start
from dshloop.splice.page import Cut, spliced
from dshloop.splice.replace import below
from dshloop.splice.window import item_line
from dshloop.splice.write import Habits, item_lines


def add_last_item(document: Document, text: str, edit: Edit, habits: Habits) -> str | None:
    """Give the text with an item behind the last one; None when that isn't what is asked.

    It is a guess until it is read back: the last line might be one of a block scalar.
    """
    items = document.value
    if edit.kind != "insert" or edit.path or not isinstance(items, list) or not items:
        return None
    dash = item_line(document, text, items, len(items) - 1)
    if dash is None or edit.index != len(items):
        return None
    margin = column(text, text.index("-", dash))
    at = _last_line(text, dash, margin)
    blank = [""] if len(items) > 1 and _set_off(text, dash) else []
    return spliced(
        text, [Cut(at, at, below([*blank, *item_lines(edit.value, habits)], margin, habits))]
    )


def _last_line(text: str, floor: int, margin: int) -> int:
    """Give the end of the last line that is no blank, no comment of the document and no ``...``."""
    start = line_start(text, len(text))
    while start > floor:
        line = text[start : line_end(text, start)]
        bare = line.lstrip(" \t")
        outside = bare.startswith("#") and len(line) - len(bare) <= margin
        if bare and not outside and line.rstrip() != "...":
            break
        start = line_start(text, _before(text, start))
    return line_end(text, start)


def _set_off(text: str, start: int) -> bool:
    """Tell whether a blank line stands above a line, or above its comments."""
    while start > 0:
        start = line_start(text, _before(text, start))
        line = text[start : line_end(text, start)].strip()
        if not line.startswith("#"):
            return not line
    return False


def _before(text: str, start: int) -> int:
    """Give the end of the line above the one that begins at an offset."""
    return start - (2 if text[start - 2 : start] == "\r\n" else 1)
