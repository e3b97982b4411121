"""One session as a bridge sees it: who it is, what is to be put in the outbox, what is read."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from dshloop.memory.outbox import Item
from dshloop.plugins.agentmemory import calls
from dshloop.plugins.agentmemory.calls import About, Call
from dshloop.plugins.agentmemory.config import BridgeConfig
from dshloop.plugins.agentmemory.project import project_of
from dshloop.plugins.agentmemory.scribe import Scribe
from dshloop.plugins.agentmemory.windows import Window

if TYPE_CHECKING:
    from dshloop.sessions.session import Session
    from dshloop.transcripts.vocabulary import Event


@dataclass(slots=True)
class Live:
    """A session under way. ``pending`` waits to be put in the outbox.

    ``noted`` is the event up to which the outbox holds the session, None for one that is not
    counted. ``buffered`` counts the rows since the last delivery; ``searched`` are ids of messages.
    ``fetches`` is how often the window is still to be fetched, counting a fetch under way.
    ``stuck`` tells that the outbox could not be written, and will be tried again in a moment.
    """

    about: About
    scribe: Scribe
    window: Window = field(default_factory=Window)
    pending: list[Item] = field(default_factory=list)
    noted: int | None = 0
    buffered: int = 0
    searched: set[str] = field(default_factory=set)
    fetches: int = 0
    stuck: bool = False
    reads: set[asyncio.Task[None]] = field(default_factory=set)

    @property
    def mark(self) -> int | None:
        """Up to which event the outbox holds the session once ``pending`` is put in."""
        number = self.scribe.number
        return number if self.noted is not None and number > self.noted else None

    def put(self) -> None:
        """Take note that ``pending`` is in the outbox."""
        self.pending = []
        if self.noted is not None:
            self.noted = max(self.noted, self.scribe.number)

    def add(self, call: Call) -> None:
        """Have a call put in the outbox."""
        self.pending.append(Item(call.path, dict(call.body)))
        self.buffered += call.path == calls.OBSERVE

    def read(self, reading: Coroutine[Any, Any, None]) -> None:
        """Read something beside all else; `ready` waits for it."""
        task = asyncio.get_running_loop().create_task(reading)
        self.reads.add(task)
        task.add_done_callback(self.reads.discard)

    async def ready(self) -> None:
        """Wait for what is being read by now."""
        if self.reads:
            await asyncio.wait(set(self.reads))


def live(
    session: Session,
    config: BridgeConfig,
    agent: str,
    variables: Mapping[str, str],
    mark: int | None,
) -> Live:
    """Make the state of a session that begins, or is first heard of.

    ``mark`` is how far an outbox holds a session of this id; a new session of an old id can't be
    told by it.
    """
    header = session.header
    cwd = header.cwd or ""
    about = About(header.id, cwd, project_of(variables, cwd), agent)
    counted = mark is None or session.resumed
    return Live(about, Scribe(about, config), noted=(mark or 0) if counted else None)


def missed(one: Live, session: Session) -> Sequence[Event]:
    """Give the events that a resumed session's log has and the outbox never got, if it got any."""
    if not session.resumed or not one.noted:
        return ()
    stored = session.events[: session.stored]
    return [event for event in stored if event.get("seq", 0) >= one.noted]
