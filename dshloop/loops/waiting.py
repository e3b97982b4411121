"""The agents a config asks for: each starts once its loop and driver are there (loop-dock 11).

One that waits says what for, since when, and which command mends it (loop-dock 18.4).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from dshloop.errors import (
    AgentWaitingError,
    DshloopError,
    MissingDriverError,
    UnknownLoopError,
)
from dshloop.host.calling import call
from dshloop.loops.config import AgentEntry
from dshloop.loops.harness import AgentService, awaited
from dshloop.loops.missing import Missing, missing_of
from dshloop.loops.names import is_object

if TYPE_CHECKING:
    import asyncio

    from dshloop.loops.binding import Recorded
    from dshloop.loops.dock import Dock
    from dshloop.loops.selection import Selection

Options = dict[str, Any]
State = Literal["waiting", "starting", "started", "failed", "dropped"]


@dataclass(slots=True)
class ConfiguredAgent:
    """An entry of the config and how far it has come. Times are seconds since the epoch."""

    entry: AgentEntry
    since: float
    state: State = "waiting"
    missing: Missing | None = None
    fault: Exception | None = None
    session: str | None = None
    handle: Any = field(default=None, repr=False)

    @property
    def error(self) -> str | None:
        """Why it failed, as text."""
        return None if self.fault is None else str(self.fault)

    def as_json(self) -> dict[str, Any]:
        """Give the status as a program reads it."""
        missing = self.missing
        waits_for = None if missing is None else {**missing._asdict(), "command": missing.command()}
        return {
            "id": self.entry.id,
            "state": self.state,
            "since": self.since,
            "waits_for": waits_for,
            "error": self.error,
        }


class WaitingAgents:
    """The configured agents of a dock, started as what they need is registered.

    Without a running event loop nothing starts; `settle` makes up for it.
    """

    def __init__(
        self,
        dock: Dock,
        service: AgentService | None,
        clock: Callable[[], float] | None,
        *,
        entries: Sequence[AgentEntry] | None = None,
        find: Callable[[Selection], object] | None = None,
    ) -> None:
        """Take the config's entries, or only these.

        ``find`` looks elsewhere for a selection's loop and driver before they count as missing,
        and raises why one that it finds can't be used.
        """
        self._dock = dock
        self._service = service
        self._find = find
        now = (clock or time.time)()
        wanted = dock.config.agents if entries is None else entries
        self.status: list[ConfiguredAgent] = [ConfiguredAgent(entry, now) for entry in wanted]
        self._tasks: set[asyncio.Task[None]] = set()
        self._looking = self._look_again = False

    @property
    def waiting(self) -> list[ConfiguredAgent]:
        """Those that still wait."""
        return [agent for agent in self.status if agent.state == "waiting"]

    def look(self) -> None:
        """Start what has become ready, in the background."""
        if not self.waiting:
            return
        import asyncio

        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            return
        self._keep(loop.create_task(self._look()))

    async def settle(self) -> None:
        """Look once more, and wait until everything that could start has started or failed."""
        await self._look()
        await self.finish()

    async def stop(self) -> None:
        """Start nothing more, and wait for what is being started."""
        for agent in self.waiting:
            agent.state = "dropped"
        await self.finish()

    async def finish(self) -> None:
        """Wait for what is being started."""
        import asyncio

        while self._tasks:
            await asyncio.wait(set(self._tasks))

    async def require_started(self, timeout: float) -> None:
        """Wait until no agent waits or is being started any more.

        Raises AGENT_WAITING after `timeout` seconds; what was being started is given up.
        """
        import asyncio

        try:
            async with asyncio.timeout(timeout):
                await self.settle()
                while self.waiting:
                    await asyncio.sleep(min(0.05, timeout))
                    await self.settle()
        except TimeoutError:
            fault = self._overdue(timeout)
            await self.give_up(f"it has not started within {timeout:g} s")
            raise fault from None

    async def give_up(self, reason: str, grace: float = 1.0) -> bool:
        """Cancel what is still being started; tell whether it ended within ``grace`` seconds."""
        import asyncio

        for agent in self.status:
            if agent.state == "starting":
                self._fail(agent, AgentWaitingError(reason, hint=_HANGS, agent=agent.entry.id))
        tasks = set(self._tasks)
        for task in tasks:
            task.cancel()
        if tasks:
            _, tasks = await asyncio.wait(tasks, timeout=grace)
        return not tasks

    def _overdue(self, timeout: float) -> AgentWaitingError:
        agents = [agent for agent in self.status if agent.state in ("waiting", "starting")]
        reasons = "; ".join(f'"{agent.entry.id}": {_overdue(agent)}' for agent in agents)
        return AgentWaitingError(
            f"configured agents have not started within {timeout:g} s: {reasons}",
            agents=[agent.as_json() for agent in agents],
        )

    def _keep(self, task: asyncio.Task[None]) -> None:
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _look(self) -> None:
        """Check all that wait, in order; a change in between makes another round."""
        if self._looking:
            self._look_again = True
            return
        self._looking = True
        try:
            self._look_again = True
            while self._look_again:
                self._look_again = False
                for agent in self.waiting:
                    await self._check(agent)
        finally:
            self._looking = False

    async def _check(self, agent: ConfiguredAgent) -> None:
        import asyncio

        verb, options = await self._call(agent.entry)
        try:
            agent.missing, recorded = await self._missing(verb, options)
        except DshloopError as fault:
            self._fail(agent, fault)
            return
        if agent.missing is not None:
            return
        if self._service is None:
            agent.state = "dropped"
            return
        agent.state = "starting"
        agent.session = options.get("resumeSessionId") or options["sessionId"]
        self._warn_of_cwd(agent.entry, verb, options, recorded)
        start = self._service.create if verb == "create" else self._service.resume
        self._keep(asyncio.ensure_future(self._start(agent, start, options)))

    async def _start(
        self, agent: ConfiguredAgent, start: Callable[[Options], Any], options: Options
    ) -> None:
        try:
            handle = await call(start, options)
        except Exception as fault:
            self._fail(agent, fault)
            return
        agent.handle = handle
        if agent.state == "starting":
            agent.state = "started"

    def _fail(self, agent: ConfiguredAgent, fault: Exception) -> None:
        if agent.state == "failed":
            return
        agent.state, agent.fault = "failed", fault
        self._dock.warn(f'configured agent "{agent.entry.id}" failed to start: {fault}')

    async def _call(self, entry: AgentEntry) -> tuple[Literal["create", "resume"], Options]:
        """Say how an entry starts."""
        resumed = entry.resume_session_id
        if entry.session_id is not None and await self._is_stored(entry.session_id):
            resumed = entry.session_id
        if resumed is not None:
            return "resume", {"resumeSessionId": resumed, **_common(entry)}
        meta = {} if entry.cwd is None else {"meta": {"cwd": entry.cwd}}
        return "create", {"sessionId": entry.session_id or _new_id(entry), **_common(entry), **meta}

    async def _is_stored(self, session_id: str) -> bool:
        sessions = self._dock.sessions
        if sessions is None or not hasattr(sessions, "list"):
            return False
        try:
            listed = await awaited(sessions.list())
        except Exception as error:
            self._dock.warn(f'could not inspect persistence for "{session_id}": {error}')
            return False
        return any(_id_of(item) == session_id for item in listed)

    async def _missing(self, verb: str, options: Options) -> tuple[Missing | None, Recorded | None]:
        """Say what a call would lack, by the real selection; most other faults show at the start.

        Raises why a loop or driver that was found can't be used.
        """
        dock, recorded = self._dock, None
        try:
            if verb == "create":
                selection = dock.select_create(options)
            else:
                recorded = await dock.recorded(options["resumeSessionId"])
                selection = dock.select_resume(options, recorded)
        except DshloopError:
            return None, recorded  # such as no session, or one that can't be read
        if self._find is not None:
            self._find(selection)
        try:
            dock.resolve(selection)
        except (UnknownLoopError, MissingDriverError) as error:
            return missing_of(error, selection.loop_from), recorded
        except DshloopError:
            pass
        return None, recorded

    def _warn_of_cwd(
        self, entry: AgentEntry, verb: str, options: Options, recorded: Recorded | None
    ) -> None:
        """Say that a resumed session stays where it is (loop-dock 18.10)."""
        cwd = None if recorded is None else recorded.cwd
        if verb == "resume" and entry.cwd is not None and entry.cwd != cwd:
            own = "its own" if cwd is None else f'"{cwd}"'
            self._dock.warn(
                f'configured agent "{entry.id}" asks for cwd "{entry.cwd}", but session '
                f'"{options["resumeSessionId"]}" keeps {own}'
            )


_HANGS = "Its loop or driver takes that long: look at it, or give it more time with --timeout."


def _overdue(agent: ConfiguredAgent) -> str:
    if agent.state == "starting":
        return "still starting"
    return agent.missing.message if agent.missing else "not looked at"


_MODEL_OPTIONS = ("provider", "model", "maxTokens", "reasoningEffort")


def _common(entry: AgentEntry) -> Options:
    """Give the options that create and resume share."""
    given = entry.as_json()
    model = {name: given[name] for name in _MODEL_OPTIONS if name in given}
    return {"agentOptions": model, **{n: given[n] for n in ("loop", "driver") if n in given}}


def _new_id(entry: AgentEntry) -> str:
    from uuid import uuid4

    return f"{entry.id}-session-{uuid4()}"


def _id_of(item: object) -> object:
    return item.get("id") if is_object(item) else getattr(item, "id", item)
