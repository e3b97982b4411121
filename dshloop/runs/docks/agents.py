"""The agents that a profile's dock row asks for: started once, told of, and let go again.

A started agent's session is there from then on, with its loop and driver recorded; who wants to
talk to it resumes that session (loop-dock 11 and 18.4).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from dshloop.errors import (
    AgentNotFoundError,
    AgentWaitingError,
    DshloopError,
    ExitCode,
    MissingDriverError,
    UnknownLoopError,
)
from dshloop.loops.binding import Binding
from dshloop.loops.config import AgentEntry
from dshloop.loops.missing import Missing
from dshloop.loops.names import listed
from dshloop.loops.waiting import ConfiguredAgent, WaitingAgents
from dshloop.paths import Places
from dshloop.runs.docks.hints import mend
from dshloop.runs.interrupts import Running
from dshloop.runs.process import Process, start_process
from dshloop.runs.profile import ProfileRows
from dshloop.runs.stored import StoredSessions
from dshloop.runs.talking.making import agent_in, as_ours, require_bound
from dshloop.times import iso_time

State = Literal["started", "resumed", "waiting", "failed"]


@dataclass(frozen=True, slots=True)
class StartedAgent:
    """One agent and how far it came; ``since`` is when it began to wait, in epoch seconds.

    ``binding`` is what its session records; ``mend`` is what to do about what is missing.
    """

    entry: AgentEntry
    state: State
    since: float
    session: str | None = None
    binding: Binding | None = None
    missing: Missing | None = None
    mend: str | None = None
    fault: DshloopError | None = None

    @property
    def exit_code(self) -> ExitCode:
        """What the process should exit with if there were only this one."""
        if self.fault is not None:
            return self.fault.exit_code
        return ExitCode.NOT_FOUND if self.state == "waiting" else ExitCode.DONE

    def as_json(self) -> dict[str, Any]:
        """Give the value for --json."""
        bound = self.binding or Binding(self.entry.loop or "", self.entry.driver)
        missing = self.missing
        waits_for = None if missing is None else {**missing._asdict(), "command": self.mend}
        return {
            "id": self.entry.id,
            "state": self.state,
            "session": self.session,
            "loop": bound.loop or None,
            "driver": bound.driver,
            "since": iso_time(self.since),
            "waits_for": waits_for,
            "fault": None if self.fault is None else self.fault.as_json(),
        }


@dataclass(frozen=True, slots=True)
class StartedAgents:
    """All agents that were asked for, in the config's order, and what is to be told."""

    agents: tuple[StartedAgent, ...]
    notices: tuple[str, ...] = ()

    @property
    def exit_code(self) -> ExitCode:
        """That of the agents that did not start, if they agree, else FAILED."""
        codes = {agent.exit_code for agent in self.agents} - {ExitCode.DONE}
        return codes.pop() if len(codes) == 1 else ExitCode.FAILED if codes else ExitCode.DONE


def start_agents(
    places: Places,
    sessions: StoredSessions,
    rows: ProfileRows,
    names: Sequence[str] = (),
    *,
    clock: Callable[[], float],
    timeout: float = 0,
) -> StartedAgents:
    """Start the agents of these names, or all; wait up to ``timeout`` seconds for what is missing.

    They are ended before this returns. What then is still starting has failed and is left alone.
    A Ctrl-C ends the wait, a second one at once. Raises AGENT_NOT_FOUND for a name nobody has, and
    what starting the profile's rows raises.
    """
    with Running() as running:
        return running.run(lambda: _start(places, sessions, rows, names, clock, timeout))


async def _start(
    places: Places,
    sessions: StoredSessions,
    rows: ProfileRows,
    names: Sequence[str],
    clock: Callable[[], float],
    timeout: float,
) -> StartedAgents:
    try:
        process = await start_process(places, sessions, rows)
        stuck = False
        try:
            entries = _chosen(process.dock.config.agents, names)
            service, find = process.host.agent_service, process.loops.require
            agents = WaitingAgents(process.dock, service, clock, entries=entries, find=find)
            try:
                await _settle(agents, timeout)
                found = tuple([await _told(agent, rows) for agent in agents.status])
                return StartedAgents(found, tuple(_notices(process, agents)))
            finally:
                stuck = not await agents.give_up("it was given up")
        finally:
            if not stuck:  # the host would wait for it
                await process.stop()
    finally:
        sessions.close()


def _chosen(entries: Sequence[AgentEntry], names: Sequence[str]) -> Sequence[AgentEntry]:
    known = {entry.id for entry in entries}
    for name in names:
        if name not in known:
            raise AgentNotFoundError(
                f'the dock row asks for no agent "{name}" (it has: {listed(sorted(known))})',
                agent=name,
                available=sorted(known),
            )
    return [entry for entry in entries if not names or entry.id in names]


async def _settle(agents: WaitingAgents, timeout: float) -> None:
    try:
        if timeout > 0:
            await agents.require_started(timeout)
        else:
            await agents.settle()
    except AgentWaitingError:
        pass  # each of them says so itself


async def _told(agent: ConfiguredAgent, rows: ProfileRows) -> StartedAgent:
    """Keep what a started agent's session records, and say what became of the agent."""
    entry, since = agent.entry, agent.since
    if agent.state == "waiting":
        assert agent.missing is not None
        mend = _mend(agent.missing, rows)
        return StartedAgent(entry, "waiting", since, missing=agent.missing, mend=mend)
    fault = agent.fault
    if fault is None:
        try:
            made = agent_in(agent.handle, agent.session).agent
            bound, session = require_bound(made), made.session
            if not session.resumed:
                session.keep()
            state: State = "resumed" if session.resumed else "started"
            return StartedAgent(entry, state, since, agent.session, bound)
        except Exception as error:
            fault = error
    return StartedAgent(entry, "failed", since, agent.session, fault=as_ours(fault))


def _mend(missing: Missing, rows: ProfileRows) -> str:
    """Say what mends it: what the profile's rows tell, or the command that registers it."""
    named = {missing.kind: missing.name}
    kind = UnknownLoopError if missing.kind == "loop" else MissingDriverError
    command = missing.command(rows.profile)
    error = kind(missing.message, hint=command, **named)
    mend(error, rows.dock_rows)
    return error.hint or command


def _notices(process: Process, agents: WaitingAgents) -> list[str]:
    """Give what is to be told, without the failures that the agents tell themselves."""
    own = {f'configured agent "{each.entry.id}" failed to start: {each.error}' for each in
           agents.status}  # fmt: skip
    told = [*process.notices, *process.host.warnings]
    return [text for text in told if text.removeprefix("dsh-loop-dock: ") not in own]
