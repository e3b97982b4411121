"""What every memory store is asked and answers, whatever it keeps its entries in."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, NamedTuple, Protocol, runtime_checkable

from dshloop.memory.entries import (
    KINDS,
    Entry,
    Memory,
    NewMemory,
    NewObservation,
    NewSession,
    Observation,
    Session,
)

DEFAULT_LIMIT = 10
SESSION = "session"
DOCUMENT = "document"
SKIP, OVERWRITE, MERGE = "skip", "overwrite", "merge"
CONFLICTS = (SKIP, OVERWRITE, MERGE)
"""What becomes of a record whose id is taken: the stored one stays, goes, or takes over what the
other knows better (labels of both, the later text, the higher count)."""


class Filters(NamedTuple):
    """Which entries are looked at; ``None`` leaves a side open.

    An entry without a project belongs to every project. ``file`` matches a whole path or its end
    after a slash, ``concept`` in any case. ``since`` (included) and ``until`` (left out) are Unix
    seconds of the entry's creation. ``old`` adds versions that were superseded. Expired memories
    are never seen.
    """

    kinds: tuple[str, ...] = KINDS
    project: str | None = None
    agent: str | None = None
    type: str | None = None
    session: str | None = None
    concept: str | None = None
    file: str | None = None
    since: float | None = None
    until: float | None = None
    old: bool = False


class Why(NamedTuple):
    """Why an entry was found.

    ``words`` of the question that it has, those ``missing``, the ``fields`` they stand in;
    ``prefixes``: question words found as the beginning of another; ``context``: words that only its
    neighbours have; ``parts``: what each part gave to the score (for example ``{"words": .41,
    "context": .08, "recency": .01, "vector": .2}``).
    """

    words: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    fields: tuple[str, ...] = ()
    prefixes: tuple[str, ...] = ()
    context: tuple[str, ...] = ()
    parts: Mapping[str, float] = {}

    def as_json(self) -> dict[str, Any]:
        """Give the value of a hit's ``why``."""
        return {
            "words": list(self.words),
            "missing": list(self.missing),
            "fields": list(self.fields),
            "prefixes": list(self.prefixes),
            "context": list(self.context),
            "parts": {name: round(part, 4) for name, part in self.parts.items()},
        }


class Hit(NamedTuple):
    """An entry that answers a question.

    ``score`` lies in 0..1 and says how much of the question the entry covers: 0 is none of its
    words, 1 every word and each prominent; rare words weigh more than common ones. It can be
    compared between questions; it is no probability. ``reasons`` are why it was found, or say so
    when they are asked for. ``folded`` are ids of near-equal entries that this hit stands for.
    """

    entry: Entry
    score: float
    reasons: Why | Callable[[], Why] = Why()
    folded: tuple[str, ...] = ()

    @property
    def why(self) -> Why:
        """Why the entry was found."""
        return self.reasons if isinstance(self.reasons, Why) else self.reasons()

    def as_json(self) -> dict[str, Any]:
        """Give the entry's value with ``score``, ``folded`` and ``why`` beside it."""
        return {
            "score": round(self.score, 4),
            **self.entry.as_json(),
            "folded": list(self.folded),
            "why": self.why.as_json(),
        }


class Similar(NamedTuple):
    """A memory that is alike but was left as it is; ``similarity`` 0..1 (agentmemory 6)."""

    memory: Memory
    similarity: float


class Remembered(NamedTuple):
    """What came of a memory.

    ``merged``: the same text was there and was counted instead. ``superseded``: the version whose
    place it took. ``redacted``: how many secrets were taken out.
    """

    memory: Memory
    merged: bool = False
    superseded: Memory | None = None
    similar: Similar | None = None
    redacted: int = 0


class Observed(NamedTuple):
    """What came of an observation; a ``duplicate`` is the one that was there, counted again."""

    observation: Observation
    duplicate: bool = False
    redacted: int = 0


class Forgotten(NamedTuple):
    """Which entries are gone (or would be), and which ids named none."""

    entries: tuple[Entry, ...]
    missing: tuple[str, ...] = ()


