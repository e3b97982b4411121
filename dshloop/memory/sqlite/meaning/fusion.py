"""How nearness in meaning joins what words found. Words lead: small models mistake much for alike.

Measured on dialogues (benchmarks/recall.py --semantic): adding nearness to the total of the words
does better than joining two orders by reciprocal rank (.833 against .818 of the evidence within
10), and any weight from .05 to .10 and any threshold does as well within .005.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import log
from typing import NamedTuple, Protocol

NEAREST = 30
"""Entries that are looked at for their meaning alone."""

# What each standard deviation is worth in ranking's total, and from where on it counts.
_WORTH = 0.08
_FROM = -2.0


def by_chance(entries: int) -> float:
    """Give how near the nearest of so many entries is when none has to do with the question.

    In standard deviations: 1.7 for 6 entries and 5 for 3,000, which separates real questions from
    those of other fields. Normal noise makes less of many, but entries are about things.
    """
    return 0.8 + 0.52 * log(max(entries, 1))


class Nearness(NamedTuple):
    """How near an entry is, in standard deviations above `by_chance`: ``alone``, and the better of
    that and ``together`` with its neighbours."""

    alone: float
    together: float


class Near(Protocol):
    """A question's view of the stored vectors (nearness.py)."""

    def nearest(self, wanted: int) -> Sequence[int]:
        """Give the entries nearest in meaning that pass the filters, by number, nearest first."""

    def nearness(self, seqs: Sequence[int]) -> Mapping[int, Nearness]:
        """Give how near entries are; those without a vector are left out."""


def meant(nearness: Nearness) -> float:
    """Give what nearness adds to ranking's total: 0 for most entries, seldom more than .4."""
    return _WORTH * max(nearness.together - _FROM, 0.0)


def answers(nearness: Nearness) -> bool:
    """Tell whether an entry is an answer by its meaning alone, neighbours left aside."""
    return nearness.alone >= 0.0
