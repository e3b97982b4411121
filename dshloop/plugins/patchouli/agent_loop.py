"""The row `dsh-patchouli-agent-loop`: hooks of the agent loop become memory calls (patchouli 3-6).

It stores nothing, ranks nothing and writes no prompts.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dshloop.host.abort import AbortSignal
from dshloop.host.mount import Mount
from dshloop.lossless_json import NotLossless, snapshot
from dshloop.plugins.memory_place import SERVICE as PLACE
from dshloop.plugins.memory_place import MemoryPlace
from dshloop.plugins.patchouli import observed, points
from dshloop.plugins.patchouli.durable import SERVICE as PERSISTENCE
from dshloop.plugins.patchouli.loop_config import LoopConfig, read_loop_config
from dshloop.plugins.patchouli.model_tools import retrieve_tool, update_tool
from dshloop.plugins.patchouli.points import Request, Seen
from dshloop.plugins.patchouli.queues import Queues
from dshloop.plugins.patchouli.recall import PLUGIN
from dshloop.plugins.patchouli.recalling import Recalls
from dshloop.plugins.patchouli.service import SERVICE, MemoryService
from dshloop.plugins.patchouli.turn_capture import TurnCapture
from dshloop.plugins.patchouli.turn_delivery import FAILED, TurnDelivery

if TYPE_CHECKING:
    from dshloop.host.agent import Agent
    from dshloop.host.tools import Execution, ToolResult
    from dshloop.sessions.session import Session

Following = Callable[[], Awaitable[Any]]
NOT_LOSSLESS = "agent-loop observation must be lossless JSON"


class AgentLoop:
    """Observes the points that are switched on, and offers the two model tools."""

    name = PLUGIN
    inject = ("agents", "sessions", "tools", SERVICE)
    Config = staticmethod(read_loop_config)

    async def apply(self, host: Mount, config: LoopConfig) -> None:
        """Listen; all ends with the row, after what is queued."""
        adapter = Adapter(host, config)
        host.undo(adapter.dispose)
        adapter.listen()
        adapter.start()


class Adapter:
    """One running row: its queues, its lifetime and what each session has injected."""

    def __init__(self, host: Mount, config: LoopConfig) -> None:
        self._host, self._config = host, config
        self._memory: MemoryService = host.service(SERVICE)
        self._lifetime = AbortSignal()
        self._queues = Queues(self._lifetime, lambda error: self._warn(f"patchouli: {error}"))
        self._recalls = Recalls(self._memory, config, self._warn)
        self._skipped: set[str] = set()
        place: MemoryPlace | None = host.service(PLACE)
        self._delivery = TurnDelivery(
            self._memory,
            self._lifetime,
            self._warn,
            outboxes=None if place is None else place.outbox,
            persistence=host.service(PERSISTENCE),
            thinning=config.thinning,
        )
        self._turns = TurnCapture(self._delivery, host.host.hooks, self._lifetime, self._warn)

    @property
    def _patience(self) -> float | None:
        limit = self._config.flush_timeout_ms
        return limit / 1000 if limit else None

    def listen(self) -> None:
        """Register what the config switches on."""
        on, retrieve, store = self._host.on, self._config.retrieve, self._config.store
        for name, event, listener, switches in (
            ("sessionStart", "agent/session-start", self.session_start, retrieve),
            ("preStep", "agent/pre-step", self.pre_step, retrieve),
            ("turnStopping", "agent/turn-stopping", self.turn_stopping, retrieve),
            ("toolPostExecute", "tools/post-execute", self.post_execute, retrieve),
            ("agentCreated", "agent/created", self.created, store),
            ("agentDisposed", "agent/disposed", self.disposed, store),
            ("requestError", "agent/request-error", self.request_error, store),
            ("agentError", "agent/error", self.agent_error, store),
            ("turnEnd", "session/event", self.session_event, store),
            ("toolResult", "tools/result", self.tool_result, store),
        ):
            if name in switches:
                on(event, listener)
        if store:
            on("session/flush", self.flush)
        on("session/disposed", lambda session: self._recalls.forget(session.header.id))
        if "retrieve" in self._config.tools:
            self._host.tool(retrieve_tool(self._memory))
        if "update" in self._config.tools:
            self._host.tool(update_tool(self._memory))

    def start(self) -> None:
        """Deliver what earlier processes left."""
        if "turnEnd" in self._config.store:
            self._queues.aside(self._delivery.keep_trying())

    async def dispose(self) -> None:
        """Take nothing more, and wait for what runs, as long as memory may hold things up."""
        self._lifetime.abort({"kind": "disposed", "message": f"{PLUGIN} disposed"})
        left = await self._queues.drain(self._patience)
        if left:
            self._warn(f"memory was busy for too long: {left} of its calls were left behind")
        self._delivery.close()

    # --- retrieving ----------------------------------------------------------------------------

    def session_start(self, event: Mapping[str, Any]) -> None:
        """Recall in the background for a session that begins."""
        agent: Agent = event["agent"]
        request = self._request(points.SESSION_START, agent, source=event["source"])
        if request is not None:
            self._queues.aside(self._start_recalled(agent, request))

    async def _start_recalled(self, agent: Agent, request: Request) -> None:
        message = await self._recalls.message(
            points.SESSION_START, agent.id, request, self._lifetime
        )
        if message is not None and not self._lifetime.aborted:
            agent.inject(message)

    async def pre_step(self, event: Mapping[str, Any], following: Following) -> Any:
        """Recall for the messages that will enter, and have the recall enter with them."""
        decision = await following()
        signal: AbortSignal | None = event.get("signal")
        if decision["kind"] != "enter" or _is_aborted(signal):
            return decision
        agent, turn, step = event["agent"], event["turn"], event["step"]
        messages = list(decision["messages"])
        request = self._request(
            points.PRE_STEP, agent, extra={"turn": turn, "step": step},
            turn=turn, step=step, messages=messages,
        )  # fmt: skip
        message = await self._recalls.message(points.PRE_STEP, agent.id, request, signal, turn)
        if message is None or (self._config.first_step_only and step > 1):
            return decision
        return {**decision, "messages": [*messages, message]}

    async def turn_stopping(self, event: Mapping[str, Any]) -> None:
        """Recall for a turn that is about to end; what is new makes another step."""
        agent, turn = event["agent"], event["turn"]
        events = points.turn_events(agent.session.events, turn)
        request = self._request(
            points.TURN_STOPPING, agent, events, extra={"turn": turn}, turn=turn
        )
        message = await self._recalls.message(
            points.TURN_STOPPING, agent.id, request, event.get("signal"), turn
        )
        if message is not None:
            agent.inject(message)

    async def post_execute(
        self, execution: Execution, result: ToolResult, following: Following
    ) -> Any:
        """Recall for what a tool answered."""
        decision = await following()
        agent: Agent | None = execution.agent
        if agent is None or _is_aborted(execution.signal):
            return decision
        request = self._request(
            points.POST_EXECUTE,
            agent,
            execution=observed.execution_value(execution),
            result=observed.result_value(result),
            decision=dict(decision),
        )
        turn = getattr(execution, "turn", None)
        message = await self._recalls.message(
            points.POST_EXECUTE, agent.id, request, execution.signal, turn
        )
        if message is None:
            return decision
        contexts = [*(decision.get("additionalContexts") or ()), message]
        return {**decision, "additionalContexts": contexts}

    # --- storing -------------------------------------------------------------------------------

    def created(self, event: Mapping[str, Any]) -> None:
        """Tell memory of a new agent."""
        self._store(points.CREATED, event["agent"])

    def disposed(self, event: Mapping[str, Any]) -> None:
        """Tell memory of an agent's end."""
        self._store(points.DISPOSED, event["agent"])

    async def request_error(self, event: Mapping[str, Any], following: Following) -> Any:
        """Tell memory of a failed request; what becomes of it is others' to say."""
        names = ("turn", "step", "provider", "failure", "retryPolicy")
        more = {name: event[name] for name in names if name in event}
        extra = {"turn": event["turn"], "step": event["step"]}
        self._store(points.REQUEST_ERROR, event["agent"], extra, **more)
        return await following()

    def agent_error(self, event: Mapping[str, Any]) -> None:
        """Tell memory of what ended a turn."""
        place = {"turn": event["turn"], "step": event["step"]}
        error = observed.error_value(event.get("error", observed.UNDEFINED))
        self._store(points.AGENT_ERROR, event["agent"], place, **place, error=error)

    def tool_result(self, execution: Execution, result: ToolResult) -> None:
        """Tell memory of a tool's final result."""
        agent: Agent | None = execution.agent
        if agent is not None:
            call = observed.execution_value(execution)
            answer = observed.result_value(result)
            self._store(points.TOOL_RESULT, agent, execution=call, result=answer)

    def session_event(self, session: Session, event: Mapping[str, Any]) -> None:
        """Take a turn that has ended; it is delivered when it is durable."""
        if event["type"] != "turn/end":
            return
        session_id = session.header.id
        agent = self._host.host.agents.get(session_id)
        value = observed.absent_agent(session_id) if agent is None else observed.agent_value(agent)
        try:
            shown = snapshot(value)
        except NotLossless as fault:
            self._warn(FAILED.format(self._said(fault)))
            return
        self._queues.add(session_id, lambda: self._turns.capture(session, event, shown))

    async def flush(self, session: Session) -> None:
        """Have a flush wait for what the session has queued, as long as memory may hold it up."""
        session_id = session.header.id
        if self._turns.flushes(session_id):
            return
        if not await self._queues.settled(session_id, self._patience):
            limit = self._config.flush_timeout_ms
            self._warn(
                f"memory held up session {session_id} for {limit:g} ms; the rest goes on beside it"
            )

    def _store(
        self, point: str, agent: Agent, extra: Mapping[str, Any] | None = None, **more: Any
    ) -> None:
        request = self._request(point, agent, extra=extra, **more)
        if request is not None:
            self._queues.add(agent.id, lambda: self._update(point, request))

    async def _update(self, point: str, request: Request) -> None:
        try:
            outcomes = await self._memory.update(request, signal=self._lifetime)
        except Exception as error:
            self._warn(f"patchouli update at {point} failed: {error}")
            return
        self._delivery.told(outcomes)

    # --- both ----------------------------------------------------------------------------------

    def _request(
        self,
        point: str,
        agent: Agent,
        events: Sequence[Mapping[str, Any]] | None = None,
        extra: Mapping[str, Any] | None = None,
        **more: Any,
    ) -> Request | None:
        """Make a request; None for an observation that JSON would change, told once a session.

        Raises TypeError for it where the row is ``strict``.
        """
        seen: Seen = observed.seen(agent)
        try:
            return points.request(point, seen, events, extra, **more)
        except NotLossless as fault:
            if self._config.strict:
                raise TypeError(NOT_LOSSLESS) from fault
            if agent.id not in self._skipped:
                self._skipped.add(agent.id)
                self._warn(
                    f"memory skips {point} in session {agent.id}: /data{fault.pointer} is not "
                    f"lossless JSON ({fault.reason})"
                )
            return None

    def _said(self, fault: NotLossless) -> str:
        return NOT_LOSSLESS if self._config.strict else f"{NOT_LOSSLESS} (the agent's {fault})"

    def _warn(self, text: str) -> None:
        self._host.host.warn(text)


def _is_aborted(signal: AbortSignal | None) -> bool:
    return signal is not None and signal.aborted
