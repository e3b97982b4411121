"""Telling whether two texts say the same: pure, linear in their length.

The measure is agentmemory's (agentmemory 6). It counts words, and would collapse facts that differ
in a number, a name or an identifier (agentmemory 13, D17). A name may be any word, so the same are
only texts of which one has all words of the other, in their order, and more that changes nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal, NamedTuple

NEAR = 0.7
"""Above it a newcomer takes the other's place."""

ALIKE = 0.4
"""From it on the other is worth a hint."""

_SHORTEST = 3
_LONGEST = 60
_EDGES = ".,;:!?…\"'`()[]{}<>*«»„“”‘’。，、；：！？「」『』（）【】《》"
_AROUND = _EDGES.replace("<", "").replace(">", "")
_DASHES = frozenset(("-", "–", "—"))
_TOKEN = re.compile(r"\n|\S+")
_LETTER = re.compile(r"[^\W_]")
_NUMERAL = re.compile(
    r"[\d\u00b2\u00b3\u00b9\u00bc-\u00be\u2150-\u2189〇零一二三四五六七八九十百千万萬亿億兆两兩]"
)
_MOST_CHARACTERS = 100_000
"""In which two texts may differ to be looked at."""
_ENDS = (".", "!", "?", ":", ";", "。", "！", "？", "：", "；")
_UNSPACED = re.compile("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff]+")
_CHARACTER = re.compile(f"{_UNSPACED.pattern[:-1]}|[^{_UNSPACED.pattern[1:-1]}+")
_INNER = re.compile(r"\w[-._/\\:@#=+~]+\w|[a-z][A-Z]|_|^[-+]|[-+#]$")
_BULLETS = frozenset("-*•·–—|#>")
_NUMBERS = re.compile(
    "zero|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|(?:thir|four|fif|six|"
    "seven|eigh|nine)teen|(?:twen|thir|for|fif|six|seven|eigh|nine)ty|hundred|thousand|million|"
    "billion|once|twice|thrice|half|first|second|third|(?:four|fif|six|seven|eigh|nin|ten)th|"
    "single|double|triple"
)
_VOWEL = re.compile("[aeiouy]")
_ARTICLES = frozenset(("a", "an", "the"))
_OPPOSITES = """
    only not no never none neither nor nobody nothing nowhere without cannot except unless instead
    hardly off false nicht kein keine keinen keiner nie ohne ne pas jamais sans sin nunca não
    не нет ни без 不 没 沒 無 无 非 未 別 别 勿 않 안 못 없
"""
"""Words that make another thing of a text; a word that ends in n't is one too."""
_DENIALS = frozenset(_OPPOSITES.split())


def similarity(one: frozenset[str], other: frozenset[str]) -> float:
    """Give the Jaccard index of two sets of words: 0..1."""
    shared = len(one & other)
    return shared / (len(one) + len(other) - shared) if shared else 0.0


def word_set(text: str) -> frozenset[str]:
    """Give the words that count: lower case, longer than two letters; pairs of CJK characters.

    A text that has none counts as one word of its own.
    """
    found: set[str] = set()
    for token in _composed(text).lower().split():
        word = token.strip(_EDGES)
        if word.isascii():
            if len(word) >= _SHORTEST:
                found.add(word)
        else:
            found.update(_pieces(word))
    return frozenset(found) or frozenset([text.strip().lower()])


Difference = Literal["word", "fact"]
"""Another word, or order of words; a number, name, identifier or denial."""


class _Token(NamedTuple):
    word: str
    """In lower case; an identifier as it is written."""
    stem: str
    telling: bool
    """A number, a name, an identifier, a denial."""


def _composed(text: str) -> str:
    if text.isascii():
        return text
    from unicodedata import normalize

    return normalize("NFC", text)


def replaces(new: str, old: str) -> bool:
    """Tell whether a text of similar words can take another's place: it says the same, and leaves
    out no word that counts."""
    unshared = _unshared(new, old)
    if unshared is None or difference(new, old) is not None:
        return False
    from dshloop.stop_words import STOP_WORDS

    more, fewer = unshared
    left_out = _besides(more, fewer) if len(more) < len(fewer) else []
    return left_out is not None and all(token.word in STOP_WORDS for token in left_out)


