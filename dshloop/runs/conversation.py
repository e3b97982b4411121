"""A session that is being talked to: opened or resumed, one prompt after the other, closed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from dshloop.drivers import (
    DEFAULT,
    FAKE,
    PING_PROVIDER,
    Choice,
    choose,
    no_model,
    require_known,
)
from dshloop.drivers.fake import PingDriver, force_route
from dshloop.errors import (
    DshloopError,
    MissingDriverError,
    SessionIdError,
    SessionUnreadableError,
    UnknownLoopError,
)
from dshloop.host.abort import USER, AbortSignal, Cause
from dshloop.host.agent import Agent
from dshloop.host.calling import call
from dshloop.host.engine import AgentHandle
from dshloop.llm.messages import user_message
from dshloop.loops import binding
from dshloop.loops.binding import Binding
from dshloop.loops.carrying import PARTIAL
from dshloop.loops.selection import Selection
from dshloop.paths import Places
from dshloop.runs.hints import mend
from dshloop.runs.making import as_ours, made
from dshloop.runs.models import ModelAsked, answering
from dshloop.runs.process import Process, start_process
from dshloop.runs.profile import ProfileRows
from dshloop.runs.stored import StoredSessions
from dshloop.sessions.log import SessionLog
from dshloop.sessions.naming import encode_id, uuid7
from dshloop.sessions.session import Clock
from dshloop.transcripts.vocabulary import Event

if TYPE_CHECKING:
    from dshloop.drivers.script import Script
    from dshloop.drivers.settings import EngineSettings
    from dshloop.llm.providers import Providers
    from dshloop.runs.approving import Ask, Asking


@dataclass(frozen=True, slots=True)
class RunOptions:
    """Which session to open, and on what.

    ``resume`` is ``last``, an id or the beginning of one; without it a new session begins, named
    ``session_id`` if given. ``driver`` is a name as typed; ``loop`` and ``preset`` are ids.
    With ``force_rebind`` a log that can't be read is gone on with in a new session, bound anew;
    with ``rebind`` a session where nothing was said yet runs on what is named here, whatever it
    recorded before.
    ``engines`` is for drivers of other programs, ``ask`` a yes-or-no question to the person; with
    ``allow_partial`` a driver leaves out what it doesn't carry of a loop.
    ``script`` is what the fake driver says; ``model`` what was typed of a real one, which is of the
    ``providers`` that are set up.
    """

    cwd: Path
    command: str
    driver: str | None = None
    loop: str | None = None
    preset: str | None = None
    session_id: str | None = None
    resume: str | None = None
    force_rebind: bool = False
    script: Script | None = None
    model: ModelAsked = field(default_factory=ModelAsked)
    providers: Callable[[], Providers] | None = None
    rows: ProfileRows = field(default_factory=ProfileRows)
    engines: EngineSettings | None = None
    ask: Ask | Asking | None = None
    allow_partial: bool = False
    rebind: bool = False


class Conversation:
    """Make one with `open`; `say`, read `events` until they end, and `close`."""

    def __init__(self, handle: AgentHandle, process: Process) -> None:
        self.agent: Agent = handle.agent
        recorded = binding.read_binding(self.agent.session.events)
        self.binding: Binding = recorded or Binding(binding.DEFAULT_LOOP)
        self.process = process
        self._handle = handle
        self._read = handle.agent.session.stored
        self._news = asyncio.Event()
        self.agent.on_idle(self._news.set)
        self._stop_listening = self.agent.listen(lambda _event: self._news.set())

    @classmethod
    async def open(cls, places: Places, options: RunOptions, clock: Clock) -> Conversation:
        """Start the profile's rows and open a session; nothing is written before a prompt.

        Raises what a row, the dock and the session raise: ROW_FAILED, DRIVER_UNAVAILABLE,
        MISSING_DRIVER, UNKNOWN_LOOP, LOOP_SWITCH, LOCK_HELD, the SESSION_ errors. What the rows
        warned of until then is noted on it.
        """
        sessions = StoredSessions(places, options.cwd, clock, options.command)
        try:
            process = await start_process(
                places,
                sessions,
                options.rows,
                providers=options.providers,
                engines=options.engines,
                ask=options.ask,
            )
            try:
                if options.script is not None:
                    process.follow(options.script)
                opening = _Opening(process, sessions, options)
                make = opening.create if options.resume is None else opening.resume
                return cls(await make(clock), process)
            except BaseException as error:
                await process.stop()
                for warning in process.host.warnings:
                    error.add_note(warning)
                raise
        finally:
            sessions.close()

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

    async def compact(self, signal: AbortSignal) -> str:
        """Put a summary in the place of the history; say what came of it.

        Raises COMPACTION_FAILED, the history being as it was.
        """
        from dshloop.runs.compacting import compact

        said = await compact(self.process.host, self.agent, signal)
        self._read = len(self.agent.session.events)
        return said

    def cancel(self, cause: Cause = USER) -> None:
        """Abort the turn; what was said so far stays in the log."""
        self.agent.cancel(cause)

    async def wait(self) -> None:
        """Wait until there are events to take or the agent is idle."""
        if self._read == len(self.agent.session.events) and self.agent.status == "running":
            self._news.clear()
            await self._news.wait()

    def take(self) -> Sequence[Event]:
        """Give the new events, none when there are none yet.

        Raises what broke the turn, such as a log that can't be written; AGENT_FAILED for what an
        engine raised.
        """
        fault = self.agent.fault
        if fault is not None:
            raise fault if isinstance(fault, OSError) else as_ours(fault, "running")
        events = self.agent.session.events[self._read :]
        self._read += len(events)
        return events

    async def events(self) -> AsyncIterator[Event]:
        """Yield new events until the agent is idle."""
        while not self.idle:
            await self.wait()
            for event in self.take():
                yield event

    @property
    def notices(self) -> Sequence[str]:
        """What is to be told of the profile and of how its rows run."""
        warned = self.process.host.warnings
        return [*self.process.notices, *warned]

    async def close(self) -> None:
        """End the agent and all rows, and let go of the log; may be called twice.

        What the agent's maker raises at its end is told, and keeps nothing else from ending.
        """
        self._stop_listening()
        try:
            await call(self._handle.dispose)
        except Exception as fault:
            self.process.host.warn(f'ending agent "{self.id}": {fault}')
        self.agent.session.close()
        await self.process.stop()

    def abandon(self) -> None:
        """Let go of the log without waiting for what still runs; its turn may stay open in it."""
        try:
            self.agent.session.close()
        except (DshloopError, OSError):
            pass  # whoever reads the log sees how far it came


class _Opening(NamedTuple):
    """A session that is about to be opened on the rows that run."""

    process: Process
    sessions: StoredSessions
    options: RunOptions

    async def create(self, clock: Clock) -> AgentHandle:
        """Make an agent with a new session."""
        wanted = self.options.session_id
        session_id = uuid7(clock()) if wanted is None else wanted
        if session_id == "last":
            raise SessionIdError('no session can be called "last", which stands for the newest')
        encode_id(session_id)
        choice = None if self.options.driver is None else choose(self.options.driver)
        meta = {"cwd": str(self.options.cwd)}
        if self.options.preset is not None:
            self.process.presets.rows(self.options.preset)
            meta["agentPreset"] = self.options.preset
        asked = {"sessionId": session_id, "meta": meta, **self._asked(choice)}
        bound, more = self._answered(self.process.dock.select_create(asked), choice, ())
        create = self.process.host.agent_service.create
        return self._routed(await made(create({**asked, **more}), session_id, bound), choice)

    async def resume(self, _clock: Clock) -> AgentHandle:
        """Make an agent that goes on with a stored session."""
        assert self.options.resume is not None
        dock = self.process.dock
        log = self._log(self.options.resume)
        typed = None if self.options.driver is None else choose(self.options.driver)
        if self.options.rebind:
            self._record_newer(log, typed)
        recorded = await dock.recorded(log.header.id)
        choice = typed or _as_before(recorded.binding, log.events)
        asked = {"resumeSessionId": log.header.id, **self._asked(typed)}
        bound, more = self._answered(dock.select_resume(asked, recorded), choice, log.events)
        resume = self.process.host.agent_service.resume
        return self._routed(await made(resume({**asked, **more}), log.header.id, bound), choice)

    def _log(self, name: str) -> SessionLog:
        """Open the session, or a new one in the place of one that can't be read, if forced."""
        try:
            return self.sessions.inspect(name)
        except SessionUnreadableError as fault:
            if not self.options.force_rebind:
                raise
            log = self.sessions.rebind(name)
            self.process.host.warn(
                f'session "{fault.details["session"]}" stays as it is ({fault.message}); session '
                f'"{log.header.id}" goes on with its first {log.stored} events'
            )
            return log

    def _record_newer(self, log: SessionLog, choice: Choice | None) -> None:
        """Record what the session will run on behind what it recorded; kept with its next event.

        Raises what `create` would raise for a loop, driver or preset that can't be had.
        """
        preset = self.options.preset or binding.effective_preset(
            log.events, log.header.agent_preset
        )
        meta = {}
        if preset is not None:
            self.process.presets.rows(preset)
            meta["agentPreset"] = preset
        asked = {"sessionId": log.header.id, "meta": meta, **self._asked(choice)}
        bound, _ = self._answered(self.process.dock.select_create(asked), choice, log.events)
        log.append(binding.EVENT, binding.binding_data(bound, preset), later=True)

    def _asked(self, choice: Choice | None) -> Mapping[str, Any]:
        """Give what both ways of opening ask the dock for."""
        asked: dict[str, Any] = {}
        if choice is not None:
            self.process.loops.require_driver(choice.name)
            require_known(choice, self.process.dock.drivers.names)
            asked["driver"] = choice.name
        if self.options.loop is not None:
            asked["loop"] = self.options.loop
        if self.options.allow_partial:
            asked[PARTIAL] = True
        return asked

    def _answered(
        self, selection: Selection, choice: Choice | None, events: Sequence[Event]
    ) -> tuple[Binding, dict[str, Any]]:
        """Give what will run, and the ``agentOptions`` of who answers; refuse, before anything is
        written, an engine that has no model to ask.

        Raises DRIVER_UNAVAILABLE, what the dock raises, what choosing a model raises, and why a
        registered loop or driver can't be loaded.
        """
        try:
            self.process.loops.require(selection)
            resolved = self.process.dock.resolve(selection)
        except (UnknownLoopError, MissingDriverError) as error:
            mend(error, self.options.rows.dock_rows)
            raise
        asked, dock = self.options.model, self.process.dock
        engine = None if resolved.driver is None else dock.drivers.get(resolved.driver)
        ours = engine is not None and dock.is_built_in(engine)
        if (ours and resolved.driver == FAKE) or (choice is not None and choice.provider):
            asked.require_nothing(self.options.driver or FAKE)
            return resolved.binding, {}
        given: dict[str, Any] | None = asked.options
        if ours and resolved.driver == DEFAULT:
            process, pin = self.process, resolved.loop.pin
            given = answering(asked, pin, events, process.host.adapters, process.providers)
        if given is None:
            raise no_model()
        return resolved.binding, {"agentOptions": given} if given else {}

    @staticmethod
    def _routed(handle: AgentHandle, choice: Choice | None) -> AgentHandle:
        """Tie the agent to the provider that the driver was asked for with."""
        if choice is not None and choice.provider == PING_PROVIDER:
            force_route(handle.agent, PingDriver)
        return handle


def _as_before(recorded: Binding | None, events: Sequence[Event]) -> Choice | None:
    """Tell on which driver and provider a session goes on when nobody says."""
    if recorded is None or recorded.driver is None:
        return None
    provider = PING_PROVIDER if recorded.driver == DEFAULT and _pinged(events) else None
    return Choice(recorded.driver, provider)


def _pinged(events: Sequence[Event]) -> bool:
    """Whether the newest request went to the provider that needs no model."""
    for event in reversed(events):
        if event["type"] == "request/context" and isinstance(event["data"], dict):
            return bool(event["data"].get("provider") == PING_PROVIDER)
    return False
