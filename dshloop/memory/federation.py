"""Several stores asked as one: at the same time, with a limit for each, and what they share folded.

Scores of different stores mean different things, so what they find is ordered by rank: a hit is
worth 1 / (60 + its rank) of each store that has it (reciprocal rank fusion). The score of a hit
stays what its store says, and each store applies its own floor: what none of them finds relevant
is no answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeVar

from dshloop.errors import AmbiguousIdError, MemoryNotFoundError
from dshloop.memory.answers import DEFAULT_LIMIT, Filters, Hit, Stats
from dshloop.memory.entries import Entry, Memory, Session
from dshloop.memory.merging import Origin, merged_entries, merged_hits, same_text
from dshloop.memory.store import MemoryReader
from dshloop.memory.store_lanes import Failure, Question, Source, StoreLanes

__all__ = ["PATIENCE", "Failure", "FederatedReader", "Source", "total_of"]

PATIENCE = 5.0
"""Seconds that a store may take for an answer, its opening included."""

_DEPTH = 100
"""Hits that each store is asked for at least: what one finds late counts with what another finds
early, whichever page is wanted, so pages up to there go on where the one before ended."""

_EVERYTHING = Filters()
T = TypeVar("T")
E = TypeVar("E", bound=Entry)


class FederatedReader:
    """A `MemoryReader` over several stores, each in a thread of its own.

    A store that fails or takes longer than ``patience`` seconds is told to ``warn``, once, and
    the others answer; one that was silent is not asked again. Raises STORES_UNREACHABLE when none
    answers, and at once what the question itself is to blame for.
    """

    def __init__(
        self,
        sources: Sequence[Source],
        *,
        patience: float = PATIENCE,
        warn: Callable[[Failure], object] = lambda _failure: None,
    ) -> None:
        self._stores = StoreLanes(sources, patience, warn)
        self._origins: dict[tuple[str, str, str], Origin] = {}

    @property
    def name(self) -> str:
        """The names of all stores."""
        return ", ".join(self._stores.names)

    def origin_of(self, entry: Entry) -> Origin:
        """Tell in which stores an entry is that was given here; KeyError for any other."""
        return self._origins[_key(entry)]

    # --- finding -------------------------------------------------------------------------------

    def recall(
        self,
        query: str,
        filters: Filters = _EVERYTHING,
        *,
        limit: int = DEFAULT_LIMIT,
        offset: int = 0,
        min_score: float | None = None,
        semantic: bool | None = None,
    ) -> Sequence[Hit]:
        """Find what answers a question in any store, by rank."""
        deep = _depth(limit + offset)
        answers = self._stores.ask(
            lambda store: store.recall(
                query, filters, limit=deep, min_score=min_score, semantic=semantic
            )
        )
        found = merged_hits(answers)[offset : offset + limit]
        return [self._noted(hit, hit.entry, origin) for hit, origin in found]

    def list(
        self,
        filters: Filters = _EVERYTHING,
        *,
        limit: int | None = DEFAULT_LIMIT,
        offset: int = 0,
        oldest_first: bool = False,
    ) -> Sequence[Entry]:
        """Give the entries of all stores in order of their creation."""
        most = None if limit is None else limit + offset
        answers = self._stores.ask(
            lambda store: store.list(filters, limit=most, oldest_first=oldest_first)
        )
        found = merged_entries(answers, oldest_first=oldest_first)[offset:most]
        return [self._noted(entry, entry, origin) for entry, origin in found]

    def count(self, filters: Filters = _EVERYTHING) -> int:
        """Count the entries of all stores; what two of them have counts twice."""
        return sum(self._stores.ask(lambda store: store.count(filters)).values())

    # --- one entry -----------------------------------------------------------------------------

    def get(self, id: str) -> Entry:  # noqa: A002
        """Give an entry; AMBIGUOUS_ID also when stores have different texts under it."""
        answers = self._stores.ask(lambda store: _found(store, id))
        here = {name: [entry] for name, entry in answers.items() if entry is not None}
        found = merged_entries(here)
        if not found:
            asked = ", ".join(answers)  # those that gave no answer may have it
            raise MemoryNotFoundError(f'none of the stores {asked} has "{id}"', id=id)
        if len(found) > 1:
            places = [f"{origin.store}: {entry.id}" for entry, origin in found]
            raise AmbiguousIdError(
                f'"{id}" is not the same in {len(found)} stores',
                hint="Name one of them by --store.",
                candidates=places,
            )
        entry, origin = found[0]
        return self._noted(entry, entry, origin)

    def history(self, id: str) -> Sequence[Memory]:  # noqa: A002
        """Give every version of a memory in the first store that has it."""
        entry = self.get(id)
        versions = self._ask_home(entry, lambda store: store.history(entry.id))
        return self._all_of(self.origin_of(entry), versions)

    def around(self, id: str, *, before: int, after: int) -> Sequence[Entry]:  # noqa: A002
        """Give an entry with its neighbours in the first store that has it."""
        entry = self.get(id)
        found = self._ask_home(
            entry, lambda store: store.around(entry.id, before=before, after=after)
        )
        return self._all_of(self.origin_of(entry), found)

    # --- sessions and numbers ------------------------------------------------------------------

    def get_session(self, id: str) -> Session | None:  # noqa: A002
        """Give a session of the first store that has it."""
        answers = self._stores.ask(lambda store: store.get_session(id))
        return next((found for found in answers.values() if found is not None), None)

    def sessions(
        self,
        *,
        project: str | None = None,
        agent: str | None = None,
        since: float | None = None,
        until: float | None = None,
        limit: int | None = DEFAULT_LIMIT,
        offset: int = 0,
        oldest_first: bool = False,
    ) -> Sequence[Session]:
        """Give the sessions of all stores, each once."""
        most = None if limit is None else limit + offset
        answers = self._stores.ask(
            lambda store: store.sessions(
                project=project, agent=agent, since=since, until=until, limit=most,
                oldest_first=oldest_first,
            )
        )  # fmt: skip
        kept: dict[str, Session] = {}
        for found in answers.values():
            for session in found:
                kept.setdefault(session.id, session)
        ordered = sorted(kept.values(), key=lambda one: one.started_at, reverse=not oldest_first)
        return ordered[offset:most]

    def stats(self) -> Stats:
        """Count what is in all stores; what two of them have counts twice."""
        return total_of(self.stats_by_store())

    def stats_by_store(self) -> Mapping[str, Stats]:
        """Count what is in each store that answers."""
        return self._stores.ask(lambda store: store.stats())

    def close(self) -> None:
        """Let go of the stores; one that hangs is left behind. May be called twice."""
        self._stores.close()

    # --- asking --------------------------------------------------------------------------------

    def _ask_home(self, entry: Entry, question: Question[T]) -> T:
        """Ask the store that an entry comes from."""
        return self._stores.ask_one(self.origin_of(entry).store, question)

    def _noted(self, given: T, entry: Entry, origin: Origin) -> T:
        self._origins[_key(entry)] = origin
        return given

    def _all_of(self, origin: Origin, entries: Sequence[E]) -> Sequence[E]:
        for entry in entries:
            self._origins.setdefault(_key(entry), Origin(origin.store))
        return entries


def _depth(wanted: int) -> int:
    """Give how many hits of each store are looked at: the same number for pages that are near."""
    deep = _DEPTH
    while deep < wanted:
        deep *= 2
    return deep


def total_of(by_store: Mapping[str, Stats]) -> Stats:
    """Add up what stores hold."""
    found = list(by_store.values())
    known = [one.bytes for one in found if one.bytes is not None]
    return Stats(
        store=", ".join(by_store),
        where=", ".join(one.where for one in found),
        memories=sum(one.memories for one in found),
        observations=sum(one.observations for one in found),
        sessions=sum(one.sessions for one in found),
        versions=sum(one.versions for one in found),
        forgotten=sum(one.forgotten for one in found),
        projects=_added(one.projects for one in found),
        types=_added(one.types for one in found),
        bytes=sum(known) if known else None,
    )


def _added(counts: Iterator[Mapping[str, int]]) -> dict[str, int]:
    total: dict[str, int] = {}
    for each in counts:
        for name, number in each.items():
            total[name] = total.get(name, 0) + number
    return dict(sorted(total.items(), key=lambda item: -item[1]))


def _found(store: MemoryReader, id: str) -> Entry | None:  # noqa: A002
    try:
        return store.get(id)
    except MemoryNotFoundError:
        return None


def _key(entry: Entry) -> tuple[str, str, str]:
    return entry.kind, entry.id, same_text(entry.content)
