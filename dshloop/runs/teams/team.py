"""Members at work side by side in one process, so many at once, all told to stop together."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from dshloop.host.abort import USER, Cause
from dshloop.host.agent import Agent
from dshloop.runs.process import Process
from dshloop.runs.stored import StoredSessions
from dshloop.runs.talking.making import as_ours
from dshloop.runs.teams.member import (
    Member,
    Worked,
    called_off,
    let_go,
    not_started,
    opened,
    work,
)


class Team:
    """Make one, and `run` its members; `cancel` may come at any moment.

    ``began`` is told of each agent before its prompt, ``ended`` of what became of each member.
    """

    def __init__(
        self,
        process: Process,
        sessions: StoredSessions,
        parallel: int,
        began: Callable[[Member, Agent], object] = lambda _member, _agent: None,
        ended: Callable[[Worked], object] = lambda _worked: None,
    ) -> None:
        self._process, self._sessions = process, sessions
        self._slots = asyncio.Semaphore(parallel)
        self._began, self._ended = began, ended
        self._starting: set[asyncio.Task[Any]] = set()
        self.agents: dict[str, Agent] = {}
        self.cause: Cause | None = None

    def stopped(self) -> bool:
        """Whether it was told to stop."""
        return self.cause is not None

    async def run(self, members: Sequence[Member]) -> list[Worked]:
        """Have all work; gives what became of them, in their order. One's fault is its own."""
        return list(await asyncio.gather(*(self._told(member) for member in members)))

    def cancel(self, cause: Cause = USER) -> None:
        """Abort the turns that run, and start no more; what was said stays in the logs."""
        self.cause = self.cause or cause
        for agent in list(self.agents.values()):
            agent.cancel(cause)
        for task in self._starting:
            task.cancel()

    async def _told(self, member: Member) -> Worked:
        async with self._slots:
            worked = await self._work(member)
        self._ended(worked)
        return worked

    async def _work(self, member: Member) -> Worked:
        if self.stopped():
            return called_off(member.name)
        task = asyncio.ensure_future(opened(self._process, self._sessions, member))
        self._starting.add(task)
        try:
            handle = await task
        except asyncio.CancelledError:
            if not self.stopped():
                raise
            return called_off(member.name)
        except Exception as fault:
            return not_started(member.name, as_ours(fault))
        finally:
            self._starting.discard(task)
        if self.stopped():  # it was ready at that very moment
            await let_go(self._process, member, handle)
            return called_off(member.name)
        self.agents[member.name] = handle.agent
        try:
            began = partial(self._began, member, handle.agent)
            return await work(self._process, member, handle, began)
        finally:
            del self.agents[member.name]
