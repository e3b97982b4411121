"""The row `dshloop/memory`: tools always; recording and recalling where they are asked for."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from dshloop.host.mount import Mount
from dshloop.plugins.memory_place import SERVICE, MemoryPlace

if TYPE_CHECKING:
    from dshloop.host.agent import Agent

NAME = "dshloop/memory"


@dataclass(frozen=True, slots=True)
class LocalMemoryConfig:
    """Whether sessions are recorded and memory is put before the model, in so many tokens."""

    record: bool = False
    inject: bool = False
    budget: int = 1000

    def __post_init__(self) -> None:
        for name in ("record", "inject"):
            if not isinstance(getattr(self, name), bool):
                raise ValueError(f"{name} must be true or false")
        if type(self.budget) is not int or self.budget < 1:
            raise ValueError("budget must be a whole number of tokens above 0")


class LocalMemory:
    """Works on the store of this machine's memory; it is opened when it is first needed."""

    name = "dshloop-memory"
    Config = LocalMemoryConfig
    inject = ("tools",)

    async def apply(self, host: Mount, config: LocalMemoryConfig) -> None:
        """Offer the tools and listen. Raises TOOL_EXISTS."""
        place: MemoryPlace | None = host.service(SERVICE)
        if place is None or place.open_store is None:
            return
        from dshloop.plugins.local_memory.lane import StoreLane
        from dshloop.plugins.local_memory.tools import recall_tool, remember_tool

        lane = StoreLane(place.open_store, host.host.warn)
        host.undo(lane.close)
        variables = place.variables

        def project(agent: Agent) -> str:
            from dshloop.memory.project import project_here

            cwd = agent.session.header.cwd
            return project_here(variables, Path(cwd)) if cwd else ""

        host.tool(recall_tool(lane, project))
        host.tool(remember_tool(lane, project))
        if config.record:
            from dshloop.plugins.local_memory.recording import Recording

            host.on("session/event", Recording(lane, variables).see)
            host.on("session/flush", lambda _session: lane.settle())
        if config.inject:
            from dshloop.plugins.local_memory.recalling import SERVICE as RECALLS
            from dshloop.plugins.local_memory.recalling import Recalling

            recalling = Recalling(lane, project, config.budget, host.host.warn)
            host.provide(RECALLS, recalling)
            host.on("agent/pre-step", recalling.step)
            host.on("agent/disposed", recalling.forget)
