"""Where a bridge's work is done: events become calls, calls go into the outbox and from there on.

All of it belongs to one event loop, a courier's.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from dshloop.errors import DshloopError, OutboxUnusableError, PeerDeniedError
from dshloop.memory.outbox import Entry, Outbox
from dshloop.plugins.agentmemory import calls
from dshloop.plugins.agentmemory.config import BridgeConfig
from dshloop.plugins.agentmemory.content import member
from dshloop.plugins.agentmemory.delivery import Delivery, Say, said_of
from dshloop.plugins.agentmemory.homes import Home
from dshloop.plugins.agentmemory.reading import Reading, query_of
from dshloop.plugins.agentmemory.scribe import is_recall
from dshloop.plugins.agentmemory.sessions import Live, live, missed
from dshloop.plugins.agentmemory.windows import Window

if TYPE_CHECKING:
    from dshloop.sessions.session import Session
    from dshloop.transcripts.vocabulary import Event

_AGAIN = 1.0
"""Seconds until an outbox that could not be written is tried again."""

_MOST_PENDING = 10_000
"""Calls of a session that are kept while the outbox itself can't be written."""

NO_CWD = "session {} has no working directory: the daemon takes nothing of it"
DROPPED = "the outbox is full: {} of its oldest entries were dropped"
CREATED, HAPPENED, DISPOSED = "created", "happened", "disposed"


class Work(NamedTuple):
    """What was handed over."""

    kind: str
    session: Session
    event: Event | None = None


@dataclass(frozen=True, slots=True)
class Post:
    """What a courier works with. ``target`` says where the outbox's entries go."""

    config: BridgeConfig
    agent: str
    variables: Mapping[str, str]
    outbox: Outbox
    target: Mapping[str, Any]
    open_home: Callable[[], Home]
    say: Say = field(default=lambda _text: None)


