"""Keeping a memory: a repeat is counted, a near-equal one superseded, an alike one reported."""

from __future__ import annotations

from typing import NamedTuple

from dshloop.memory.answers import Remembered, Similar
from dshloop.memory.entries import Memory, NewMemory
from dshloop.memory.sqlite import index, write
from dshloop.memory.sqlite.connection import Connection
from dshloop.memory.sqlite.filters import LIVE
from dshloop.memory.sqlite.history import add_version
from dshloop.memory.sqlite.index import Indexed
from dshloop.memory.sqlite.lookup import row
from dshloop.memory.sqlite.operation import Operation
from dshloop.memory.sqlite.rows import COLUMNS, Row, digest_of, packed
from dshloop.memory.sqlite.similar import ALIKE, NEAR, replaces, similarity, word_set

# Candidates are the entries that have all of the newcomer's three rarest words, or all of the next
# three: the rarest may be what is new in it.
_RAREST = 3
_GROUPS = 2
_ENOUGH = 10
"""Words whose counts tell which are the rarest."""
_FEWEST = 4
"""Words that were not met before and are counted all the same."""
_NEW = 4
"""How many of them may be in no entry."""
_COMMON = 200
_FROM_INDEX = 500
_COMPARED = 50
_REMEMBERED_COUNTS = 50_000

_CANDIDATES = f"""
    SELECT seq, {COLUMNS} FROM entries AS m
    WHERE m.seq IN ({{some}}) AND m.kind = 'memory' AND m.latest = 1
      AND m.project = ? AND m.agent = ? AND {LIVE}
    ORDER BY m.seq DESC LIMIT ?
"""


class Newcomer(NamedTuple):
    """A memory that wants in, with all that can be made of it before the store is locked."""

    new: NewMemory
    memory: Memory
    digest: bytes
    indexed: Indexed


class Rarity:
    """How many entries have a word, as far as it matters, remembered from memory to memory.

    A guess that has become old costs time or a candidate, never a fact.
    """

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}

    def rarest(self, connection: Connection, forms: list[str]) -> list[str]:
        """Give the words that some entry has, the rarest first.

        Of those that were not met before only the longest are counted: they are rare most often.
        The newcomer is counted as if it were stored.
        """
        known = self._counts
        counts = {form: known[form] for form in forms if form in known}
        unknown = sorted((form for form in forms if form not in counts), key=len, reverse=True)
        wanted = max(_FEWEST, _ENOUGH - len(counts))
        asked = unknown[: wanted + _NEW]
        for form, count in zip(asked, connection.rows_with(asked, _COMMON), strict=False):
            counts[form] = count
            wanted -= count > 0
            if not wanted:
                break
        if len(known) >= _REMEMBERED_COUNTS:
            known.clear()
        known.update({form: count + 1 for form, count in counts.items()})
        rarest = sorted(counts, key=lambda form: (counts[form], -len(form)))
        return [form for form in rarest if counts[form]]


def newcomer(new: NewMemory, now: float) -> Newcomer:
    """Prepare a checked memory for storing."""
    memory = write.created(new, now)
    return Newcomer(new, memory, digest_of(memory), index.index_of(memory))


def remember(
    connection: Connection,
    operation: Operation,
    one: Newcomer,
    rarity: Rarity | None,
    *,
    renew: bool = False,
) -> Remembered:
    """Store a memory, findable; or count it where the same text is there.

    Without ``rarity`` near-equal memories are not looked for. With ``renew`` the same text is
    superseded.
    """
    connection.alone(one.digest.hex())
    same, old, similar = _held(connection, one, rarity)
    if same is not None and isinstance(same.entry, Memory) and not renew:
        counted = write.merged(same.entry, one.new, one.memory)
        operation.merged(same.entry)
        write.update(connection, same.seq, counted)
        return Remembered(counted, merged=True)
    old = same or old
    if old is not None and isinstance(old.entry, Memory):
        memory = _after(old.entry, one.memory)
        before = add_version(connection, operation, old, memory, index.index_of(memory))
        return Remembered(memory, superseded=before)
    write.insert(connection, one.memory, one.digest, one.indexed)
    operation.added(one.memory.id, None)
    return Remembered(one.memory, similar=similar)


def _held(
    connection: Connection, one: Newcomer, rarity: Rarity | None
) -> tuple[Row | None, Row | None, Similar | None]:
    """Give the memory that says the same, else the one whose place a newcomer takes, else the one
    that is most alike; nobody else changes the first two until the transaction ends."""
    while True:
        same = write.repeated(connection, one.digest, one.memory.created_at)
        old, similar = None, None
        if same is None and rarity is not None:
            old, similar = _nearest(connection, one, rarity)
        found = same or old
        if found is None:
            return None, None, similar
        if (held := write.held(connection, found)) is not None:
            return (held, None, None) if same is not None else (None, held, None)


def _after(old: Memory, new: Memory) -> Memory:
    """Make a newcomer the next version, which is found by what the one before was found by."""
    return new._replace(
        concepts=tuple(dict.fromkeys((*new.concepts, *old.concepts))),
        files=tuple(dict.fromkeys((*new.files, *old.files))),
        version=old.version + 1,
        previous=old.id,
    )


def _nearest(
    connection: Connection, one: Newcomer, rarity: Rarity
) -> tuple[Row | None, Similar | None]:
    """Give the memory whose place a newcomer takes, else the one that is most alike."""
    words: frozenset[str] | None = None
    alike: Similar | None = None
    for found in _candidates(connection, one, rarity):
        assert isinstance(found.entry, Memory)
        words = words or word_set(one.memory.content)
        near = similarity(words, word_set(found.entry.content))
        if near > NEAR and replaces(one.memory.content, found.entry.content):
            return found, None
        if near >= ALIKE and (alike is None or near > alike.similarity):
            alike = Similar(found.entry, near)
    return None, alike


def _candidates(connection: Connection, one: Newcomer, rarity: Rarity) -> list[Row]:
    forms = rarity.rarest(connection, index.content_forms(one.indexed))
    most = min(len(forms), _RAREST * _GROUPS)
    groups = [forms[start : start + _RAREST] for start in range(0, most, _RAREST)]
    if not groups:
        return []
    some, chosen = connection.with_all(groups, _FROM_INDEX)
    memory = one.memory
    owner = packed(memory.project), packed(memory.agent or "")
    values = (*chosen, *owner, memory.created_at, _COMPARED)
    return [row(found) for found in connection.execute(_CANDIDATES.format(some=some), values)]
