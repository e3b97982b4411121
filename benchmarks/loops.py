"""What the dock costs a call, in microseconds, each beside a plain dict look-up of the same run.

    python benchmarks/loops.py [--calls N] [--agents N]

Prints one line a subject: the median of the processor time, so that other programs change little,
its multiple of the look-up, and the goal where there is one; then what many living agents at once
take. It judges nothing: the exit code is 0 whatever the numbers.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import time
import tracemalloc
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from dshloop.drivers.fake import FakeDriver
from dshloop.errors import LoopSwitchError
from dshloop.host.engine import Host
from dshloop.llm.messages import user_message
from dshloop.loops.binding import read_binding
from dshloop.loops.config import read_dock_config
from dshloop.loops.dock import Dock
from dshloop.loops.explanation import explain_create
from dshloop.loops.hosted import HostedDriver
from dshloop.loops.selection import select_create, select_resume
from dshloop.loops.standard import standard_loop
from dshloop.sessions.events import new_header
from dshloop.sessions.session import MemoryLog

ROUNDS = 15
GOAL = {"create by session route": 6.0, "create and dispose, fake driver": 1000.0}
RAW = {
    "sessionLoops": {f"s{n}": {"loop": "standard", "driver": "default"} for n in range(100)},
    "presetLoops": {f"p{n}": {"loop": "standard", "driver": "default"} for n in range(100)},
}
CONFIG = read_dock_config(RAW)
ROUTES = (CONFIG.session_loops, CONFIG.preset_loops, CONFIG.default_loop)
BOUND = {"loop": "standard", "driver": "default"}
RECORD = {"type": "agent-preset/selected", "data": {"agentLoopDock": BOUND}}
EVENTS = [RECORD, *({"type": "turn/start", "data": {"turn": n}} for n in range(1000))]


class IdleDriver:
    """Makes nothing."""

    async def create_agent(self, _owner: Any, _options: Any) -> Any:
        return SimpleNamespace(agent=None, dispose=None)

    resume = create_agent


def switch() -> None:
    try:
        select_resume({"resumeSessionId": "x", "loop": "other"}, *ROUTES, persisted=BOUND)
    except LoopSwitchError:
        pass


def subjects(dock: Dock) -> dict[str, Callable[[], Any]]:
    """Give what is measured, by name."""
    table = dict.fromkeys(map(str, range(100)))
    explicit = {"sessionId": "x", "loop": "standard", "driver": "default"}
    return {
        "dict look-up": lambda: table.get("50"),
        "create by default": lambda: select_create({"sessionId": "x"}, *ROUTES),
        "create explicit": lambda: select_create(explicit, *ROUTES),
        "create by session route": lambda: select_create({"sessionId": "s50"}, *ROUTES),
        "resume with a binding": lambda: select_resume(
            {"resumeSessionId": "x"}, *ROUTES, persisted=BOUND
        ),
        "resume, LOOP_SWITCH": switch,
        "binding, oldest of 1,001": lambda: read_binding(EVENTS),
        "config of 200 routes": lambda: read_dock_config(RAW),
        "create by session route, explained": lambda: explain_create(dock, {"sessionId": "s50"}),
    }


def median_us(call: Callable[[], Any], calls: int) -> float:
    """Time a call in several rounds and give the median round's time a call."""
    times = []
    for _ in range(ROUNDS):
        start = time.process_time()
        for _ in range(calls):
            call()
        times.append((time.process_time() - start) / calls)
    return statistics.median(times) * 1e6


async def hub_us(dock: Dock, calls: int) -> float:
    """Time a whole create on a driver that does nothing."""
    times = []
    for _ in range(ROUNDS):
        start = time.process_time()
        for _ in range(calls):
            await dock.create_agent(None, {"sessionId": "s50"})
        times.append((time.process_time() - start) / calls)
    return statistics.median(times) * 1e6


class MemorySessions:
    """Sessions that are not kept."""

    def create(self, session_id: str, *, cwd: str | None, agent_preset: str | None) -> MemoryLog:
        """Begin a session."""
        header = new_header(session_id, created_at=0, cwd=cwd, agent_preset=agent_preset)
        return MemoryLog(header, [], time.time)

    def resume(self, session_id: str) -> MemoryLog:
        """Begin a session: there are no old ones."""
        return self.create(session_id, cwd=None, agent_preset=None)


def fake_dock() -> Dock:
    """Build a dock whose one loop runs on the fake driver."""
    dock = Dock({"defaultDriver": "fake-driver"})
    dock.register(standard_loop())
    dock.register_driver("fake-driver", HostedDriver(FakeDriver()))
    return dock


async def fake_us(calls: int) -> float:
    """Time creating and disposing an agent on the fake driver."""
    dock, host, times = fake_dock(), Host(MemorySessions()), []
    for number in range(calls):
        start = time.process_time()
        handle = await dock.create_agent(host, {"sessionId": f"s{number}"})
        await handle.dispose()
        times.append(time.process_time() - start)
    return statistics.median(times) * 1e6


async def crowd(count: int) -> str:
    """Have many agents answer once, all at the same time."""
    dock, host = fake_dock(), Host(MemorySessions())
    tracemalloc.start()
    start = time.perf_counter()
    made = [dock.create_agent(host, {"sessionId": f"s{number}"}) for number in range(count)]
    agents = [handle.agent for handle in await asyncio.gather(*made)]
    for agent in agents:
        agent.followup(user_message("hello"))
    await asyncio.gather(*(agent.when_idle() for agent in agents))
    seconds, memory = time.perf_counter() - start, tracemalloc.get_traced_memory()[0] / count
    tracemalloc.stop()
    answered = sum(agent.session.events[-1]["type"] == "turn/end" for agent in agents)
    return f"{count:6} agents  {answered} answered  {seconds:6.2f} s  {memory / 1024:6.1f} KiB each"


def main() -> None:
    """Measure every subject and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--calls", type=int, default=2000)
    parser.add_argument("--agents", type=int, default=1000)
    arguments = parser.parse_args()
    calls = arguments.calls
    dock = Dock(RAW)
    dock.register({"id": "standard", "kind": "strategy", "setup": print})
    dock.register_driver(IdleDriver())
    found = {name: median_us(call, calls) for name, call in subjects(dock).items()}
    found["whole create, idle driver"] = asyncio.run(hub_us(dock, calls))
    found["create and dispose, fake driver"] = asyncio.run(fake_us(calls))
    base = found["dict look-up"]
    for name, value in found.items():
        goal = f"  goal <= {GOAL[name]:g} us" if name in GOAL else ""
        print(f"{name:36} {value:9.2f} us  {value / base:8.0f} x{goal}")
    for count in (arguments.agents // 4, arguments.agents):
        print(asyncio.run(crowd(count)))


if __name__ == "__main__":
    main()
