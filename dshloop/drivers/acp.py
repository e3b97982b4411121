"""The driver `acp`: any agent that speaks the Agent Client Protocol runs the turns.

The protocol is the library's (agent-client-protocol); the process and its lines are ours.
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Awaitable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from dshloop.drivers.acp_client import PermissionClient
from dshloop.drivers.acp_updates import PROVIDER, AcpUpdates
from dshloop.drivers.acp_wire import Wire
from dshloop.drivers.dsh import environment, find_dsh
from dshloop.drivers.peer import Link, PeerAgent, PeerTurn, as_failure, prompt_of
from dshloop.drivers.process import EngineProcess
from dshloop.drivers.settings import EngineSettings
from dshloop.errors import (
    DshloopError,
    EngineAnswerError,
    EngineFailedError,
    EngineMissingError,
    EngineSessionLostError,
    EngineVersionError,
)
from dshloop.host.turn import Reason
from dshloop.llm.messages import failure
from dshloop.redact import redact_text

if TYPE_CHECKING:
    from acp.client.connection import ClientSideConnection

T = TypeVar("T")
NAME = "acp"
GET_IT = "pip install 'dshloop[acp]'"
NAME_IT = (
    "Name the command that starts it: --command 'dsh --profile acp', or "
    "dshloop config set acp.command 'dsh --profile acp'."
)


class Acp:
    """The kind of engine."""

    name = NAME

    async def require(self, settings: EngineSettings) -> None:
        """See that the library and the agent's program are here. Raises ENGINE_MISSING."""
        usable_command(settings)

    def link(self, agent: PeerAgent, settings: EngineSettings) -> Link:
        """Make the connection of an agent."""
        return AcpLink(agent, settings)


def usable_command(settings: EngineSettings) -> list[str]:
    """Give the command that starts the agent, its program with its path. Raises ENGINE_MISSING."""
    if find_spec("acp") is None:
        text = "the library agent-client-protocol is not installed"
        raise EngineMissingError(text, hint=f"Install it: {GET_IT}.", program="acp")
    command = settings.acp_command
    if not command:
        raise EngineMissingError("no ACP agent is set up", hint=NAME_IT, program=None)
    found = shutil.which(command[0], path=settings.variables.get("PATH", ""))
    if found is None and command[0] == "dsh":
        dsh = find_dsh(settings.variables)
        found = None if dsh is None else str(dsh.path)
    if found is None:
        text = f"there is no program {command[0]} to start as the ACP agent"
        raise EngineMissingError(text, hint=NAME_IT, program=command[0])
    return [found, *command[1:]]


