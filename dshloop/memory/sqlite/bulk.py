"""Records put in as they are: with their ids, times and versions, in constant memory.

Putting works in batches. What a batch adds is noted as one change with the batches before it, so
that `undo` takes a whole import back.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from dshloop.memory.answers import MERGE, SESSION, Document, Put, Record
from dshloop.memory.entries import Entry, Memory, Observation, Session
from dshloop.memory.sqlite import documents, index, sessions, write
from dshloop.memory.sqlite.connection import Connection
from dshloop.memory.sqlite.index import Indexed
from dshloop.memory.sqlite.joining import joined
from dshloop.memory.sqlite.known import Known, name_of
from dshloop.memory.sqlite.operation import IMPORTED, begin
from dshloop.memory.sqlite.rows import (
    digest_of,
    observation_digest,
    packed,
    row_of,
)

AT_ONCE = 4_000
"""Records in one transaction."""
_CHARACTERS = 4_000_000  # of content in one transaction
_MOST_SESSIONS = 1_000  # new ones that one change notes
_VERB = "import"


def batches(records: Iterable[Record]) -> Iterator[list[Record]]:
    """Split records into what fits into one transaction."""
    some: list[Record] = []
    characters = 0
    for record in records:
        some.append(record)
        characters += len(record.content) if isinstance(record, (Memory, Observation)) else 0
        if len(some) >= AT_ONCE or characters >= _CHARACTERS:
            yield some
            some, characters = [], 0
    if some:
        yield some


class Import:
    """One import: batch by batch, each inside a transaction of the caller's."""

    def __init__(self, on_conflict: str, clock: float) -> None:
        self._on_conflict = on_conflict
        self._now = clock
        self._run = os.urandom(8).hex()

    def prepare(self, batch: Sequence[Record], there: Known) -> dict[str, Indexed]:
        """Make the words of what is new before the store is locked."""
        return {
            one.id: index.index_of(one)
            for one in batch
            if isinstance(one, (Memory, Observation)) and one.id not in there.seqs
            if index.findable(one)
        }

    def put(
        self,
        connection: Connection,
        batch: Sequence[Record],
        indexed: Mapping[str, Indexed],
    ) -> list[Put]:
        """Store a batch."""
        writing = _Batch(connection, Known.of(connection, batch), indexed, self._now)
        done = [writing.one(record, self._on_conflict) for record in batch]
        writing.finish()
        self._note(connection, writing)
        return done

    def _note(self, connection: Connection, done: _Batch) -> None:
        """Write down what was added, together with the batch before when nothing came between."""
        if not (done.added or done.begun or done.final):
            return
        change = [IMPORTED, self._run, done.first, done.next - 1, done.begun, done.final]
        last = connection.execute(
            "SELECT number, detail FROM operations ORDER BY number DESC LIMIT 1"
        ).fetchone()
        if last is not None:
            changes = json.loads(last[1])
            before = changes[-1]
            if before[:2] == change[:2] and len(before[4]) < _MOST_SESSIONS:
                changes[-1:] = _joined_changes(before, change)
                values = (json.dumps(changes), last[0])
                connection.execute("UPDATE operations SET detail = ? WHERE number = ?", values)
                return
        connection.execute(
            "INSERT INTO operations (number, verb, at, detail) VALUES (?, ?, ?, ?)",
            (begin(connection).number, _VERB, self._now, json.dumps([change])),
        )