class Desk:
    """The sessions of one row, their outbox, and the home that it is for."""

    def __init__(self, post: Post, home: Home) -> None:
        self._post, self._config = post, post.config
        self._live: dict[str, Live] = {}
        self._unwritten: dict[str, Live] = {}  # those whose calls could not be put in the outbox
        self._tasks: set[asyncio.Task[Any]] = set()
        self._trying: asyncio.Task[None] | None = None
        self._dropped = 0
        self._reading = Reading(home, self._config)
        self._delivery = Delivery(post.outbox, home, post.say, self._answered)

    def keep_trying(self) -> None:
        """Deliver what failed and what earlier processes left, from now on."""
        self._trying = asyncio.get_running_loop().create_task(
            self._delivery.keep_trying(self._is_held)
        )

    def take(self, handed: Iterable[Work]) -> None:
        """Do what was handed over, and put what comes of it in the outbox."""
        touched: dict[str, Live] = {}
        ended: list[str] = []
        for work in handed:
            one = touched[work.session.header.id] = self._known(work.session)
            try:
                self._do(work, one)
            except Exception as error:  # an event like no other must not hold up the next ones
                self._post.say(f"an event of session {one.about.session} was left out: {error!r}")
            if work.kind == DISPOSED:
                ended.append(one.about.session)
        for one in touched.values():
            self._put(one)
        for id_ in ended:
            self._live.pop(id_, None)

    async def flush(self, session_id: str) -> None:
        """Try to deliver what there is of a session."""
        one = self._live.get(session_id)
        if one is None or not self._config.writes:
            return
        self._put(one)
        one.buffered = 0
        await asyncio.shield(self._spawn(self._drained(one)))
        self._tell_dropped()

    async def ready(self, session: Session, messages: list[Any]) -> Window:
        """Give what is to be injected, when what is being read for it has come."""
        one = self._known(session)
        for message in messages:
            if isinstance(member(message, "id"), str) and not is_recall(message):
                self._search(one, message)
        if (self._config.recalls and one.window.waits) or self._config.searches:
            await one.ready()
        return one.window

    async def finish(self) -> None:
        """Try to deliver what there is of every session, and wait for all that is under way."""
        lives = list(self._live.values())
        for one in lives if self._config.writes else ():
            self._deliver(one, at_once=True)
        while working := self._tasks.union(*(one.reads for one in lives)):
            await asyncio.wait(working)
        self._tell_dropped()

    def last_put(self) -> int:
        """Try a last time to write down what could not be; tell how many calls are lost."""
        for one in list(self._unwritten.values()):
            self._put(one)
        return sum(len(one.pending) for one in self._unwritten.values())

    def _known(self, session: Session) -> Live:
        id_ = session.header.id
        if id_ not in self._live:
            post, mark = self._post, None
            if self._config.writes:
                with suppress(OutboxUnusableError):
                    mark = post.outbox.mark(id_)
            self._live[id_] = live(session, self._config, post.agent, post.variables, mark)
        return self._live[id_]

    def _is_held(self, entry: Entry) -> bool:
        """Whether an entry is one of a session under way whose rows are collected."""
        return entry.session in self._live and not entry.attempts

    # --- what happens in sessions --------------------------------------------------------------

    def _do(self, work: Work, one: Live) -> None:
        if work.kind == CREATED:
            self._created(one, work.session)
        elif work.event is not None:
            self._happened(one, work.event)
        else:
            self._disposed(one)

    def _created(self, one: Live, session: Session) -> None:
        about = one.about
        if self._config.writes and not about.cwd:
            self._post.say(NO_CWD.format(about.session))
        for event in missed(one, session) if about.cwd else ():
            call = one.scribe.write(event)
            if call is not None:
                one.add(call)
        self._put(one)
        if self._config.session_rows and about.cwd:
            one.add(calls.start(about))
            self._put(one)
            one.read(self._drained(one, until=calls.START))
        elif self._config.recalls:
            self._refresh(one)

    def _happened(self, one: Live, event: Event) -> None:
        kind = event["type"]
        call = one.scribe.write(event) if self._config.writes else None
        if call is not None and one.about.cwd:
            one.add(call)
            full = one.buffered >= self._config.observe_batch_limit
            if full or call.path == calls.REMEMBER:
                self._deliver(one)
        if kind == "user/message" and not is_recall(event.get("data")):
            self._read_for(one, event.get("data"))
        elif kind == "compaction/start" and self._config.recalls_again:
            one.window.expected = True
            self._refresh(one)

    def _read_for(self, one: Live, message: Any) -> None:
        if self._config.recalls:
            self._refresh(one)
        self._search(one, message)

    def _search(self, one: Live, message: Any) -> None:
        """Search for a user's message, once for each."""
        query, id_ = query_of(message, self._config), member(message, "id")
        if not query or id_ in one.searched:
            return
        if isinstance(id_, str):
            one.searched.add(id_)
        one.read(self._found(one, query))

    def _disposed(self, one: Live) -> None:
        if self._config.session_rows and one.about.cwd:
            one.add(calls.end(one.about))
        if self._config.writes:
            self._deliver(one, at_once=True)

    def _deliver(self, one: Live, *, at_once: bool = False) -> None:
        self._put(one)
        one.buffered = 0
        self._spawn(self._delivery.drain(one.about.session, at_once=at_once))

    def _put(self, one: Live) -> None:
        """Put what is pending in the outbox; what can't be is kept and tried again."""
        if not one.pending:
            return
        outbox = self._post.outbox
        try:
            outbox.put(one.about.session, one.pending, target=self._post.target, mark=one.mark)
        except OutboxUnusableError as error:
            self._post.say(error.message)
            del one.pending[:-_MOST_PENDING]
            self._unwritten[one.about.session] = one
            if not one.stuck:
                one.stuck = True
                asyncio.get_running_loop().call_later(_AGAIN, self._put_again, one)
            return
        one.put()
        self._unwritten.pop(one.about.session, None)

    def _put_again(self, one: Live) -> None:
        one.stuck = False
        self._put(one)

    async def _drained(self, one: Live, until: str | None = None) -> None:
        await self._delivery.drain(one.about.session, at_once=True, until=until)

    def _spawn(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    # --- windows -------------------------------------------------------------------------------

    def _refresh(self, one: Live) -> None:
        """Fetch the window; while it is being fetched, once more behind that."""
        one.fetches = min(one.fetches + 1, 2)
        if one.fetches == 1:
            one.read(self._fetched(one))

    async def _fetched(self, one: Live) -> None:
        while one.fetches:
            again = one.window.expected
            try:
                self._kept(one, await self._reading.window(one.about), again=again)
            except DshloopError as error:
                self._post.say(_failed("context refresh", error))
                one.window.expected = one.window.expected and not again
            finally:
                one.fetches -= 1

    async def _found(self, one: Live, query: str) -> None:
        try:
            one.window.semantic = await self._reading.fitting(one.about, query)
        except DshloopError as error:
            self._post.say(_failed("semantic recall", error))

    def _answered(self, entry: Entry, value: Mapping[str, Any]) -> None:
        one = self._live.get(entry.session)
        if one is not None and entry.kind == calls.START and self._config.recalls:
            self._kept(one, value.get("context"))

    def _kept(self, one: Live, text: Any, *, again: bool = False) -> None:
        one.window.keep(text, self._config.inject_context_max_chars, again=again)

    def _tell_dropped(self) -> None:
        with suppress(OutboxUnusableError):
            dropped = self._post.outbox.state().dropped
            if dropped > self._dropped:
                self._post.say(DROPPED.format(dropped))
            self._dropped = dropped


def _failed(what: str, error: DshloopError) -> str:
    said = said_of(error)
    return said if isinstance(error, PeerDeniedError) else f"{what} failed: {said}"
