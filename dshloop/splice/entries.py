"""Keys and items put in and taken out, in block and in flow style."""

from __future__ import annotations

import re

from dshloop.dsh_yaml import Value
from dshloop.dsh_yaml.spans import Entry, Span
from dshloop.splice.lines import (
    begins_line,
    block_end,
    column,
    line_end,
    line_start,
    next_line,
    skip_gap,
)
from dshloop.splice.page import Cut, Page, Place
from dshloop.splice.replace import below, fill, replace
from dshloop.splice.write import Habits, entry_lines, item_lines, write_inline, write_text

_BLANK_LINE = re.compile(r"(?:\r\n|\n|\r(?!\n))[ \t]*[\r\n]")


def insert_key(page: Page, place: Place, key: str, value: Value, habits: Habits) -> list[Cut]:
    """Plan a new key behind the last one of a map, in the map's own style."""
    node = place.node
    if node.flow:
        written = write_inline(value, habits, in_flow=True)
        return _add_in_flow(page, node, f"{write_text(key, habits, in_flow=True)}: {written}")
    lines = entry_lines(key, value, habits)
    return _add_below(page, node, len(node.entries), lines, habits)


def insert_item(page: Page, place: Place, index: int, value: Value, habits: Habits) -> list[Cut]:
    """Plan a new item of a list. An empty list becomes a block of one row, or stays on its line."""
    node = place.node
    page.require_own(node)
    if not node.entries:
        in_line = place.holder is not None and not (isinstance(value, dict | list) and value)
        return (fill if in_line else replace)(page, place, [value], habits)
    if node.flow:
        written = write_inline(value, habits, in_flow=True)
        if index == len(node.entries):
            return _add_in_flow(page, node, written)
        at = node.entries[index].at
        return [Cut(at, at, f"{written}, ")]
    lines = item_lines(value, habits)
    if index == 0:
        at = node.entries[0].at
        text = below(lines, column(page.text, at), habits).lstrip(habits.newline + " ")
        return [Cut(at, at, text + below([""], 0, habits) + " " * column(page.text, at))]
    if index == len(node.entries) and _airy(page.text, node):
        lines = ["", *lines]
    return _add_below(page, node, index, lines, habits)


def remove_entry(page: Page, place: Place, holder: Place, habits: Habits) -> list[Cut]:
    """Plan the end of a key or an item, with the comments inside its block.

    Comments above it stay. A map or list that loses its last entry is written ``{}`` or ``[]``.
    """
    node, entry = holder.node, place.entry
    if entry is None:
        raise page.refusal(0, "the whole document can't be removed")
    page.require_removable(entry.at, entry.end)
    if node.flow:
        return _remove_in_flow(page.text, node, node.entries.index(entry))
    if len(node.entries) == 1:
        return replace(page, holder, {} if node.kind == "mapping" else [], habits)
    return [_block_cut(page.text, node, entry)]


def _block_cut(text: str, node: Span, entry: Entry) -> Cut:
    end = block_end(text, entry.end, column(text, node.content))
    if not begins_line(text, entry.at):  # the first of a compact map or list
        return Cut(entry.at, _next_content(text, end), "")
    start, after = line_start(text, entry.at), next_line(text, end)
    if after == end and start:  # the last line of a file without final newline
        start -= 2 if text[start - 2 : start] == "\r\n" else 1
    return Cut(start, after, "")


def _next_content(text: str, offset: int) -> int:
    while offset < len(text) and text[offset] in " \t\r\n":
        offset += 1
    return offset


def _add_below(page: Page, node: Span, index: int, lines: list[str], habits: Habits) -> list[Cut]:
    """Plan lines behind the entry before `index` and the comments inside its block."""
    margin = column(page.text, node.content)
    at = block_end(page.text, node.entries[index - 1].end, margin)
    added, newline = below(lines, margin, habits), habits.newline
    if page.text.startswith(newline, at):  # whole lines, so that the entry before may go as well
        at += len(newline)
        added = added.removeprefix(newline) + newline
    return [Cut(at, at, added)]


def _airy(text: str, node: Span) -> bool:
    """Tell whether a blank line stands between the last two items."""
    if len(node.entries) < 2:
        return False
    before, last = node.entries[-2:]
    return _BLANK_LINE.search(text, before.end, last.at) is not None


def _add_in_flow(page: Page, node: Span, written: str) -> list[Cut]:
    text = page.text
    if not node.entries:
        return [Cut(node.content + 1, node.content + 1, written)]
    last = node.entries[-1]
    if not begins_line(text, last.at) or last.at == node.start:
        return [Cut(last.end, last.end, f", {written}")]
    # one entry a line: the new one too, behind a comment on the line of the last
    comma = skip_gap(text, last.end)
    trailing = text[comma] == ","
    at = comma + 1 if trailing else last.end
    line = line_end(text, at)
    if text[at:line].strip() and not text[at:line].lstrip().startswith("#"):
        return [Cut(last.end, last.end, f", {written}")]
    start = line_start(text, last.at)
    newline = "\r\n" if "\r\n" in text else text[start - 1 : start] or "\n"
    added = newline + text[start : last.at] + written + ("," if trailing else "")
    return [Cut(at, at, "" if trailing else ","), Cut(line, line, added)]


def _remove_in_flow(text: str, node: Span, index: int) -> list[Cut]:
    entry = node.entries[index]
    if index + 1 < len(node.entries):
        return [Cut(entry.at, node.entries[index + 1].at, "")]
    after = skip_gap(text, entry.end)
    end = after + 1 if text[after] == "," else entry.end
    if not index:
        bare = (
            not text[node.content + 1 : entry.at].strip() and not text[end : node.end - 1].strip()
        )
        return [Cut(node.content + 1, node.end - 1, "")] if bare else [Cut(entry.at, end, "")]
    before = node.entries[index - 1].end
    comma = skip_gap(text, before)
    if text[after] == ",":  # lists that end with a comma go on to do so
        return [Cut(_line_or(text, comma + 1, entry.at), end, "")]
    return [Cut(comma, comma + 1, ""), Cut(_line_or(text, comma + 1, entry.at), end, "")]


def _line_or(text: str, floor: int, at: int) -> int:
    """Give where the blanks before an entry begin, its line break with them."""
    while at > floor and text[at - 1] in " \t":
        at -= 1
    if at > floor and text[at - 1] == "\n":
        at -= 1
    if at > floor and text[at - 1] == "\r":
        at -= 1
    return at
