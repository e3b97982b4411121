"""How new values are written: in DSH's dialect and the habits of the text around them."""

from __future__ import annotations

import re
from dataclasses import dataclass

from dshloop.dsh_yaml import JsExpr, Value
from dshloop.dsh_yaml.dump import scalar_text
from dshloop.dsh_yaml.dump_scalars import (
    Style,
    choose_style,
    is_old_word,
    quote_double,
    quote_single,
)

_ANY_WIDTH = 1 << 40
_SAFE_WORD = re.compile(r"[A-Za-z][A-Za-z0-9_./-]*")
_OLD_WORDS = frozenset(("true", "false", "null", "yes", "no", "on", "off", "y", "n"))
_IN_FLOW = re.compile(r"[,\[\]{}]")


@dataclass(frozen=True, slots=True)
class Habits:
    """How a file is laid out; columns are counted from the key or dash above.

    `step` is how far keys stand in, `dash` how far dashes below a key, `gap` how far content
    behind a dash. `portable` quotes all text that readers of other dialects might misread.
    """

    newline: str = "\n"
    step: int = 2
    dash: int = 2
    gap: int = 2
    portable: bool = False


@dataclass(frozen=True, slots=True)
class Written:
    """A value: `head` stands on the line of its key or dash, `body` on the lines below."""

    head: str
    body: tuple[str, ...] = ()


def write_inline(value: Value, habits: Habits, *, in_flow: bool) -> str:
    """Write a value on one line; maps and lists in flow style."""
    if isinstance(value, str):
        return write_text(value, habits, in_flow=in_flow)
    if isinstance(value, JsExpr):
        return f"!!js {write_text(value.source, habits, in_flow=in_flow)}"
    if isinstance(value, dict):
        members = (
            f"{write_text(key, habits, in_flow=True)}: {write_inline(member, habits, in_flow=True)}"
            for key, member in value.items()
        )
        return "{" + ", ".join(members) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(write_inline(item, habits, in_flow=True) for item in value) + "]"
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return scalar_text(value)


def write_text(text: str, habits: Habits, *, in_flow: bool = False) -> str:
    """Write a string, or a key, on one line: plain where it reads back, else quoted."""
    if habits.portable:
        plain = _SAFE_WORD.fullmatch(text) and text.lower() not in _OLD_WORDS
        return text if plain else quote_double(text)
    if not text or is_old_word(text):
        return quote_single(text)
    style = choose_style(text, _ANY_WIDTH, is_key=True)
    if style is Style.DOUBLE:
        return quote_double(text)
    if style is Style.PLAIN and not (in_flow and _IN_FLOW.search(text)):
        return text
    return quote_single(text)


def write_block(value: Value, habits: Habits, *, in_item: bool = False) -> Written:
    """Write a value below a key, or behind a dash: maps, lists and long text over several lines."""
    if isinstance(value, dict | list) and value:
        lines = _map_lines(value, habits) if isinstance(value, dict) else _list_lines(value, habits)
        if in_item:
            return Written(lines[0], tuple(_indented(lines[1:], habits.gap)))
        return Written("", tuple(_indented(lines, _step(value, habits))))
    if isinstance(value, JsExpr):
        written = write_block(value.source, habits, in_item=in_item)
        return Written(f"!!js {written.head}", written.body)
    if isinstance(value, str) and _suits_literal(value, habits):
        step = habits.gap if in_item else habits.step
        mark = str(step) if value.startswith(" ") else ""
        chomp = "" if value.endswith("\n") else "-"
        lines = value.removesuffix("\n").split("\n")
        return Written(f"|{mark}{chomp}", tuple(_indented(lines, step)))
    return Written(write_inline(value, habits, in_flow=False))


def entry_lines(key: str, value: Value, habits: Habits) -> list[str]:
    """Write an entry of a block map as lines at column 0."""
    written = write_block(value, habits)
    name = write_text(key, habits)
    return [f"{name}: {written.head}" if written.head else f"{name}:", *written.body]


def item_lines(value: Value, habits: Habits) -> list[str]:
    """Write an item of a block list as lines at column 0."""
    written = write_block(value, habits, in_item=True)
    return ["-" + " " * (habits.gap - 1) + written.head, *written.body]


def _map_lines(mapping: dict[str, Value], habits: Habits) -> list[str]:
    return [line for key, value in mapping.items() for line in entry_lines(key, value, habits)]


def _list_lines(items: list[Value], habits: Habits) -> list[str]:
    return [line for item in items for line in item_lines(item, habits)]


def _step(value: Value, habits: Habits) -> int:
    return habits.step if isinstance(value, dict) else habits.dash


def _indented(lines: list[str], columns: int) -> list[str]:
    return [" " * columns + line if line else line for line in lines]


def _suits_literal(text: str, habits: Habits) -> bool:
    """Tell whether a text of several lines is clear as a literal block: none of it is blanks."""
    lines = text.removesuffix("\n").split("\n")
    if "\n" not in text or habits.portable or not lines[0].strip() or not lines[-1].strip():
        return False
    return choose_style(text, _ANY_WIDTH, is_key=False) is Style.LITERAL