class Undone(NamedTuple):
    """A change that was taken back: its ``verb`` (remember, edit, forget, ...), when it was made,
    and the entries it was about."""

    verb: str
    at: float
    entries: tuple[Entry, ...]


class Document(NamedTuple):
    """A value that a store keeps beside its entries (`DocumentStore`); ``of`` is its kind."""

    of: str
    key: str
    value: Any
    updated_at: float


Record = Session | Memory | Observation | Document
"""What is carried from store to store."""


class Put(NamedTuple):
    """What came of a record that was put into a store.

    ``added``, ``same`` (it was there), ``kept`` (another one has its id, and stays), ``replaced``,
    ``merged``, or ``forgotten`` (it was forgotten there, and stays so unless it overwrites).
    """

    record: Record
    outcome: str


class Stats(NamedTuple):
    """How much a store holds; ``where`` is its file or address, ``bytes`` None when unknown.

    ``memories`` counts latest versions, ``versions`` the superseded ones, ``forgotten`` what can
    still be restored. ``projects`` and ``types`` count memories.
    """

    store: str
    where: str
    memories: int = 0
    observations: int = 0
    sessions: int = 0
    versions: int = 0
    forgotten: int = 0
    projects: Mapping[str, int] = {}
    types: Mapping[str, int] = {}
    bytes: int | None = None
    semantic: str | None = None
    """The model whose vectors are stored."""

    def as_json(self) -> dict[str, Any]:
        """Give the value that ``--json`` shows."""
        return {**self._asdict(), "projects": dict(self.projects), "types": dict(self.types)}


class MemoryReader(Protocol):
    """What can be asked of a place that keeps entries without changing anything.

    Entries are named by their id or by an unambiguous beginning of it, with or without ``mem_``
    or ``obs_``: MEMORY_NOT_FOUND when there is none, AMBIGUOUS_ID when there are several.
    """

    @property
    def name(self) -> str:
        """The name that ``--store`` takes."""

    def get_session(self, id: str) -> Session | None:  # noqa: A002
        """Give a session by its whole id."""

    def sessions(
        self,
        *,
        project: str | None = None,
        agent: str | None = None,
        since: float | None = None,
        until: float | None = None,
        limit: int | None = ...,
        offset: int = 0,
        oldest_first: bool = False,
    ) -> Sequence[Session]:
        """Give sessions, the last started first; ``since`` and ``until`` as in `Filters`."""

    def recall(
        self,
        query: str,
        filters: Filters = ...,
        *,
        limit: int = ...,
        offset: int = 0,
        min_score: float | None = None,
        semantic: bool | None = None,
    ) -> Sequence[Hit]:
        """Find what answers a question, best first.

        ``min_score`` None is the store's own floor. ``semantic`` None is what the store was opened
        with; True raises SEMANTIC_UNAVAILABLE where there is no model.
        """

    def list(
        self,
        filters: Filters = ...,
        *,
        limit: int | None = ...,
        offset: int = 0,
        oldest_first: bool = False,
    ) -> Sequence[Entry]:
        """Give entries in the order they were stored, the newest first."""

    def count(self, filters: Filters = ...) -> int:
        """Count the entries that pass the filters."""

    def get(self, id: str) -> Entry:  # noqa: A002
        """Give an entry, superseded versions too."""

    def history(self, id: str) -> Sequence[Memory]:  # noqa: A002
        """Give every version of a memory, the oldest first."""

    def around(self, id: str, *, before: int, after: int) -> Sequence[Entry]:  # noqa: A002
        """Give an entry with its neighbours of the same session (else of the same project and
        agent), in order of time."""

    def stats(self) -> Stats:
        """Count what is stored."""

    def close(self) -> None:
        """Let go of files and connections; closing twice is fine."""


class MemoryRecorder(MemoryReader, Protocol):
    """A reader that also takes down what happens. What a write returned survives a crash."""

    def observe(self, new: NewObservation, *, allow_secrets: bool = False) -> Observed:
        """Keep an observation and make or touch its session; a repeat within five minutes is
        counted instead."""

    def start_session(self, new: NewSession) -> Session:
        """Begin a session, or make a known one active again, keeping what it has."""

    def end_session(self, id: str) -> Session | None:  # noqa: A002
        """Mark a session as completed; None when there is no such session."""