class AcpLink:
    """An agent's process; after an abort that it doesn't follow it is ended and started again."""

    def __init__(self, agent: PeerAgent, settings: EngineSettings) -> None:
        self._agent, self._settings = agent, settings
        self._wire: Wire | None = None
        self._connection: ClientSideConnection | None = None
        self._session: str | None = None
        self._client = PermissionClient(agent)
        self._model = "agent"

    async def ask(self, turn: PeerTurn) -> Reason:
        """Have the agent make a turn; raises the ENGINE_ errors."""
        try:
            connection, wire = await self._running()
            session = await self._opened(connection, wire)
        except BaseException:
            await self.close()
            raise
        self._agent.note_session(session, {"provider": PROVIDER, "model": self._model})
        updates = AcpUpdates(turn, self._model)
        self._client.begin(turn, updates)
        wire.begin(session, updates)
        try:
            blocks: Any = prompt_of(turn.asked)
            asking = connection.prompt(session_id=session, prompt=blocks)
            answer = await self._patiently(wire, asking)
            usage = answer.usage
            if turn.signal.aborted:
                updates.break_off(None)
            updates.finish(None if usage is None else _usage(usage))
            return _reason(str(answer.stop_reason))
        except DshloopError as fault:
            updates.break_off(None if turn.signal.aborted else as_failure(fault))
            if not isinstance(fault, EngineFailedError):
                await wire.process.kill()
                await self.close()
            raise
        except BaseException:
            updates.break_off(None)
            raise
        finally:
            wire.end()
            self._client.end()

    async def _running(self) -> tuple[ClientSideConnection, Wire]:
        if self._connection is not None and self._wire is not None:
            return self._connection, self._wire
        from acp import PROTOCOL_VERSION, connect_to_agent
        from acp.schema import Implementation

        from dshloop import __version__

        command = usable_command(self._settings)
        process = await EngineProcess.start(
            Path(command[0]).name,
            command,
            cwd=self._agent.session.header.cwd,
            variables=environment(self._settings),
        )
        self._wire = wire = Wire(process)
        client: Any = self._client
        self._connection = connection = connect_to_agent(client, wire)
        about = Implementation(name="dshloop", version=__version__)
        hello = await self._patiently(
            wire, connection.initialize(protocol_version=PROTOCOL_VERSION, client_info=about)
        )
        if hello.protocol_version != PROTOCOL_VERSION:
            said = f"speaks version {hello.protocol_version} of ACP"
            raise EngineVersionError(
                f"{process.name} {said}, and we speak {PROTOCOL_VERSION}",
                hint="Update the agent, or dshloop.",
                version=hello.protocol_version,
                wanted=PROTOCOL_VERSION,
            )
        self._capabilities = hello.agent_capabilities
        self._model = hello.agent_info.name if hello.agent_info is not None else process.name
        return connection, wire

    async def _opened(self, connection: ClientSideConnection, wire: Wire) -> str:
        """Have the agent's session open: the one that runs, the one recorded, or a new one."""
        if self._session is not None:
            return self._session
        cwd = self._agent.session.header.cwd or str(Path.cwd())
        recorded = self._agent.peer_session
        if recorded is None:
            self._agent.tell_of_lost_turns()
            made = await self._patiently(wire, connection.new_session(cwd=cwd, mcp_servers=[]))
            self._session = made.session_id
            return made.session_id
        can = self._capabilities
        asked: Awaitable[Any]
        if can is not None and getattr(can.session_capabilities, "resume", None) is not None:
            asked = connection.resume_session(session_id=recorded, cwd=cwd, mcp_servers=[])
        elif can is not None and can.load_session:
            asked = connection.load_session(session_id=recorded, cwd=cwd, mcp_servers=[])
        else:
            text = f"{self._model} can't go on with a session of an earlier process"
            raise EngineSessionLostError(text, session=recorded)
        try:
            await self._patiently(wire, asked)
        except EngineFailedError as fault:
            text = f"{self._model} can't go on with its session {recorded}: {fault.message}"
            raise EngineSessionLostError(text, **fault.details) from fault
        self._session = recorded
        return recorded

    async def _patiently(self, wire: Wire, asked: Awaitable[T]) -> T:
        """Wait for an answer as long as the agent lives and says anything, or we are asked.

        Raises ENGINE_FAILED, ENGINE_DIED, ENGINE_SILENT and ENGINE_ANSWER.
        """
        asking = asyncio.ensure_future(asked)
        begun = asyncio.get_running_loop().time()
        try:
            while not asking.done():
                now = asyncio.get_running_loop().time()
                if self._client.answering:
                    begun = now
                heard = max(wire.process.heard, self._client.answered, begun)
                left = heard + self._settings.patience - now
                if left <= 0:
                    fault = wire.process.silent(self._settings.patience)
                    await wire.process.kill()
                    raise fault
                await asyncio.wait({asking}, timeout=left)
            return await _answer(asking, wire)
        finally:
            asking.cancel()

    async def stop(self) -> None:
        """Ask the agent to leave the turn."""
        if self._connection is not None and self._session is not None:
            try:
                await self._connection.cancel(session_id=self._session)
            except (ConnectionError, DshloopError):
                pass  # it has ended: whoever waits for its answer is told

    async def close(self) -> None:
        """End the process, if there is one."""
        wire, connection = self._wire, self._connection
        self._wire = self._connection = self._session = None
        if wire is not None:
            await wire.process.end()
        if connection is not None:
            await connection.close()


async def _answer(asking: asyncio.Future[T], wire: Wire) -> T:
    """Give an answer, or our error for what the library raises."""
    from acp import RequestError
    from pydantic import ValidationError

    name = wire.process.name
    try:
        return asking.result()
    except RequestError as fault:
        text = f"{name}: {redact_text(str(fault))}"
        words = wire.process.last_words
        raise EngineFailedError(text, rpc_code=fault.code, words=words) from fault
    except ValidationError as fault:
        first = fault.errors()[0]
        where = ".".join(map(str, first["loc"]))
        text = f"{name} gave an answer that is none of ACP: {where}: {first['msg']}"
        raise EngineAnswerError(text, words=wire.process.last_words) from fault
    except ConnectionError as fault:
        if wire.fault is not None:
            raise wire.fault from fault
        raise await wire.process.died() from fault


def _reason(stop: str) -> Reason:
    if stop == "end_turn":
        return {"kind": "completed"}
    if stop == "max_tokens":
        return {"kind": "max-tokens"}
    said, code = _STOPS.get(stop, (f"the agent stopped: {stop}", "ENGINE_ANSWER"))
    return {"kind": "error", "error": failure(said, code)}


_STOPS = {
    "max_turn_requests": ("the agent used up its requests of a turn", "MAX_TURN_REQUESTS"),
    "refusal": ("the agent refuses to go on", "REFUSAL"),
    "cancelled": ("the agent gave the turn up", "ABORTED"),
}


def _usage(usage: Any) -> dict[str, int]:
    """Give the counts of a turn as logs hold them."""
    counts: Mapping[str, int | None] = {
        "inputTokens": usage.input_tokens,
        "outputTokens": usage.output_tokens,
        "cacheReadTokens": usage.cached_read_tokens,
        "cacheWriteTokens": usage.cached_write_tokens,
        "reasoningTokens": usage.thought_tokens,
    }
    return {name: count for name, count in counts.items() if count is not None}
