"""A strategy that is data, as a loop: what its setup does to an agent of our host."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

from dshloop.errors import InvalidLoopDefinitionError
from dshloop.host.agent import Agent
from dshloop.loops.harness import PresetMounts
from dshloop.loops.importing import load_object
from dshloop.loops.registry import Loop
from dshloop.loops.strategy import Budget, Strategy
from dshloop.loops.teaming import offer_team
from dshloop.loops.wrapping import strategy_loop
from dshloop.transcripts.vocabulary import Event

_REQUEST, _PRE_STEP = "agent/request", "agent/pre-step"


def strategy_as_loop(strategy: Strategy, presets: PresetMounts | None = None) -> Loop:
    """Make the loop of a strategy; its hooks are imported now.

    Raises LOOP_IMPORT_FAILED, and INVALID_LOOP_DEFINITION for a hook that can't be called.
    """
    listeners = [(event, _listener(strategy.id, target)) for event, target in strategy.hooks]

    async def setup(agent: Agent) -> None:
        for preset in strategy.presets:
            if presets is not None and presets.composed(agent) != preset:
                await presets.mount(agent, preset)
        for part in strategy.prompt:
            agent.prompt.section(part.name, part.text, order=part.order)
        if strategy.allow is not None or strategy.deny:
            agent.tools.restrict(allow=strategy.allow, deny=strategy.deny)
        for event, listener in listeners:
            agent.hooks.on(event, listener)
        if strategy.effort is not None:
            agent.hooks.on(_REQUEST, _with_effort(strategy.effort), prepend=True)
        if strategy.team is not None:
            offer_team(agent, strategy.team)
        if strategy.budget != Budget():
            Spending(agent, strategy.budget).watch()

    fields = {name: getattr(strategy, name) for name in _FIELDS}
    given = {name: value for name, value in fields.items() if value is not None}
    return strategy_loop(setup, id=strategy.id, **given)


def _listener(loop: str, target: str) -> Callable[..., Any]:
    found = load_object(target)
    if callable(found):
        return found  # type: ignore[no-any-return]
    raise InvalidLoopDefinitionError(
        f'a hook of loop "{loop}" must be a function, and {target} is {type(found).__name__}',
        hint="A listener takes the event and, where others may follow it, `following`.",
        loop=loop,
        target=target,
    )


_FIELDS = ("driver", "provider", "model", "label", "description")


def _with_effort(effort: str) -> Callable[..., Awaitable[Any]]:
    """Make the outermost listener that puts the effort into each request."""

    async def on_request(_event: object, following: Callable[[], Awaitable[Any]]) -> Any:
        config = await following()
        return {**config, "reasoningEffort": effort} if isinstance(config, Mapping) else config

    return on_request


@dataclass(slots=True)
class Spending:
    """What the running turn has used; a turn that is over its budget is cancelled.

    Its end says so: aborted by a hook, with the limit as the reason.
    """

    agent: Agent
    budget: Budget
    tokens: int = 0
    timer: asyncio.TimerHandle | None = None

    def watch(self) -> None:
        """Look at every turn of the agent from now on."""
        self.agent.listen(self._see)
        self.agent.hooks.on(_PRE_STEP, self._enter)

    async def _enter(
        self, event: Mapping[str, Any], following: Callable[[], Awaitable[Any]]
    ) -> Any:
        """Let no step begin beyond the limits."""
        steps, tokens = self.budget.steps, self.budget.tokens
        if steps is not None and event["step"] > steps:
            self._stop(f"{steps} steps")
        elif tokens is not None and self.tokens >= tokens:
            self._stop(f"{tokens} tokens")
        return await following()

    def _see(self, event: Event) -> None:
        kind = event["type"]
        if kind == "turn/start":
            self.tokens = 0
            if self.budget.seconds is not None:
                loop = asyncio.get_running_loop()
                text = f"{self.budget.seconds:g} seconds"
                self.timer = loop.call_later(self.budget.seconds, self._stop, text)
        elif kind == "turn/end" and self.timer is not None:
            self.timer.cancel()
        elif kind == "assistant/message" and isinstance(event["data"], dict):
            self.tokens += _used(event["data"].get("usage"))

    def _stop(self, limit: str) -> None:
        cause = {"kind": "hook", "reason": f"the loop's budget of {limit} a turn is used up"}
        self.agent.cancel(cause, keep_inbox=True)


def _used(usage: object) -> int:
    """Add up what went in and came out."""
    if not isinstance(usage, Mapping):
        return 0
    counts = (usage.get(name) for name in ("inputTokens", "outputTokens"))
    return sum(count for count in counts if type(count) is int)
