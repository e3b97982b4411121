"""The row `dsh-agentmemory`: sessions become memory, memory comes before the model."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from dshloop.host.mount import Mount
from dshloop.llm.messages import user_message
from dshloop.memory.outbox import Outbox, Policy
from dshloop.plugins.agentmemory.config import BridgeConfig, agent_of, read_bridge_config
from dshloop.plugins.agentmemory.courier import Courier
from dshloop.plugins.agentmemory.desk import CREATED, DISPOSED, HAPPENED, Post, Work
from dshloop.plugins.agentmemory.patience import Patience
from dshloop.plugins.agentmemory.secret import ROW, resolve
from dshloop.plugins.agentmemory.where import PREFIX, Say, Where, find_home
from dshloop.plugins.agentmemory.windows import source
from dshloop.plugins.memory_place import SERVICE, MemoryPlace

if TYPE_CHECKING:
    from dshloop.sessions.session import Session
    from dshloop.transcripts.vocabulary import Event

LEFT = (
    "{} calls wait in the outbox and go with the next session, or now: dshloop memory outbox flush"
)
LOST = "{} calls are lost: the outbox can't be written"

POLICY = Policy()
"""How much an outbox keeps, and for how long: 20,000 entries of 256 MB, see docs/agentmemory.md."""

Following = Callable[[], Awaitable[Any]]
T = TypeVar("T")


class Agentmemory:
    """Bridges the sessions of a host to a daemon, or with ``store: local`` to our own store."""

    name = ROW
    inject = ("tools",)
    Config = staticmethod(read_bridge_config)

    async def apply(self, host: Mount, config: BridgeConfig) -> None:
        """Look that the daemon is there, then listen and offer the tools.

        Raises BRIDGE_SECRET, BRIDGE_UNREACHABLE, PEER_CONFIG, INSECURE_HTTP; nothing is registered
        then.
        """
        place: MemoryPlace | None = host.service(SERVICE)
        variables = os.environ if place is None else place.variables
        secret = resolve(config.secret, variables)
        config = replace(config, secret=secret.value)
        agent = agent_of(config, variables)
        say = _told_in(asyncio.get_running_loop(), host.host.warn)
        where = await find_home(config, secret, variables, place, say)
        bridge = Bridge(host, config, where, agent, variables, say)
        host.undo(bridge.close)
        bridge.listen()
        say(_active(config, where.url))


class Bridge:
    """One running row: what it listens to, and its courier."""

    def __init__(
        self,
        host: Mount,
        config: BridgeConfig,
        where: Where,
        agent: str,
        variables: Mapping[str, str],
        say: Say,
    ) -> None:
        self._host, self._config, self._say = host, config, say
        self._agent, self._variables = agent, variables
        place: MemoryPlace | None = host.service(SERVICE)
        folder = _folder(host) if place is None else place.outbox
        self._outbox = Outbox(folder, where.outbox, policy=POLICY)
        post = Post(config, agent, variables, self._outbox, where.target, where.open_home, say)
        self._courier = Courier(post)
        self._patience = Patience(config.timeout)

    def listen(self) -> None:
        """Register what the config switches on."""
        self._courier.start()
        on, config = self._host.on, self._config
        if config.enabled:
            on("session/created", self.created)
            on("session/event", self.happened)
            on("session/disposed", self.disposed)
        if config.writes:
            on("session/flush", self.flush)
        if config.recalls or config.searches:
            on("agent/pre-step", self.pre_step)
        if config.enable_tools:
            from dshloop.plugins.agentmemory.tools import ModelTools

            tools = ModelTools(self._courier.value, config, self._agent, self._variables)
            for tool in tools.offered:
                self._host.tool(tool)

    async def close(self) -> None:
        """Try a last time to deliver, as long as one request may take, and end."""
        if self._host.agent is not None:  # a row of one agent goes before its session is disposed
            self.disposed(self._host.agent.session)
        left = await self._courier.close(self._config.timeout)
        if left:
            self._say(LEFT.format(left))
        if self._courier.lost:
            self._say(LOST.format(self._courier.lost))
        await asyncio.sleep(0)
        self._outbox.close()

    # --- what happens --------------------------------------------------------------------------

    def created(self, session: Session) -> None:
        """Take a session that begins."""
        self._courier.hand(Work(CREATED, session))

    def happened(self, session: Session, event: Event) -> None:
        """Take an event."""
        kind = event["type"]
        if kind == "assistant/chunk" and "seq" in event:
            return  # the next event's seq counts it, and a stream of them would wake the thread
        if kind == "turn/start":
            self._patience.renew(session.header.id)
        self._courier.hand(Work(HAPPENED, session, event))

    def disposed(self, session: Session) -> None:
        """Take a session that has ended."""
        self._patience.forget(session.header.id)
        self._courier.hand(Work(DISPOSED, session))

    async def flush(self, session: Session) -> None:
        """Have a flush wait for the session's rows, as long as memory may hold up a turn."""
        session_id = session.header.id
        await self._waited(session_id, self._courier.flush(session_id))
        self._patience.renew(session_id)

    async def pre_step(self, event: Mapping[str, Any], following: Following) -> Any:
        """Put behind the messages of a step what memory has for it."""
        decision = await following()
        signal = event.get("signal")
        if decision["kind"] != "enter" or (signal is not None and signal.aborted):
            return decision
        session, messages = event["agent"].session, list(decision.get("messages") or ())
        window = await self._waited(session.header.id, self._courier.ready(session, messages))
        if window is None or (signal is not None and signal.aborted):
            return decision
        told = [user_message(text, source=source(form)) for form, text in window.take()]
        return {**decision, "messages": [*messages, *told]} if told else decision

    async def _waited(self, session_id: str, work: Awaitable[T]) -> T | None:
        """Wait as long as may be; what fails in it is told, and never the turn's failure."""
        try:
            return await self._patience.wait(session_id, work)
        except Exception as error:
            self._say(f"memory failed session {session_id}: {error!r}")
            return None


def _folder(host: Mount) -> Path:
    """Make a folder for the outbox of a host without one; it goes with the row."""
    from tempfile import TemporaryDirectory

    folder = TemporaryDirectory(prefix="dshloop-outbox-")
    host.undo(folder.cleanup)
    return Path(folder.name)


def _told_in(loop: asyncio.AbstractEventLoop, warn: Say) -> Say:
    """Give what tells a person something from any thread; the host tells the same only once."""

    def say(text: str) -> None:
        line = text if text.startswith(PREFIX) else f"{PREFIX} {text}"
        with suppress(RuntimeError):  # the loop has ended, and whom it would have been told to
            loop.call_soon_threadsafe(warn, line)

    return say


def _active(config: BridgeConfig, url: str) -> str:
    shown: Sequence[tuple[str, bool]] = (
        ("enabled", config.enabled),
        ("tools", config.enable_tools),
        ("injectContext", config.inject_context),
        ("injectSemantic", config.inject_semantic),
    )
    said = ", ".join(f"{name}={str(value).lower()}" for name, value in shown)
    return f"bridge active: {url} ({said})"
