"""The driver `dsh`: the real DeepSeek Harness runs the turns, spoken to by its SDK's JSON-RPC.

It has no way to cancel a turn, so its process is ended; the next turn starts another one, which
goes on with the same session of dsh's (dsh-sessions 11).
"""

from __future__ import annotations

import asyncio
import re
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dshloop.drivers.calls import Calls
from dshloop.drivers.dsh_events import DshEvents
from dshloop.drivers.peer import Link, PeerAgent, PeerTurn, prompt_of
from dshloop.drivers.process import EngineProcess
from dshloop.drivers.settings import EngineSettings
from dshloop.dsh import Program, find_program, version_of
from dshloop.errors import (
    EngineFailedError,
    EngineMissingError,
    EngineSessionLostError,
    EngineVersionError,
)
from dshloop.host.turn import Reason

NAME = "dsh"
OLDEST = (0, 2, 1)
"""The first whose SDK resumes a session."""
ROUTE = {"provider": "deepseek-official", "model": "deepseek-flash"}
"""What dsh asks where nobody says."""
GET_IT = "Put dsh on PATH, or install its runtime for Python: pip install 'dshloop[dsh]'."
_WHEEL = "deepseek_harness_runtime"
_RUNTIME = re.compile(r"deepseek-harness-sdk-runtime-[a-z]+-[a-z0-9]+(\.exe)?")


class Dsh:
    """The kind of engine."""

    name = NAME

    async def require(self, settings: EngineSettings) -> None:
        """See that a dsh is here whose SDK we can speak to. Raises ENGINE_MISSING, -_VERSION."""
        await asyncio.to_thread(usable_dsh, settings)

    def link(self, agent: PeerAgent, settings: EngineSettings) -> Link:
        """Make the connection of an agent."""
        return DshLink(agent, settings)


def find_dsh(variables: Mapping[str, str]) -> Program | None:
    """Find dsh on PATH, else in the wheel of its runtime."""
    return find_program(NAME, variables) or _in_wheel()


def usable_dsh(settings: EngineSettings) -> tuple[Program, str]:
    """Give the dsh that will be run and its version. Raises ENGINE_MISSING and ENGINE_VERSION."""
    program = find_dsh(settings.variables)
    if program is None:
        raise EngineMissingError("there is no dsh on PATH", hint=GET_IT, program=NAME)
    version = version_of(program, environment(settings))
    wanted = ".".join(map(str, OLDEST))
    if version is None or _numbers(version) < OLDEST:
        said = "doesn't say its version" if version is None else f"is {version}"
        raise EngineVersionError(
            f"{program.path} {said}, and the driver needs dsh {wanted} or later",
            hint="Update dsh, or take it off PATH and: pip install 'dshloop[dsh]'.",
            program=str(program.path),
            version=version,
            wanted=wanted,
        )
    return program, version


def environment(settings: EngineSettings) -> dict[str, str]:
    """Give the environment that dsh gets: that of this process, and the DSH home that is meant."""
    home = {} if settings.dsh_home is None else {"DSH_HOME": str(settings.dsh_home)}
    return {**settings.variables, **home}


