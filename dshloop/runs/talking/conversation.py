"""A session that is being talked to: opened or resumed, one prompt after the other, closed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence

from dshloop.errors import DshloopError
from dshloop.host.abort import USER, AbortSignal, Cause
from dshloop.host.agent import Agent
from dshloop.host.calling import call
from dshloop.host.engine import AgentHandle
from dshloop.llm.messages import Chunk, user_message
from dshloop.loops import binding
from dshloop.loops.binding import Binding
from dshloop.paths import Places
from dshloop.runs.process import Process, start_process
from dshloop.runs.stored import StoredSessions
from dshloop.runs.talking.making import as_ours
from dshloop.runs.talking.opening import Opening
from dshloop.runs.talking.options import RunOptions
from dshloop.sessions.session import Clock, MemoryLog
from dshloop.transcripts.vocabulary import Event

__all__ = ["Conversation", "RunOptions"]


class Conversation:
    """Make one with `open`; `say`, read `events` until they end, and `close`."""

    def __init__(self, handle: AgentHandle, process: Process, options: RunOptions) -> None:
        self.agent: Agent = handle.agent
        recorded = binding.read_binding(self.agent.session.events)
        self.binding: Binding = recorded or Binding(binding.DEFAULT_LOOP)
        self.process = process
        self._handle = handle
        self._read = handle.agent.session.stored
        self._news = asyncio.Event()
        self.agent.on_idle(self._news.set)
        self._stop_listening = self.agent.listen(lambda _event: self._news.set())
        self._attached = options.attached
        self._watcher = options.watcher
        if self._watcher is not None:
            self._watcher.begin(self.agent.session)
            self.agent.listen(self._watch)

    @classmethod
    async def open(cls, places: Places, options: RunOptions, clock: Clock) -> Conversation:
        """Start the profile's rows and open a session; nothing is written before a prompt.

        Raises what a row, the dock and the session raise: ROW_FAILED, DRIVER_UNAVAILABLE,
        MISSING_DRIVER, UNKNOWN_LOOP, LOOP_SWITCH, LOCK_HELD, the SESSION_ errors. What the rows
        warned of until then is noted on it.
        """
        sessions = StoredSessions(places, options.cwd, clock, options.command)
        try:
            process = await start_process(
                places,
                sessions,
                options.rows,
                providers=options.providers,
                engines=options.engines,
                ask=options.ask,
            )
            try:
                if options.script is not None:
                    process.follow(options.script)
                if options.prepare is not None:
                    options.prepare(process)
                opening = Opening(process, sessions, options)
                make = opening.create if options.resume is None else opening.resume
                return cls(await make(clock), process, options)
            except BaseException as error:
                await process.stop()
                for warning in process.host.warnings:
                    error.add_note(warning)
                raise
        finally:
            sessions.close()

    @property
    def id(self) -> str:
        """The session's id."""
        return self.agent.id

    @property
    def kept(self) -> bool:
        """Whether what is said is written to a log, or is gone when the conversation ends."""
        return not isinstance(self.agent.session, MemoryLog)

    @property
    def idle(self) -> bool:
        """Whether every prompt has been answered and every event read."""
        return self.agent.status == "idle" and self._read == len(self.agent.session.events)

    def say(self, prompt: str) -> None:
        """Give the agent a turn's prompt, and with the first one what was attached.

        Must be called in the event loop. Raises WRITE_FAILED for images that can't be kept.
        """
        attached, self._attached = self._attached, ()
        images: Sequence[Chunk] = ()
        if attached:
            from dshloop.runs.talking.attaching import kept_images, with_texts

            images = kept_images(self.process.attachments, attached)
            prompt = with_texts(prompt, attached)
        self.agent.followup(user_message(prompt, images=images))

    async def compact(self, signal: AbortSignal) -> str:
        """Put a summary in the place of the history; say what came of it.

        Raises COMPACTION_FAILED, the history being as it was.
        """
        from dshloop.runs.talking.compacting import compact

        said = await compact(self.process.host, self.agent, signal)
        self._read = len(self.agent.session.events)
        return said

    def cancel(self, cause: Cause = USER) -> None:
        """Abort the turn; what was said so far stays in the log."""
        self.agent.cancel(cause)

    async def wait(self) -> None:
        """Wait until there are events to take or the agent is idle."""
        if self._read == len(self.agent.session.events) and self.agent.status == "running":
            self._news.clear()
            await self._news.wait()

    def take(self) -> Sequence[Event]:
        """Give the new events, none when there are none yet.

        Raises what broke the turn, such as a log that can't be written (WRITE_FAILED); AGENT_FAILED
        for what an engine or a listener raised.
        """
        fault = self.agent.fault
        if fault is not None:
            raise as_ours(fault, "running")
        events = self.agent.session.events[self._read :]
        self._read += len(events)
        return events

    async def events(self) -> AsyncIterator[Event]:
        """Yield new events until the agent is idle."""
        while not self.idle:
            await self.wait()
            for event in self.take():
                yield event

    @property
    def notices(self) -> Sequence[str]:
        """What is to be told of the profile and of how its rows run."""
        warned = self.process.host.warnings
        return [*self.process.notices, *warned]

    async def close(self) -> None:
        """End the agent and all rows, and let go of the log; may be called twice.

        What the agent's maker raises at its end is told, and keeps nothing else from ending.
        """
        self._stop_listening()
        try:
            await call(self._handle.dispose)
        except Exception as fault:
            self.process.host.warn(f'ending agent "{self.id}": {fault}')
        self.agent.session.close()
        if self._watcher is not None:
            self._watcher.end()
        await self.process.stop()

    def _watch(self, event: Event) -> None:
        """Tell the watcher; one that can't write any more is told of once."""
        if self._watcher is None:
            return
        try:
            self._watcher.see(event)
        except DshloopError as fault:
            self._watcher = None
            self.process.host.warn(f"{fault.message}: the rest is not written there")

    def abandon(self) -> None:
        """Let go of the log without waiting for what still runs; its turn may stay open in it."""
        try:
            self.agent.session.close()
        except (DshloopError, OSError):
            pass  # whoever reads the log sees how far it came
