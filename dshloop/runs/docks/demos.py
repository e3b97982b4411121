"""Two small runs that show what the dock does, without a model, a key or a network.

They are the original's examples: two strategies on one driver, and two driver loops side by side.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from dshloop.errors import UsageError
from dshloop.loops.dock import Dock
from dshloop.loops.harness import awaited
from dshloop.loops.names import listed
from dshloop.loops.wrapping import driver_loop, strategy_loop


@dataclass(slots=True)
class Told:
    """An agent that only knows its session and the loop that made it."""

    id: str
    loop: str

    async def dispose(self) -> None:
        """Nothing is left to end."""


@dataclass(frozen=True, slots=True)
class Made:
    """The handle of such an agent."""

    agent: Told

    async def dispose(self) -> None:
        """End it."""
        await self.agent.dispose()


@dataclass(slots=True)
class TellingDriver:
    """A driver that writes down what it is asked for, and runs the setup."""

    lines: list[str] = field(default_factory=list)

    async def create_agent(self, _owner: Any, options: Mapping[str, Any]) -> Made:
        """Make an agent with a new session."""
        return await self._make("create", options["sessionId"], options)

    async def resume(self, _owner: Any, options: Mapping[str, Any]) -> Made:
        """Make an agent that goes on with a stored session."""
        return await self._make("resume", options["resumeSessionId"], options)

    async def _make(self, verb: str, session: str, options: Mapping[str, Any]) -> Made:
        self.lines.append(f"{verb} {session} -> loop {options['loop']}")
        agent = DemoAgent(session)
        await awaited(options["setup"](agent))
        return Made(Told(session, options["loop"]))


class DemoAgent:
    """What a setup gets: a session that keeps its events in memory."""

    def __init__(self, session: str) -> None:
        self.id = session
        self.session = _Session()

    def append(self, kind: str, data: Any) -> None:
        """Record an event."""
        events = self.session.events
        events.append({"type": kind, "seq": len(events), "data": data})


class _Session:
    def __init__(self) -> None:
        self.events: list[dict[str, Any]] = []
        self.header = _Header()


class _Header:
    agent_preset = None


async def two_strategies() -> list[str]:
    """Make one agent on each of two strategies, which share one driver."""
    driver = TellingDriver()
    dock = Dock()
    dock.register_driver(driver)
    for loop_id in ("standard", "loop-b"):
        dock.register(strategy_loop(_telling_setup(driver.lines, loop_id), id=loop_id))
    await dock.create_agent(None, {"sessionId": "agent-a", "loop": "standard"})
    await dock.create_agent(None, {"sessionId": "agent-b", "loop": "loop-b"})
    return [*driver.lines, "", "Two agents, one dock, two different loops."]


async def two_drivers() -> list[str]:
    """Make one agent on each of two loops that bring their own engines."""
    lines: list[str] = []
    dock = Dock({"defaultLoop": "loop-x"})
    for loop_id in ("loop-x", "loop-y"):
        dock.register(
            driver_loop(
                _maker("create", lines, loop_id), _maker("resume", lines, loop_id), id=loop_id
            )
        )
    made = [
        await dock.create_agent(None, {"sessionId": "agent-a", "loop": "loop-x"}),
        await dock.create_agent(None, {"sessionId": "agent-b", "loop": "loop-y"}),
    ]
    lines.append("")
    lines += [f"{handle.agent.id} ran on: {handle.agent.loop}" for handle in made]
    return [*lines, "", "Two agents, two different loops, one dock."]


DEMOS = {"two-strategies": two_strategies, "two-drivers": two_drivers}


def run_demo(name: str) -> list[str]:
    """Run a demo and give its lines. Raises USAGE for a name there is none of."""
    import asyncio

    if name not in DEMOS:
        raise UsageError(f'there is no demo "{name}"', hint=f"Demos: {listed(list(DEMOS))}.")
    return asyncio.run(DEMOS[name]())


def _telling_setup(lines: list[str], loop_id: str) -> Callable[[Any], Any]:
    async def setup(_agent: Any) -> None:
        lines.append(f"setup {loop_id}")

    return setup


def _maker(verb: str, lines: list[str], loop_id: str) -> Callable[[Any, Any], Any]:
    key = "sessionId" if verb == "create" else "resumeSessionId"

    async def make(_owner: Any, options: Mapping[str, Any]) -> Made:
        lines.append(f'[{loop_id}] {verb} agent "{options[key]}" on {loop_id}')
        return Made(Told(options[key], loop_id))

    return make
