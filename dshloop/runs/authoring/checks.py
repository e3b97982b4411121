"""What every loop must keep, each as one check: it passes, or raises what is wrong and what to do.

The rules are those of docs/loop-provider-spec.md and, for driver loops, docs/default-driver.md.
"""

from __future__ import annotations

import asyncio
import gc
import weakref
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dshloop.drivers.script import parse_script
from dshloop.host.agent import Agent
from dshloop.llm.messages import user_message
from dshloop.runs.authoring.demands import (
    all_of,
    require_apart,
    require_known_events,
    require_no_failure,
    require_no_warnings,
    require_one_binding,
    require_order,
    require_shapes,
    require_sound,
)
from dshloop.runs.authoring.probes import Probes
from dshloop.runs.authoring.remains import Held
from dshloop.runs.authoring.report import Unmet
from dshloop.runs.authoring.subjects import Subject
from dshloop.runs.authoring.trial import (
    ECHO,
    Trial,
    begun,
    outcome_of,
    trial,
    turn,
)

GRACE = 0.05  # seconds for what an ended agent has left running to end as well


@dataclass(frozen=True, slots=True)
class Check:
    """One thing to look at; ``work`` gets the loop and a folder of its own, and may raise."""

    name: str
    about: str
    work: Callable[[Subject, Path], Awaitable[None]]


async def registers(subject: Subject, folder: Path) -> None:
    """Dock the loop, and take it away again."""
    async with trial(subject, folder) as at:
        dock = at.process.dock
        if not dock.loops.has(subject.id):
            raise Unmet(
                f'the loop is registered as "{at.loop.id}", and was to be "{subject.id}"',
                "Give it no id of its own, or the one of its entry point.",
            )
        dock.unregister(subject.id)
        dispose = dock.register(at.loop)
        dispose()


async def session(subject: Subject, folder: Path) -> None:
    """Run two turns, and read the log as dsh would."""
    async with trial(subject, folder) as at:
        handle = await at.create("first")
        for number, prompt in enumerate(("hello", "and again"), 1):
            events = await turn(handle.agent, prompt)
            require_no_failure(events, f"turn {number}")
            require_order(events, number)
        await handle.dispose()
        require_one_binding(at, handle.agent.session.events)
        require_sound(at, "first")


async def hooks(subject: Subject, folder: Path) -> None:
    """Dispatch every event that a turn can have around the loop's own listeners."""
    script = parse_script(
        f"turns:\n"
        f"  - steps: [{{calls: [{{name: {ECHO}, arguments: {{text: hi}}}}]}}, done]\n"
        f"  - {{error: {{message: busy, code: RATE_LIMIT, times: 1, retry-after: 1}}, text: ok}}\n"
        f"after: last\n"
    )
    async with trial(subject, folder, script) as at:
        probes = Probes()
        handle = await at.create("hooked", setup=probes.before)
        require_known_events(handle.agent)
        probes.around(handle.agent)
        for prompt in ("use your tool", "this fails once"):
            events = await turn(handle.agent, prompt)
            require_shapes(probes)
            require_no_failure(events, "a turn with a tool call and a failed request")
        await handle.dispose()
        await at.host.hooks.settle()
        for event in sorted(probes.swallowed):
            raise Unmet(
                f"a listener on {event} never calls following(), so that the listeners of others "
                "don't run",
                "Begin with `answer = await following()`, and give back that or a changed copy.",
            )
        require_no_warnings(at)


async def cleanup(subject: Subject, folder: Path) -> None:
    """End agents, and look for what is left of them."""
    async with trial(subject, folder) as at:
        await _life(at, "warm-up")  # what a loop makes once in a process is no leak
        before = Held.by(at.host)
        gone = await _life(at, "ended")
        await _life(at, "ended-too")
        await asyncio.sleep(GRACE)
        left = Held.by(at.host).beyond(before)
        if left:
            raise Unmet(
                "after the end of its agents " + "; ".join(left),
                "Register on the agent (agent.hooks, agent.tools, agent.prompt), which ends with "
                "it, and give agent.undo(...) a function that takes back everything else.",
            )
        require_no_warnings(at)
        gc.collect()
        if gone() is not None:
            raise Unmet(
                "something still holds an agent that has ended: a list, a dict or a closure that "
                "outlives it",
                "Keep nothing of an agent outside of it, or drop it in agent.undo(...).",
            )


async def cancel(subject: Subject, folder: Path) -> None:
    """Abort a turn in mid-answer, then talk on."""
    script = parse_script(
        "turns:\n  - {text: this answer takes its time, pace: [0.2, 0.2]}\n  - fine\nafter: last\n"
    )
    async with trial(subject, folder, script) as at:
        handle = await at.create("cancelled")
        agent = handle.agent
        agent.followup(user_message("begin"))
        await begun(agent, "assistant/chunk")
        agent.cancel()
        await agent.when_idle()
        events = list(agent.session.events)
        if not any(event["type"] == "turn/end" for event in events):
            raise Unmet(
                "a cancelled turn has no turn/end",
                "Whatever ends a turn, log turn/end with {kind: aborted} and the cause.",
            )
        if at.scripted and outcome_of(events) != "aborted":
            raise Unmet(
                f"a turn that was cancelled in mid-answer ended as {outcome_of(events)}",
                "Let asyncio.CancelledError through: catch Exception, never BaseException.",
            )
        require_no_failure(await turn(agent, "go on"), "the turn behind a cancelled one")
        await handle.dispose()
        require_sound(at, "cancelled")


