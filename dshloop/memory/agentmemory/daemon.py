"""What is read from the daemon, page by page where it would fall over otherwise."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import TypeVar

from dshloop.errors import AgentmemoryRestartingError, AgentmemoryTooLargeError
from dshloop.memory.agentmemory.found import (
    Row,
    memory_in,
    observation_in,
    session_in,
)
from dshloop.memory.agentmemory_client import calls
from dshloop.memory.agentmemory_client.answers import Page
from dshloop.memory.agentmemory_client.calls import Call
from dshloop.memory.agentmemory_client.client import Agentmemory
from dshloop.memory.agentmemory_client.identity import require_known
from dshloop.memory.entries import Memory, Observation, Session

T = TypeVar("T")
PageAt = Callable[[int, int], Page | None]
EVERY_AGENT = "*"
_PAGE = 500
_NEWEST = 50  # rows of the first page from the end; each further one is twice as long
_SHRINK = 8
_STOPPED = 500  # the status of a call at which the daemon fell over


class Daemon:
    """The daemon as lists of entries; nothing is kept between two questions.

    Before the first one it is asked who it is: AGENTMEMORY_OLD, PEER_ANSWER, PEER_DENIED.
    """

    def __init__(self, client: Agentmemory, clock: Callable[[], float]) -> None:
        self.client = client
        self.clock = clock
        self._known = False

    @property
    def where(self) -> str:
        """The daemon's address."""
        return self.client.peer.shown

    def ask(self, call: Call[T]) -> T:
        """Make a request. Raises as `Agentmemory.ask`."""
        if not self._known:
            require_known(self.client.peer, self.client.ask(calls.health()))
            self._known = True
        return self.client.ask(call)

    # --- memories ------------------------------------------------------------------------------

    def memory(self, id_: str) -> Memory | None:
        """Give a memory by its whole id, superseded and expired ones too."""
        if not _is_plain(id_):
            return None
        row = self.ask(calls.memory(id_))
        return None if row is None else memory_in(row, self.clock())

    def memories(
        self, *, old: bool = True, newest_first: bool = False, scope: str | None = None
    ) -> Iterator[Memory]:
        """Give memories as they were stored; superseded ones too when ``old``.

        ``scope`` None is what the daemon shows by itself, `EVERY_AGENT` opens an isolated one.
        """
        page = partial(self._memory_page, old=old, scope=scope)
        rows = self._newest(page) if newest_first else self._oldest(page)
        found = (memory_in(row, self.clock()) for row in rows)
        return (memory for memory in found if memory is not None)

    def _oldest(self, page_at: PageAt) -> Iterator[Row]:
        offset, size = 0, _PAGE
        while True:
            page = page_at(offset, size)
            if page is None:
                size = max(1, size // _SHRINK)
                continue
            yield from page.rows
            offset += len(page.rows)
            if not page.rows or offset >= (page.total or 0):
                return

    def _newest(self, page_at: PageAt) -> Iterator[Row]:
        """Read pages from the end: the daemon lists the oldest first, and who asks for the newest
        ten should not wait for all."""
        first = page_at(0, 1)
        end, size = (0 if first is None else first.total or 0), _NEWEST
        while end > 0:
            start = max(0, end - size)
            page = page_at(start, end - start)
            if page is None:
                size = max(1, (end - start) // _SHRINK)
                continue
            yield from reversed(page.rows)
            end, size = start, min(2 * size, _PAGE)

    def _memory_page(self, offset: int, size: int, *, old: bool, scope: str | None) -> Page | None:
        """Give a page; None when it is above 16 MiB, which takes the daemon down for a second
        (agentmemory 13, D10)."""
        call = calls.memories(limit=size, offset=offset, latest=not old, agent=scope)
        return self._whole(call) if size == 1 else self._unless_it_falls(call)

    # --- sessions and observations -------------------------------------------------------------

    def sessions(self, scope: str | None = None) -> Iterator[Session]:
        """Give all sessions, the first stored first; ``scope`` as for `memories`."""
        rows = self._listed(lambda limit, at: calls.sessions(agent=scope, limit=limit, offset=at))
        found = (session_in(row, self.clock()) for row in rows)
        return (session for session in found if session is not None)

    def session_row(self, id_: str) -> Row | None:
        """Give a session's row by its whole id."""
        page = self.ask(calls.sessions(session=id_, limit=_PAGE, offset=0))
        return next((row for row in page.rows if row.get("id") == id_), None)

    def session(self, id_: str) -> Session | None:
        """Give a session by its whole id."""
        row = self.session_row(id_)
        return None if row is None else session_in(row, self.clock())

    def observations(self, session: Session, scope: str | None = None) -> Iterator[Observation]:
        """Give a session's observations in the order they came; ``scope`` as for `memories`."""
        asked = partial(calls.observations, session.id, agent=scope)
        rows = self._listed(lambda limit, at: asked(limit=limit, offset=at))
        found = (observation_in(row, session, self.clock()) for row in rows)
        return (observation for observation in found if observation is not None)

    def _listed(self, call: Callable[[int, int], Call[Page]]) -> Iterator[Row]:
        """Give the rows of a list, which 0.9.29 gives as a whole (agentmemory 13, D3)."""
        offset = 0
        while True:
            page = self._whole(call(_PAGE, offset))
            yield from page.rows
            offset += len(page.rows)
            if page.total is None or not page.rows or offset >= page.total:
                return

    def _whole(self, call: Call[Page]) -> Page:
        """Ask for what can't be asked for in part; once more when the daemon falls over, since it
        may have been another one's call. Raises AGENTMEMORY_TOO_LARGE."""
        page = self._unless_it_falls(call) or self._unless_it_falls(call)
        if page is None:
            raise AgentmemoryTooLargeError(
                f"agentmemory at {self.where} fell over at {call.name}: the answer is above its "
                "16 MiB, and can't be had in smaller pages",
                url=self.where,
                call=call.name,
            )
        return page

    def _unless_it_falls(self, call: Call[Page]) -> Page | None:
        """Ask; None when the daemon stopped at it."""
        try:
            return self.ask(call)
        except AgentmemoryRestartingError as error:
            if error.details.get("status") != _STOPPED:
                raise
            return None


def _is_plain(id_: str) -> bool:
    """Whether an id can stand in a path, which the daemon doesn't decode (agentmemory 1)."""
    return bool(id_) and id_.isascii() and all(one.isalnum() or one in "_-." for one in id_)
