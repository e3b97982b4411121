"""The drivers whose engine is another program; nothing of them is imported before one is used."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from dshloop.errors import PeerUnreachableError
from dshloop.host.hooks import EVENTS
from dshloop.loops.carrying import OPTIONS, Carries
from dshloop.loops.hosted import HostedDriver

if TYPE_CHECKING:
    from dshloop.drivers.peer import PeerEngine
    from dshloop.drivers.settings import EngineSettings
    from dshloop.host.engine import AgentHandle, CreateOptions, ResumeOptions
    from dshloop.host.host import Host

DSH, ACP = "dsh", "acp"
_INSIDE = frozenset(
    {event for event in EVENTS if event.startswith("tools/")}
    | {"agent/request-error", "agent/turn-stopping", "system-prompt/assemble"}
)
"""What happens inside of such a program, and nobody here is told of."""
CARRIES: Mapping[str, Carries] = {
    DSH: Carries(OPTIONS, prompt=False, tools=False, hooks=EVENTS - _INSIDE),
    ACP: Carries(("cwd",), prompt=False, tools=False, hooks=EVENTS - _INSIDE - {"agent/request"}),
}


class EngineOf(NamedTuple):
    """Makes agents of one of the two kinds."""

    kind: str

    async def create_agent(self, owner: Host, options: CreateOptions) -> AgentHandle:
        """Make an agent with a new session."""
        return await self._engine().create_agent(owner, options)

    async def resume(self, owner: Host, options: ResumeOptions) -> AgentHandle:
        """Make an agent that goes on with a stored session."""
        return await self._engine().resume(owner, options)

    def _engine(self) -> PeerEngine:
        from dshloop.drivers.peer import PeerEngine

        if self.kind == DSH:
            from dshloop.drivers.dsh import Dsh

            return PeerEngine(Dsh())
        from dshloop.drivers.acp import Acp

        return PeerEngine(Acp())


def engine_drivers() -> dict[str, HostedDriver]:
    """Give the drivers by name."""
    return {name: HostedDriver(EngineOf(name), carries) for name, carries in CARRIES.items()}


class Usable(NamedTuple):
    """Whether a driver's program is here: what will be run, or why it can't."""

    program: str | None = None
    version: str | None = None
    fault: PeerUnreachableError | None = None


def usable(name: str, settings: EngineSettings, *, ask: bool = True) -> Usable:
    """Look for the program of one of these drivers; with ``ask``, dsh is asked for its version."""
    try:
        if name == DSH:
            from dshloop.drivers.dsh import find_dsh, usable_dsh

            found = None if ask else find_dsh(settings.variables)
            if found is not None:
                return Usable(str(found.path))
            program, version = usable_dsh(settings)
            return Usable(str(program.path), version)
        from dshloop.drivers.acp import usable_command

        return Usable(" ".join(usable_command(settings)))
    except PeerUnreachableError as fault:
        return Usable(fault=fault)
