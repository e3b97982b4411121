"""The service `agentTeams` of a process: it offers the tool, and knows what each agent is called.

Every process has it, so that nothing of a team is imported before a strategy offers one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

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

    def offer(self, agent: Any, limits: TeamLimits) -> None:
        """Give an agent the tool `create_agent_team`. Raises TOOL_EXISTS."""
        from dshloop.runs.teams.tool import team_tool

        agent.tools.register(team_tool(self, limits))
