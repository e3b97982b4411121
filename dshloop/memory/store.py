"""What every memory store is asked and answers, whatever it keeps its entries in."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol, runtime_checkable

from dshloop.memory.answers import (
    Filters,
    Forgotten,
    Hit,
    Observed,
    Put,
    Record,
    Remembered,
    Stats,
    Undone,
)
from dshloop.memory.entries import (
    Entry,
    Memory,
    NewMemory,
    NewObservation,
    NewSession,
    Session,
)


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
