"""Findings about two entries: nearly equal texts, contradictions, echoes of what was recalled."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from dshloop.errors import DshloopError
from dshloop.memory.audit.findings import Finding, shortened
from dshloop.memory.audit.sketches import Sketches
from dshloop.memory.entries import Entry, Memory
from dshloop.memory.sqlite.similar import NEAR, difference
from dshloop.memory.store import MemoryStore

ECHO = 0.9
"""The share of common words from which a text is an echo of an older one."""

_NEGATION = re.compile(
    r"\b(?:not|no|never|none|cannot|without|nor|neither|\w+n't|don’t|\w+n’t)\b|不|没|無|无|未|别",
    re.I,
)
_NUMBER = re.compile(r"\w*\d[\w.:/-]*")


class Row(NamedTuple):
    """What is remembered of an entry beside its words.

    ``owner`` is its project and agent; ``echo`` says that its session had recalled before.
    """

    id: str
    is_memory: bool
    owner: int
    session: int
    echo: bool
    digest: int


def findings_of(store: MemoryStore, sketches: Sketches, rows: list[Row]) -> Iterator[Finding]:
    """Give what is wrong with pairs; of each entry no more than one pair of a kind."""
    told: set[tuple[str, int]] = set()
    for first, second, share in sketches.pairs(NEAR):
        old, new = rows[first], rows[second]
        if new.echo and share >= ECHO and old.session != new.session:
            if ("echo", second) not in told:
                told.add(("echo", second))
                detail = f"it repeats {old.id}, which was stored before its session recalled"
                yield Finding("FEEDBACK_LOOP", (new.id, old.id), detail, forgotten=(new.id,))
            continue
        if not (old.is_memory and new.is_memory and old.owner == new.owner):
            continue
        if old.digest == new.digest or ("near", second) in told:
            continue
        found = _compared(store, old.id, new.id)
        if found is not None:
            told.add(("near", second))
            yield found


def differing(one: str, other: str) -> str | None:
    """Say in what two nearly equal texts contradict each other, None when they don't."""
    if _negated(one) != _negated(other):
        return "one of them denies it"
    if difference(one, other) != "fact":
        return None
    numbers = [_NUMBER.findall(text) for text in (one, other)]
    if numbers[0] != numbers[1]:
        differ = [sorted(set(mine) - set(theirs)) for mine, theirs in (numbers, numbers[::-1])]
        if not any(differ):
            return "the same numbers, elsewhere"
        return " / ".join(", ".join(words[:3]) or "nothing" for words in differ)
    return "a name or an identifier differs"


def _compared(store: MemoryStore, old: str, new: str) -> Finding | None:
    both = [entry for id_ in (old, new) if (entry := _entry(store, id_)) is not None]
    if len(both) != 2 or not all(isinstance(one, Memory) and one.latest for one in both):
        return None
    texts = [one.content for one in both]
    differs = differing(*texts)
    if differs is None:
        return Finding("NEAR_DUPLICATE", (old, new), shortened(texts))
    return Finding("CONTRADICTION", (old, new), f"{differs}: {shortened(texts)}")


def _negated(text: str) -> bool:
    """Tell an odd number of negations."""
    return len(_NEGATION.findall(text)) % 2 == 1


def _entry(store: MemoryStore, id_: str) -> Entry | None:
    try:
        return store.get(id_)
    except DshloopError:
        return None
