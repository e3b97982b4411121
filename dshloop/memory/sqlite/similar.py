"""Telling whether two texts say the same: pure, linear in their length.

The measure is agentmemory's (agentmemory 6); what it would wrongly collapse is kept apart: facts
that differ in a number, a name or an identifier (agentmemory 13, D17).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

NEAR = 0.7
"""Above it a newcomer takes the other's place."""

ALIKE = 0.4
"""From it on the other is worth a hint."""

_SHORTEST = 3
_LONGEST = 60
_EDGES = ".,;:!?…\"'`()[]{}<>*«»„“”‘’。，、；：！？「」『』（）【】《》"
_TOKEN = re.compile(r"\n|\S+")
_LETTER = re.compile(r"[^\W_]")
_NUMERAL = re.compile(
    r"[\d\u00b2\u00b3\u00b9\u00bc-\u00be\u2150-\u2189〇零一二三四五六七八九十百千万萬亿億兆两兩]"
)
_MOST_TOKENS = 20_000
_ENDS = (".", "!", "?", ":", ";", "。", "！", "？", "：", "；")
_UNSPACED = re.compile("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff]+")
_INNER = re.compile(r"\w[-._/\\:@#=+~]+\w|[a-z][A-Z]|_")
_NUMBERS = re.compile(
    "zero|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|(?:thir|four|fif|six|"
    "seven|eigh|nine)teen|(?:twen|thir|for|fif|six|seven|eigh|nine)ty|hundred|thousand|million|"
    "billion|once|twice|thrice|half|first|second|third|(?:four|fif|six|seven|eigh|nin|ten)th|"
    "single|double|triple"
)


class _Token(NamedTuple):
    word: str
    telling: bool
    leads: bool
    """A capitalised word at the beginning of a sentence: perhaps a name, perhaps not."""


def similarity(one: frozenset[str], other: frozenset[str]) -> float:
    """Give the Jaccard index of two sets of words: 0..1."""
    shared = len(one & other)
    return shared / (len(one) + len(other) - shared) if shared else 0.0


def word_set(text: str) -> frozenset[str]:
    """Give the words that count: lower case, longer than two letters; pairs of CJK characters.

    A text that has none counts as one word of its own.
    """
    if not text.isascii():
        from unicodedata import normalize

        text = normalize("NFC", text)
    found: set[str] = set()
    for token in text.lower().split():
        word = token.strip(_EDGES)
        if word.isascii():
            if len(word) >= _SHORTEST:
                found.add(word)
        else:
            found.update(_pieces(word))
    return frozenset(found) or frozenset([text.strip().lower()])


def kept_apart(one: str, other: str) -> bool:
    """Tell whether two texts differ in a number, a name or an identifier.

    Names are capitalised words inside a sentence; one that leads a sentence is taken for a name
    where the other text has another one in its place. Texts that differ in very much are kept
    apart unread.
    """
    ours, theirs = _difference(_TOKEN.findall(one), _TOKEN.findall(other))
    if max(len(ours), len(theirs)) > _MOST_TOKENS:
        return True
    if _numerals(ours) != _numerals(theirs):
        return True
    left, right = list(_tokens(ours)), list(_tokens(theirs))
    telling = {token.word for token in (*left, *right) if token.telling}
    if [token.word for token in left if token.word in telling] != [
        token.word for token in right if token.word in telling
    ]:
        return True
    return bool(_leads(left, right)) and bool(_leads(right, left))


def _difference(one: list[str], other: list[str]) -> tuple[list[str], list[str]]:
    """Leave out what two lists begin and end with together, but for the token before."""
    shorter = min(len(one), len(other))
    start = next((at for at in range(shorter) if one[at] != other[at]), shorter)
    most = shorter - start
    end = next((at for at in range(most) if one[-1 - at] != other[-1 - at]), most)
    first = max(start - 1, 0)  # it tells whether a sentence begins
    return one[first : len(one) - end], other[first : len(other) - end]


def _pieces(word: str) -> Iterator[str]:
    """Yield the pairs of a word's unspaced runs (a lone character is its own), and the rest."""
    for run in _UNSPACED.findall(word):
        if len(run) == 1:
            yield run
        for at in range(len(run) - 1):
            yield run[at : at + 2]
    for rest in _UNSPACED.split(word):
        if len(rest) >= _SHORTEST:
            yield rest


def _numerals(tokens: list[str]) -> list[str]:
    return [numeral for token in tokens for numeral in _NUMERAL.findall(token)]


def _tokens(tokens: list[str]) -> Iterator[_Token]:
    start = True
    for token in tokens:
        word = token.strip(_EDGES)
        if _LETTER.search(word) is None:  # a line's end, or a bullet: what follows leads
            start = start or token == "\n"
            continue
        capital = word[0].isupper()
        telling = _is_telling(word) or token.startswith("`") or (capital and not start)
        yield _Token(word.lower(), telling and word != "I", capital and start)
        start = token.endswith(_ENDS)


def _is_telling(word: str) -> bool:
    """Tell a number or an identifier: a digit, an inner sign, a hump, capitals, a short name."""
    from dshloop.stop_words import STOP_WORDS

    return (
        len(word) > _LONGEST
        or _NUMBERS.fullmatch(word.lower()) is not None
        or _NUMERAL.search(word) is not None
        or _INNER.search(word) is not None
        or (len(word) > 1 and word.isupper())
        or (len(word) < _SHORTEST and word.lower() not in STOP_WORDS)
    )


def _leads(ours: list[_Token], theirs: list[_Token]) -> set[str]:
    """Give the words that lead a sentence in one text and are nowhere in the other."""
    from dshloop.stop_words import STOP_WORDS

    known = {token.word for token in theirs}
    return {token.word for token in ours if token.leads} - known - STOP_WORDS
