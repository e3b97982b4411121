"""How nearness in meaning joins what words found. Words lead: small models mistake much for alike.

Measured on dialogues (benchmarks/recall.py --semantic): adding nearness to the total of the words
does better than joining two orders by reciprocal rank (.833 against .818 of the evidence within
10), and any weight from .05 to .10 and any threshold from 0 to 3 does as well within .005.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

NEAREST = 60
"""Entries that are looked at for their meaning alone."""

# Nearness tells nothing below this, in standard deviations: a store of thousands has always some
# entry that is three off. And what each one above it is worth, in ranking's total.
_FROM = 3.0
_WORTH = 0.08


class Near(Protocol):
    """A question's view of the stored vectors (nearness.py)."""

    def nearest(self, wanted: int) -> Sequence[int]:
        """Give the entries nearest in meaning that pass the filters, by number, nearest first."""

    def nearness(self, seqs: Sequence[int]) -> Mapping[int, float]:
        """Give how near entries are, in standard deviations; not those without a vector."""


def meant(nearness: float) -> float:
    """Give what nearness adds to ranking's total: 0 for most, .24 for an entry 6 off."""
    return _WORTH * max(nearness - _FROM, 0.0)
