"""How a strategy lets its agents start a team: the opt-in, its caps, and who runs teams."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from dshloop.errors import TeamsUnavailableError

SERVICE = "agentTeams"
TOOL = "create_agent_team"
"""The tool that an agent whose strategy opts in is offered."""
MOST_AGENTS, MOST_DEPTH = 32, 4
MOST_OF_A_FAMILY = 128
"""How many agents all teams below one conversation may have in a process, however deep."""


@dataclass(frozen=True, slots=True)
class TeamLimits:
    """How many agents one conversation may start in all, and how deep teams of teams may go.

    At depth 1 the agents of a team can't start one themselves.
    """

    agents: int = 8
    depth: int = 1

    def __post_init__(self) -> None:
        """Keep both within what a process bears. Raises ValueError."""
        for name, most in (("agents", MOST_AGENTS), ("depth", MOST_DEPTH)):
            if not 1 <= getattr(self, name) <= most:
                raise ValueError(f"{name} must be from 1 to {most}, not {getattr(self, name)}")

    def as_json(self) -> dict[str, int]:
        """Give the limits."""
        return {"agents": self.agents, "depth": self.depth}


class Teams(Protocol):
    """Who runs teams in a process."""

    def offer(self, agent: Any, limits: TeamLimits) -> None:
        """Give an agent the tool."""
        ...


def offer_team(agent: Any, limits: TeamLimits | None = None) -> None:
    """Let an agent start a team of agents with a tool call; for a strategy's setup.

    Raises TEAMS_UNAVAILABLE where nobody runs teams, and TOOL_EXISTS the second time.
    """
    teams: Teams | None = agent.service(SERVICE)
    if teams is None:
        raise TeamsUnavailableError("this loop offers its agents teams, and nobody here runs them")
    teams.offer(agent, limits or TeamLimits())
