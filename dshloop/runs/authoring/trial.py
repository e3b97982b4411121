"""A loop at work where it can do no harm: a process in a place of its own, on the fake driver."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dshloop.drivers import FAKE
from dshloop.drivers.script import Script, parse_script
from dshloop.host.agent import Agent
from dshloop.host.engine import AgentHandle
from dshloop.host.host import Host
from dshloop.host.tools import Tool
from dshloop.llm.messages import user_message
from dshloop.loops.registry import Loop
from dshloop.paths import Places
from dshloop.runs.authoring.report import Unmet
from dshloop.runs.authoring.subjects import Subject
from dshloop.runs.process import Process, start_process
from dshloop.runs.profile import ProfileRows
from dshloop.runs.stored import StoredSessions
from dshloop.runs.talking.making import agent_in
from dshloop.runs.watching.reply import failure_of, failure_text, reason_of
from dshloop.transcripts.vocabulary import Event

SAYING = parse_script("after: last\nturns: [one, two]\n")
"""A script without anything special: short answers, as many as are asked for."""
ECHO = "kit_echo"
"""A tool that every trial offers, for scripts to call."""


@dataclass(frozen=True, slots=True)
class Trial:
    """A process with the loop docked; its agents are made as `session run` makes them."""

    loop: Loop
    process: Process
    sessions: StoredSessions
    cwd: Path

    @property
    def host(self) -> Host:
        """The host that the agents live in."""
        return self.process.host

    async def create(
        self, session_id: str, *, setup: Callable[[Agent], Any] | None = None
    ) -> AgentHandle:
        """Make an agent with a new session; raises what its loop and driver raise."""
        options = {"sessionId": session_id, "meta": {"cwd": str(self.cwd)}, "setup": setup}
        handle = await self.host.agent_service.create({**options, **self._chosen})
        return agent_in(handle, session_id)

    async def resume(self, session_id: str) -> AgentHandle:
        """Make an agent that goes on with a session of an earlier trial of this place."""
        options = {"resumeSessionId": session_id, **self._chosen}
        return agent_in(await self.host.agent_service.resume(options), session_id)

    @property
    def _chosen(self) -> dict[str, str]:
        driver = {"driver": FAKE} if self.loop.kind == "strategy" else {}
        return {"loop": self.loop.id, **driver}

    @property
    def scripted(self) -> bool:
        """Whether scripts say what is answered: a driver loop answers by itself."""
        return self.loop.kind == "strategy"

    def log_of(self, session_id: str) -> Path | None:
        """Give the log of a session, None when there is none."""
        from dshloop.sessions.catalog import find_id

        entry = find_id(self.sessions.places, session_id)
        return None if entry is None else entry.path

    @property
    def warnings(self) -> Sequence[str]:
        """What the process has warned of so far."""
        return self.host.warnings


@asynccontextmanager
async def trial(subject: Subject, folder: Path, script: Script = SAYING) -> AsyncIterator[Trial]:
    """Start a process in a folder with the loop docked; everything in it ends with the block."""
    cwd = folder / "work"
    cwd.mkdir(exist_ok=True)
    places = Places(folder / "dsh", folder / "data", folder / "config")
    sessions = StoredSessions(places, cwd, time.time, "dshloop loop test")
    process = await start_process(places, sessions, ProfileRows(), variables=_neutral())
    try:
        loop = subject.make(process.presets)
        process.dock.unregister(loop.id)  # one that is built in gives way
        process.dock.register(loop)
        process.follow(script)
        process.host.tools.register(Tool(ECHO, "Says back its text.", _echo))
        yield Trial(loop, process, sessions, cwd)
    finally:
        sessions.close()
        await process.stop()


_PERSONS = ("DSH", "AGENTMEMORY_", "PATCHOULI_")
"""How variables begin that lead to what is a person's: folders, stores, keys of them."""


def _neutral() -> dict[str, str]:
    return {key: value for key, value in os.environ.items() if not key.startswith(_PERSONS)}


def _echo(call: Any) -> str:
    return str(call.arguments.get("text", ""))


async def turn(agent: Agent, prompt: str) -> list[Event]:
    """Give an agent a prompt and wait until it is idle; give what it logged.

    Raises Unmet where no turn came of it, or the agent's engine broke.
    """
    before = len(agent.session.events)
    agent.followup(user_message(prompt))
    await agent.when_idle()
    if agent.fault is not None:
        raise Unmet(
            f"the engine broke in a turn: {type(agent.fault).__name__}: {agent.fault}",
            "A turn ends with a turn/end event, whatever a model, a tool or a listener raises.",
        )
    events = agent.session.events[before:]
    if not any(event["type"] == "turn/end" for event in events):
        raise Unmet(
            f'the prompt "{prompt}" was given, and the agent is idle without having ended a turn',
            "An engine of your own works off its inbox and ends each turn with turn/end.",
        )
    return events


async def begun(agent: Agent, until: str) -> None:
    """Wait for an event of a type, or for the agent to be idle."""
    while agent.status == "running" and not any(
        event["type"] == until for event in agent.session.events
    ):
        await asyncio.sleep(0.001)


def outcome_of(events: Sequence[Event]) -> str:
    """Give how the last turn among events ended."""
    return str(_last_reason(events)["kind"])


def failure_in(events: Sequence[Event]) -> str | None:
    """Say why the last turn among events failed, None when it did not.

    A turn that a listener of the loop cut short, or blocked, is no failure.
    """
    reason = _last_reason(events)
    if reason["kind"] != "error":
        return None
    return failure_text(failure_of(reason))


def _last_reason(events: Sequence[Event]) -> dict[str, Any]:
    ends = [event for event in events if event["type"] == "turn/end"]
    return dict(reason_of(ends[-1]))
