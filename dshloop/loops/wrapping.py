"""A strategy and the driver it borrows, put together into something that makes agents.

(loop-dock 10 and 14)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from dshloop.errors import InvalidDriverError
from dshloop.host.calling import call
from dshloop.loops.carrying import carried, carries_of
from dshloop.loops.registry import Driver, Loop, Make, Setup, read_driver, read_loop
from dshloop.loops.setups import compose_setups

_PAIR = "createAgent(ownerCtx, options) and resume(ownerCtx, options)"


class WrappedLoop(NamedTuple):
    """A strategy that can make agents like a driver loop; ``source_loop`` is its id."""

    loop: Loop
    source_loop: str
    create_agent: Make
    resume: Make

    @property
    def id(self) -> str:
        """The strategy's id."""
        return self.loop.id

    @property
    def kind(self) -> str:
        """Always a driver loop's."""
        return self.loop.kind


def strategy_loop(setup: Setup, **fields: Any) -> Loop:
    """Define a strategy loop. Raises what registering it would."""
    return read_loop({**fields, "kind": "strategy", "setup": setup})


def driver_loop(create_agent: Make, resume: Make, **fields: Any) -> Loop:
    """Define a driver loop. Raises what registering it would."""
    made = {"kind": "driver", "create_agent": create_agent, "resume": resume}
    return read_loop({**fields, **made})


def wrap_strategy(loop: Loop, driver: object) -> WrappedLoop:
    """Put a strategy's setup behind the caller's and let the driver make the agent.

    Raises INVALID_DRIVER.
    """
    engine = read_driver(driver, f"a driver must provide {_PAIR}")
    carries = carries_of(engine)

    def prepared(owner: Any, options: Mapping[str, Any]) -> dict[str, Any]:
        return _with_setup(options, carried(loop, carries, options, owner))

    async def create_agent(owner: Any, options: Mapping[str, Any]) -> Any:
        return await call(engine.create_agent, owner, prepared(owner, options))

    async def resume(owner: Any, options: Mapping[str, Any]) -> Any:
        return await call(engine.resume, owner, prepared(owner, options))

    return WrappedLoop(replace(loop, kind="driver"), loop.id, create_agent, resume)


def _with_setup(options: Mapping[str, Any], setup: Setup | None) -> dict[str, Any]:
    return {**options, "setup": compose_setups(options.get("setup"), setup)}


class EngineDriver:
    """An engine of another harness as a driver; it makes no agents of its own at start."""

    def __init__(self, engine: Driver) -> None:
        self.engine = engine

    async def create_agent(self, owner: Any, options: Any) -> Any:
        """Make an agent with a new session."""
        return await self.engine.create_agent(owner, options)

    async def resume(self, owner: Any, options: Any) -> Any:
        """Make an agent that goes on with a stored session."""
        return await self.engine.resume(owner, options)

    async def dispose(self) -> None:
        """End the engine by its own dispose, else by that of what it owns."""
        ownership = getattr(self.engine, "ownership", None)
        end = getattr(self.engine, "dispose", None) or getattr(ownership, "dispose", None)
        if callable(end):
            await call(end)


def adapt_engine(
    engine_class: Callable[[Any, Mapping[str, Any]], Any] | None,
    context: Any,
    config: Mapping[str, Any],
) -> EngineDriver:
    """Build an engine from its class with the row's config, but without agents of its own.

    Raises INVALID_DRIVER when there is no class, or what it makes is no driver.
    """
    name = "HeadlessAgentLoop"
    if not callable(engine_class):
        raise InvalidDriverError(f"createHeadlessDriverAdapter requires a {name} class")
    engine = engine_class(context, {**config, "agents": []})
    return EngineDriver(read_driver(engine, f"{name} instance must expose {_PAIR}"))
