"""The few items of a long list that an edit needs to see, so that a large file costs little.

Items of a block list are read alike with or without the rest of the file, as long as no anchor
is near and what follows them is another item or the end of the file.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from dshloop.dsh_yaml import Document, Value
from dshloop.splice.change import Edit, Path
from dshloop.splice.lines import line_start

_DASH = re.compile(r" *-[ \t]*")
_MAX_DEPTH = 20
_MAX_GAP = 500


class Window(NamedTuple):
    """Items `first` to `last` (exclusive) of the list at `path`, on whole lines of the text."""

    path: Path
    first: int
    last: int
    start: int
    end: int
    following: str
    """A line that stands for the item behind, "" when none is."""


def find_window(document: Document, text: str, edit: Edit) -> Window | None:
    """Find the smallest window for an edit; None when none is, or none that saves much."""
    if len(edit.path) > _MAX_DEPTH:
        return None
    for depth in range(len(edit.path), -1, -1):
        path = edit.path[:depth]
        items = _value_at(document.value, path)
        wanted = edit.neighbours(depth, len(items)) if isinstance(items, list) else None
        if wanted is None or not _owned(document, text, path):
            continue
        found = _window(document, text, path, items, *wanted)
        if found is not None:
            return found if 2 * (found.end - found.start) < len(text) else None
    return None


def _window(
    document: Document, text: str, path: Path, items: list[Value], first: int, last: int
) -> Window | None:
    start = item_line(document, text, items, first)
    if start is None:
        return None
    if last == len(items):
        if not _ends_text(document, path):
            return None
        return Window(path, first, last, start, len(text), "")
    end = item_line(document, text, items, last)
    if end is None or text[start:end].find("-") < 0:
        return None
    lead = text[end : text.index("-", end)]
    if lead != text[start : text.index("-", start)]:
        return None
    return Window(path, first, last, start, end, f"{lead}- ~\n")


def item_line(document: Document, text: str, items: list[Value], index: int) -> int | None:
    """Give the line of an item's dash; None unless the dash is the first on its line."""
    at = document.start(items, index)
    if at is None:
        return None
    start = line_start(text, at)
    bare = text[at : at + 1] == "-" and not text[start:at].strip(" ") and items[index] is None
    return start if bare or _DASH.fullmatch(text, start, at) else None


def _owned(document: Document, text: str, path: Path) -> bool:
    """Tell whether a path leads through no alias and past no anchor."""
    value = document.value
    at = document.start(value)
    if at is None or "&" in text[max(0, at - _MAX_GAP) : at]:
        return False
    for step in path:
        at, value = document.start(value, step), value[step]
        start = document.start(value)
        if at is None or start is None or not at <= start < at + _MAX_GAP:
            return False
        if "&" in text[at:start] or "*" in text[at:start]:
            return False
    return True


def _ends_text(document: Document, path: Path) -> bool:
    """Tell whether the list at a path is the last thing in the document."""
    value = document.value
    for step in path:
        marks = document.marks[id(value)]
        at = marks.entry(step)
        if isinstance(value, list):
            last = step == len(value) - 1
        else:
            last = at is not None and all((marks.entry(key) or 0) <= at for key in value)
        if not last:
            return False
        value = value[step]
    return True


def _value_at(value: Value, path: Path) -> Value:
    for step in path:
        fits = isinstance(value, list) and isinstance(step, int) and 0 <= step < len(value)
        if not fits and not (isinstance(value, dict) and step in value):
            return None
        value = value[step]
    return value
