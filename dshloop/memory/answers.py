"""What stores are asked with and what they answer, as values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from dshloop.memory.entries import (
    KINDS,
    Entry,
    Memory,
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
