"""Words of a text, as the memory index and its questions see them.

Words are folded (NFKC, case, accents) and stemmed; identifiers, paths and versions are kept whole
and in parts; scripts without spaces are the business of unspaced.py. ``words`` is for what is
stored, ``question`` for what is asked. Both are linear in the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from dshloop.stemming import stem
from dshloop.stop_words import STOP_WORDS

LONGEST_WORD = 100
"""Characters of one word that count: blobs of base64 must not fill the index."""

_SPECIAL = r"(?<!\w)[A-Za-z](?:\+\+|#)(?!\w)"  # C++, C#
_INNER = r"[-./\\:@+~'’]"
_ASCII_CHUNK = re.compile(rf"{_SPECIAL}|[A-Za-z0-9_]+(?:{_INNER}+[A-Za-z0-9_]+)*")
_SIGNS = re.compile(r"[-./\\:@+~'’_]+")
_SLASHES = re.compile(r"[/\\]+")
_JOINTS = re.compile("[-_]+")
_HUMPS = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|[0-9]+")
_VERSION = re.compile(r"v[0-9][0-9.]*")
_ACCENTS = re.compile("[\u0300-\u036f]+")
_UNDECOMPOSED = {"ø": "o", "ł": "l", "đ": "d", "ð": "d", "ı": "i", "æ": "ae", "œ": "oe", "þ": "th"}
_INVISIBLE = dict.fromkeys("\u00ad\u200b\u200c\u200d\u2060\ufeff", "")
_SIMPLER = str.maketrans({**_UNDECOMPOSED, **_INVISIBLE, "’": "'"})


class Word(NamedTuple):
    """One word of a question: found by its whole form ``exact``, or in part by its ``parts``.

    ``size`` is how many words it stands for: a run of n Han characters counts as n/2; ``shown`` is
    the word as it was asked.
    """

    shown: str
    exact: str | None
    parts: tuple[str, ...] = ()
    size: float = 1.0

    @property
    def forms(self) -> tuple[str, ...]:
        """Every indexed form that speaks for this word."""
        return self.parts if self.exact is None else (self.exact, *self.parts)


def fold(text: str) -> str:
    """Make letters comparable: full-width forms, case and accents no longer matter."""
    if text.isascii():
        return text.lower()
    from unicodedata import normalize

    text = normalize("NFKC", text).casefold()
    return normalize("NFC", _ACCENTS.sub("", normalize("NFD", text))).translate(_SIMPLER)


def words(text: str) -> Iterator[str]:
    """Yield every indexed form of a text, in order: a word's whole form, then its parts."""
    for chunk, unspaced in _chunks(text):
        if unspaced:
            from dshloop.unspaced import characters_and_pairs

            yield from characters_and_pairs(chunk)
        else:
            whole, parts = _forms(chunk) if len(chunk) <= LONGEST_WORD else _new_forms(chunk)
            yield whole
            yield from parts


def joined_words(text: str) -> str:
    """Give the `words` of a text joined by blanks, in a third of the time for plain ones."""
    if text.isascii() and "\x1b" not in text:
        chunks = _ASCII_CHUNK.findall(text)
        if max(map(len, chunks), default=0) <= LONGEST_WORD:
            return " ".join(map(_joined, chunks))
    return " ".join(words(text))


def question(text: str) -> tuple[Word, ...]:
    """Give what a question looks for, stop words left out unless there is nothing else."""
    chunks = list(_chunks(text))
    asked = [word for chunk, unspaced in chunks for word in _asked(chunk, unspaced)]
    if not asked:
        asked = [_unspaced(chunk) if unspaced else _spaced(chunk) for chunk, unspaced in chunks]
    return tuple({word.forms: word for word in asked}.values())


def _chunks(text: str) -> Iterator[tuple[str, bool]]:
    """Cut a text into words with inner signs, symbols and runs without spaces (marked True)."""
    if "\x1b" in text:
        text = _escape_sequences().sub(" ", text)
    if text.isascii():
        for found in _ASCII_CHUNK.finditer(text):
            yield found.group(), False
        return
    from unicodedata import normalize

    from dshloop.unspaced import RUN, separated

    for found in _any_chunk().finditer(separated(normalize("NFKC", text))):
        yield found.group(), RUN.match(found.group()) is not None


