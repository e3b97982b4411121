"""Drivers that need no model, no key and no network (loop-dock 13)."""

from __future__ import annotations

from dataclasses import replace

from dshloop.host.agent import AgentOptions
from dshloop.host.engine import AgentHandle, CreateOptions, Engine, Host, ResumeOptions
from dshloop.llm.ping import MODEL, PROVIDER, REPLY, PingAdapter

FAKE_PROVIDER = "driver-ping"
FAKE_MODEL = "fake"
FAKE_REPLY = "[FAKE-DRIVER] fake driver reply — generated locally, no model call."


class PingDriver:
    """The standard engine on a provider whose only model says one fixed sentence.

    Provider and model are forced and the effort is dropped, whatever was asked for.
    """

    provider = PROVIDER
    model = MODEL
    reply = REPLY

    def __init__(self) -> None:
        self._engine = Engine()

    async def create_agent(self, owner: Host, options: CreateOptions) -> AgentHandle:
        """Make an agent with a new session."""
        forced = self._prepare(owner, options.agent_options)
        return await self._engine.create_agent(owner, replace(options, agent_options=forced))

    async def resume(self, owner: Host, options: ResumeOptions) -> AgentHandle:
        """Make an agent that goes on with a stored session."""
        forced = self._prepare(owner, options.agent_options)
        return await self._engine.resume(owner, replace(options, agent_options=forced))

    def _prepare(self, owner: Host, options: AgentOptions) -> AgentOptions:
        owner.adapters.setdefault(self.provider, PingAdapter(self.provider, self.reply))
        return replace(options, provider=self.provider, model=self.model, reasoning_effort=None)


class FakeDriver(PingDriver):
    """The driver `fake-driver`."""

    provider = FAKE_PROVIDER
    model = FAKE_MODEL
    reply = FAKE_REPLY
