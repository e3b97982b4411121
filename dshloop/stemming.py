"""Porter's stemmer for English words: what makes "deploying" find "deploys".

The algorithm of M. F. Porter, "An algorithm for suffix stripping" (1980), with the two later
corrections (``bli`` and ``logi`` in step 2), which is also what SQLite's ``porter`` tokenizer does.
It is done here, not there, because ranking needs the same stems as the index.
"""

from __future__ import annotations

import re
from functools import lru_cache

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
_STEP_4 = "al ance ence er ic able ible ant ement ment ent ion ou ism ate iti ous ive ize"


def _suffix(endings: list[str]) -> re.Pattern[str]:
    """Match a word's longest suffix among ``endings``."""
    return re.compile("^(.*?)(" + "|".join(sorted(endings, key=len, reverse=True)) + ")$")


_SUFFIX_2 = _suffix(list(_STEP_2))
_SUFFIX_3 = _suffix(list(_STEP_3))
_SUFFIX_4 = _suffix(_STEP_4.split())

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
    first_y = word[0] == "y"
    if first_y:  # a consonant here, whatever follows
        word = "Y" + word[1:]
    word = _past_and_participle(_plural(word))
    if word.endswith("y") and _HAS_VOWEL.match(word[:-1]):
        word = word[:-1] + "i"
    word = _replace(word, _SUFFIX_2, _STEP_2)
    word = _replace(word, _SUFFIX_3, _STEP_3)
    word = _final_e(_derivation(word))
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


def _replace(word: str, suffix: re.Pattern[str], by: dict[str, str]) -> str:
    found = suffix.match(word)
    if found and _MEASURE_OVER_0.match(found[1]):
        return found[1] + by[found[2]]
    return word


def _derivation(word: str) -> str:
    found = _SUFFIX_4.match(word)
    if not found or not _MEASURE_OVER_1.match(found[1]):
        return word
    if found[2] == "ion" and not found[1].endswith(("s", "t")):
        return word
    return found[1]


def _final_e(word: str) -> str:
    if word.endswith("e"):
        base = word[:-1]
        if _MEASURE_OVER_1.match(base) or (
            _MEASURE_IS_1.match(base) and not _SHORT_END.match(base)
        ):
            word = base
    return word[:-1] if word.endswith("ll") and _MEASURE_OVER_1.match(word[:-1]) else word
