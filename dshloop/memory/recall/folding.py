"""Folding entries that say the same: the best one stands for all."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from dshloop.memory.recall.lines import Line
from dshloop.memory.recall.rank import Ranked
from dshloop.stop_words import STOP_WORDS

_LONGEST = 4_000
"""Characters of a text that are compared; longer texts are equal or they aren't."""


class Folded(NamedTuple):
    """The best of entries that say the same, and the others' numbers."""

    best: Ranked
    others: tuple[int, ...] = ()


def folded(ranked: Iterable[Ranked], most: int) -> list[Folded]:
    """Give the best entries; those of one project and agent that have the same words in the same
    order, but for stop words, are one. What differs in a number, a name or in who does what to
    whom stays apart.
    """
    groups: dict[object, list[Ranked]] = {}
    stop = _stop_words()
    for one in ranked:
        said = _said(one.line, stop)
        if said not in groups and len(groups) == most:
            break
        groups.setdefault(said, []).append(one)
    return [Folded(best, tuple(one.line.seq for one in rest)) for best, *rest in groups.values()]


def _said(line: Line, stop: frozenset[str]) -> object:
    texts = tuple(line.texts)
    if sum(map(len, texts)) > _LONGEST:
        return tuple(line.scope), texts
    said = [[word for word in text.split(" ") if word not in stop] for text in texts]
    return tuple(line.scope), *[" ".join(words) for words in said]


@lru_cache(maxsize=1)
def _stop_words() -> frozenset[str]:
    from dshloop.text import words

    return frozenset(form for word in STOP_WORDS for form in words(word))
