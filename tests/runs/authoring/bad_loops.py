"""Loops that do one thing wrong each, and what is said of them: check, words of the message."""

# ruff: noqa: ARG005 - listeners and tools that look at nothing

from __future__ import annotations

import asyncio
import os
import threading
import time
from typing import Any

from dshloop.host.engine import Engine
from dshloop.host.tools import Tool
from dshloop.loops.binding import EVENT as BOUND
from dshloop.loops.hosted import HostedDriver


class Strategy:
    kind = "strategy"

    async def setup(self, agent: Any) -> Any:
        raise NotImplementedError


class SetupRaises(Strategy):
    async def setup(self, agent: Any) -> None:
        raise ValueError("no key")


class SetupExits(Strategy):
    async def setup(self, agent: Any) -> None:
        raise SystemExit(3)


class ListenerReturnsNothing(Strategy):
    async def setup(self, agent: Any) -> None:
        async def on_request(event: Any, following: Any) -> None:
            await following()

        agent.hooks.on("agent/request", on_request)


class ListenerRaises(Strategy):
    async def setup(self, agent: Any) -> None:
        async def before(call: Any, following: Any) -> Any:
            raise KeyError("nothing")

        agent.hooks.on("system-prompt/assemble", before)


class EmittedListenerRaises(Strategy):
    async def setup(self, agent: Any) -> None:
        def on_status(event: Any) -> None:
            raise ValueError("what status")

        agent.hooks.on("agent/status", on_status)


class Swallows(Strategy):
    async def setup(self, agent: Any) -> None:
        async def execute(call: Any, following: Any) -> str:
            return "I know better"

        agent.hooks.on("tools/execute", execute)


class Misspells(Strategy):
    async def setup(self, agent: Any) -> None:
        agent.hooks.on("agent/prestep", lambda event, following: following())


class ListensInTheHost(Strategy):
    async def setup(self, agent: Any) -> None:
        agent._host.hooks.on("session/event", lambda session, event: None)


class LeavesATool(Strategy):
    async def setup(self, agent: Any) -> None:
        name = f"mine-{agent.id}"
        agent._host.tools.register(Tool(name, "Mine.", lambda call: "mine"))


class TakesTheHostsTool(Strategy):
    async def setup(self, agent: Any) -> None:
        if agent.id == "ended":
            agent._host.tools._tools.clear()


class LeavesATask(Strategy):
    async def setup(self, agent: Any) -> None:
        self.task = asyncio.ensure_future(asyncio.sleep(60))


class LeavesAThread(Strategy):
    async def setup(self, agent: Any) -> None:
        threading.Thread(target=time.sleep, args=(0.5,)).start()


class LeavesAFile(Strategy):
    async def setup(self, agent: Any) -> None:
        os.open(__file__, os.O_RDONLY)


class FailsInATask(Strategy):
    async def setup(self, agent: Any) -> None:
        async def later() -> None:
            raise ValueError("nobody asks")

        asyncio.ensure_future(later())  # noqa: RUF006


class FailsInAThread(Strategy):
    async def setup(self, agent: Any) -> None:
        thread = threading.Thread(target=lambda: {}["nothing"], name="mine")
        thread.start()
        thread.join()


class ForgetsToAwait(Strategy):
    async def setup(self, agent: Any) -> None:
        asyncio.sleep(0)  # type: ignore[unused-coroutine]


class SaysTooMuch(Strategy):
    async def setup(self, agent: Any) -> None:
        raise ValueError("no " * 1_000_000)


class ChangesVariables(Strategy):
    async def setup(self, agent: Any) -> None:
        os.environ["DSHLOOP_TEST_LOOP"] = agent.id
        agent.undo(lambda: os.environ.update(DSHLOOP_TEST_LOOP=f"{agent.id} ended"))


class KeepsItsAgents(Strategy):
    def __init__(self) -> None:
        self.agents: list[Any] = []

    async def setup(self, agent: Any) -> None:
        self.agents.append(agent)


class UndoRaises(Strategy):
    async def setup(self, agent: Any) -> None:
        agent.undo(lambda: {}["nothing"])


class BindsAgain(Strategy):
    async def setup(self, agent: Any) -> None:
        loop = {"loop": "another"}
        agent.append(BOUND, {"agentLoopDock": loop})


class LogsNonsense(Strategy):
    async def setup(self, agent: Any) -> None:
        agent.append("turn/start", {"turn": 7})


class KeepsGoingWhenCancelled(Strategy):
    async def setup(self, agent: Any) -> None:
        async def stubborn(event: Any, following: Any) -> Any:
            answer = await following()
            agent.cancel = lambda *a, **k: None
            return answer

        agent.hooks.on("agent/request", stubborn)


class HangsInSetup(Strategy):
    async def setup(self, agent: Any) -> None:
        await asyncio.Event().wait()


class BlocksInSetup(Strategy):
    async def setup(self, agent: Any) -> None:
        time.sleep(3)


