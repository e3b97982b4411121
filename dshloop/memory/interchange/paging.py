"""The records of a store that can't give them away as they are, asked for page by page."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol, runtime_checkable

from dshloop.memory.answers import Filters, Record
from dshloop.memory.store import MemoryReader

_PAGE = 500


@runtime_checkable
class Source(Protocol):
    """What records come from."""

    def rows(self, where: Filters | None = None) -> Iterator[Record]:
        """Give them, as `Transferable` says."""


class Paged:
    """A store by what every store answers: sessions and entries, superseded versions too.

    It is no one moment's state: what changes meanwhile may be missed or come twice.
    """

    def __init__(self, store: MemoryReader) -> None:
        self._store = store

    def rows(self, where: Filters | None = None) -> Iterator[Record]:
        """Give sessions, then entries; with filters, the sessions of the entries that pass."""
        filters = (where or Filters())._replace(old=True)
        yield from self._sessions(None if where is None else self._named(filters))
        yield from self._entries(filters)

    def _sessions(self, named: set[str] | None) -> Iterator[Record]:
        offset = 0
        while page := self._store.sessions(limit=_PAGE, offset=offset, oldest_first=True):
            yield from (one for one in page if named is None or one.id in named)
            offset += len(page)

    def _entries(self, filters: Filters) -> Iterator[Record]:
        offset = 0
        while page := self._store.list(filters, limit=_PAGE, offset=offset, oldest_first=True):
            yield from page
            offset += len(page)

    def _named(self, filters: Filters) -> set[str]:
        found = (getattr(entry, "session", None) for entry in self._entries(filters))
        return {session for session in found if session}
