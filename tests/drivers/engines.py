"""Agents on the scripted stand-in of an engine (tests/stand_ins/engine.py)."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dshloop.drivers.peer import Peer, PeerEngine
from dshloop.drivers.settings import SERVICE, EngineSettings
from dshloop.host.agent import Agent, AgentOptions
from dshloop.host.engine import CreateOptions, ResumeOptions
from dshloop.host.host import Host
from dshloop.llm.messages import plain_text, user_message
from dshloop.sessions.events import new_header
from dshloop.sessions.session import MemoryLog
from dshloop.transcripts.vocabulary import Event

STAND_IN = Path(__file__).parents[1] / "stand_ins" / "engine.py"
SECRET = "sk-0123456789abcdef0123456789abcdef"


class Kept:
    """Sessions in memory that can be gone on with."""

    def __init__(self, cwd: Path) -> None:
        self.cwd = cwd
        self.logs: dict[str, MemoryLog] = {}

    def create(self, session_id: str, *, cwd: str | None, agent_preset: str | None) -> MemoryLog:
        header = new_header(session_id, created_at=0, cwd=str(self.cwd), agent_preset=agent_preset)
        self.logs[session_id] = log = MemoryLog(header, [], time.time)
        return log

    def resume(self, session_id: str) -> MemoryLog:
        before = self.logs[session_id]
        header = new_header(session_id, created_at=0, cwd=str(self.cwd))
        self.logs[session_id] = log = MemoryLog(header, before.events, time.time)
        return log


@dataclass
class Stage:
    """A folder with the stand-in on PATH as `dsh`, and what an agent on it is made of."""

    folder: Path
    peer: Callable[[], Peer]
    variables: dict[str, str] = field(default_factory=dict)
    patience: float = 30
    options: AgentOptions = field(default_factory=AgentOptions)
    approval: Any = None

    def __post_init__(self) -> None:
        self.sessions = Kept(self.folder)
        self.host = Host(self.sessions)
        program = self.folder / "bin" / "dsh"
        program.parent.mkdir()
        program.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{STAND_IN}" "$@"\n')
        program.chmod(0o755)

    def plan(self, *words: str) -> None:
        """Say what the engine does, prompt by prompt."""
        (self.folder / "plan").write_text(" ".join(words))

    @property
    def settings(self) -> EngineSettings:
        variables = {
            **os.environ,
            "PATH": f"{self.folder / 'bin'}{os.pathsep}{os.environ['PATH']}",
            "ENGINE_PLAN": str(self.folder / "plan"),
            "ENGINE_ASKED": str(self.folder / "asked"),
            **self.variables,
        }
        command = ("dsh", "--profile", "acp")
        return EngineSettings(variables, self.folder / "home", command, self.patience)

    @property
    def asked(self) -> list[tuple[str, Any]]:
        """What all lives of the engine were asked so far: method and params."""
        lines = (self.folder / "asked").read_text().splitlines()
        found = map(json.loads, lines)
        return [(one["method"], one.get("params")) for one in found if "method" in one]

    def methods(self) -> list[str]:
        return [method for method, _ in self.asked]

    @asynccontextmanager
    async def agent(self, *, resume: bool = False) -> AsyncIterator[Agent]:
        """Bring an agent up for a block, in a host of its own."""
        self.host = host = Host(self.sessions)
        host.provide(SERVICE, self.settings)
        if self.approval is not None:
            host.provide("approval", self.approval)
        engine = PeerEngine(self.peer())
        if resume:
            handle = await engine.resume(host, ResumeOptions("s", self.options))
        else:
            handle = await engine.create_agent(host, CreateOptions("s", agent_options=self.options))
        try:
            yield handle.agent
        finally:
            await handle.dispose()


async def say(agent: Agent, *texts: str) -> None:
    """Have turns made, one after the other."""
    for text in texts:
        agent.followup(user_message(text))
        await agent.when_idle()


def reasons(agent: Agent) -> list[Any]:
    """Give how the turns ended."""
    return [one["data"]["reason"] for one in of_type(agent, "turn/end")]


def failure(agent: Agent) -> Any:
    """Give the failure of the last turn."""
    return reasons(agent)[-1]["error"]


def of_type(agent: Agent, *kinds: str) -> list[Event]:
    return [event for event in agent.session.events if event["type"] in kinds]


def said(agent: Agent) -> list[str]:
    """Give the texts of the assistant's messages."""
    messages = of_type(agent, "assistant/message")
    return [plain_text(one["data"]["message"]["content"]) for one in messages]


def shape(agent: Agent, *, without: Sequence[str] = ("assistant/chunk",)) -> list[str]:
    """Give the types of the events in order."""
    return [event["type"] for event in agent.session.events if event["type"] not in without]
