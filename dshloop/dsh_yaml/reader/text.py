"""Scalars within a line or folded over several: plain, single and double quoted."""

from __future__ import annotations

import re

from dshloop.dsh_yaml.reader.cursor import (
    BREAK,
    END,
    FLOW_INDICATORS,
    SPACE,
    SPACE_OR_BREAK,
    Cursor,
)

_NON_PRINTABLE = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ufffe\uffff\ud800-\udfff]"
)
_NOT_JSON = re.compile("[\x00-\x08\x0a-\x1f]")
_NEVER_PLAIN = frozenset("#&*!|>'\"%@`") | SPACE_OR_BREAK | FLOW_INDICATORS
_PLAIN_RUN = re.compile(r"[^\s:#,\[\]{}\0]+")
_SINGLE_RUN = re.compile("[^'\n\r\0\t ]+")
_DOUBLE_RUN = re.compile('[^"\\\\\n\r\0\t ]+')
_HEX_LENGTH = {"x": 2, "u": 4, "U": 8}
_HEX_DIGITS = frozenset("0123456789abcdefABCDEF")
_SURROGATE = re.compile("[\ud800-\udfff]")
_ESCAPES = {
    "0": "\0",
    "a": "\a",
    "b": "\b",
    "t": "\t",
    "\t": "\t",
    "n": "\n",
    "v": "\v",
    "f": "\f",
    "r": "\r",
    "e": "\x1b",
    " ": " ",
    '"': '"',
    "/": "/",
    "\\": "\\",
    "N": "\x85",
    "_": "\xa0",
    "L": "\u2028",
    "P": "\u2029",
}


def capture(cursor: Cursor, start: int, end: int, *, quoted: bool) -> str:
    """Take a piece of the text, refusing characters that may not stand there."""
    piece = cursor.text[start:end]
    if quoted:
        if _NOT_JSON.search(piece):
            raise cursor.fault("expected valid JSON character")
    elif _NON_PRINTABLE.search(piece):
        raise cursor.fault("the stream contains non-printable characters")
    return piece


def fold(breaks: int) -> str:
    """Give what a number of line breaks inside a scalar stands for."""
    return " " if breaks == 1 else "\n" * (breaks - 1)


def read_plain(cursor: Cursor, min_indent: int, *, in_flow: bool) -> str | None:
    """Read a plain scalar; None when none begins here."""
    text = cursor.text
    char = text[cursor.pos]
    if char in _NEVER_PLAIN or char == END:
        return None
    if char in "?-":
        following = text[cursor.pos + 1]
        if following in SPACE_OR_BREAK or (in_flow and following in FLOW_INDICATORS):
            return None
    result = ""
    start = end = cursor.pos
    folded: int | None = None
    line = cursor.line
    while char != END:
        if _ends_plain(cursor, char, in_flow=in_flow):
            break
        if char in BREAK:
            line, line_start, indent = cursor.line, cursor.line_start, cursor.indent
            cursor.skip_space(comments=False)
            if cursor.indent < min_indent:
                cursor.pos, cursor.line = end, line
                cursor.line_start, cursor.indent = line_start, indent
                break
            folded = line
            char = text[cursor.pos]
            continue
        if folded is not None:
            result += capture(cursor, start, end, quoted=False) + fold(cursor.line - folded)
            start = cursor.pos
            folded = None
        run = _PLAIN_RUN.match(text, cursor.pos + 1)
        if run is not None and cursor.pos != cursor.line_start:
            cursor.pos = end = run.end()
        else:
            cursor.pos += 1
            if char not in SPACE:
                end = cursor.pos
        char = text[cursor.pos]
    return (result + capture(cursor, start, end, quoted=False)) or None