def difference(one: str, other: str) -> Difference | None:
    """Tell how two texts of similar words differ; None when they say the same.

    They do when all words of one are in the other, in their order, by their stems, and what this
    one has besides tells nothing: no number, name, identifier or denial. Names are capitalised
    words inside a sentence. Texts that differ in very much differ in a fact, unread.
    """
    unshared = _unshared(one, other)
    if unshared is None:
        return "fact"
    fewer, more = sorted(unshared, key=len)
    besides = _besides(fewer, more)
    if besides is None:
        return "word" if _facts(fewer) == _facts(more) else "fact"
    return "fact" if _facts(besides) else None


def _unshared(one: str, other: str) -> tuple[list[_Token], list[_Token]] | None:
    """Give the words of two texts between those that both begin and end with; None: too many."""
    ours, theirs = _difference(*(_TOKEN.findall(_composed(text)) for text in (one, other)))
    if max(sum(map(len, ours)), sum(map(len, theirs))) > _MOST_CHARACTERS:
        return None
    return list(_tokens(ours)), list(_tokens(theirs))


def _facts(tokens: list[_Token]) -> list[str]:
    return [token.word for token in tokens if token.telling]


def _besides(fewer: list[_Token], more: list[_Token]) -> list[_Token] | None:
    """Give what one list has besides the words of another; None when a word is missing in it."""
    besides: list[_Token] = []
    wanted = iter(fewer)
    next_ = next(wanted, None)
    for token in more:
        if next_ is not None and _same(token, next_):
            next_ = next(wanted, None)
        else:
            besides.append(token)
    return besides if next_ is None else None


def _same(one: _Token, other: _Token) -> bool:
    return one.word == other.word or (one.stem == other.stem != "")


def _difference(one: list[str], other: list[str]) -> tuple[list[str], list[str]]:
    """Leave out what two lists begin and end with together, but for the sign before."""
    shorter = min(len(one), len(other))
    start = next((at for at in range(shorter) if one[at] != other[at]), shorter)
    most = shorter - start
    end = next((at for at in range(most) if one[-1 - at] != other[-1 - at]), most)
    before = [one[start - 1][-1]] if start else []  # it tells whether a sentence begins
    return before + one[start : len(one) - end], before + other[start : len(other) - end]


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


def _tokens(tokens: list[str]) -> Iterator[_Token]:
    """Yield the words that count, and signs other than those between words and before lines."""
    leads = True
    for token in tokens:
        word = token.replace("’", "'").strip(_AROUND)
        if _LETTER.search(word) is None:  # a line's end, or a bullet: what follows leads
            leads = leads or token == "\n"
            if word and not (leads and word in _BULLETS) and word not in _DASHES:
                yield _Token(word, "", telling=True)
            continue
        if _UNSPACED.search(word) is not None:
            yield from map(_character, _CHARACTER.findall(word))
        elif word.lower() not in _ARTICLES or (word == "A" and not leads):
            yield _token(word, leads=leads, quoted=token.startswith("`"))
        leads = token.endswith(_ENDS)


def _token(word: str, *, leads: bool, quoted: bool) -> _Token:
    written = word[0].lower() + word[1:] if leads else word
    lower = word.lower()
    if _INNER.search(word) is not None or quoted:
        return _Token(written, "", telling=True)
    named = word[0].isupper() and not leads and word != "I"
    telling = named or _is_telling(word, lower)
    return _Token(lower, "" if telling else _stem(lower), telling)


def _character(piece: str) -> _Token:
    """Take a character of unspaced writing, or what stands between such, for a word."""
    lower = piece.lower()
    unspaced = _UNSPACED.match(piece) is not None
    telling = lower in _DENIALS or _NUMERAL.search(piece) is not None
    return _Token(lower, "", telling or (not unspaced and _LETTER.search(piece) is not None))


def _is_telling(word: str, lower: str) -> bool:
    """Tell a number, a denial, capitals, a short name, or what is too long for a word."""
    from dshloop.stop_words import STOP_WORDS

    return (
        len(word) > _LONGEST
        or lower in _DENIALS
        or lower.endswith("n't")
        or _NUMBERS.fullmatch(lower) is not None
        or _NUMERAL.search(word) is not None
        or (len(word) > 1 and word.isupper())
        or (len(word) < _SHORTEST and lower not in STOP_WORDS)
    )


def _stem(word: str) -> str:
    """Give the stem of an English word; what has no vowel is a name, as http and https are."""
    from dshloop.stemming import stem

    return stem(word) if word.isascii() and word.isalpha() and _VOWEL.search(word) else ""