class SharesBetweenAgents(Strategy):
    """Its second agent gets what the first one has, which ends with that."""

    def __init__(self) -> None:
        self.first: Any = None

    async def setup(self, agent: Any) -> None:
        if self.first is None:
            self.first = agent
            agent.undo(self.forget)
        else:
            other = self.first
            off = agent.tools.register(Tool("shared", "Shared.", lambda call: ""))
            other.undo(off)

    def forget(self) -> None:
        self.first = None


class MixesInputs(Strategy):
    def __init__(self) -> None:
        self.said: list[Any] = []

    async def setup(self, agent: Any) -> None:
        async def enter(event: Any, following: Any) -> Any:
            answer = await following()
            await asyncio.sleep(0)
            self.said += answer["messages"]
            await asyncio.sleep(0)
            return {**answer, "messages": list(self.said)}

        agent.hooks.on("agent/pre-step", enter)


class FailsOnResume(Strategy):
    async def setup(self, agent: Any) -> None:
        if agent.session.resumed:
            raise ValueError("I was not made for this")


class Careless:
    """A driver loop that registers an agent before its setup has run."""

    kind = "driver"

    def __init__(self) -> None:
        self.engine = HostedDriver(Engine())

    async def create_agent(self, owner: Any, options: Any) -> Any:
        owner.hooks.on("agent/created", lambda event: None)
        asked = {**options["agentOptions"], "provider": "loop-ping", "model": "ping"}
        return await self.engine.create_agent(owner, {**options, "agentOptions": asked})

    async def resume(self, owner: Any, options: Any) -> Any:
        asked = {**options["agentOptions"], "provider": "loop-ping", "model": "ping"}
        return await self.engine.resume(owner, {**options, "agentOptions": asked})


class SwallowsFailures(Careless):
    """A driver loop that makes the agent although its setup has failed."""

    async def create_agent(self, owner: Any, options: Any) -> Any:
        async def setup(agent: Any) -> Any:
            try:
                return await options["setup"](agent)
            except Exception:
                return None

        asked = {**options["agentOptions"], "provider": "loop-ping", "model": "ping"}
        options = {**options, "agentOptions": asked, "setup": setup}
        return await self.engine.create_agent(owner, options)


class GivesNoHandle(Careless):
    async def create_agent(self, owner: Any, options: Any) -> Any:
        return None


class CantBeMade(Strategy):
    def __init__(self) -> None:
        raise ValueError("no key")


class NoSetup:
    kind = "strategy"


WRONG = [
    (CantBeMade, "registers", "ValueError: no key (LOOP_IMPORT_FAILED) (bad_loops.py, line "),
    (NoSetup, "registers", "must provide an async setup(agentCtx) function"),
    (SetupRaises, "session", "it raised ValueError: no key (bad_loops.py, line "),
    (SetupExits, "session", "it raised SystemExit: 3 (bad_loops.py, line "),
    (GivesNoHandle, "session", "gave back no handle"),
    (BindsAgain, "session", "the log records 2 bindings"),
    (LogsNonsense, "session", "turn 1 of the session is logged as turn 8"),
    (ListenerReturnsNothing, "hooks", "a listener on agent/request gave back None"),
    (ListenerRaises, "hooks", "ended with an error: 'nothing'"),
    (EmittedListenerRaises, "hooks", "a listener on agent/status: what status"),
    (Swallows, "hooks", "a listener on tools/execute never calls following()"),
    (Misspells, "hooks", 'it listens to "agent/prestep", which nobody dispatches'),
    (ListensInTheHost, "clean-up", "a listener on session/event is left in the host"),
    (LeavesATool, "clean-up", "the tool mine-ended is left in the host"),
    (TakesTheHostsTool, "clean-up", "was taken out of the host"),
    (LeavesATask, "clean-up", "the task sleep still runs"),
    (LeavesAThread, "clean-up", "still runs"),
    (LeavesAFile, "clean-up", "bad_loops.py is left open"),
    (FailsInATask, "session", "never retrieved: ValueError: nobody asks (bad_loops.py, line "),
    (FailsInAThread, "session", "the thread mine raised: KeyError: 'nothing' (bad_loops.py, line"),
    (ForgetsToAwait, "session", "coroutine 'sleep' was never awaited"),
    (SaysTooMuch, "session", "… (3000012 characters) (bad_loops.py, line"),
    (ChangesVariables, "clean-up", "the environment variable DSHLOOP_TEST_LOOP is another one"),
    (KeepsItsAgents, "clean-up", "something still holds an agent that has ended"),
    (UndoRaises, "clean-up", "the host had to warn: ending agent"),
    (KeepsGoingWhenCancelled, "cancel", "cancelled in mid-answer ended as completed"),
    (FailsOnResume, "resume", "I was not made for this"),
    (ListensInTheHost, "failed-setup", "called off behind the loop's setup leaves something"),
    (Careless, "failed-setup", "a listener on agent/created is left in the host"),
    (SwallowsFailures, "failed-setup", "the agent was made all the same"),
    (SharesBetweenAgents, "two-agents", "takes from another: the tool shared"),
    (MixesInputs, "two-agents", "has not just its own input"),
]
