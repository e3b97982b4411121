"""Text and words as PostgreSQL takes them: pure.

PostgreSQL's text holds neither NUL nor lone surrogates, and no encoding of theirs: such characters
are written as a mark and four hexadecimal digits, and so is the mark (a character that Unicode
leaves to nobody).

A tsvector holds our own words, not those of one of PostgreSQL's parsers: a word's positions tell
which fields it stands in, each with a weight of its own, so that a question can ask for one field.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from dshloop.memory.sqlite.index import FIELDS

_MARK = "\ufdd0"
_UNFIT = re.compile("[\0\ud800-\udfff\ufdd0]")
_MARKED = re.compile(f"{_MARK}([0-9a-f]{{4}})")
_WEIGHTS = "ABCD"
"""The weight of each of ``FIELDS``."""
_LONGEST = 2_000
"""Bytes of a word; PostgreSQL takes 2,046."""
_MOST = 1_000_000
"""Bytes of all words of an entry; PostgreSQL takes 1,048,575, positions included."""
_POSITIONS = 12


def fitting(text: str) -> str:
    """Write text so that PostgreSQL can hold it."""
    if text.isascii() and "\0" not in text:
        return text
    return _UNFIT.sub(lambda found: f"{_MARK}{ord(found[0]):04x}", text)


def original(stored: str) -> str:
    """Give back what was made to fit."""
    if _MARK not in stored:
        return stored
    return _MARKED.sub(lambda found: chr(int(found[1], 16)), stored)


def vector(indexed: Sequence[str]) -> str:
    """Write the words of ``FIELDS`` (index.py) as a tsvector; those of a huge entry that are too
    many are left out."""
    places: dict[str, str] = {}
    for number, text in enumerate(indexed[: len(FIELDS)]):
        place = f"{number + 1}{_WEIGHTS[number]}"
        for word in dict.fromkeys(text.split(" ")) if text else ():
            places[word] = f"{places[word]},{place}" if word in places else place
    return " ".join(f"{_quoted(word)}:{places[word]}" for word in _some(places))


def asked(form: str, *fields: str) -> str:
    """Write a question for a word, anywhere or in some fields, as a tsquery."""
    where = "".join(_WEIGHTS[FIELDS.index(field)] for field in fields)
    return f"{_quoted(form)}:{where}" if where else _quoted(form)


def beginning(form: str) -> str:
    """Write a question for words that begin like this one."""
    return f"{_quoted(form)}:*"


def _some(words: Iterable[str]) -> Iterable[str]:
    room = _MOST
    for word in words:
        size = len(word) if word.isascii() else len(fitting(word).encode())
        room -= size + _POSITIONS
        if room < 0:
            return
        if size <= _LONGEST:
            yield word


def _quoted(word: str) -> str:
    return "'" + fitting(word).replace("\\", "\\\\").replace("'", "''") + "'"