class _Batch:
    """What one transaction stores."""

    def __init__(
        self,
        connection: Connection,
        there: Known,
        indexed: Mapping[str, Indexed],
        now: float,
    ) -> None:
        self._connection = connection
        self._there = there
        self._indexed = indexed
        self._now = now
        self._rows: list[tuple[Any, ...]] = []
        self._words_of: dict[int, Indexed] = {}
        self._followed: set[str] = set()  # ids that a row of this batch is the next version of
        self._observed: Counter[str] = Counter()
        self.first = self.next = connection.new_seq(AT_ONCE)
        self.begun: list[str] = []
        self.final = False

    @property
    def added(self) -> int:
        """How many rows were added."""
        return self.next - self.first

    def one(self, record: Record, on_conflict: str) -> Put:
        """Store one record."""
        what, new = self._there.judge(record, on_conflict)
        if what not in ("added", "replaced", "merged"):
            return Put(record, what)
        if isinstance(new, Session):
            self._session(new, known=what != "added")
        elif isinstance(new, Document):
            documents.put(self._connection, new)
            self._there.records[name_of(new)] = new
        elif what == "added":
            same = self._same_text(new) if on_conflict == MERGE else None
            if same is not None:
                return Put(record, self._fold(same, new))
            self._add(new)
        else:
            self._rewrite(new)
        return Put(record, what)

    def finish(self) -> None:
        """Write what was gathered."""
        self._flush()
        for id_, observed in self._observed.items():
            sessions.count(self._connection, id_, observed)

    def _session(self, session: Session, *, known: bool) -> None:
        if known:
            sessions.rewrite(self._connection, session)
        else:
            sessions.add(self._connection, session)
            self.begun.append(session.id)
        self._there.records[name_of(session)] = session

    def _add(self, entry: Entry) -> None:
        if isinstance(entry, Memory):
            entry = self._in_its_chain(entry)
        elif (SESSION, entry.session) not in self._there.records:
            self._session(_session_around(entry), known=False)
        if entry.id in self._there.forgotten:
            self._connection.execute("DELETE FROM forgotten WHERE id = ?", (packed(entry.id),))
        if isinstance(entry, Observation):
            self._observed[entry.session] += 1
        indexed = self._words(entry) if index.findable(entry) else None
        words = 0 if indexed is None else index.length(indexed)
        if isinstance(entry, Memory) and entry.previous is not None:
            self._followed.add(entry.previous)
        self._rows.append((*row_of(entry), _digest(entry), words, self.next))
        self._there.records[name_of(entry)], self._there.seqs[entry.id] = entry, self.next
        if indexed is not None:
            self._words_of[self.next] = indexed
        self.next += 1

    def _in_its_chain(self, memory: Memory) -> Memory:
        """Keep one latest version: the one before goes, and one that has a newer is old."""
        if not memory.latest:
            return memory
        newer = (
            memory.id in self._followed
            or self._connection.execute(
                "SELECT 1 FROM entries WHERE previous = ? LIMIT 1", (memory.id,)
            ).fetchone()
        )
        if newer:
            return memory._replace(latest=False)
        if memory.previous is not None:
            self._supersede(memory.previous)
        return memory

    def _supersede(self, id_: str) -> None:
        """Make a version an old one, when it is there and is none."""
        self._flush()
        before = self._connection.execute(
            "SELECT seq FROM entries WHERE id = ? AND latest = 1 AND kind = 'memory'",
            (packed(id_),),
        ).fetchone()
        if before is not None:
            write.supersede(self._connection, before[0])
            self.final = self.final or before[0] < self.first

    def _same_text(self, entry: Entry) -> Memory | None:
        """Give the stored memory that says the same, for one without versions of its own."""
        if not isinstance(entry, Memory) or not entry.latest or entry.previous is not None:
            return None
        self._flush()
        found = write.repeated(self._connection, digest_of(entry), self._now)
        if found is None or not isinstance(found.entry, Memory):
            return None
        self._there.seqs[found.entry.id] = found.seq
        return found.entry

    def _fold(self, old: Memory, new: Entry) -> str:
        both = joined(old, new)
        if both == old:
            return "same"
        assert isinstance(both, Memory)
        self._rewrite(both)
        return "merged"

    def _rewrite(self, entry: Entry) -> None:
        """Write an entry over the row that has its id."""
        self._flush()
        seq = self._there.seqs[entry.id]
        old = self._there.records.get(name_of(entry))
        if isinstance(old, Observation) and isinstance(entry, Observation):
            self._observed[old.session] -= 1
            self._observed[entry.session] += 1
        indexed = self._words(entry, anew=True) if index.findable(entry) else None
        write.rewrite(self._connection, seq, entry, _digest(entry), indexed)
        self._there.records[name_of(entry)] = entry
        self.final = self.final or seq < self.first

    def _words(self, entry: Entry, *, anew: bool = False) -> Indexed:
        found = None if anew else self._indexed.get(entry.id)
        return index.index_of(entry) if found is None else found

    def _flush(self) -> None:
        if self._rows:
            self._connection.executemany(write.INSERT, self._rows)
            for seq, indexed in self._words_of.items():
                self._connection.add_words(seq, indexed)
            self._rows, self._words_of = [], {}


def _joined_changes(before: list[Any], after: list[Any]) -> list[list[Any]]:
    """Make one of two changes when no other row lies between theirs."""
    if before[3] + 1 != after[2]:
        return [before, after]
    return [[*before[:3], after[3], before[4] + after[4], before[5] or after[5]]]


def _digest(entry: Entry) -> bytes:
    """Give the digest; what told repeats of an observation is not known any more."""
    if isinstance(entry, Memory):
        return digest_of(entry)
    return observation_digest(entry.session, f"\0{entry.id}")


def _session_around(entry: Observation) -> Session:
    at = entry.created_at
    return Session(entry.session, entry.project, "", entry.agent, None, None, None, at, at, None)
