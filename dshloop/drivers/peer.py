"""Agents whose turns another program runs: our host and log around them, its steps within.

What a listener can do is what `carries` of the driver says: the program has its own prompt and
its own tools.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from dshloop.drivers.process import GRACE
from dshloop.drivers.settings import EngineSettings, settings_of
from dshloop.errors import DshloopError
from dshloop.host.abort import AbortSignal
from dshloop.host.agent import Agent, AgentOptions
from dshloop.host.engine import AgentHandle, CreateOptions, Engine, ResumeOptions
from dshloop.host.host import Host
from dshloop.host.turn import Reason, Turn, open_turn
from dshloop.llm.messages import Message, failure
from dshloop.sessions.session import Session
from dshloop.transcripts.closers import Progress, lost_result
from dshloop.transcripts.vocabulary import V0, Event


class Link(Protocol):
    """One agent's connection to its engine; the program is started when it is first asked."""

    async def ask(self, turn: PeerTurn) -> Reason:
        """Have one turn made and record it; gives the reason for its end."""
        ...

    async def stop(self) -> None:
        """Have the turn that is being made end soon."""
        ...

    async def close(self) -> None:
        """Let go of the program."""
        ...


class Peer(Protocol):
    """A kind of engine."""

    name: str

    async def require(self, settings: EngineSettings) -> None:
        """See that the program can run here. Raises ENGINE_MISSING and ENGINE_VERSION."""
        ...

    def link(self, agent: PeerAgent, settings: EngineSettings) -> Link:
        """Make the connection of an agent; nothing is started."""
        ...


@dataclass(frozen=True, slots=True)
class PeerEngine:
    """Makes agents whose turns are run by a peer."""

    peer: Peer

    async def create_agent(self, owner: Host, options: CreateOptions) -> AgentHandle:
        """Make an agent with a new session; raises like `Engine`, and like `Peer.require`."""
        await self.peer.require(settings_of(owner))
        return await _PeerAgents(peer=self.peer).create_agent(owner, options)

    async def resume(self, owner: Host, options: ResumeOptions) -> AgentHandle:
        """Make an agent that goes on with a stored session; raises like `create_agent`."""
        await self.peer.require(settings_of(owner))
        return await _PeerAgents(peer=self.peer).resume(owner, options)


@dataclass(frozen=True, slots=True)
class _PeerAgents(Engine):
    peer: Peer | None = None

    def make_agent(self, session: Session, options: AgentOptions, owner: Host) -> Agent:
        """Make an agent that is linked to the peer."""
        assert self.peer is not None
        return PeerAgent(session, options, owner, self.peer)


class PeerAgent(Agent):
    """An agent whose turns are made elsewhere."""

    def __init__(self, session: Session, options: AgentOptions, owner: Host, peer: Peer) -> None:
        super().__init__(session, options, owner.adapters, owner)
        self.driver = peer.name
        self.owner = owner
        self.link = peer.link(self, settings_of(owner))
        self.undo(self.link.close)

    def begin_turn(self, signal: AbortSignal) -> Turn:
        """Start a turn that the peer makes."""
        self._tell_of_tools()
        return PeerTurn(self, signal, *open_turn(self))

    @property
    def peer_session(self) -> str | None:
        """The engine's own id of this session, as far as it has one.

        A copy of a session has none: what the engine keeps belongs to the original.
        """
        engine = self.latest.get("request/context", {}).get("engine")
        if not isinstance(engine, Mapping) or engine.get("driver") != self.driver:
            return None
        session = engine.get("session")
        return session if engine.get("of") == self.id and isinstance(session, str) else None

    def note_session(self, session: str, route: Mapping[str, Any]) -> None:
        """Record the engine's own id of this session beside the model that it asks."""
        engine = {"driver": self.driver, "session": session, "of": self.id}
        known = self.latest.get("request/context", {})
        context = {**route, "engine": engine}
        if {**known, **context} != known:
            self.append("request/context", context)

    def _tell_of_tools(self) -> None:
        """Say which tools of rows and presets stay unknown to the engine, which has its own."""
        names = [tool.name for tool in self.tools.offered]
        if names:
            self.owner.warn(f"{self.driver} has tools of its own, and not {', '.join(names)}")

    def tell_of_lost_turns(self) -> None:
        """Say so when the engine begins anew on a session that has turns already."""
        if any(event["type"] == "assistant/message" for event in self.session.events):
            self.owner.warn(
                f'{self.driver} begins anew: it has not seen the earlier turns of "{self.id}"'
            )


