"""How a string is written: plain, quoted, literal or folded.

A port of js-yaml 4.2's lib/dumper.js (MIT, Copyright (C) 2011-2015 by Vitaly Puzrin).
"""

from __future__ import annotations

import re
from enum import Enum

from dshloop.dsh_yaml.scalars import is_ambiguous
from dshloop.dsh_yaml.values import utf16_length

INDENT = 2
WIDTH = 80
MIN_WIDTH = 40

# YAML 1.1 reads these as booleans and base 60 numbers; other readers of the file may be 1.1
_OLD_BOOLEANS = frozenset(
    "y Y yes Yes YES on On ON n N no No NO off Off OFF".split()  # noqa: SIM905
)
_OLD_BASE_60 = re.compile(r"[-+]?[0-9_]+(?::[0-9_]+)+(?:\.[0-9_]*)?")
_CONTROLS = "\0-\t\v-\x1f\x7f-\xa0\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff"
_NOT_PRINTABLE = re.compile(f"[\n{_CONTROLS}]")
_NOT_PRINTABLE_IN_BLOCK = re.compile(f"[{_CONTROLS}]")
_NOT_FIRST = frozenset(" -?:,[]{}#&*!|=>'\"%@`")
_NOT_LAST = frozenset(" :")
_LEADING_SPACE = re.compile("\n* ")
_LINES = re.compile("(\n+)([^\n]*)")
_FOLD_AT = re.compile(" [^ ]")
_SURROGATE_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")
_ESCAPES = {
    "\0": "\\0",
    "\a": "\\a",
    "\b": "\\b",
    "\t": "\\t",
    "\n": "\\n",
    "\v": "\\v",
    "\f": "\\f",
    "\r": "\\r",
    "\x1b": "\\e",
    '"': '\\"',
    "\\": "\\\\",
    "\x85": "\\N",
    "\xa0": "\\_",
    "\u2028": "\\L",
    "\u2029": "\\P",
}


class Style(Enum):
    """The five ways to write a string."""

    PLAIN = 1
    SINGLE = 2
    LITERAL = 3
    FOLDED = 4
    DOUBLE = 5


def write_string(text: str, level: int, *, is_key: bool) -> str:
    """Write a string that stands `level` steps deep; keys stay on one line."""
    if not text:
        return "''"
    if is_old_word(text):
        return f"'{text}'"
    indent = INDENT * max(1, level)
    width = max(MIN_WIDTH, WIDTH - indent)
    match choose_style(text, width, is_key=is_key):
        case Style.PLAIN:
            return text
        case Style.SINGLE:
            return quote_single(text)
        case Style.LITERAL:
            return "|" + _block_header(text) + _indented(text, indent)
        case Style.FOLDED:
            return ">" + _block_header(text) + _indented(fold(text, width), indent)
        case Style.DOUBLE:
            return quote_double(text)


def quote_double(text: str) -> str:
    """Write a string in double quotes, which can hold every text on one line."""
    return f'"{_escaped(text)}"'


def quote_single(text: str) -> str:
    """Write a string of printable characters without line breaks in single quotes."""
    return "'" + text.replace("'", "''") + "'"


def is_old_word(text: str) -> bool:
    """Tell whether readers of YAML 1.1 take this word for a boolean or a number to base 60."""
    return text in _OLD_BOOLEANS or _OLD_BASE_60.fullmatch(text) is not None


def choose_style(text: str, width: int, *, is_key: bool) -> Style:
    """Pick the style of a string that is not empty (chooseScalarStyle)."""
    if (_NOT_PRINTABLE if is_key else _NOT_PRINTABLE_IN_BLOCK).search(text):
        return Style.DOUBLE
    if not is_key:
        lines = text.split("\n")
        if any(not line.startswith(" ") and utf16_length(line) > width for line in lines):
            return Style.FOLDED
        if len(lines) > 1:
            return Style.LITERAL
    plain = (
        text[0] not in _NOT_FIRST
        and text[-1] not in _NOT_LAST
        and " #" not in text
        and ": " not in text
        and not is_ambiguous(text)
    )
    return Style.PLAIN if plain else Style.SINGLE


def _block_header(text: str) -> str:
    indicator = str(INDENT) if _LEADING_SPACE.match(text) else ""
    clip = text.endswith("\n")
    keep = clip and (text == "\n" or text.endswith("\n\n"))
    return f"{indicator}{'+' if keep else '' if clip else '-'}\n"


def _indented(text: str, indent: int) -> str:
    """Indent all lines that are not empty, and leave out the last line break."""
    lead = " " * indent
    lines = text.removesuffix("\n").split("\n")
    return "\n".join(lead + line if line else line for line in lines)


def fold(text: str, width: int) -> str:
    """Break the long lines of a text at blanks; widths count UTF-16 units (foldString)."""
    if not text.isascii():
        return _SURROGATE_PAIR.sub(_join, _fold_units(_units(text), width))
    return _fold_units(text, width)


def _units(text: str) -> str:
    raw = text.encode("utf-16-le", "surrogatepass")
    return "".join(chr(int.from_bytes(raw[at : at + 2], "little")) for at in range(0, len(raw), 2))


def _join(pair: re.Match[str]) -> str:
    return pair[0].encode("utf-16", "surrogatepass").decode("utf-16")


def _fold_units(text: str, width: int) -> str:
    end = text.find("\n")
    end = len(text) if end == -1 else end
    parts = [_fold_line(text[:end], width)]
    more_indented_before = text[0] in "\n "
    for match in _LINES.finditer(text, end):
        breaks, line = match.groups()
        more_indented = line.startswith(" ")
        extra = "\n" if line and not more_indented_before and not more_indented else ""
        parts += [breaks, extra, _fold_line(line, width)]
        more_indented_before = more_indented
    return "".join(parts)


def _fold_line(line: str, width: int) -> str:
    """Take the longest piece below the width each time, else the shortest one over it."""
    if not line or line[0] == " ":
        return line
    pieces: list[str] = []
    start = current = 0
    for match in _FOLD_AT.finditer(line):
        following = match.start()
        if following - start > width:
            end = current if current > start else following
            pieces.append(line[start:end])
            start = end + 1
        current = following
    if len(line) - start > width and current > start:
        pieces += [line[start:current], line[current + 1 :]]
    else:
        pieces.append(line[start:])
    return "\n".join(pieces)


def _escaped(text: str) -> str:
    return "".join(
        _ESCAPES.get(char) or (_hex(char) if _NOT_PRINTABLE.match(char) else char) for char in text
    )


def _hex(char: str) -> str:
    code = ord(char)
    return f"\\x{code:02X}" if code <= 0xFF else f"\\u{code:04X}"
