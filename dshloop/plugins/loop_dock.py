"""The row `dsh-loop-dock`: the dock where the host asks for agents (loop-dock 14)."""

from __future__ import annotations

from typing import Any

from dshloop.host.agent import Agent
from dshloop.host.mount import Mount
from dshloop.host.presets import SERVICE as PRESETS
from dshloop.host.rows import ABSENT
from dshloop.llm.ping import REPLY, PingAdapter
from dshloop.loops.config import DockConfig, read_dock_config
from dshloop.loops.dock import Dock
from dshloop.loops.hosted import HostedHooks
from dshloop.loops.standard import standard_loop

SERVICE = "agentLoopDock"
SESSIONS = "persistence"
SETTINGS = "settings"
REMOTE = "remote"


class LoopDock:
    """Publishes the dock as the service `agentLoopDock` and makes it the agent factory."""

    name = "dsh-loop-dock"
    inject = ("agents", "sessions", "llm", "tools", "systemPrompt")

    @staticmethod
    def Config(raw: Any) -> DockConfig:  # noqa: N802 - the name every plugin has
        """Check the row's config. Raises INVALID_CONFIG."""
        return read_dock_config() if raw is ABSENT else read_dock_config(raw)

    async def apply(self, host: Mount, config: DockConfig) -> None:
        """Set everything up in the original's order. Raises AGENT_FACTORY_TAKEN."""
        dock = _dock(host, config)
        _declare(host, dock)
        host.adapter(PingAdapter(reply=config.ping_reply or REPLY))
        host.undo(dock.register(standard_loop(host.service(PRESETS)), built_in=True))
        host.take_factory(dock)
        for name, value in VARIABLES.items():
            host.variable(name, value)
        host.provide(SERVICE, dock)
        if config.agents and host.host.configured_agents:
            host.undo(lambda: _end_agents(dock))
            dock.agents.look()


def _dock(host: Mount, config: DockConfig) -> Dock:
    return Dock(
        config,
        settings=host.service(SETTINGS),
        sessions=host.service(SESSIONS),
        presets=host.service(PRESETS),
        hooks=HostedHooks(),
        agents=host.service("agents") if host.host.configured_agents else None,
        on_warning=host.host.warn,
    )


def _declare(host: Mount, dock: Dock) -> None:
    """Add the settings namespace, and the Remote where the host has one."""
    settings, remotes = host.service(SETTINGS), host.service(REMOTE)
    if settings is None and remotes is None:
        return
    from dshloop.loops import settings_default

    if settings is not None:
        host.undo(settings.register(*settings_default.declaration(dock.config)))
    if remotes is not None:
        host.undo(remotes.register(settings_default.REMOTE, settings_default.remote(dock)))


async def _end_agents(dock: Dock) -> None:
    """Start no more of the configured agents, and end those that run."""
    await dock.agents.stop()
    for agent in dock.agents.status:
        if agent.handle is not None:
            await agent.handle.dispose()


def _cwd(agent: Agent) -> str | None:
    return agent.session.header.cwd


VARIABLES = {
    "provider": lambda agent: agent.options.provider,
    "model": lambda agent: agent.options.model,
    "cwd": _cwd,
}