class DshLink:
    """An agent's process of dsh; another provider, model or effort starts another one."""

    def __init__(self, agent: PeerAgent, settings: EngineSettings) -> None:
        self._agent, self._settings = agent, settings
        self._calls: Calls | None = None
        self._config: Mapping[str, Any] = {}
        self._events: DshEvents | None = None

    async def ask(self, turn: PeerTurn) -> Reason:
        """Have dsh make a turn; raises the ENGINE_ errors."""
        config = await self._wanted(turn)
        try:
            calls = await self._running(config)
            events = await self._opened(calls)
            calls.forget_news()
            blocks = prompt_of(turn.asked)
            await calls.request("session/prompt", sessionId=events.session, contentBlocks=blocks)
            events.note(turn, config)
            return await _follow(calls, events, turn)
        except EngineFailedError:
            raise
        except BaseException:
            await self.close()
            raise

    async def _wanted(self, turn: PeerTurn) -> dict[str, Any]:
        """Ask the listeners on agent/request with which model the turn is to be made."""
        options = self._agent.options
        asked = {
            **route_of(options.provider, options.model),
            "maxTokens": options.max_tokens,
            "reasoningEffort": options.reasoning_effort,
        }
        config = {key: value for key, value in asked.items() if value is not None}
        event = {"agent": self._agent, "turn": turn.number, "step": 1, "signal": turn.signal}
        found = await self._agent.hooks.waterfall("agent/request", event, last=lambda: config)
        found = found if isinstance(found, Mapping) else {}
        known = {key: found[key] for key in _CONFIG if found.get(key) is not None}
        return {**ROUTE, **known}

    async def _running(self, config: Mapping[str, Any]) -> Calls:
        if self._calls is not None and config == self._config:
            return self._calls
        await self.close()
        program = find_dsh(self._settings.variables)
        if program is None:
            raise EngineMissingError("there is no dsh on PATH any more", hint=GET_IT)
        cwd = self._agent.session.header.cwd
        process = await EngineProcess.start(
            NAME,
            [str(program.path), "--profile", "sdk"],
            cwd=cwd,
            variables=environment(self._settings),
        )
        self._calls = Calls(process, self._settings.patience)
        await self._calls.request("initialize", cwd=cwd or str(Path.cwd()), **config)
        self._config = config
        return self._calls

    async def _opened(self, calls: Calls) -> DshEvents:
        """Have dsh's session open: the one that runs, the one that is recorded, or a new one."""
        if self._events is not None:
            return self._events
        recorded = self._agent.peer_session
        if recorded is None:
            self._agent.tell_of_lost_turns()
        else:
            try:
                await calls.request("session/resume", sessionId=recorded)
            except EngineFailedError as fault:
                raise EngineSessionLostError(
                    f"dsh can't go on with its session {recorded}: {fault.message}",
                    **fault.details,
                ) from fault
        self._events = DshEvents(recorded or str(uuid.uuid4()))
        return self._events

    async def stop(self) -> None:
        """End the process: dsh can't be asked to leave a turn."""
        if self._calls is not None:
            await self._calls.process.kill()

    async def close(self) -> None:
        """End the process, if there is one."""
        calls, self._calls, self._events = self._calls, None, None
        if calls is not None:
            await calls.close()


_CONFIG = ("provider", "model", "maxTokens", "reasoningEffort")


async def _follow(calls: Calls, events: DshEvents, turn: PeerTurn) -> Reason:
    """Record what dsh tells until it rests behind the end of the turn."""
    reason: Reason | None = None
    while True:
        news = await calls.news()
        if news.params.get("sessionId") != events.session:
            continue  # a subagent's, which dsh keeps itself
        if news.method == "session.event":
            reason = await events.take(news.params.get("event"), turn) or reason
        elif news.params.get("status") == "idle" and reason is not None:
            return reason


def route_of(provider: str | None, model: str | None) -> dict[str, str | None]:
    """Read what was typed: a model may name its provider, and one of dsh's needs none."""
    if provider is None and model is not None and "/" in model:
        provider, _, model = model.partition("/")
    if provider == "deepseek":  # what dshloop calls it
        provider = ROUTE["provider"]
    return {"provider": provider, "model": model}


def _in_wheel() -> Program | None:
    """Find the program that the wheel deepseek-harness-runtime-bin brings."""
    from importlib.util import find_spec

    spec = find_spec(_WHEEL)
    for folder in spec.submodule_search_locations or () if spec is not None else ():
        runtime = Path(folder) / "runtime"
        for path in sorted(runtime.glob("deepseek-harness-sdk-runtime-*")):
            if path.is_file() and _RUNTIME.fullmatch(path.name):
                return Program(NAME, path, runtime)
    return None


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version)[:3])
