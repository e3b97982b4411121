"""How a session is opened on rows that run: what it asks for, who answers it, its log."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

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
    MissingDriverError,
    SessionUnreadableError,
    UnknownLoopError,
    UsageError,
)
from dshloop.host.engine import AgentHandle
from dshloop.loops import binding
from dshloop.loops.binding import Binding
from dshloop.loops.carrying import PARTIAL
from dshloop.loops.selection import Selection
from dshloop.runs.docks.hints import mend
from dshloop.runs.process import Process
from dshloop.runs.stored import StoredSessions, require_id
from dshloop.runs.talking.making import made
from dshloop.runs.talking.models import answering
from dshloop.runs.talking.options import RunOptions
from dshloop.runs.talking.taking import require_carried, require_taken
from dshloop.sessions.log import SessionLog
from dshloop.sessions.naming import uuid7
from dshloop.sessions.session import Clock, MemoryLog, Session
from dshloop.transcripts.vocabulary import Event


class Opening(NamedTuple):
    """A session that is about to be opened on the rows that run."""

    process: Process
    sessions: StoredSessions
    options: RunOptions

    async def create(self, clock: Clock) -> AgentHandle:
        """Make an agent with a new session."""
        wanted = self.options.session_id
        session_id = uuid7(clock()) if wanted is None else wanted
        require_id(session_id)
        choice = None if self.options.driver is None else choose(self.options.driver)
        meta = {"cwd": str(self.options.cwd)}
        if self.options.preset is not None:
            self.process.presets.rows(self.options.preset)
            meta["agentPreset"] = self.options.preset
        asked = {"sessionId": session_id, "meta": meta, **self._asked(choice)}
        bound, more = self._answered(self.process.dock.select_create(asked), choice, ())
        create = self.process.host.agent_service.create
        return self._set_up(await made(create({**asked, **more}), session_id, bound), choice)

    async def resume(self, _clock: Clock) -> AgentHandle:
        """Make an agent that goes on with a stored session."""
        assert self.options.resume is not None
        dock = self.process.dock
        log = self._log(self.options.resume)
        self._require_folder(log)
        typed = None if self.options.driver is None else choose(self.options.driver)
        if self.options.rebind:
            self._record_newer(log, typed)
        recorded = await dock.recorded(log.header.id)
        choice = typed or _as_before(recorded.binding, log.events)
        asked = {"resumeSessionId": log.header.id, **self._asked(typed)}
        bound, more = self._answered(dock.select_resume(asked, recorded), choice, log.events)
        resume = self.process.host.agent_service.resume
        return self._set_up(await made(resume({**asked, **more}), log.header.id, bound), choice)

    def _log(self, name: str) -> SessionLog | MemoryLog:
        """Open the session: itself, a copy, or only to be read.

        One that can't be read gives way to a new one, if forced.
        """
        if self.options.fork:
            copy, left_out = self.sessions.fork(
                name, self.options.session_id, moved=self.options.moved
            )
            if left_out:
                self.process.host.warn(
                    f'session "{copy.header.parent_session}" has a turn that is not over: its '
                    f"{left_out} events were left out"
                )
            return copy
        if self.options.read_only and not self.options.ours:
            log = self.sessions.view(name)
            self.process.host.warn(
                f'session "{log.header.id}" stays as it is: what is said now is kept nowhere '
                "(with --fork in a copy)"
            )
            return log
        return self._own_log(name)

    def _require_folder(self, log: Session) -> None:
        """Refuse another folder than the session works in. Raises USAGE."""
        works_in = log.header.cwd
        if not self.options.moved or works_in is None:
            return
        if os.path.realpath(works_in) != os.path.realpath(self.options.cwd):
            raise UsageError(
                f'session "{log.header.id}" works in {works_in}, and stays there',
                hint="Leave --cwd away, or go on in a copy that works there: add --fork.",
                option="--cwd",
            )

    def _own_log(self, name: str) -> SessionLog | MemoryLog:
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

    def _record_newer(self, log: Session, choice: Choice | None) -> None:
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
        require_carried(self.options, resolved.driver, engine)
        if (ours and resolved.driver == FAKE) or (choice is not None and choice.provider):
            asked.require_nothing(self.options.driver or FAKE)
            return resolved.binding, {"agentOptions": asked.options} if asked.options else {}
        given: dict[str, Any] | None = asked.options
        if ours and resolved.driver == DEFAULT:
            process, pin = self.process, resolved.loop.pin
            given = answering(asked, pin, events, process.host.adapters, process.providers)
        if given is None:
            raise no_model()
        if ours and resolved.driver == DEFAULT:
            require_taken(self.options, given, self.process.providers)
        return resolved.binding, {"agentOptions": given} if given else {}

    def _set_up(self, handle: AgentHandle, choice: Choice | None) -> AgentHandle:
        """Tie the agent to the provider that the driver was asked for with, and to reading."""
        if self.options.read_only:
            from dshloop.runs.talking.reading import hold_to_reading

            hold_to_reading(handle.agent)
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