async def resume(subject: Subject, folder: Path) -> None:
    """Go on with a session in another process."""
    async with trial(subject, folder) as at:
        first = await at.create("resumed")
        require_no_failure(await turn(first.agent, "one"), "the first turn")
        await first.dispose()
    async with trial(subject, folder) as at:
        again = await at.resume("resumed")
        events = await turn(again.agent, "two")
        require_no_failure(events, "the first turn behind a resume")
        require_order(events, 2)
        await again.dispose()
        require_one_binding(at, again.agent.session.events)
        require_sound(at, "resumed")


async def failed_setup(subject: Subject, folder: Path) -> None:
    """Call an agent off at the last moment: nothing of it may be left, and its id is free."""
    async with trial(subject, folder) as at:
        await _life(at, "warm-up")
        before = Held.by(at.host)
        for moment, setup in (("before", _raises), ("behind", _raises_at_commit)):
            await _require_called_off(at, moment, setup)
            await asyncio.sleep(GRACE)
            left = Held.by(at.host).beyond(before)
            if at.log_of("called-off") is not None:
                left.append("its session is on the disk")
            if left:
                raise Unmet(
                    f"an agent that was called off {moment} the loop's setup leaves something: "
                    + "; ".join(left),
                    _UNDO[at.loop.kind],
                )
        handle = await at.create("called-off")
        require_no_failure(await turn(handle.agent, "hello"), "a turn behind a failed setup")
        await handle.dispose()


async def two_agents(subject: Subject, folder: Path) -> None:
    """Run two agents at once, end one, and look at the other."""
    async with trial(subject, folder) as at:
        one, two = await asyncio.gather(at.create("one"), at.create("two"))
        turns = await asyncio.gather(turn(one.agent, "I am one"), turn(two.agent, "I am two"))
        for events in turns:
            require_no_failure(events, "one of two turns at once")
        require_apart(one.agent, two.agent)
        had = all_of(two.agent)
        await one.dispose()
        lost = [name for name in had if name not in all_of(two.agent)]
        if lost:
            raise Unmet(
                f"the end of one agent takes from another: {', '.join(lost)}",
                "Register on the agent that setup gets, not on an object that several share.",
            )
        require_no_failure(await turn(two.agent, "and on"), "a turn behind another agent's end")
        await two.dispose()
        for session_id in ("one", "two"):
            require_sound(at, session_id)


CHECKS: Sequence[Check] = (
    Check("registers", "it can be loaded, docked and taken away", registers),
    Check("session", "a session of two turns runs, and dsh could read its log", session),
    Check("hooks", "its listeners hear, pass on and answer what they must", hooks),
    Check("clean-up", "nothing is left of an agent that has ended", cleanup),
    Check("cancel", "a cancelled turn ends, and the next one runs", cancel),
    Check("resume", "a session goes on in another process", resume),
    Check("failed-setup", "an agent that is called off leaves nothing", failed_setup),
    Check("two-agents", "two agents at once keep apart", two_agents),
)


# --- what several checks do ----------------------------------------------------------------------


_UNDO = {
    "strategy": "Register on the agent, and give agent.undo(...) what takes back the rest.",
    "driver": "When the setup or its commit raises, undo all and let the error through; the engine "
    "of dshloop does: HostedDriver(Engine()).",
}


async def _life(at: Trial, session_id: str) -> Callable[[], Agent | None]:
    """Make an agent, give it a turn and end it; what comes back tells whether it is still held."""
    handle = await at.create(session_id)
    await turn(handle.agent, "hello")
    await handle.dispose()
    await handle.dispose()  # may be called twice
    return weakref.ref(handle.agent)


async def _require_called_off(at: Trial, moment: str, setup: Callable[[Agent], Any]) -> None:
    try:
        await at.create("called-off", setup=setup)
    except _CalledOff:
        return
    except Exception as raised:
        raise Unmet(
            f"a setup raised {moment} the loop's own, and what came out is another error: "
            f"{type(raised).__name__}: {raised}",
            "Let what a setup raises through as it is.",
        ) from raised
    raise Unmet(
        f"a setup raised {moment} the loop's own, and the agent was made all the same",
        "Await options.setup once, call the commit it gives back, and let what they raise through.",
    )


class _CalledOff(Exception):  # noqa: N818 - what a caller's setup raises
    pass


def _raises(_agent: Agent) -> None:
    raise _CalledOff("called off before the loop's setup")


def _raises_at_commit(agent: Agent) -> Callable[[], None]:
    def commit() -> None:
        raise _CalledOff(f"agent {agent.id} is called off at its publication")

    return commit
