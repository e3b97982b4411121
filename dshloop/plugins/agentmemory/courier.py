"""The thread that carries a bridge's work: handing something over costs the agent next to nothing.

In its event loop events become calls, without secrets; calls go into the outbox, and from there
to their home; windows are read. Nothing of it runs where agents run.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable, Coroutine, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from dshloop.errors import DshloopError, OutboxUnusableError
from dshloop.memory.agentmemory_client.calls import Call as Request
from dshloop.memory.outbox import Entry, Outbox
from dshloop.plugins.agentmemory import calls
from dshloop.plugins.agentmemory.config import BridgeConfig
from dshloop.plugins.agentmemory.content import member
from dshloop.plugins.agentmemory.delivery import Delivery, Say
from dshloop.plugins.agentmemory.homes import Home
from dshloop.plugins.agentmemory.reading import Reading, query_of
from dshloop.plugins.agentmemory.scribe import is_recall
from dshloop.plugins.agentmemory.sessions import Live, live, missed
from dshloop.plugins.agentmemory.windows import Window

if TYPE_CHECKING:
    from dshloop.sessions.session import Session
    from dshloop.transcripts.vocabulary import Event

T = TypeVar("T")

_GATHER = 0.003
"""Seconds in which events come together, so that they share a flush of the disk."""

_AGAIN = 1.0
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


class Courier:
    """One thread. `hand` may be called from any; the coroutines belong to the agents' loop."""

    def __init__(self, post: Post) -> None:
        self._post, self._config = post, post.config
        self._queue: deque[Work] = deque()
        self._scheduled = False
        self._live: dict[str, Live] = {}
        self._tasks: set[asyncio.Task[Any]] = set()
        self._trying: asyncio.Task[None] | None = None
        self._dropped = 0
        self._loop = asyncio.new_event_loop()
        self._home = post.open_home()
        self._reading = Reading(self._home, self._config)
        self._delivery = Delivery(post.outbox, self._home, post.say, self._answered)
        self._thread = threading.Thread(target=self._run, name="dshloop-agentmemory", daemon=True)

    # --- in the agents' loop -------------------------------------------------------------------

    def start(self) -> None:
        """Begin; what earlier processes left is delivered too."""
        self._thread.start()
        if self._config.writes:
            self._loop.call_soon_threadsafe(self._keep_trying)

    def hand(self, work: Work) -> None:
        """Take something over, in order; nothing is waited for."""
        self._queue.append(work)
        if not self._scheduled:
            self._scheduled = True
            with suppress(RuntimeError):  # it has ended
                self._loop.call_soon_threadsafe(self._soon)

    async def flush(self, session_id: str) -> None:
        """Wait until a session's rows have been delivered, or could not be."""
        await self._there(self._flushed(session_id))

    async def ready(self, session: Session, messages: list[Any]) -> Window | None:
        """Give what is to be injected, when what is being read for it has come."""
        return await self._there(self._readied(session, messages))

    async def value(self, request: Request[Any]) -> Any:
        """Make a call of a tool; raises the errors of the client."""
        return await self._there(self._home.value(request))

    async def close(self, seconds: float) -> int:
        """Deliver what there is within so many seconds, and end; tell how much stays behind."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._there(self._finished())
        self._loop.call_soon_threadsafe(self._loop.stop)
        await asyncio.get_running_loop().run_in_executor(None, self._thread.join)
        return self._left()

    async def _there(self, work: Coroutine[Any, Any, T]) -> T:
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, self._loop))

    def _left(self) -> int:
        with suppress(OutboxUnusableError):
            return self._post.outbox.state().pending if self._config.writes else 0
        return 0

    # --- in the thread -------------------------------------------------------------------------

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_forever()
        finally:
            self._loop.run_until_complete(self._ended())
            self._loop.close()

    async def _ended(self) -> None:
        """Put in the outbox what is left, and let go of everything."""
        self._take()
        left = asyncio.all_tasks() - {asyncio.current_task()}
        for task in left:
            task.cancel()
        await asyncio.gather(*left, self._home.close(), return_exceptions=True)

    def _keep_trying(self) -> None:
        self._trying = self._loop.create_task(self._delivery.keep_trying(self._is_held))

    def _spawn(self, work: Coroutine[Any, Any, Any]) -> None:
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _is_held(self, entry: Entry) -> bool:
        """Whether an entry is one of a session under way whose rows are collected."""
        return entry.session in self._live and not entry.attempts

    def _soon(self) -> None:
        self._loop.call_later(_GATHER, self._take)

    def _take(self) -> None:
        """Do all that was handed over, and put what comes of it in the outbox."""
        self._scheduled = False
        touched: dict[str, Live] = {}
        ended: list[Live] = []
        while self._queue:
            kind, session, event = self._queue.popleft()
            one = touched[session.header.id] = self._known(session)
            if kind == CREATED:
                self._created(one, session)
            elif event is not None:
                self._happened(one, event)
            else:
                self._disposed(one)
                ended.append(one)
        for one in touched.values():
            self._put(one)
        for one in ended:
            self._live.pop(one.about.session, None)

    def _known(self, session: Session) -> Live:
        id_ = session.header.id
        if id_ not in self._live:
            post, mark = self._post, None
            if self._config.writes:
                with suppress(OutboxUnusableError):
                    mark = post.outbox.mark(id_)
            self._live[id_] = live(session, self._config, post.agent, post.variables, mark)
        return self._live[id_]

    # --- what happens in sessions --------------------------------------------------------------

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
        if kind == "user/message" and not is_recall(event["data"]):
            self._read_for(one, event["data"])
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
            self._loop.call_later(_AGAIN, self._put, one)
            return
        one.put()

    # --- what is waited for --------------------------------------------------------------------

    async def _flushed(self, session_id: str) -> None:
        self._take()
        one = self._live.get(session_id)
        if not self._config.writes or one is None:
            return
        self._put(one)
        one.buffered = 0
        await asyncio.shield(self._drained(one))
        self._tell_dropped()

    async def _drained(self, one: Live, until: str | None = None) -> None:
        await self._delivery.drain(one.about.session, at_once=True, until=until)

    async def _readied(self, session: Session, messages: list[Any]) -> Window | None:
        self._take()
        one = self._known(session)
        for message in messages:
            if isinstance(member(message, "id"), str) and not is_recall(message):
                self._search(one, message)
        if (self._config.recalls and one.window.waits) or self._config.searches:
            await one.ready()
        return one.window

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
                self._post.say(f"context refresh failed: {error.message}")
                one.window.expected = one.window.expected and not again
            finally:
                one.fetches -= 1

    async def _found(self, one: Live, query: str) -> None:
        try:
            one.window.semantic = await self._reading.fitting(one.about, query)
        except DshloopError as error:
            self._post.say(f"semantic recall failed: {error.message}")

    def _answered(self, entry: Entry, value: Mapping[str, Any]) -> None:
        one = self._live.get(entry.session)
        if one is not None and entry.kind == calls.START and self._config.recalls:
            self._kept(one, value.get("context"))

    def _kept(self, one: Live, text: Any, *, again: bool = False) -> None:
        one.window.keep(text, self._config.inject_context_max_chars, again=again)

    async def _finished(self) -> None:
        self._take()
        lives = list(self._live.values())
        for one in lives if self._config.writes else ():
            self._deliver(one, at_once=True)
        while working := self._tasks.union(*(one.reads for one in lives)):
            await asyncio.wait(working)
        self._tell_dropped()

    def _tell_dropped(self) -> None:
        with suppress(OutboxUnusableError):
            dropped = self._post.outbox.state().dropped
            if dropped > self._dropped:
                self._post.say(DROPPED.format(dropped))
            self._dropped = dropped
