"""The row `dsh-agentmemory`: sessions become memory, memory comes before the model."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dshloop.errors import BridgeUnreachableError, DshloopError
from dshloop.host.mount import Mount
from dshloop.llm.messages import user_message
from dshloop.memory.outbox import Outbox, Policy
from dshloop.plugins.agentmemory.config import LOCAL, BridgeConfig, read_bridge_config
from dshloop.plugins.agentmemory.courier import Courier
from dshloop.plugins.agentmemory.desk import CREATED, DISPOSED, HAPPENED, Post, Work
from dshloop.plugins.agentmemory.secret import ROW, Secret, resolve
from dshloop.plugins.agentmemory.windows import source
from dshloop.plugins.memory_place import SERVICE, MemoryPlace

if TYPE_CHECKING:
    from dshloop.http.peer import Peer
    from dshloop.plugins.agentmemory.homes import Home
    from dshloop.sessions.session import Session
    from dshloop.transcripts.vocabulary import Event

AGENT = "AGENT_ID"
PREFIX = "[agentmemory]"
LEFT = (
    "{} calls wait in the outbox and go with the next session, or now: dshloop memory outbox flush"
)

POLICY = Policy()
"""How much an outbox keeps, and for how long: 20,000 entries of 256 MB, see docs/agentmemory.md."""

Following = Callable[[], Awaitable[Any]]
Say = Callable[[str], object]


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
        agent = variables.get(AGENT, "").strip() or config.agent_id
        say = _told_in(asyncio.get_running_loop(), host.host.warn)
        where = await _where(config, secret, variables, place, say)
        bridge = Bridge(host, config, where, agent, variables, say)
        host.undo(bridge.close)
        bridge.listen()
        say(_active(config, where.url))


class Where:
    """A home that answers: how it is opened, and where outbox entries for it go."""

    def __init__(self, url: str, target: Mapping[str, Any], open_home: Callable[[], Home]) -> None:
        self.url, self.target, self.open_home = url, target, open_home

    @property
    def outbox(self) -> str:
        """The name of its outbox."""
        return f"agentmemory:{self.url}"


async def _where(
    config: BridgeConfig,
    secret: Secret,
    variables: Mapping[str, str],
    place: MemoryPlace | None,
    say: Say,
) -> Where:
    """Choose the home, and see that it is there."""
    from dshloop.plugins.agentmemory.homes import LocalHome, daemon_home

    if config.store == LOCAL:
        if place is None or place.open_store is None:
            raise BridgeUnreachableError(f"{PREFIX} this host has no store of its own", hint="")
        open_store = place.open_store
        return Where(LOCAL, {"store": LOCAL}, lambda: LocalHome(open_store))
    from dshloop.memory.agentmemory_client.address import peer_of

    peer = peer_of(
        config.base_url,
        secret.value,
        seconds=config.timeout,
        allow_insecure_http=config.allow_insecure_http,
    )
    home = daemon_home(peer, variables, config.timeout)
    try:
        await require_alive(home, peer)
    finally:
        await home.close()
    _warn_insecure(peer, say)
    target: dict[str, Any] = {"url": peer.shown}
    target |= {"secret": secret.target} if secret.target else {}
    target |= {"allowInsecureHttp": True} if config.allow_insecure_http else {}
    return Where(peer.shown, target, lambda: daemon_home(peer, variables, config.timeout))


async def require_alive(home: Home, peer: Peer) -> None:
    """See that a daemon is there and well. Raises BRIDGE_UNREACHABLE."""
    from dshloop.memory.agentmemory_client.answers import whole
    from dshloop.memory.agentmemory_client.calls import Call as Request

    try:
        value = await home.value(Request("GET", "/livez", whole))
    except DshloopError as error:
        raise BridgeUnreachableError(
            f"{PREFIX} daemon unreachable at {peer.shown}: {error.message}"[:600], url=peer.shown
        ) from None
    if not isinstance(value, Mapping) or set(value) == {"raw"}:
        said = "returned a malformed livez payload"
    elif value.get("status") != "ok":
        said = "did not report a healthy livez"
    else:
        return
    raise BridgeUnreachableError(f"{PREFIX} daemon at {peer.shown} {said}", url=peer.shown)


def _warn_insecure(peer: Peer, say: Say) -> None:
    from urllib.parse import urlsplit

    from dshloop.http.peer import is_loopback

    parts = urlsplit(peer.url)
    if peer.secrets and parts.scheme == "http" and not is_loopback(parts.hostname or ""):
        say(f"the secret goes unencrypted to {parts.hostname}: use an https address")


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
            await asyncio.sleep(0)
        self._outbox.close()

    # --- what happens --------------------------------------------------------------------------

    def created(self, session: Session) -> None:
        """Take a session that begins."""
        self._courier.hand(Work(CREATED, session))

    def happened(self, session: Session, event: Event) -> None:
        """Take an event."""
        if event["type"] == "turn/start":
            self._patience.renew(session.header.id)
        self._courier.hand(Work(HAPPENED, session, event))

    def disposed(self, session: Session) -> None:
        """Take a session that has ended."""
        self._patience.forget(session.header.id)
        self._courier.hand(Work(DISPOSED, session))

    async def flush(self, session: Session) -> None:
        """Have a flush wait for the session's rows, as long as memory may hold up a turn."""
        session_id = session.header.id
        await self._patience.wait(session_id, self._courier.flush(session_id))
        self._patience.renew(session_id)

    async def pre_step(self, event: Mapping[str, Any], following: Following) -> Any:
        """Put behind the messages of a step what memory has for it."""
        decision = await following()
        signal = event.get("signal")
        if decision["kind"] != "enter" or (signal is not None and signal.aborted):
            return decision
        session, messages = event["agent"].session, list(decision.get("messages") or ())
        ready = self._courier.ready(session, messages)
        window = await self._patience.wait(session.header.id, ready)
        if window is None or (signal is not None and signal.aborted):
            return decision
        told = [user_message(text, source=source(form)) for form, text in window.take()]
        return {**decision, "messages": [*messages, *told]} if told else decision


class Patience:
    """How long memory may still hold up the turn of each session, in seconds."""

    def __init__(self, limit: float) -> None:
        self._limit = limit
        self._left: dict[str, float] = {}

    def renew(self, session_id: str) -> None:
        """A turn begins."""
        self._left[session_id] = self._limit

    def forget(self, session_id: str) -> None:
        """A session has ended."""
        self._left.pop(session_id, None)

    async def wait(self, session_id: str, work: Awaitable[Any]) -> Any:
        """Wait for something as long as may be; None when it takes longer, and goes on beside."""
        left = self._left.get(session_id, self._limit)
        began = time.monotonic()
        try:
            async with asyncio.timeout(left):
                return await work
        except TimeoutError:
            return None
        finally:
            self._left[session_id] = max(0.0, left - (time.monotonic() - began))


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
        if not loop.is_closed():
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