class MemoryStore(MemoryRecorder, Protocol):
    """A place that keeps entries. What a write returned survives a crash and is found."""

    def remember(
        self, new: NewMemory, *, allow_secrets: bool = False, renew: bool = False
    ) -> Remembered:
        """Keep a memory; count it when the same text is there, supersede what it is nearly equal
        to (same project and agent; never where a number, name or identifier differs).

        ``renew`` makes the same text a new version of what is there instead of counting it."""

    def edit(
        self,
        id: str,  # noqa: A002
        *,
        content: str | None = None,
        title: str | None = None,
        type: str | None = None,  # noqa: A002
        concepts: Sequence[str] | None = None,
        files: Sequence[str] | None = None,
        strength: float | None = None,
        allow_secrets: bool = False,
    ) -> Remembered:
        """Store a new version of a memory; None keeps what the old one says."""

    def forget(
        self,
        ids: Sequence[str] = (),
        *,
        where: Filters | None = None,
        dry_run: bool = False,
        purge: bool = False,
    ) -> Forgotten:
        """Take away the entries that are named, and those that pass ``where``, in one transaction.

        A memory goes with its older versions. Until `purge` they can be restored. Raises
        MEMORY_NOT_FOUND when ids were given and none is there; nothing is gone then.
        """

    def forget_session(self, id: str) -> Forgotten:  # noqa: A002
        """Take away a session with its observations."""

    def restore(self, ids: Sequence[str]) -> Sequence[Entry]:
        """Bring back forgotten entries; MEMORY_NOT_FOUND when there is none of these ids."""

    def undo(self) -> Undone:
        """Take back the last change (remember, edit, forget, restore); NOTHING_TO_UNDO."""


@runtime_checkable
class Gathering(Protocol):
    """A store that can make several changes durable at once."""

    def together(self) -> AbstractContextManager[None]:
        """Make all changes within it durable at its end, or none when it raises; each stays a
        change of its own for `undo`."""


@runtime_checkable
class DocumentStore(Protocol):
    """What a store may offer besides: JSON values by kind and key, for what a peer's contract has
    and entries have no place for (lessons, links to commits, relations).

    They are durable as entries are, and neither recalled nor undone.
    """

    def documents(self, kind: str) -> Mapping[str, Any]:
        """Give all values of a kind by their keys, in the order they were first stored."""

    def document(self, kind: str, key: str) -> Any:
        """Give one value, None when there is none."""

    def keep_document(self, kind: str, key: str, value: Any) -> None:
        """Store a value in the place of the one that has its kind and key."""

    def drop_document(self, kind: str, key: str) -> bool:
        """Take a value away; tell whether there was one."""


@runtime_checkable
class Transferable(Protocol):
    """A store whose records can be carried away as they are, and put into another one."""

    def rows(self, where: Filters | None = None) -> Iterator[Record]:
        """Give all records, one moment's state, in constant memory: sessions in the order they
        were stored, then entries in theirs, superseded versions among them, then documents;
        expired and forgotten ones not. With filters: the entries that pass, and before them their
        sessions."""

    def put(
        self, records: Iterable[Record], *, on_conflict: str = ..., dry_run: bool = False
    ) -> Iterator[Put]:
        """Store records with their ids, times and versions; yield what came of each when it is on
        disk, batch by batch. What was yielded stays when it is broken off.

        A newer version that is stored makes the one before it an old one. Nothing is redacted.
        """


@runtime_checkable
class Amendable(Protocol):
    """A store in which an audit can put entries right."""

    def batch(self, verb: str = ...) -> AbstractContextManager[None]:
        """Make all that is changed within it one transaction, and one change for `undo`."""

    def amend(self, entries: Iterable[Entry]) -> Sequence[Entry]:
        """Write entries in the place of those that have their ids; give what was there.

        `undo` brings that back; nothing of it is found or shown until then.
        """

    def expired(self) -> Iterator[Entry]:
        """Give the entries that have expired and still are in the file."""
