"""A team's run from outside the event loop: one transcript, one outcome, one exit code."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from dshloop.drivers.fake import FAKE_PROVIDER
from dshloop.errors import DshloopError, ExitCode
from dshloop.host.agent import Agent
from dshloop.loops.teaming import SERVICE
from dshloop.paths import Places
from dshloop.runs.interrupts import Running
from dshloop.runs.process import Process, start_process
from dshloop.runs.stored import StoredSessions
from dshloop.runs.talking.options import RunOptions
from dshloop.runs.teams.member import Member, Worked
from dshloop.runs.teams.plan import TeamPlan
from dshloop.runs.teams.scripted import TeamScripts
from dshloop.runs.teams.team import Team
from dshloop.runs.teams.transcript import Told, Transcript
from dshloop.sessions.session import Clock

__all__ = ["TeamBegun", "TeamEnded", "run_team"]


class TeamBegun(NamedTuple):
    """The members, by name; the first record."""

    agents: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TeamEnded:
    """What became of every member, in the plan's order; the last record."""

    agents: Sequence[Worked]
    notices: Sequence[str] = ()

    @property
    def exit_code(self) -> ExitCode:
        """DONE when all completed; that of the others if they agree, else FAILED."""
        codes = {one.exit_code for one in self.agents} - {ExitCode.DONE}
        if ExitCode.INTERRUPTED in codes:
            return ExitCode.INTERRUPTED
        return codes.pop() if len(codes) == 1 else ExitCode.FAILED if codes else ExitCode.DONE

    @property
    def outcome(self) -> str:
        """``completed``, ``aborted`` by the person, or ``failed``."""
        known = {ExitCode.DONE: "completed", ExitCode.INTERRUPTED: "aborted"}
        return known.get(self.exit_code, "failed")


Record = TeamBegun | Told | TeamEnded


def run_team(
    places: Places, plan: TeamPlan, base: RunOptions, clock: Clock, *, parallel: int
) -> Iterator[Record]:
    """Start every member on its own loop, driver and model, and tell of all until they are done.

    An interrupt (Ctrl-C) aborts their turns, whose text is kept; a second one ends at once. One
    that fails stops nobody else. Raises what starting the profile's rows raises.
    """
    with Running() as running:
        running.keeps = True  # while records are written, too, it aborts and all is told
        at_work = running.run(lambda: _AtWork.open(places, plan, base, clock, parallel))
        try:
            yield TeamBegun(tuple(member.name for member in plan.members))
            while not at_work.done:
                running.run(at_work.wait, at_work.team.cancel)
                yield from at_work.take()
            running.run(at_work.settle, at_work.team.cancel)
            yield from at_work.take()
        except BaseException:
            _give_up(running, at_work)
            raise
        running.interrupted = max(running.interrupted, 1)
        running.run(at_work.close, at_work.team.cancel)
    yield TeamEnded(at_work.worked, at_work.notices)


def _give_up(running: Running, at_work: _AtWork) -> None:
    """End a run because of what is being raised, which tells the reason."""
    if running.broken:
        at_work.abandon()
        return
    try:
        running.run(at_work.stop, at_work.team.cancel)
        running.run(at_work.close, at_work.team.cancel)
    except (KeyboardInterrupt, Exception):
        at_work.abandon()


class _AtWork:
    """A process with a team at work in it."""

    def __init__(
        self, process: Process, sessions: StoredSessions, plan: TeamPlan, parallel: int
    ) -> None:
        self._process, self._sessions, self._plan = process, sessions, plan
        self._labels = process.host.service(SERVICE).labels
        self.scripts = TeamScripts(process.earlier)
        self.transcript = Transcript(self._labels)
        self.team = Team(process, sessions, parallel, self._began, self.transcript.tell)
        self.task: asyncio.Task[list[Worked]] | None = None
        self.worked: Sequence[Worked] = ()

    @classmethod
    async def open(
        cls, places: Places, plan: TeamPlan, base: RunOptions, clock: Clock, parallel: int
    ) -> _AtWork:
        """Start the rows, and all members."""
        sessions = StoredSessions(places, base.cwd, clock, base.command)
        process = await start_process(
            places,
            sessions,
            plan.rows,
            providers=base.providers,
            engines=base.engines,
            ask=base.ask,
        )
        try:
            return cls._begin(process, sessions, plan, base, parallel)
        except BaseException:
            await process.stop()
            raise

    @classmethod
    def _begin(
        cls,
        process: Process,
        sessions: StoredSessions,
        plan: TeamPlan,
        base: RunOptions,
        parallel: int,
    ) -> _AtWork:
        found = cls(process, sessions, plan, parallel)
        if base.script is not None:
            process.follow(base.script)
        else:
            process.host.adapters[FAKE_PROVIDER] = found.scripts
        process.host.hooks.on("agent/created", found.transcript.created)
        found.task = asyncio.ensure_future(found.team.run(plan.members))
        found.task.add_done_callback(lambda _task: found.transcript.ring())
        return found

    @property
    def done(self) -> bool:
        """Whether all members are done."""
        return self.task is not None and self.task.done()

    async def wait(self) -> None:
        """Wait for news, or for all to be done."""
        await self.transcript.wait()

    def take(self) -> list[Told]:
        """Give what is new."""
        return self.transcript.take()

    async def settle(self) -> None:
        """Take what became of the members; raises what only a fault of ours raises."""
        if self.task is not None:
            self.worked = await self.task

    async def stop(self) -> None:
        """Tell all members to stop."""
        self.team.cancel()

    async def close(self) -> None:
        """Wait for what still runs, and end the rows."""
        if self.task is not None and not self.task.done():
            await asyncio.wait({self.task})
        self._sessions.close()
        await self._process.stop()

    def abandon(self) -> None:
        """Let go of the logs without waiting for what still runs."""
        for agent in self._process.host.agents.values():
            try:
                agent.session.close()
            except (DshloopError, OSError):
                pass  # whoever reads the log sees how far it came

    @property
    def notices(self) -> Sequence[str]:
        """What is to be told of the profile and of how its rows run."""
        return [*self._process.notices, *self._process.host.warnings]

    def _began(self, member: Member, agent: Agent) -> None:
        self._labels[agent.id] = member.name
        script = self._plan.scripts.get(member.name)
        if script is not None:
            self.scripts.follow(agent.id, script)
        self.transcript.watch(agent)
