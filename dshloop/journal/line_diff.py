"""The hunks of a unified diff, found in about the time it takes to read the two texts.

`difflib` alone takes time that grows with the square of the changed lines. Lines that stand once
in either text are matched first, in the longest order both have; `difflib` sees what is between.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import Match, SequenceMatcher
from itertools import pairwise
from typing import TypeAlias

Pair: TypeAlias = tuple[int, int]
"""A line's number in the old text and in the new one."""


class Lines(SequenceMatcher[str]):
    """The lines of two texts, for `get_grouped_opcodes`."""

    def __init__(self, old: Sequence[str], new: Sequence[str]) -> None:
        super().__init__(None, old, new, autojunk=False)
        self._old, self._new = old, new

    def get_matching_blocks(self) -> list[Match]:
        """Give the common lines in order; the last block is the empty one at both ends."""
        blocks: list[Match] = []
        for block in _common(self._old, self._new):
            if blocks and _follows(blocks[-1], block):
                last = blocks.pop()
                block = Match(last.a, last.b, last.size + block.size)
            blocks.append(block)
        return [*blocks, Match(len(self._old), len(self._new), 0)]


def hunks(old: Sequence[str], new: Sequence[str], context: int) -> Iterator[str]:
    """Yield the lines of a unified diff without its two header lines."""
    for group in Lines(old, new).get_grouped_opcodes(context):
        first, last = group[0], group[-1]
        yield f"@@ -{_range(first[1], last[2])} +{_range(first[3], last[4])} @@\n"
        for tag, start, end, new_start, new_end in group:
            if tag == "equal":
                yield from (f" {line}" for line in old[start:end])
                continue
            yield from (f"-{line}" for line in old[start:end])
            yield from (f"+{line}" for line in new[new_start:new_end])


def _common(old: Sequence[str], new: Sequence[str]) -> Iterator[Match]:
    anchors = [(-1, -1), *_anchors(old, new), (len(old), len(new))]
    for (old_at, new_at), (old_end, new_end) in pairwise(anchors):
        left, right = old[old_at + 1 : old_end], new[new_at + 1 : new_end]
        if left and right:
            for at, to, size in SequenceMatcher(None, left, right).get_matching_blocks()[:-1]:
                yield Match(old_at + 1 + at, new_at + 1 + to, size)
        if old_end < len(old):
            yield Match(old_end, new_end, 1)


def _anchors(old: Sequence[str], new: Sequence[str]) -> list[Pair]:
    """Give the lines that stand once in either text, as many as are in one order in both."""
    once = {line for line, count in Counter(old).items() if count == 1}
    counts = Counter(new)
    there = {line: at for at, line in enumerate(new) if counts[line] == 1 and line in once}
    pairs = [(at, there[line]) for at, line in enumerate(old) if line in there]
    return _longest_rise(pairs)


def _longest_rise(pairs: Sequence[Pair]) -> list[Pair]:
    """Give the longest part of pairs whose second numbers rise, as the first do (patience)."""
    tops: list[int] = []
    piles: list[int] = []
    before: list[int] = []
    for index, (_, value) in enumerate(pairs):
        pile = bisect_left(tops, value)
        before.append(piles[pile - 1] if pile else -1)
        tops[pile : pile + 1] = [value]
        piles[pile : pile + 1] = [index]
    chain: list[Pair] = []
    index = piles[-1] if piles else -1
    while index >= 0:
        chain.append(pairs[index])
        index = before[index]
    return chain[::-1]


def _follows(one: Match, other: Match) -> bool:
    return one.a + one.size == other.a and one.b + one.size == other.b


def _range(start: int, end: int) -> str:
    """Write lines as ``diff -u`` does: an empty range is named by the line before it."""
    count = end - start
    if count == 1:
        return str(start + 1)
    return f"{start + 1 if count else start},{count}"