@dataclass(slots=True)
class PeerTurn(Turn):
    """A turn that a peer makes; what it tells goes into the log through here."""

    asked: Sequence[Message] = ()
    said: int = 0  # seq of the last of them
    progress: Progress = field(default_factory=Progress)

    async def _steps(self) -> Reason:
        messages = await self._enter()
        if messages is None and not self.signal.aborted:
            self.agent.inbox.park()
            return {"kind": "blocked"}
        if not messages or self.signal.aborted:
            return self._aborted() or {"kind": "completed"}
        self.asked = messages
        self.progress.turn = self.number
        stop_watching = self.agent.listen(self.progress.see)
        try:
            await self.begin_step()  # so that what was said is in the log, whatever comes of it
            return await self._answered()
        finally:
            stop_watching()

    async def _answered(self) -> Reason:
        link = self.peer_agent.link
        asking = asyncio.ensure_future(link.ask(self))
        try:
            reason = await self._unless_aborted(link, asking)
        except DshloopError as fault:
            reason = self._aborted() or self._failed(as_failure(fault))
        finally:
            asking.cancel()
            await asyncio.wait({asking})
        self.close_step()
        return self._aborted() or reason

    async def _unless_aborted(self, link: Link, asking: asyncio.Future[Reason]) -> Reason:
        """Wait for the turn; after an abort only for the text that is on its way."""
        stopped: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        def stop() -> None:
            if not stopped.done():
                stopped.set_result(None)

        self.signal.on_abort(stop)
        try:
            either: set[asyncio.Future[Any]] = {asking, stopped}
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
            if not asking.done():
                await link.stop()
                await asyncio.wait({asking}, timeout=GRACE)
        finally:
            self.signal.forget(stop)
            stop()
        if not asking.done():
            await link.close()
            return {"kind": "completed"}  # it is the abort that counts
        return asking.result()

    @property
    def peer_agent(self) -> PeerAgent:
        """The agent, as what it is."""
        assert isinstance(self.agent, PeerAgent)
        return self.agent

    # --- what the peer tells -------------------------------------------------------------------

    @property
    def place(self) -> dict[str, int]:
        """Turn and step, as events name them."""
        return {"turn": self.number, "step": self.step}

    async def begin_step(self) -> None:
        """Record that a step begins; the first one begins with what was said.

        Listeners on agent/pre-step are told of later ones, too; their refusal aborts the turn.
        """
        if self.step:
            self.batch = ()
            if await self._enter() is None:
                self.agent.cancel({"kind": "hook", "reason": _REJECTED}, keep_inbox=True)
        self.step += 1
        self.agent.append("step/start", self.place)
        self.open = True
        for message in self.asked if self.step == 1 else ():
            self.said = self.agent.append("user/message", message)["seq"]

    def record(self, kind: str, data: Any, **more: Any) -> Event:
        """Append an event of the turn."""
        return self.agent.append(kind, data, **more)

    def close_step(self) -> None:
        """End the step that is open, if one is, and answer its calls that have no result."""
        if not self.open:
            return
        for call in [one for one in self.progress.asked if one not in self.progress.answered]:
            lost = lost_result(self.progress, call, self.progress.seq + 1, V0)
            sources = lost.get("sourceEventSeqs")
            self.agent.append("tool/result", lost["data"], sources=sources)
        self._end_step()


_REJECTED = "a listener on agent/pre-step rejected the step"


def prompt_of(messages: Sequence[Message]) -> list[dict[str, Any]]:
    """Give the texts of messages as the blocks that SDK and ACP take."""
    found = []
    for message in messages:
        for block in message.get("content") or ():
            if isinstance(block, Mapping) and block.get("type") == "text":
                found.append({"type": "text", "text": block["text"]})
    return found


def as_failure(fault: DshloopError) -> dict[str, Any]:
    """Give an error as logs hold the failure of a turn."""
    return {**failure(fault.message, fault.code), "details": dict(fault.details)}