@lru_cache(maxsize=1)
def _escape_sequences() -> re.Pattern[str]:
    """Match a terminal's colours and titles, as they come with pasted output."""
    return re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?)")


@lru_cache(maxsize=1)
def _any_chunk() -> re.Pattern[str]:
    from dshloop.unspaced import SCRIPTS

    # A letter, digit or "_", then also the marks that \w leaves out of Hebrew, Arabic and Indic.
    letters = (
        "\\w[\\w\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u064b-\u0670\u06d6-\u06ed"
        "\u0900-\u0963\u0966-\u0dff\u200c\u200d]*"
    )
    symbol = "[\u2600-\u27bf\U0001f300-\U0001faff]"  # symbols and emoji, one by one
    return re.compile(f"[{SCRIPTS}]+|{_SPECIAL}|{letters}(?:{_INNER}+{letters})*|{symbol}")


def _asked(chunk: str, unspaced: bool) -> list[Word]:
    if unspaced:
        from dshloop.unspaced import segments

        return [_unspaced(segment) for segment in segments(chunk)]
    return [] if fold(chunk).replace("’", "'") in STOP_WORDS else [_spaced(chunk)]


def _spaced(chunk: str) -> Word:
    return Word(chunk, *_forms(chunk))


def _unspaced(segment: str) -> Word:
    from dshloop.unspaced import forms

    exact, parts = forms(segment)
    return Word(segment, exact, parts, 1.0 if exact is not None else len(segment) / 2)


def _new_forms(chunk: str) -> tuple[str, tuple[str, ...]]:
    """Give a word's whole form and, when it is an identifier, path or version, its parts."""
    if chunk.isalpha() and not _humped(chunk):
        return _stemmed(fold(chunk)), ()
    chunk = chunk.replace("’", "'")
    if chunk[-2:] in ("'s", "'S"):
        return _new_forms(chunk[:-2])
    whole = _whole(chunk)
    pieces: list[str] = []
    segments = _SLASHES.split(chunk)
    if len(segments) > 1:
        names = (segment.rstrip(":") for segment in segments)
        pieces += [_whole(name) for name in names if _SIGNS.search(name)]
    for piece in _SIGNS.split(chunk):
        pieces += _pieces(piece)
    return whole, tuple(piece for piece in dict.fromkeys(pieces) if piece not in ("", whole))


_forms = lru_cache(maxsize=30_000)(_new_forms)


@lru_cache(maxsize=30_000)
def _joined(chunk: str) -> str:
    whole, parts = _new_forms(chunk)
    return " ".join((whole, *parts))


def _pieces(piece: str) -> list[str]:
    """Give one piece between signs, and its parts when it has humps or digits: sha256, getUser."""
    humps = _HUMPS.findall(piece) if piece.isascii() else []
    parts = [hump for hump in humps if len(hump) > 1 or hump.isdigit()] if len(humps) > 1 else []
    kept = piece if len(piece) > 1 or piece.isdigit() else ""
    return [_stemmed(fold(part)) for part in (kept, *parts)]


def _whole(chunk: str) -> str:
    """Spell an identifier in one way: ``session-store`` is ``session_store``, v1.2 is 1.2."""
    form = fold(chunk).replace("'", "")
    if _VERSION.fullmatch(form):
        form = form[1:]
    joined = _JOINTS.sub("", form)
    if any(letter.isalpha() for letter in joined):
        form = joined
    return _stemmed(_SLASHES.sub("/", form))


def _humped(chunk: str) -> bool:
    return not (chunk.islower() or chunk.isupper() or chunk.istitle())


def _stemmed(word: str) -> str:
    if word.isascii() and word.isalpha() and len(word) < 30:
        return stem(word)
    return word[:LONGEST_WORD]
