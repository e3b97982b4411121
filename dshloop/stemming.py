"""Porter's stemmer for English words: what makes "deploying" find "deploys".

The algorithm of M. F. Porter, "An algorithm for suffix stripping" (1980), with the two later
corrections (``bli`` and ``logi`` in step 2), as SQLite's ``porter`` tokenizer has it, and two rules
of ours: a final y becomes i at the end too, so that "deployment" finds "deploys", and irregular
forms (irregular.py) have the stem of their word. It is done here, not by SQLite, because ranking
needs the same stems as the index.
"""

from __future__ import annotations

import re
from collections.abc import Container
from functools import lru_cache

from dshloop.irregular import BASES

_STEP_2 = {
    "ational": "ate",
    "tional": "tion",
    "enci": "ence",
    "anci": "ance",
    "izer": "ize",
    "bli": "ble",
    "alli": "al",
    "entli": "ent",
    "eli": "e",
    "ousli": "ous",
    "ization": "ize",
    "ation": "ate",
    "ator": "ate",
    "alism": "al",
    "iveness": "ive",
    "fulness": "ful",
    "ousness": "ous",
    "aliti": "al",
    "iviti": "ive",
    "biliti": "ble",
    "logi": "log",
}
_STEP_3 = {
    "icate": "ic",
    "ative": "",
    "alize": "al",
    "iciti": "ic",
    "ical": "ic",
    "ful": "",
    "ness": "",
}
_SUFFIXES_4 = "al ance ence er ic able ible ant ement ment ent ion ou ism ate iti ous ive ize"
_STEP_4 = frozenset(_SUFFIXES_4.split())
_LONGEST_SUFFIX = 7

# A consonant is any letter but a vowel; "y" is one at the start and after a vowel.
_CONSONANT = "[^aeiou]"
_VOWEL = "[aeiouy]"
_CONSONANTS = f"{_CONSONANT}[^aeiouy]*"
_VOWELS = f"{_VOWEL}[aeiou]*"
_MEASURE_OVER_0 = re.compile(f"^({_CONSONANTS})?{_VOWELS}{_CONSONANTS}")
_MEASURE_OVER_1 = re.compile(f"^({_CONSONANTS})?({_VOWELS}{_CONSONANTS}){{2}}")
_MEASURE_IS_1 = re.compile(f"^({_CONSONANTS})?{_VOWELS}{_CONSONANTS}({_VOWELS})?$")
_HAS_VOWEL = re.compile(f"^({_CONSONANTS})?{_VOWEL}")
_SHORT_END = re.compile(f"^{_CONSONANTS}{_VOWEL}[^aeiouwxy]$")
_DOUBLED = re.compile(r"([^aeiouylsz])\1$")


@lru_cache(maxsize=50_000)
def stem(word: str) -> str:
    """Give the stem of a lower-case word of the letters a to z; shorter than 3 stays as it is."""
    if len(word) < 3:
        return word
    word = BASES.get(word, word)
    first_y = word[0] == "y"
    if first_y:  # a consonant here, whatever follows
        word = "Y" + word[1:]
    word = _past_and_participle(_plural(word))
    word = _final_y(word)
    word = _replace(word, _STEP_2)
    word = _replace(word, _STEP_3)
    word = _final_y(_final_e(_derivation(word)))
    return "y" + word[1:] if first_y else word


def _plural(word: str) -> str:
    if word.endswith(("sses", "ies")):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word


def _past_and_participle(word: str) -> str:
    if word.endswith("eed"):
        return word[:-1] if _MEASURE_OVER_0.match(word[:-3]) else word
    base = word[:-2] if word.endswith("ed") else word[:-3] if word.endswith("ing") else None
    if base is None or not _HAS_VOWEL.match(base):
        return word
    if base.endswith(("at", "bl", "iz")) or _SHORT_END.match(base):
        return base + "e"
    return base[:-1] if _DOUBLED.search(base) else base


def _final_y(word: str) -> str:
    return word[:-1] + "i" if word.endswith("y") and _HAS_VOWEL.match(word[:-1]) else word


def _replace(word: str, endings: dict[str, str]) -> str:
    base, suffix = _split(word, endings)
    return base + endings[suffix] if suffix and _MEASURE_OVER_0.match(base) else word


def _derivation(word: str) -> str:
    base, suffix = _split(word, _STEP_4)
    if not suffix or not _MEASURE_OVER_1.match(base):
        return word
    if suffix == "ion" and not base.endswith(("s", "t")):
        return word
    return base


def _split(word: str, endings: Container[str]) -> tuple[str, str]:
    """Cut off a word's longest suffix among ``endings``; the suffix is empty when it has none."""
    for at in range(max(len(word) - _LONGEST_SUFFIX, 0), len(word)):
        if word[at:] in endings:
            return word[:at], word[at:]
    return word, ""


def _final_e(word: str) -> str:
    if word.endswith("e"):
        base = word[:-1]
        if _MEASURE_OVER_1.match(base) or (
            _MEASURE_IS_1.match(base) and not _SHORT_END.match(base)
        ):
            word = base
    return word[:-1] if word.endswith("ll") and _MEASURE_OVER_1.match(word[:-1]) else word
