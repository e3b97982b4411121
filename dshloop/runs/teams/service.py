"""The service `agentTeams` of a process: it offers the tool, and knows what each agent is called.

Every process has it, so that nothing of a team is imported before a strategy offers one.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from dshloop.errors import TeamCapError
from dshloop.loops.teaming import MOST_OF_A_FAMILY

if TYPE_CHECKING:
    from dshloop.host.agent import Agent
    from dshloop.loops.teaming import TeamLimits
    from dshloop.runs.process import Process
    from dshloop.runs.profile import ProfileRows
    from dshloop.runs.stored import StoredSessions
    from dshloop.runs.teams.descent import Descending


class AgentTeams:
    """Runs the teams that agents of one process start. ``labels`` are their names, by session."""

    def __init__(self, sessions: StoredSessions, rows: ProfileRows) -> None:
        self.sessions, self.rows = sessions, rows
        self.labels: dict[str, str] = {}
        self._roots: dict[str, str] = {}  # of a child: the session that its family began with
        self._process: Process | None = None
        self._descending: Descending | None = None

    def attach(self, process: Process) -> None:
        """Take the process that has come to run."""
        self._process = process

    @property
    def process(self) -> Process:
        """The process; asked for only when an agent runs."""
        assert self._process is not None, "start_process attaches it before any agent is made"
        return self._process

    @property
    def descending(self) -> Descending:
        """The sessions of the host, to which children are announced."""
        if self._descending is None:
            from dshloop.runs.teams.descent import Descending

            host = self.process.host
            self._descending = host.sessions = Descending(host.sessions)
        return self._descending

    def label(self, agent: Agent) -> str:
        """Give what an agent is called: its name in its team, behind that of who started it."""
        return self.labels.get(agent.id, agent.id)

    def require_room(self, parent: Agent, count: int) -> None:
        """Hold a call against what a whole family may be. Raises TEAM_TOO_LARGE."""
        family = Counter(self._roots.values())[self._root(parent)]
        if family + count > MOST_OF_A_FAMILY:
            raise TeamCapError(
                f"{count} more agents are too many: the teams below one conversation have "
                f"{family} already, and {MOST_OF_A_FAMILY} at most",
                limit=MOST_OF_A_FAMILY,
                started=family,
            )

    def descends(self, session_id: str, parent: Agent, name: str) -> None:
        """Take in a child that is about to be made."""
        self.labels[session_id] = f"{self.label(parent)}/{name}"
        self._roots[session_id] = self._root(parent)

    def _root(self, agent: Agent) -> str:
        return self._roots.get(agent.id, agent.id)

    def offer(self, agent: Any, limits: TeamLimits) -> None:
        """Give an agent the tool `create_agent_team`. Raises TOOL_EXISTS."""
        from dshloop.runs.teams.tool import team_tool

        agent.tools.register(team_tool(self, limits))
