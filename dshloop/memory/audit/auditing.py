"""One audit: a pass over all entries, then over pairs; and putting right what was found."""

from __future__ import annotations

from collections.abc import Callable

from dshloop.errors import MemoryNotFoundError, TransferUnsupportedError
from dshloop.memory.answers import Filters
from dshloop.memory.audit import exact, pairs, single
from dshloop.memory.audit.findings import Audit, Finding
from dshloop.memory.audit.sketches import Sketches
from dshloop.memory.entries import Entry, Memory, Observation
from dshloop.memory.interchange.carrying import source_of
from dshloop.memory.store import Amendable, MemoryStore

_TOLD_EVERY = 1_000
_NEVER_RECALLED = "recalls are not counted"


def audit(
    store: MemoryStore,
    where: Filters | None,
    now: float,
    told: Callable[[int], None] = lambda _count: None,
) -> Audit:
    """Look through a store."""
    looking = _Looking(store, now)
    for record in source_of(store).rows(where):
        if isinstance(record, (Memory, Observation)):
            looking.see(record)
            if looking.found.entries % _TOLD_EVERY == 0:
                told(looking.found.entries)
    return looking.finished()


def fix(store: MemoryStore, found: Audit) -> list[Finding]:
    """Put right what can be, as one change that `undo` takes back; give the findings that are
    gone. Raises TRANSFER_UNSUPPORTED."""
    if not isinstance(store, Amendable):
        raise TransferUnsupportedError(
            f'entries of the store "{store.name}" can\'t be put right in their places',
            store=store.name,
        )
    fixable = [one for one in found.findings if one.fixable]
    gone = {id_ for one in fixable for id_ in one.forgotten}
    amended: dict[str, Entry] = {}
    for one in fixable:
        if one.amended is not None and one.ids[0] not in gone:
            before = amended.get(one.ids[0])
            amended[one.ids[0]] = _also(before, one) if before is not None else one.amended
    if not (gone or amended):
        return []
    with store.batch("audit"):
        store.amend(map(_clean, amended.values()))
        _forget(store, sorted(gone))
    found.fixed = len(fixable)
    for one in fixable:
        found.counts[one.code] -= 1
    found.findings = [one for one in found.findings if not one.fixable]
    return fixable


class _Looking:
    """What a pass gathers: compact, so that a hundred thousand entries fit."""

    def __init__(self, store: MemoryStore, now: float) -> None:
        self.found = Audit()
        self._store = store
        self._now = now
        self._sketches = Sketches()
        self._rows: list[pairs.Row] = []
        self._doubles = exact.Doubles()
        self._numbers: dict[tuple[str, ...], int] = {}
        self._recalled: set[int] = set()

    def see(self, entry: Entry) -> None:
        """Take an entry into account."""
        self.found.entries += 1
        self.found.memories += isinstance(entry, Memory)
        for finding in single.findings_of(entry, self._now):
            self.found.add(finding)
        if isinstance(entry, Memory) and not entry.latest:
            return
        digest, session = exact.digest_of(entry), self._number("s", entry.session or entry.id)
        self._doubles.add(entry, digest, len(self._rows))
        self._sketches.add(entry.content)
        owner = self._number("o", entry.project, entry.agent or "")
        echo = session in self._recalled and not single.recalls(entry)
        memory = isinstance(entry, Memory)
        self._rows.append(pairs.Row(entry.id, memory, owner, session, echo, digest))
        if single.recalls(entry):
            self._recalled.add(session)

    def finished(self) -> Audit:
        """Look at pairs, and give what was found."""
        found = self.found
        for finding in self._doubles.findings(self._store, [row.id for row in self._rows]):
            found.add(finding)
        for finding in pairs.findings_of(self._store, self._sketches, self._rows):
            found.add(finding)
        if isinstance(self._store, Amendable):
            for entry in self._store.expired():
                found.add(Finding("EXPIRED", (entry.id,), ""))
        else:
            found.unmeasurable["EXPIRED"] = "this store doesn't show what has expired"
        found.unmeasurable["NEVER_RECALLED"] = _NEVER_RECALLED
        if not self._recalled:
            found.unmeasurable["FEEDBACK_LOOP"] = (
                "no recall was observed: only marks of recalled text were looked for"
            )
        found.sort()
        return found

    def _number(self, *name: str) -> int:
        return self._numbers.setdefault(name, len(self._numbers))


def _also(before: Entry, finding: Finding) -> Entry:
    """Apply a second fix to what a first one made of an entry."""
    amended = finding.amended
    if finding.code == "SECRET" or amended is None:  # all are cleaned at the end
        return before
    if finding.code == "FEEDBACK_LOOP":
        return before._replace(content=amended.content, title=amended.title)
    return before._replace(concepts=amended.concepts, files=amended.files, repeats=amended.repeats)


def _clean(entry: Entry) -> Entry:
    found = single.secret(entry)
    return entry if found is None or found.amended is None else found.amended


def _forget(store: MemoryStore, ids: list[str]) -> None:
    if ids:
        try:
            store.forget(ids)
        except MemoryNotFoundError:  # another process has forgotten them
            return
