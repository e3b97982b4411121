"""Events and the listeners around them, in DSH's four ways of calling (dsh-sessions 9).

A host has one `Hooks`, each agent a scope of it. What is dispatched in a scope reaches the
listeners of the scope and those of the whole host, never those of another agent. Listeners run in
the order they came; one that is prepended runs before all others, so it is the outermost one of a
waterfall.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any

from dshloop.host.calling import call, contained

if TYPE_CHECKING:
    import asyncio

EVENTS = frozenset(
    {
        *(f"agent/{name}" for name in ("created", "disposed", "session-start", "status", "error")),
        *(f"agent/inbox/{name}" for name in ("inserted", "discarded", "claimed")),
        *(f"agent/{name}" for name in ("pre-step", "request", "request-error", "turn-stopping")),
        *(f"session/{name}" for name in ("created", "disposed", "event", "flush")),
        *(f"tools/{name}" for name in ("pre-execute", "execute", "post-execute", "result")),
        "tools/change",
        "system-prompt/assemble",
    }
)
"""What a host dispatches; plugins may add events of their own."""

Listener = Callable[..., Any]
Disposer = Callable[[], None]
Report = Callable[[str, Exception], object]
"""Told of what a listener raised where nobody else can be: the event, the exception."""


class Hooks:
    """Listeners of a host or of one agent; `scope` makes those of an agent."""

    def __init__(self, report: Report | None = None, *, parent: Hooks | None = None) -> None:
        self._report = report
        self._parent = parent
        self._orders: _Orders = parent._orders if parent is not None else _Orders()
        self._listeners: dict[str, dict[int, Listener]] = {}

    def scope(self) -> Hooks:
        """Make the listeners of one agent."""
        return Hooks(self._report, parent=self)

    def on(self, event: str, listener: Listener, *, prepend: bool = False) -> Disposer:
        """Add a listener; call what comes back, once or more often, to take it away."""
        order = self._orders.take(prepend=prepend)
        found = self._listeners.setdefault(event, {})
        found[order] = listener
        return lambda: found.pop(order, None) and None

    @property
    def events(self) -> list[str]:
        """The events that have listeners in this scope itself, in alphabetical order."""
        return sorted(event for event, found in self._listeners.items() if found)

    def close(self) -> None:
        """Take all listeners of this scope away."""
        for found in self._listeners.values():
            found.clear()

    def listeners(self, event: str) -> list[Listener]:
        """Give those that an event reaches, outermost first."""
        own = self._listeners.get(event)
        shared = self._parent._listeners.get(event) if self._parent is not None else None
        if not shared:
            return [own[order] for order in sorted(own)] if own else []
        both = {**shared, **(own or {})}
        return [both[order] for order in sorted(both)]

    # --- dispatch ------------------------------------------------------------------------------

    def emit(self, event: str, *args: Any) -> None:
        """Call all without waiting; what one raises is reported, and the others still run."""
        for listener in self.listeners(event):
            try:
                result = listener(*args)
            except BaseException as raised:
                self._contain(event, contained(raised))
                continue
            if isinstance(result, Awaitable):
                self._leave_running(event, result)

    def announce(self, event: str, *args: Any) -> None:
        """Emit, but let what a listener raises at once end it: its veto (agent/created)."""
        for listener in self.listeners(event):
            try:
                result = listener(*args)
            except BaseException as raised:
                raise contained(raised) from raised
            if isinstance(result, Awaitable):
                self._leave_running(event, result)

    async def serial(self, event: str, *args: Any) -> None:
        """Await one after the other; the first that raises ends it."""
        for listener in self.listeners(event):
            await call(listener, *args)

    async def parallel(self, event: str, *args: Any) -> None:
        """Await all together; raises what the first of them raised, when all are done."""
        found = self.listeners(event)
        if not found:
            return
        import asyncio

        results = await asyncio.gather(
            *(call(listener, *args) for listener in found), return_exceptions=True
        )
        for result in results:
            if isinstance(result, BaseException):
                raise result

    async def waterfall(self, event: str, *args: Any, last: Callable[[], Any]) -> Any:
        """Call each around the next, `last` innermost: ``listener(*args, next)``.

        A listener answers for all inside it; without calling ``next()`` they don't run.
        """
        following: Callable[[], Awaitable[Any]] = _Last(last)
        for listener in reversed(self.listeners(event)):
            following = _Around(listener, args, following)
        return await following()

    # --- what nobody waits for -----------------------------------------------------------------

    def _leave_running(self, event: str, result: Awaitable[Any]) -> None:
        import asyncio

        task = asyncio.ensure_future(call(lambda: result))
        self._orders.tasks.add(task)

        def done(ended: asyncio.Future[Any]) -> None:
            self._orders.tasks.discard(ended)
            error = None if ended.cancelled() else ended.exception()
            if isinstance(error, Exception):
                self._contain(event, error)

        task.add_done_callback(done)

    def _contain(self, event: str, error: Exception) -> None:
        if self._report is not None:
            self._report(event, error)

    async def settle(self) -> None:
        """Wait for what async listeners of emitted events still do, in the whole host."""
        import asyncio

        while self._orders.tasks:
            await asyncio.wait(set(self._orders.tasks))


def decision(event: str, answer: object) -> Mapping[str, Any]:
    """Give what the listeners of a waterfall decided. Raises TypeError for what is no decision."""
    if isinstance(answer, Mapping):
        return answer
    raise TypeError(
        f"a listener on {event} gave back {answer!r:.60}, which decides nothing: it gives what "
        'following() gives, or a mapping with "kind"'
    )


class _Orders:
    """The places of listeners among those of all scopes, and tasks nobody waits for."""

    def __init__(self) -> None:
        self.tasks: set[asyncio.Future[Any]] = set()
        self._first = self._last = 0

    def take(self, *, prepend: bool) -> int:
        if prepend:
            self._first -= 1
            return self._first
        self._last += 1
        return self._last


class _Last:
    def __init__(self, function: Callable[[], Any]) -> None:
        self._function = function

    async def __call__(self) -> Any:
        return await call(self._function)


class _Around:
    def __init__(
        self, listener: Listener, args: tuple[Any, ...], following: Callable[[], Awaitable[Any]]
    ) -> None:
        self._listener, self._args, self._following = listener, args, following

    async def __call__(self) -> Any:
        return await call(self._listener, *self._args, self._following)
