"""A session that is being talked to: opened or resumed, one prompt after the other, closed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from dshloop.drivers import DEFAULT, PING_PROVIDER, Choice, choose, make_driver
from dshloop.errors import SessionIdError
from dshloop.host.abort import USER, Cause
from dshloop.host.agent import Agent
from dshloop.host.engine import AgentHandle, Host
from dshloop.llm.messages import user_message
from dshloop.loops import binding
from dshloop.loops.binding import Binding, Stored
from dshloop.loops.dock import Dock
from dshloop.loops.hosted import HostedDriver
from dshloop.loops.standard import standard_loop
from dshloop.paths import Places
from dshloop.runs.stored import StoredSessions
from dshloop.sessions.log import SessionLog
from dshloop.sessions.naming import encode_id, uuid7
from dshloop.sessions.session import Clock
from dshloop.transcripts.vocabulary import Event


@dataclass(frozen=True, slots=True)
class RunOptions:
    """Which session to open, and on what.

    ``resume`` is ``last``, an id or the beginning of one; without it a new session begins, named
    ``session_id`` if given. ``driver`` is a name as typed.
    """

    cwd: Path
    command: str
    driver: str | None = None
    session_id: str | None = None
    resume: str | None = None


class Conversation:
    """Make one with `open`; `say`, read `events` until they end, and `close`."""

    def __init__(self, handle: AgentHandle, driver: str) -> None:
        self.agent: Agent = handle.agent
        recorded = binding.read_binding(self.agent.session.events)
        self.binding = Binding(recorded.loop if recorded else binding.DEFAULT_LOOP, driver)
        self._handle = handle
        self._read = handle.agent.session.stored
        self._news = asyncio.Event()
        self.agent.on_idle(self._news.set)
        self._stop_listening = self.agent.listen(lambda _event: self._news.set())

    @classmethod
    async def open(cls, places: Places, options: RunOptions, clock: Clock) -> Conversation:
        """Open a session; nothing is written before the first prompt.

        Raises DRIVER_UNAVAILABLE, LOOP_SWITCH, LOCK_HELD and the SESSION_ errors.
        """
        sessions = StoredSessions(places, options.cwd, clock, options.command)
        try:
            if options.resume is not None:
                return await cls._resume(sessions, options)
            return await cls._create(sessions, options, clock)
        finally:
            sessions.close()

    @classmethod
    async def _create(
        cls, sessions: StoredSessions, options: RunOptions, clock: Clock
    ) -> Conversation:
        session_id = uuid7(clock()) if options.session_id is None else options.session_id
        if session_id == "last":
            raise SessionIdError('no session can be called "last", which stands for the newest')
        encode_id(session_id)
        choice = choose(options.driver)
        made = {"sessionId": session_id, "meta": {"cwd": str(options.cwd)}, "driver": choice.name}
        return cls(await _dock(choice).create_agent(Host(sessions), made), choice.name)

    @classmethod
    async def _resume(cls, sessions: StoredSessions, options: RunOptions) -> Conversation:
        assert options.resume is not None
        log = sessions.inspect(options.resume)
        stored = binding.stored_binding(log.events, log.header.agent_preset)
        choice = _choose_again(log, stored, options.driver)
        asked = {"resumeSessionId": log.header.id, "driver": choice.name}
        return cls(await _dock(choice, log).resume(Host(sessions), asked), choice.name)

    @property
    def id(self) -> str:
        """The session's id."""
        return self.agent.id

    @property
    def idle(self) -> bool:
        """Whether every prompt has been answered and every event read."""
        return self.agent.status == "idle" and self._read == len(self.agent.session.events)

    def say(self, prompt: str) -> None:
        """Give the agent a turn's prompt; must be called in the event loop."""
        self.agent.followup(user_message(prompt))

    def cancel(self, cause: Cause = USER) -> None:
        """Abort the turn; what was said so far stays in the log."""
        self.agent.cancel(cause)

    async def wait(self) -> None:
        """Wait until there are events to take, the agent is idle, or somebody calls `wake`."""
        if self._read == len(self.agent.session.events) and self.agent.status == "running":
            self._news.clear()
            await self._news.wait()

    def wake(self) -> None:
        """End `wait` whatever the agent does; must be called in the event loop."""
        self._news.set()

    def take(self) -> Sequence[Event]:
        """Give the new events, none when there are none yet.

        Raises what broke the turn, such as a log that can't be written.
        """
        if self.agent.fault is not None:
            raise self.agent.fault
        events = self.agent.session.events[self._read :]
        self._read += len(events)
        return events

    async def events(self) -> AsyncIterator[Event]:
        """Yield new events until the agent is idle."""
        while not self.idle:
            await self.wait()
            for event in self.take():
                yield event

    async def close(self) -> None:
        """End the agent and let go of the log; may be called twice."""
        self._stop_listening()
        await self._handle.dispose()


@dataclass(frozen=True, slots=True)
class _Opened:
    """The one stored session that a resume is about, as it was opened."""

    log: SessionLog

    def inspect(self, session_id: str) -> SessionLog:
        """Give the log; it is locked, so what it says stays true."""
        assert session_id == self.log.header.id
        return self.log

    def list(self) -> Sequence[str]:
        """Give the session's id."""
        return [self.log.header.id]


def _dock(choice: Choice, log: SessionLog | None = None) -> Dock:
    """Build the dock of the built-in profile, with the chosen driver."""
    dock = Dock({"presetLoops": binding.PRESET_LOOPS}, sessions=_Opened(log) if log else None)
    dock.register(standard_loop())
    dock.register_driver(choice.name, HostedDriver(make_driver(choice)))
    return dock


def _choose_again(log: SessionLog, stored: Stored, typed: str | None) -> Choice:
    """Tell on which driver a session goes on. Raises LOOP_SWITCH, DRIVER_UNAVAILABLE."""
    if typed is None and stored.driver is None:
        return choose(None)
    asked = None if typed is None else choose(typed)
    if asked is not None:
        binding.require_same(log.header.id, "driver", stored.driver, asked.name)
    if asked is not None and (stored.driver is None or asked.provider):
        return asked
    provider = PING_PROVIDER if stored.driver == DEFAULT and _pinged(log.events) else None
    return Choice(str(stored.driver), provider)


def _pinged(events: Sequence[Event]) -> bool:
    """Whether the newest request went to the provider that needs no model."""
    for event in reversed(events):
        if event["type"] == "request/context" and isinstance(event["data"], dict):
            return bool(event["data"].get("provider") == PING_PROVIDER)
    return False