def _ends_plain(cursor: Cursor, char: str, *, in_flow: bool) -> bool:
    if char == ":":
        following = cursor.text[cursor.pos + 1]
        return following in SPACE_OR_BREAK or (in_flow and following in FLOW_INDICATORS)
    if char == "#":
        return cursor.text[cursor.pos - 1] in SPACE_OR_BREAK
    if in_flow and char in FLOW_INDICATORS:
        return True
    return cursor.pos == cursor.line_start and cursor.at_separator()


def read_single_quoted(cursor: Cursor) -> str | None:
    """Read a single quoted scalar; None when none begins here."""
    text = cursor.text
    if text[cursor.pos] != "'":
        return None
    cursor.pos += 1
    result = ""
    start = end = cursor.pos
    while (char := text[cursor.pos]) != END:
        if char == "'":
            result += capture(cursor, start, cursor.pos, quoted=True)
            cursor.pos += 1
            if text[cursor.pos] != "'":
                return result
            start = cursor.pos
            cursor.pos += 1
            end = cursor.pos
        elif char in BREAK:
            result += capture(cursor, start, end, quoted=True)
            result += fold(cursor.skip_space(comments=False))
            start = end = cursor.pos
        else:
            end = _step(cursor, _SINGLE_RUN, end, "single")
    raise cursor.fault("unexpected end of the stream within a single quoted scalar")


def read_double_quoted(cursor: Cursor) -> str | None:
    """Read a double quoted scalar; None when none begins here."""
    text = cursor.text
    if text[cursor.pos] != '"':
        return None
    cursor.pos += 1
    result = ""
    start = end = cursor.pos
    while (char := text[cursor.pos]) != END:
        if char == '"':
            result += capture(cursor, start, cursor.pos, quoted=True)
            cursor.pos += 1
            return _join_surrogates(result)
        if char == "\\":
            result += capture(cursor, start, cursor.pos, quoted=True)
            result += _read_escape(cursor)
            start = end = cursor.pos
        elif char in BREAK:
            result += capture(cursor, start, end, quoted=True)
            result += fold(cursor.skip_space(comments=False))
            start = end = cursor.pos
        else:
            end = _step(cursor, _DOUBLE_RUN, end, "double")
    raise cursor.fault("unexpected end of the stream within a double quoted scalar")


def _step(cursor: Cursor, run: re.Pattern[str], end: int, style: str) -> int:
    """Step over ordinary characters of a quoted scalar; give the end of what is no blank."""
    if cursor.pos == cursor.line_start and cursor.at_separator():
        raise cursor.fault(f"unexpected end of the document within a {style} quoted scalar")
    match = run.match(cursor.text, cursor.pos)
    if match is None:
        cursor.pos += 1
        return end
    cursor.pos = match.end()
    return cursor.pos


def _read_escape(cursor: Cursor) -> str:
    cursor.pos += 1
    char = cursor.text[cursor.pos]
    if char in BREAK:
        cursor.skip_space(comments=False)
        return ""
    if char in _ESCAPES:
        cursor.pos += 1
        return _ESCAPES[char]
    if char not in _HEX_LENGTH:
        raise cursor.fault("unknown escape sequence")
    value = 0
    for _ in range(_HEX_LENGTH[char]):
        cursor.pos += 1
        digit = cursor.text[cursor.pos]
        if digit not in _HEX_DIGITS:
            raise cursor.fault("expected hexadecimal character")
        value = value << 4 | int(digit, 16)
    cursor.pos += 1
    return _character(value)


def _character(code: int) -> str:
    """Give the character of a code; past U+10FFFF the units that JavaScript makes of it."""
    if code <= 0x10FFFF:
        return chr(code)
    if code >= 0x80000000:  # an int32 by then, and negative
        return chr(code & 0xFFFF)
    code -= 0x10000
    return chr((code >> 10) + 0xD800 & 0xFFFF) + chr((code & 0x3FF) + 0xDC00)


def _join_surrogates(text: str) -> str:
    """Make one character of each surrogate pair; lone halves stay."""
    if _SURROGATE.search(text) is None:
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
