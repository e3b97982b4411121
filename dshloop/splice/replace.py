"""Another value in the place of one that is there, or where nothing is written yet."""

from __future__ import annotations

from dshloop.dsh_yaml import Value
from dshloop.dsh_yaml.spans import Span
from dshloop.splice.lines import (
    begins_line,
    block_end,
    column,
    line_end,
    line_start,
    same_line,
)
from dshloop.splice.page import Cut, Page, Place
from dshloop.splice.write import Habits, Written, write_block, write_inline


def replace(page: Page, place: Place, value: Value, habits: Habits) -> list[Cut]:
    """Plan another value at a place; SPLICE_REFUSED when an alias elsewhere needs the old one.

    A comment on the line of the key or dash stays. An unshared anchor stays, a tag goes.
    """
    node = place.node
    page.require_removable(node.start, node.end)
    if place.in_flow:
        return _in_flow(page, place, value, habits)
    if place.holder is None:
        return _root(page, node, value, habits)
    if place.in_item and node.anchor is not None:  # no block begins on the line of an anchor
        return fill(page, place, value, habits)
    return _in_block(page, place, write_block(value, habits, in_item=place.in_item), habits)


def fill(page: Page, place: Place, value: Value, habits: Habits) -> list[Cut]:
    """Plan a value on one line, as that of a null or an empty map that gets its first entry."""
    node = place.node
    page.require_removable(node.start, node.end)
    if place.in_flow:
        return _in_flow(page, place, value, habits)
    return _in_block(page, place, Written(write_inline(value, habits, in_flow=True)), habits)


def _in_flow(page: Page, place: Place, value: Value, habits: Habits) -> list[Cut]:
    node = place.node
    written = write_inline(value, habits, in_flow=True)
    if node.kind == "empty" and node.start == node.end:
        colon = page.text[place.lead - 1 : place.lead] == ":"
        return [Cut(place.lead, place.lead, f" {written}" if colon else f": {written}")]
    start, kept = _start(node)
    return [Cut(start, node.end, kept + written)]


def _in_block(page: Page, place: Place, written: Written, habits: Habits) -> list[Cut]:
    text, node = page.text, place.node
    body = below(written.body, place.base, habits)
    if node.kind == "empty" and node.start == node.end:
        head = [Cut(place.lead, place.lead, f" {written.head}")] if written.head else []
        at = line_end(text, place.lead)
        return [*head, Cut(at, at, body)]
    start, kept = _start(node)
    head_text = kept + written.head
    if not same_line(text, place.lead, start):
        at = line_end(text, place.lead)
        head = [Cut(place.lead, place.lead, f" {head_text}")] if head_text else []
        return [*head, Cut(at, block_end(text, node.end, place.base), body)]
    if not head_text:
        start = _strip_back(text, start, place.lead)
    if node.kind == "scalar" and text[node.content] in "|>":
        token = node.content + len(text[node.content : node.end].split(None, 1)[0])
        at = line_end(text, node.content)
        return [Cut(start, token, head_text), Cut(at, max(at, node.end), body)]
    if node.entries and not node.flow:
        return [Cut(start, block_end(text, node.end, place.base), head_text + body)]
    at = line_end(text, node.end)
    return [Cut(start, node.end, head_text), Cut(at, at, body)]


def _root(page: Page, node: Span, value: Value, habits: Habits) -> list[Cut]:
    """Plan another root; that of an empty file goes to its end, where comments leave room."""
    text = page.text
    written = write_block(value, habits, in_item=True)
    lines = [written.head, *(line[habits.gap :] for line in written.body)]
    block = habits.newline.join(lines)
    if node.kind == "empty":
        at = min(node.start, len(text))
        if not begins_line(text, at):
            block = habits.newline + block
        return [Cut(at, at, block + habits.newline)]
    if node.entries and not node.flow:
        end = block_end(text, node.end, column(text, node.content))
        return [Cut(node.start, end, block)]
    end = line_end(text, node.end)
    alone = begins_line(text, node.start)
    if alone and not text[node.end : end].strip():
        return [Cut(node.start, end, block)]
    if alone:  # a comment stands behind it and gets the line for itself
        after = end - len(text[node.end : end].lstrip(" \t"))
        return [Cut(node.start, after, ""), Cut(end, end, habits.newline + block)]
    start = _strip_back(text, node.start, line_start(text, node.start))
    return [Cut(start, node.end, ""), Cut(end, end, habits.newline + block)]


def below(lines: tuple[str, ...] | list[str], base: int, habits: Habits) -> str:
    """Lay lines out below another one, each behind its line break."""
    return "".join(
        habits.newline + (" " * base + line if line else line) for line in lines
    )  # blank lines of a literal block stay empty


def _start(node: Span) -> tuple[int, str]:
    """Say where the old value begins, and what stays of its anchor when that goes with a tag."""
    if not node.tagged:
        return (node.content if node.anchor is not None else node.start), ""
    return node.start, f"&{node.anchor} " if node.anchor is not None else ""


def _strip_back(text: str, offset: int, floor: int) -> int:
    while offset > floor and text[offset - 1] in " \t":
        offset -= 1
    return offset
