"""An agent: a session, an inbox and the task that works it off (dsh-sessions 10)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from dshloop.host.abort import DISPOSED, USER, AbortSignal, Cause
from dshloop.host.approval import SERVICE as APPROVAL
from dshloop.host.approval import Approval
from dshloop.host.calling import call
from dshloop.host.chunks import require_chunk
from dshloop.host.hooks import Hooks
from dshloop.host.inbox import Inbox, Target
from dshloop.host.prompt import SystemPrompt
from dshloop.host.tools import Tools
from dshloop.llm.messages import Attachments, Message, ModelAdapter
from dshloop.sessions.session import Session
from dshloop.sessions.surface import Surface
from dshloop.transcripts.vocabulary import Event

if TYPE_CHECKING:
    from dshloop.host.host import Host
    from dshloop.host.turn import Turn

Listener = Callable[[Event], object]
Status = Literal["idle", "running"]
T = TypeVar("T")

ATTACHMENTS = "attachments"
"""The service that keeps what is attached to messages."""

_REMEMBERED = frozenset({"turn/start", "request/header", "request/context"})


@dataclass(frozen=True, slots=True)
class AgentOptions:
    """Which model an agent asks, and with what system prompt; ``seed`` is for one that takes it."""

    provider: str | None = None
    model: str | None = None
    max_tokens: int | None = None
    reasoning_effort: str | None = None
    system: str | None = "You are an agent that works for the person in front of this terminal."
    seed: int | None = None


class Agent:
    """A conversation that is alive. All methods belong to the event loop it was made in.

    Until `publish`, what it appends is only kept if something follows. ``hooks``, ``tools`` and
    ``prompt`` are its own on top of the host's; they end with it. ``max_parallel`` is how many
    tools of one message may run at once.
    """

    def __init__(
        self,
        session: Session,
        options: AgentOptions,
        adapters: Mapping[str, ModelAdapter],
        host: Host | None = None,
        *,
        max_parallel: int = 10,
    ) -> None:
        self.session = session
        self.options = options
        self.adapters = adapters
        self.max_parallel = max_parallel
        self.hooks = Hooks() if host is None else host.hooks.scope()
        self.tools = Tools() if host is None else host.tools.scope()
        self.prompt = SystemPrompt() if host is None else host.prompt.scope()
        self._host = host
        self.inbox = Inbox(self.append)
        self.inbox.restore(session.events)
        self.surface = Surface()
        self.latest: dict[str, dict[str, Any]] = {}  # data of the newest event of some types
        for event in session.events:
            self._remember(event)
        self.status: Status = "idle"
        self.requests = 0  # made in this life
        self.fault: Exception | None = None  # what broke the last turn: a log that can't be written
        self.log_fault: Exception | None = None  # what the log raised last, never a listener
        self._published = False
        self._maintenance = asyncio.Lock()
        self._maintained = False
        self._disposed = False
        self._listeners: list[Listener] = []
        self._idle_callbacks: list[Callable[[], object]] = []
        self._undo: list[Callable[[], Any]] = []
        self._ending: list[Callable[[], Awaitable[None]]] = []
        self._signal: AbortSignal | None = None
        self._task: asyncio.Task[None] | None = None

    @property
    def id(self) -> str:
        """The session's id."""
        return self.session.header.id

    def publish(self) -> None:
        """Say that the agent is set up: from now on its events are written as they come."""
        self._published = True

    def append(
        self,
        kind: str,
        data: Any,
        *,
        surface_op: str | Mapping[str, Any] | None = None,
        sources: Sequence[int] | None = None,
    ) -> Event:
        """Record one event of this agent and tell the listeners.

        Raises ValueError (ChunkError) or TypeError for what a log can't hold; nothing is recorded
        then, and the log is as good as before.
        """
        if kind == "assistant/chunk":
            require_chunk(data.get("chunk") if isinstance(data, Mapping) else None)
        try:
            event = self.session.append(
                kind, data, surface_op=surface_op, sources=sources, later=not self._published
            )
        except (TypeError, ValueError, RecursionError):  # the data's fault
            raise
        except Exception as error:
            self.log_fault = error
            raise
        self._remember(event)
        for listener in list(self._listeners):
            listener(event)
        if self._published:
            self.hooks.emit("session/event", self.session, event)
        return event

    def _remember(self, event: Event) -> None:
        self.surface.see(event)
        if event["type"] in _REMEMBERED and isinstance(event["data"], dict):
            self.latest[event["type"]] = event["data"]

    def listen(self, listener: Listener) -> Callable[[], None]:
        """Have every new event given to ``listener``; call what comes back to end that."""
        self._listeners.append(listener)

        def stop() -> None:
            if listener in self._listeners:
                self._listeners.remove(listener)

        return stop

    def adapter(self, provider: str) -> ModelAdapter | None:
        """Give what asks a model provider, None when nobody does."""
        found = self.adapters.get(provider)
        return found if found is not None or self._host is None else self._host.adapter(provider)

    def attachments(self) -> Attachments | None:
        """Give who has the bytes of attached images."""
        found: Attachments | None = None if self._host is None else self._host.service(ATTACHMENTS)
        return found

    def approval(self) -> Approval | None:
        """Give who may be asked to allow a call."""
        found: Approval | None = self.service(APPROVAL)
        return found

    def service(self, name: str) -> Any:
        """Give a service of the host, None when nobody provides it."""
        return None if self._host is None else self._host.service(name)

    def undo(self, step: Callable[[], Any]) -> None:
        """Have something done when the agent has ended; it may be async."""
        self._undo.append(step)

    def on_idle(self, callback: Callable[[], object]) -> None:
        """Have something called each time the agent has nothing left to do."""
        self._idle_callbacks.append(callback)

    # --- input ---------------------------------------------------------------------------------

    def followup(self, message: Message) -> None:
        """Give a message a turn of its own."""
        self.send(message, "next-turn", wakeup=True)

    def steer(self, message: Message) -> None:
        """Add a message to the running turn's next step, or start a turn."""
        self.send(message, "next-step", wakeup=True)

    def inject(self, message: Message) -> None:
        """Leave a message for the next step, whenever there is one."""
        self.send(message, "next-step", wakeup=False)

    def send(self, message: Message, target: Target, *, wakeup: bool) -> None:
        """Put a message into the inbox and, if it wakes, start working."""
        if self._disposed:
            raise RuntimeError(f'agent "{self.id}" is disposed')
        stopping = self._signal is not None and self._signal.aborted
        if wakeup and stopping:
            target = "next-turn"  # the turn that is being aborted takes nothing any more
        self.inbox.insert(target, message, wakeup=wakeup)
        self.hooks.emit("agent/inbox/inserted", {"agent": self, "message": message})
        if wakeup:
            self._wake()

    async def when_idle(self) -> None:
        """Wait until nothing is left to do."""
        while self._task is not None:
            await asyncio.wait([self._task])

    async def run_maintenance(self, task: Callable[[], Awaitable[T]]) -> T:
        """Do something between turns; what wakes the agent meanwhile is worked off afterwards."""
        async with self._maintenance:
            await self.when_idle()
            self._maintained = True
            try:
                return await task()
            finally:
                self._maintained = False
                if self.inbox.wakes and not self._disposed:
                    self._wake()

    def _wake(self) -> None:
        if self._task is None and not self._maintained:
            self._start()

    def cancel(self, cause: Cause = USER, *, keep_inbox: bool = False) -> None:
        """Abort the running turn and drop what waits; does nothing to an idle agent."""
        if self.status == "idle" or self._signal is None:
            return
        dropped = [] if keep_inbox else self.inbox.clear()
        self._signal.abort(cause)
        for message in dropped:
            self.hooks.emit("agent/inbox/discarded", {"agent": self, "message": message})

    async def dispose(self) -> None:
        """End this agent: abort, wait, and let go of the session. May be called twice.

        Whoever made the agent is told by what `on_end` was given.
        """
        if self._disposed:
            return
        self.cancel(DISPOSED)
        self._disposed = True
        await self.when_idle()
        await self._unwind()
        self.session.close()

    def on_end(self, end: Callable[[], Awaitable[None]]) -> None:
        """Set how whoever made the agent ends it."""
        self._ending = [end]

    async def end(self) -> None:
        """End this agent the way its maker does, else by itself."""
        await (self._ending[0] if self._ending else self.dispose)()

    async def _unwind(self) -> None:
        """Undo what was done for this agent; a failure is told, and stops nothing."""
        while self._undo:
            try:
                await call(self._undo.pop())
            except Exception as error:
                if self._host is not None:
                    self._host.warn(f'ending agent "{self.id}": {error}')
        self.hooks.close()

    def _start(self) -> None:
        """Begin a turn at once, so that it can be aborted from now on, and let it run."""
        self.fault = None
        self._signal = AbortSignal()
        self._become("running")
        try:
            turn = self.begin_turn(self._signal)
        except BaseException:
            self._signal = None
            self._become("idle")
            raise
        self._task = asyncio.get_running_loop().create_task(self._work(turn))

    def begin_turn(self, signal: AbortSignal) -> Turn:
        """Start the next turn; an agent with another engine has turns of its own kind."""
        from dshloop.host.turn import begin_turn

        return begin_turn(self, signal)

    def _become(self, status: Status) -> None:
        self.status = status
        self.hooks.emit("agent/status", {"agent": self, "status": status})

    async def _work(self, turn: Turn) -> None:
        try:
            await turn.finish()
            while self.inbox.wakes and not self._disposed:
                self._signal = AbortSignal()
                await self.begin_turn(self._signal).finish()
        except Exception as fault:
            self.fault = fault
        finally:
            self._signal, self._task = None, None
            self._become("idle")
            for callback in list(self._idle_callbacks):
                callback()
