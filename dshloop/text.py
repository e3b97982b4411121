"""Words of a text, as the memory index and its questions see them.

Latin-like words are folded (NFKC, case, accents) and stemmed; identifiers, paths and versions are
kept whole and in parts; runs of scripts written without spaces (Han, Kana, Hangul, Thai, …) become
overlapping pairs of characters and single characters, because no dictionary is at hand and a
Chinese word is mostly two characters long (choices 4).

``words`` is for what is stored, ``question`` for what is asked. Both are linear in the text.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from dshloop.stemming import stem
from dshloop.stop_words import CJK_QUESTION_WORDS, KANA_ENDING, KOREAN_ENDING, STOP_WORDS

LONGEST_WORD = 100
"""Characters of one word that count: blobs of base64 must not fill the index."""

# Han with iteration marks, Kana, Bopomofo, Hangul; Thai, Lao, Burmese and Khmer.
_RUN = (
    "\u0e00-\u0eff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u2e80-\u2fdf\u3005-\u3007"
    "\u3041-\u3096\u3099\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u3105-\u318e\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\U00020000-\U0003ffff"
)
_RUNS = re.compile(f"[{_RUN}]+")
_HANGUL = re.compile("[\u1100-\u11ff\u3130-\u318f\uac00-\ud7ff]+")
_KANA = re.compile("[\u3041-\u309f]+")
# Letters, digits, "_" and the marks that \w leaves out of Hebrew, Arabic and Indic words.
_LETTER = (
    "[\\w\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u064b-\u0670\u06d6-\u06ed"
    "\u0900-\u0963\u0966-\u0dff]"
)
_CHUNK = re.compile(
    rf"[{_RUN}]+"
    r"|(?<!\w)[A-Za-z](?:\+\+|#)(?!\w)"  # C++, C#
    rf"|{_LETTER}+(?:[-./\\:@+~'’]+{_LETTER}+)*"  # words, and what has signs only inside
    "|[\u2600-\u27bf\U0001f300-\U0001faff]"  # symbols and emoji, one by one
)
_SIGNS = re.compile(r"[-./\\:@+~'’_]+")
_SLASHES = re.compile(r"[/\\]+")
_JOINTS = re.compile("[-_]+")
_HUMPS = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|[0-9]+")
_ACCENTS = re.compile("[\u0300-\u036f]+")
_STRAIGHT = str.maketrans("øłđðıþæœ’", "olddiþæœ'", "\u00ad\u200b\u200c\u200d\u2060\ufeff")
_LIGATURES = {"æ": "ae", "œ": "oe", "þ": "th"}


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
    text = unicodedata.normalize("NFKC", text).casefold()
    text = _ACCENTS.sub("", unicodedata.normalize("NFD", text))
    text = unicodedata.normalize("NFC", text).translate(_STRAIGHT)
    for ligature, letters in _LIGATURES.items():
        text = text.replace(ligature, letters)
    return text


def words(text: str) -> Iterator[str]:
    """Yield every indexed form of a text, in order: a word's whole form, then its parts."""
    for chunk in _chunks(text):
        if _RUNS.match(chunk):
            yield from _characters_and_pairs(chunk)
        else:
            whole, parts = _forms(chunk) if len(chunk) <= LONGEST_WORD else _new_forms(chunk)
            yield whole
            yield from parts


def question(text: str) -> tuple[Word, ...]:
    """Give what a question looks for, stop words left out unless there is nothing else."""
    chunks = list(_chunks(text))
    asked = (word for chunk in chunks for word in _asked(chunk))
    found = {word.forms: word for word in asked if word.forms}
    if not found:
        found = {word.forms: word for word in map(_word, chunks)}
    return tuple(found.values())


def _chunks(text: str) -> Iterator[str]:
    """Cut a text into runs without spaces, words with inner signs, and symbols."""
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
        text = _RUNS.sub(r" \g<0> ", text)  # Latin glued to Han: SQLite作为记忆存储
    for found in _CHUNK.finditer(text):
        yield found.group()


def _characters_and_pairs(run: str) -> Iterator[str]:
    for at, character in enumerate(run):
        yield character
        if at + 1 < len(run):
            yield run[at : at + 2]


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


def _pieces(piece: str) -> list[str]:
    """Give one piece between signs, and its parts when it has humps or digits: sha256, getUser."""
    humps = _HUMPS.findall(piece) if piece.isascii() else []
    parts = [hump for hump in humps if len(hump) > 1 or hump.isdigit()] if len(humps) > 1 else []
    kept = piece if len(piece) > 1 or piece.isdigit() else ""
    return [_stemmed(fold(part)) for part in (kept, *parts)]


def _whole(chunk: str) -> str:
    """Spell an identifier in one way: ``session-store`` is ``session_store``, v1.2 is 1.2."""
    form = fold(chunk).replace("'", "")
    if re.fullmatch(r"v\d[\d.]*", form):
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


def _asked(chunk: str) -> Iterator[Word]:
    if _RUNS.match(chunk):
        for segment in _segments(chunk):
            yield _segment_word(segment)
    elif fold(chunk).replace("’", "'") not in STOP_WORDS:
        yield _word(chunk)


def _word(chunk: str) -> Word:
    return _segment_word(chunk) if _RUNS.match(chunk) else Word(chunk, *_forms(chunk))


def _segments(run: str) -> list[str]:
    """Cut a run where question words and particles stand; what is left carries the meaning."""
    if _HANGUL.fullmatch(run):
        return [] if run in STOP_WORDS else [run]
    text = CJK_QUESTION_WORDS.sub(" ", run)
    return _KANA.sub(_without_particles, text).split()


def _without_particles(kana: re.Match[str]) -> str:
    found = KANA_ENDING.search(kana.group())
    if found is None:
        return kana.group()
    rest = kana.group()[: found.start()]
    stands_alone = kana.start() == 0 or kana.string[kana.start() - 1] == " "
    # One character with nothing before it is no word: おと is a noun, not お and a particle.
    return kana.group() if len(rest) == 1 and stands_alone else rest + " "


def _segment_word(segment: str) -> Word:
    if _HANGUL.fullmatch(segment):
        ending = KOREAN_ENDING.search(segment)
        if ending and ending.start() >= 2:
            segment = segment[: ending.start()]
        elif ending and ending.start() == 1:  # a word and a particle, or one word: both are tried
            return Word(segment, segment, (segment[0],))
    if len(segment) <= 2:
        return Word(segment, segment)
    pairs = tuple(segment[at : at + 2] for at in range(len(segment) - 1))
    return Word(segment, None, tuple(dict.fromkeys(pairs)), len(segment) / 2)
