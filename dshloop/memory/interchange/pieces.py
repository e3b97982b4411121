"""One big JSON object read piece by piece, so that it never is in memory as a whole.

A piece is an element of an array, or a member of an object, that stands at the top; any other value
is a piece by itself. What comes before damage is given.
"""

from __future__ import annotations

import codecs
import json
from collections.abc import Iterator
from typing import Any, BinaryIO, NamedTuple

_CHUNK = 1 << 18
_NEAR_END = 16  # characters: a fault so near the end of what was read may only be a cut
_IN_NUMBERS = "0123456789.eE+-"
_BLANKS = " \t\r\n"
_LARGEST = 256 << 20


class Piece(NamedTuple):
    """A value, the key at the top that it stands under, and its index or key there."""

    key: str
    at: int | str | None
    value: Any


class BrokenError(ValueError):
    """The text is no JSON object, or it ends too early."""


def pieces(file: BinaryIO) -> Iterator[Piece]:
    """Give the pieces of an object in their order. Raises BrokenError, after what is whole."""
    text = _Text(file)
    text.expect("{")
    if text.peek() == "}":
        return
    while True:
        key = text.value()
        if not isinstance(key, str):
            raise BrokenError("a key is no text")
        text.expect(":")
        start = text.peek()
        if start == "[":
            yield from _elements(text, key)
        elif start == "{":
            yield from _members(text, key)
        else:
            yield Piece(key, None, text.value())
        if not text.goes_on("}"):
            return


def _elements(text: _Text, key: str) -> Iterator[Piece]:
    text.expect("[")
    if text.peek() == "]":
        text.expect("]")
        return
    index = 0
    while True:
        yield Piece(key, index, text.value())
        index += 1
        if not text.goes_on("]"):
            return


def _members(text: _Text, key: str) -> Iterator[Piece]:
    text.expect("{")
    if text.peek() == "}":
        text.expect("}")
        return
    while True:
        name = text.value()
        text.expect(":")
        yield Piece(key, str(name), text.value())
        if not text.goes_on("}"):
            return


class _Text:
    """A file's text, of which as much is held as one value needs."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._decode = codecs.getincrementaldecoder("utf-8")("surrogatepass").decode
        self._scan = json.JSONDecoder().raw_decode
        self._held = ""
        self._at = 0
        self._ended = False
        self._more(_CHUNK)
        self._held = self._held.removeprefix("\ufeff")

    def peek(self) -> str:
        """Give the next character that is no blank. Raises BrokenError at the end."""
        while True:
            while self._at < len(self._held):
                if self._held[self._at] not in _BLANKS:
                    return self._held[self._at]
                self._at += 1
            if not self._more(_CHUNK):
                raise BrokenError("it is cut off")

    def expect(self, mark: str) -> None:
        """Pass a mark."""
        found = self.peek()
        if found != mark:
            raise BrokenError(f"there is {found!r} where {mark!r} belongs")
        self._at += 1

    def goes_on(self, end: str) -> bool:
        """Pass a comma, or the end."""
        found = self.peek()
        self._at += 1
        if found not in (",", end):
            raise BrokenError(f"there is {found!r} where a comma belongs")
        return found == ","

    def value(self) -> Any:
        """Pass a value and give it."""
        self.peek()
        size = _CHUNK
        while True:
            try:
                value, end = self._scan(self._held, self._at)
            except RecursionError as error:
                raise BrokenError("it is nested too deeply") from error
            except json.JSONDecodeError as error:
                cut = error.msg.startswith("Unterminated") or (
                    error.pos >= len(self._held) - _NEAR_END
                )
                if not (cut and len(self._held) < _LARGEST and self._more(size)):
                    reason = "it is cut off" if cut else f"it is no JSON: {error.msg}"
                    raise BrokenError(reason) from None
                size *= 2
                continue
            if self._is_whole(end) or not self._more(_CHUNK):
                self._at = end
                return value

    def _is_whole(self, end: int) -> bool:
        """Tell a number that may go on from what can't."""
        if self._held[self._at] in '{["':
            return True
        rest = self._held[end : end + _NEAR_END]
        return len(rest) == _NEAR_END or any(mark not in _IN_NUMBERS for mark in rest)

    def _more(self, size: int) -> bool:
        """Read on, and let go of what was passed; False at the end."""
        if self._ended:
            return False
        data = self._file.read(size)
        self._ended = not data
        try:
            text = self._decode(data, self._ended)
        except UnicodeDecodeError as error:
            raise BrokenError("it is not UTF-8") from error
        self._held = self._held[self._at :] + text
        self._at = 0
        return bool(data)
