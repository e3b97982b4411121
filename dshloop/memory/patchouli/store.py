"""`--store patchouli`: recall, list, show, stats and export over what Patchouli holds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, NoReturn, TypeVar

from dshloop.errors import (
    AmbiguousIdError,
    MemoryEmptyError,
    MemoryNotFoundError,
    StoreReadOnlyError,
    StoreUnsupportedError,
)
from dshloop.memory.answers import DEFAULT_LIMIT, Filters, Hit, Put, Record, Stats
from dshloop.memory.entries import MEMORY, Entry, Memory, Session
from dshloop.memory.patchouli.found import Found, Source, memory_of
from dshloop.memory.patchouli_socket.wire import Change
from dshloop.memory.status import Probe

FLOOR = 0.3
"""The score below which a hit isn't shown."""
_MOST_WORDS = 8
_EVERYTHING = Filters()
T = TypeVar("T")


class PatchouliStore:
    """A store over a source; ``notice`` is told what is looked at when nothing is found."""

    name = "patchouli"

    def __init__(self, source: Source, notice: Callable[[str], None] | None = None) -> None:
        self._source = source
        self._notice = notice or (lambda _text: None)

    # --- reading -------------------------------------------------------------------------------

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
        """Find what holds a question's words; the score is their share. Raises MEMORY_EMPTY.

        Patchouli looks for literal text, so the words are asked for one by one.
        """
        from dshloop.memory.patchouli.scoring import hit_of, words_of

        if semantic:
            self._refuse("recall by meaning")
        if not query.strip():
            raise MemoryEmptyError("there is nothing to look for: the question is blank")
        words = words_of(query)
        candidates: dict[tuple[str, str], Found] = {}
        for text in dict.fromkeys([query, *words[:_MOST_WORDS]]):
            for found in islice(self._source.entities(text=text), 200):
                candidates.setdefault((found.type, found.id), found)
        floor = FLOOR if min_score is None else min_score
        made = (memory_of(found) for found in candidates.values())
        hits = [hit_of(memory, query, words) for memory in made if passes(memory, filters)]
        kept = [hit for hit in hits if hit.score >= floor and hit.score > 0]
        kept.sort(key=lambda hit: (-hit.score, -hit.entry.created_at, hit.entry.id))
        return self._said(kept[offset : offset + limit])

    def list(
        self,
        filters: Filters = _EVERYTHING,
        *,
        limit: int | None = None,
        offset: int = 0,
        oldest_first: bool = False,
    ) -> Sequence[Entry]:
        """Give entries by when they were recorded."""
        entries = self._passing(filters, oldest_first=oldest_first)
        return self._said(list(islice(entries, offset, None if limit is None else offset + limit)))

    def count(self, filters: Filters = _EVERYTHING) -> int:
        """Count the entries that pass."""
        return sum(1 for _ in self._passing(filters))

    def get(self, id: str) -> Entry:  # noqa: A002
        """Give an entry by its id or the beginning of it. MEMORY_NOT_FOUND, AMBIGUOUS_ID."""
        return memory_of(self._one(id))

    def history(self, id: str) -> Sequence[Memory]:  # noqa: A002
        """Give the versions that are known; over the socket only the heads are."""
        found = self._one(id)
        heads = {head.version for head in found.heads}
        versions = self._source.versions(found.type, found.id)
        made = [memory_of(found._replace(heads=[head])) for head in versions]
        return [
            one._replace(version=number, latest=head.version in heads)
            for number, (one, head) in enumerate(zip(made, versions, strict=True), 1)
        ]

    def probe(self, seconds: float) -> Probe:
        """Ask what answers."""
        return Probe(self._source.version(seconds))

    def stats(self) -> Stats:
        """Count what is there."""
        types: dict[str, int] = {}
        projects: dict[str, int] = {}
        for memory in self._passing(_EVERYTHING):
            entity = str(memory.source["entity"])
            types[entity] = types.get(entity, 0) + 1
            projects[memory.project] = projects.get(memory.project, 0) + 1
        self._said(types)
        where = f"{self._source.where}, {self._scope_text()}"
        return Stats(
            self.name, where, sum(types.values()), projects=projects, types=types,
            bytes=self._source.size(),
        )  # fmt: skip

    def get_session(self, id: str) -> Session | None:  # noqa: A002, ARG002
        """Give None: Patchouli keeps no sessions."""
        return None

    def rows(self, where: Filters | None = None) -> Iterator[Record]:
        """Give all entries for an export, the oldest first."""
        return self._passing(where or _EVERYTHING, oldest_first=True)

    def changes(self, after: str | None = None, *, follow: bool = True) -> Iterator[Change]:
        """Give changes as they come."""
        return self._source.changes(after, follow=follow)

    def artifact(self, id: str) -> Iterator[bytes]:  # noqa: A002
        """Give the bytes of an artifact."""
        found = self._one(id)
        if found.type != "artifact":
            raise MemoryNotFoundError(f"{id} is no artifact", id=id)
        return self._source.artifact(found.id)

    def close(self) -> None:
        """Let go of the source."""
        self._source.close()

    def _passing(self, filters: Filters, *, oldest_first: bool = False) -> Iterator[Memory]:
        made = map(memory_of, self._source.entities(oldest_first=oldest_first))
        return (memory for memory in made if passes(memory, filters))

    def _one(self, id_: str) -> Found:
        named = id_.strip()
        exact = list(self._source.entities(ids=[named])) if named else []
        near = exact or [
            found for found in self._source.entities() if named and found.id.startswith(named)
        ]
        if len(near) > 1:
            ids = [f"{found.type} {found.id}" for found in near[:10]]
            raise AmbiguousIdError(
                f'"{named}" fits {len(near)} entities: {", ".join(ids)}', candidates=ids
            )
        if not near:
            raise MemoryNotFoundError(
                f'there is no "{named}" in Patchouli ({self._scope_text()})', id=named
            )
        return near[0]

    def _said(self, found: T) -> T:
        """Say where nothing was found: a wrong scope is no error, and most files hold little."""
        if not found:
            self._notice(
                f"Patchouli at {self._source.where} was looked at in {self._scope_text()}; its "
                "default bundle stores artifacts only, knowledge comes of plugins that write it"
            )
        return found

    def _scope_text(self) -> str:
        scopes = self._source.scopes()
        if len(scopes) == 1:
            fields = sorted(scopes[0].items(), reverse=True)  # the workspace before the user
            return "scope " + ", ".join(f"{key} {value}" for key, value in fields)
        return f"{len(scopes)} scopes"

    # --- what it can't do ----------------------------------------------------------------------

    def _refuse(self, what: str) -> NoReturn:
        raise StoreUnsupportedError(
            f"the store patchouli has no {what}",
            hint="Name another one by --store.",
            store=self.name,
        )

    def _read_only(self) -> NoReturn:
        raise StoreReadOnlyError(
            "Patchouli's storage is only read here",
            hint="Nothing was changed. Its plugins write it; our own store is --store embedded.",
            store=self.name,
        )

    def around(self, id: str, *, before: int, after: int) -> Sequence[Entry]:  # noqa: A002, ARG002
        """Refuse: STORE_UNSUPPORTED."""
        self._refuse("timeline")

    def sessions(self, **_: Any) -> Sequence[Session]:
        """Refuse: STORE_UNSUPPORTED."""
        self._refuse("sessions")

    def put(self, records: Iterable[Record], **_: Any) -> Iterator[Put]:  # noqa: ARG002
        """Refuse: STORE_READONLY."""
        self._read_only()

    def _writing(self, *_: Any, **__: Any) -> Any:
        """Refuse: STORE_READONLY."""
        self._read_only()

    remember = edit = observe = start_session = end_session = _writing
    forget = forget_session = restore = undo = _writing


def passes(memory: Memory, filters: Filters) -> bool:
    """Whether an entry passes filters."""
    file = filters.file
    return (
        MEMORY in filters.kinds
        and (filters.project is None or memory.project in (filters.project, ""))
        and (filters.agent is None or memory.agent == filters.agent)
        and (filters.type is None or memory.type == filters.type)
        and (filters.session is None or memory.session == filters.session)
        and (filters.concept is None)
        and (file is None or any(f"/{each}".endswith(f"/{file}") for each in memory.files))
        and (filters.since is None or memory.created_at >= filters.since)
        and (filters.until is None or memory.created_at < filters.until)
    )
