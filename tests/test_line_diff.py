"""Hunks as `patch` takes them, also for texts in which thousands of lines change."""

from __future__ import annotations

import difflib
import re

from hypothesis import given
from hypothesis import strategies as st

from dshloop.journal.line_diff import hunks

LINES = st.lists(st.sampled_from([f"{word}\n" for word in "abcdefgh"]), max_size=20)


def patched(old: list[str], lines: list[str]) -> list[str]:
    """Apply hunks as `patch` does, where every kept and taken line must be the right one."""
    made: list[str] = []
    at = 0
    for line in lines:
        if line.startswith("@@"):
            found = re.match(r"@@ -(\d+)(?:,(\d+))? \+(\d+)", line)
            assert found is not None
            start = int(found[1]) - (0 if found[2] == "0" else 1)
            made += old[at:start]
            at = start
        elif line.startswith("+"):
            made.append(line[1:])
        else:
            assert old[at] == line[1:]
            made += [line[1:]] if line.startswith(" ") else []
            at += 1
    return made + old[at:]


@given(LINES, LINES, st.integers(0, 4))
def test_the_hunks_make_the_new_text_of_the_old(
    old: list[str], new: list[str], context: int
) -> None:
    assert patched(old, list(hunks(old, new, context))) == new
    assert (list(hunks(old, new, context)) == []) == (old == new)


def test_one_change_looks_as_difflib_shows_it() -> None:
    old = [f"{number}\n" for number in range(30)]
    for new in (old[:9] + old[10:], [*old, "x\n"], ["x\n", *old], [*old[:4], "y\n", *old[5:]], []):
        theirs = list(difflib.unified_diff(old, new, n=3))[2:]
        assert list(hunks(old, new, 3)) == theirs


def test_moved_lines_keep_the_longest_order_that_both_have() -> None:
    old = ["a\n", "b\n", "c\n", "d\n"]
    assert list(hunks(old, ["d\n", "a\n", "b\n", "c\n"], 0)) == [
        "@@ -0,0 +1 @@\n",
        "+d\n",
        "@@ -4 +4,0 @@\n",
        "-d\n",
    ]
