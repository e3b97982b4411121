"""The row `dshloop/compaction`: when a history is compacted by itself, and the service to ask."""

from __future__ import annotations

import uuid
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dshloop.drivers.fake import LOCAL_PROVIDERS
from dshloop.host.mount import Mount
from dshloop.plugins.headless_driver import PROVIDERS

if TYPE_CHECKING:
    from dshloop.host.abort import AbortSignal
    from dshloop.host.agent import Agent
    from dshloop.plugins.compaction.compacting import Compacted

NAME = "dshloop/compaction"
SERVICE = "compaction"
_KEPT = 4000  # tokens that stay where nobody knows the window
_TOO_LONG = "CONTEXT_WINDOW_EXCEEDED"

Following = Callable[[], Awaitable[Any]]


@dataclass(frozen=True, slots=True)
class CompactionConfig:
    """Compacts from ``threshold`` of the window on, and keeps about ``keep`` of it.

    ``context_window``, in tokens, goes before what is known of the model.
    """

    threshold: float = 0.8
    keep: float = 0.2
    context_window: int | None = None

    def __post_init__(self) -> None:
        for name in ("threshold", "keep"):
            value = getattr(self, name)
            if type(value) not in (int, float) or not 0 < value < 1:
                raise ValueError(f"{name} must be a number between 0 and 1")
        if self.keep >= self.threshold:
            raise ValueError("keep must be less than threshold")
        window = self.context_window
        if window is not None and (type(window) is not int or window < 1):
            raise ValueError("context_window must be a whole number of tokens above 0")


class Compaction:
    """Watches how long histories are; offers `Compactions` as a service."""

    name = "dshloop-compaction"
    Config = CompactionConfig

    async def apply(self, host: Mount, config: CompactionConfig) -> None:
        """Listen, and offer the service. Raises SERVICE_TAKEN."""
        compactions = Compactions(host, config)
        host.on("agent/pre-step", compactions.before_step)
        host.on("agent/request-error", compactions.when_too_long, prepend=True)
        host.on("agent/disposed", compactions.forget)
        host.provide(SERVICE, compactions)


class Compactions:
    """Compacts histories: before a step, when a request was too long, when somebody asks."""

    def __init__(self, host: Mount, config: CompactionConfig) -> None:
        self._host, self._config = host, config
        self._tried: dict[str, tuple[int, int]] = {}  # turn and step of what was too long
        self._failed: dict[str, int] = {}  # turns in which no summary came

    async def before_step(self, event: Mapping[str, Any], following: Following) -> Any:
        """Compact a history that nears the window; one failure in a turn is enough."""
        agent, turn = event["agent"], event["turn"]
        window = self._window(agent)
        if window is not None and self._failed.get(agent.id) != turn:
            from dshloop.plugins.compaction.history import tokens_of

            header = agent.latest.get("request/header", {}).get("header", {})
            sent = {name: header.get(name) for name in ("system", "tools") if name in header}
            if tokens_of(agent.surface.nodes, sent) >= self._config.threshold * window:
                await self._tried_in(event)
        return await following()

    async def when_too_long(self, event: Mapping[str, Any], following: Following) -> Any:
        """Compact and ask again, once a step, where the provider says it is too long."""
        agent, place = event["agent"], (event["turn"], event["step"])
        too_long = event["failure"].get("code") == _TOO_LONG
        if too_long and self._tried.get(agent.id) != place:
            self._tried[agent.id] = place
            from dshloop.plugins.compaction.history import estimate

            kept = sum(map(estimate, agent.surface.nodes)) // 4
            if await self._tried_in(event, kept):
                return {"kind": "retry"}
        return await following()

    async def _tried_in(self, event: Mapping[str, Any], keep: int | None = None) -> bool:
        from dshloop.plugins.compaction.compacting import CompactionFailed

        agent, turn = event["agent"], event["turn"]
        try:
            return await self._compact(agent, turn, event["signal"], keep) is not None
        except CompactionFailed as failed:
            self._failed[agent.id] = turn
            if not event["signal"].aborted:
                self._host.host.warn(f"the history was not compacted: {failed}")
            return False

    async def compact(self, agent: Agent, signal: AbortSignal) -> Compacted | None:
        """Compact between turns because a person asks; command/run and command/done record it.

        None when there is nothing to compact. Raises CompactionFailed.
        """
        return await agent.run_maintenance(lambda: self._commanded(agent, signal))

    async def _commanded(self, agent: Agent, signal: AbortSignal) -> Compacted | None:
        from dshloop.plugins.compaction.compacting import CompactionFailed

        command = {"commandId": str(uuid.uuid4())}
        run = {**command, "name": "compact", "source": {"kind": "user"}}
        agent.append("command/run", run)
        try:
            done = await self._compact(agent, None, signal, 0, command["commandId"])
        except CompactionFailed as failed:
            agent.append("command/done", {**command, "kind": "error", "text": str(failed)})
            agent.session.flush()
            raise
        agent.append("command/done", {**command, "kind": "success", "text": told(done)})
        agent.session.flush()
        return done

    async def _compact(
        self,
        agent: Agent,
        turn: int | None,
        signal: AbortSignal,
        keep: int | None = None,
        command_id: str | None = None,
    ) -> Compacted | None:
        from dshloop.plugins.compaction.compacting import Compacting
        from dshloop.plugins.compaction.history import CHARACTERS

        window = self._window(agent)
        most = None if window is None else int(self._config.threshold * window * CHARACTERS)
        kept = _KEPT if window is None else int(self._config.keep * window)
        kept = kept if keep is None else min(keep, kept)
        return await Compacting(agent, turn, signal, kept, most, command_id).run()

    def _window(self, agent: Agent) -> int | None:
        """Give the tokens that an agent's model takes, None where nobody knows."""
        if self._config.context_window is not None:
            return self._config.context_window
        from dshloop.plugins.compaction.history import route_of

        source = self._host.service(PROVIDERS)
        provider, model = route_of(agent)
        if source is None or provider is None or provider in LOCAL_PROVIDERS:
            return None
        found = source().find(provider)
        return None if found is None else found.window_of(model)

    def forget(self, event: Mapping[str, Any]) -> None:
        """Let go of an agent that has ended."""
        self._tried.pop(event["agent"].id, None)
        self._failed.pop(event["agent"].id, None)


def told(done: Compacted | None) -> str:
    """Say in one line what a compaction did."""
    if done is None:
        return "there is nothing to compact yet"
    return f"{done.nodes} messages, about {done.before} tokens, became a summary of {done.after}"
