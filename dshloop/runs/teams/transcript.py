"""One transcript of all agents of a process: whose it is, and every event in its order."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, NamedTuple

from dshloop.host.agent import Agent
from dshloop.loops.binding import read_binding
from dshloop.runs.teams.member import Worked
from dshloop.transcripts.vocabulary import Event


class AgentOpened(NamedTuple):
    """An agent is there. ``parent`` is the session whose agent started it, if one did."""

    agent: str
    id: str
    cwd: str | None
    loop: str | None
    driver: str | None
    resumed: bool
    parent: str | None
    depth: int


class AgentEvent(NamedTuple):
    """An event was appended to the log of an agent's session."""

    agent: str
    session: str
    event: Event


Told = AgentOpened | AgentEvent | Worked


class Transcript:
    """Hears the agents that it is shown, and those that they start; `take` gives what is new.

    ``labels`` are their names by session.
    """

    def __init__(self, labels: Mapping[str, str]) -> None:
        self._labels = labels
        self._known: set[str] = set()
        self._news: list[Told] = []
        self._bell = asyncio.Event()

    def created(self, event: Mapping[str, Any]) -> None:
        """Hear of a new agent (agent/created); one without a name yet is shown later."""
        if event["agent"].id in self._labels:
            self.watch(event["agent"])

    def watch(self, agent: Agent) -> None:
        """Tell of an agent, of what its session has got in this life, and of what comes."""
        if agent.id in self._known:
            return
        self._known.add(agent.id)
        name, session = self._labels[agent.id], agent.session
        bound, header = read_binding(session.events), session.header
        self.tell(
            AgentOpened(
                name,
                agent.id,
                header.cwd,
                None if bound is None else bound.loop,
                None if bound is None else bound.driver,
                session.resumed,
                header.parent_session if header.origin is not None else None,
                header.delegation_depth,
            )
        )
        for event in session.events[session.stored :]:
            self.tell(AgentEvent(name, agent.id, event))
        agent.listen(lambda event: self.tell(AgentEvent(name, agent.id, event)))

    def tell(self, told: Told) -> None:
        """Add something to the transcript."""
        self._news.append(told)
        self._bell.set()

    def ring(self) -> None:
        """Have whoever waits look, though nothing is new."""
        self._bell.set()

    def take(self) -> list[Told]:
        """Give what is new."""
        news, self._news = self._news, []
        self._bell.clear()
        return news

    async def wait(self) -> None:
        """Wait until there is something new."""
        if not self._news:
            await self._bell.wait()
