"""Many texts, and which of them are nearly equal: in little memory and about linear time.

A text is kept as the hashes of its words. Two sets of which a share of at least ``least`` is common
must have one of their rarest words in common, so only those are looked up (prefix filtering).
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator

from dshloop.memory.sqlite.similar import word_set

MOST_WORDS = 128
"""Words of a text that are kept: of more those with the smallest hashes, which is as telling."""
_BUCKETS = 1 << 20
_MOST_ROWS = 64  # rows that are compared for one word: boilerplate is not worth more
_MASK = (1 << 63) - 1


class Sketches:
    """Word sets of rows 0, 1, 2, …, and how common each word is (about)."""

    def __init__(self) -> None:
        self._words = array("Q")
        self._ends = array("Q", [0])
        self._common = array("I", bytes(4 * _BUCKETS))

    def __len__(self) -> int:
        return len(self._ends) - 1

    def add(self, text: str) -> None:
        """Keep the next row."""
        hashes = sorted(hash(word) & _MASK for word in word_set(text))[:MOST_WORDS]
        for value in hashes:
            self._common[value % _BUCKETS] += 1
        self._words.extend(hashes)
        self._ends.append(len(self._words))

    def words(self, row: int) -> frozenset[int]:
        """Give the hashes of a row's words."""
        return frozenset(self._words[self._ends[row] : self._ends[row + 1]])

    def pairs(self, least: float) -> Iterator[tuple[int, int, float]]:
        """Give pairs of rows (the earlier first) of which this share of words is common."""
        rows_with: dict[int, array[int]] = {}
        for row in range(len(self)):
            words = self.words(row)
            rare = self._rarest(words, least)
            tried: set[int] = set()
            for word in rare:
                tried.update(rows_with.get(word, ()))
            for other in sorted(tried):
                theirs = self.words(other)
                shared = len(words & theirs)
                share = shared / (len(words) + len(theirs) - shared) if shared else 0.0
                if share >= least:
                    yield other, row, share
            for word in rare:
                rows = rows_with.setdefault(word, array("I"))
                rows.append(row)
                if len(rows) > _MOST_ROWS:
                    del rows[0]

    def _rarest(self, words: frozenset[int], least: float) -> list[int]:
        """Give the words by which a row is found; those of no other row find nothing."""
        common = self._common
        ordered = sorted(words, key=lambda word: (common[word % _BUCKETS], word))
        needed = len(ordered) - int(-(-least * len(ordered) // 1)) + 1
        return [word for word in ordered[:needed] if common[word % _BUCKETS] > 1]
