"""A run from outside the event loop: prompts in, typed records out, an outcome at the end."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from dshloop.errors import DshloopError, ExitCode, exit_code_of_turn
from dshloop.llm.messages import failure
from dshloop.paths import Places
from dshloop.runs.interrupts import Running
from dshloop.runs.talking.bounds import GRACE, MAX_TURNS, TIMEOUT, UNBOUNDED, Bounds, cause
from dshloop.runs.talking.conversation import Conversation, RunOptions
from dshloop.runs.terminating import terminations
from dshloop.runs.watching.reply import failure_of, reason_of
from dshloop.sessions.session import Clock
from dshloop.transcripts.vocabulary import Event


class Opened(NamedTuple):
    """The session is there; the first record of a run."""

    id: str
    cwd: str | None
    loop: str
    driver: str | None
    resumed: bool


class Happened(NamedTuple):
    """An event was appended to the session's log."""

    event: Event


class Ended(NamedTuple):
    """The run is over; the last record.

    ``outcome`` is the reason kind of the last turn's end, or the bound that was met; ``failure`` is
    its error, or what else than a person aborted it; prompts that came after a turn that didn't
    complete were not sent; ``notices`` tell of the profile's rows.
    """

    id: str
    outcome: str
    turns: int
    failure: Mapping[str, Any] | None = None
    notices: Sequence[str] = ()

    @property
    def exit_code(self) -> ExitCode:
        """What the process should exit with."""
        if self.outcome == "completed":
            return ExitCode.DONE
        by_person = self.outcome == "aborted" and self.failure is None
        if by_person:
            return ExitCode.INTERRUPTED
        return exit_code_of_turn(None if self.failure is None else self.failure.get("code"))


Record = Opened | Happened | Ended


def run_session(
    places: Places,
    options: RunOptions,
    prompts: Iterable[str],
    clock: Clock,
    bounds: Bounds = UNBOUNDED,
) -> Iterator[Record]:
    """Open a session and give it one prompt after the other; stop at the first failing turn.

    ``prompts`` is read as it is needed. An interrupt (Ctrl-C) aborts the turn, whose text is
    kept, and ends the run; a second one ends at once, whatever still runs. What goes beyond the
    ``bounds`` is aborted likewise, with the outcome ``max-turns`` or ``timeout``. SIGTERM and
    SIGHUP abort the turn, too, and are raised as SystemExit. Raises what opening raises, before
    the first record.
    """
    termination = _Termination()
    with Running() as running, terminations(running.loop, termination.come):
        conversation = running.run(lambda: Conversation.open(places, options, clock))
        termination.conversation = conversation
        tally = _Tally()
        try:
            if running.interrupted:  # when it was open already
                raise KeyboardInterrupt
            yield _opened(conversation)
            for prompt in _each(prompts, conversation.id):
                termination.end()  # one that came when no turn was there to be aborted
                if tally.turns == bounds.max_turns:
                    tally.stop("max-turns", failure(bounds.of_turns, MAX_TURNS))
                    break
                for event in _turn(running, conversation, prompt, tally, bounds):
                    yield Happened(event)
                if tally.outcome != "completed":
                    break
        except BaseException:
            _give_up(running, conversation)
            raise
        running.interrupted = max(running.interrupted, 1)  # no turn is left to be aborted
        if conversation.idle:
            _close(running, conversation)
        else:  # a turn whose time is over doesn't end: whoever resumes the session closes it
            conversation.abandon()
        termination.end()
    yield Ended(conversation.id, tally.outcome, tally.turns, tally.failure, conversation.notices)


def _close(running: Running, conversation: Conversation) -> None:
    """End a conversation; after a Ctrl-C another ends the wait for whoever takes too long."""
    try:
        running.run(conversation.close, conversation.cancel)
    except KeyboardInterrupt:
        conversation.abandon()
        raise


def _give_up(running: Running, conversation: Conversation) -> None:
    """End a conversation because of what is being raised, which tells the reason."""
    if running.broken:
        conversation.abandon()
        return
    try:
        running.run(_calling(conversation.cancel), conversation.cancel)
        _close(running, conversation)
    except (KeyboardInterrupt, Exception):
        conversation.abandon()


def _opened(conversation: Conversation) -> Opened:
    session, bound = conversation.agent.session, conversation.binding
    return Opened(session.header.id, session.header.cwd, bound.loop, bound.driver, session.resumed)


def _each(prompts: Iterable[str], session_id: str) -> Iterator[str]:
    """Pass prompts on; a fault in them says which session holds the turns before it."""
    try:
        yield from prompts
    except DshloopError as error:
        error.details = {**error.details, "session": session_id}
        error.hint = " ".join(filter(None, (error.hint, f"The session so far: {session_id}")))
        raise


def _turn(
    running: Running, conversation: Conversation, prompt: str, tally: _Tally, bounds: Bounds
) -> Iterator[Event]:
    """Give the events of one prompt's turn, or of all turns that were still waiting."""
    # Ctrl-C is an exception only outside the loop, where events are written.
    running.run(_calling(conversation.say, prompt), conversation.cancel)
    deadline = None if bounds.timeout is None else time.monotonic() + bounds.timeout
    while not conversation.idle:
        in_time = _waited(running, conversation, deadline)
        for event in conversation.take():
            tally.see(event)
            yield event
        if not in_time:
            if tally.stopped:
                return
            tally.stop("timeout", failure(bounds.of_time, TIMEOUT))
            deadline = time.monotonic() + GRACE
            running.run(_calling(conversation.cancel, cause(bounds.of_time)), conversation.cancel)
        elif tally.turns == bounds.max_turns and not (conversation.idle or tally.stopped):
            tally.stop("max-turns", failure(bounds.of_turns, MAX_TURNS))
            running.run(_calling(conversation.cancel, cause(bounds.of_turns)), conversation.cancel)
    running.run(_calling(lambda: None), conversation.cancel)  # a Ctrl-C of the very last moment
    if running.interrupted and tally.outcome == "completed":  # the turn was over already
        tally.outcome = "aborted"


def _waited(running: Running, conversation: Conversation, deadline: float | None) -> bool:
    """Wait for events; tell whether there were any, or an end, in time."""
    if deadline is None:
        running.run(conversation.wait, conversation.cancel)
        return True
    return running.run(partial(_wait, conversation, deadline), conversation.cancel)


async def _wait(conversation: Conversation, deadline: float) -> bool:
    try:
        async with asyncio.timeout(max(deadline - time.monotonic(), 0)):
            await conversation.wait()
    except TimeoutError:
        return False
    return True


def _calling(
    function: Callable[..., None], *arguments: Any
) -> Callable[[], Coroutine[Any, Any, None]]:
    async def work() -> None:
        function(*arguments)

    return work


class _Termination:
    """A signal that ends the process once the turn that runs is aborted."""

    def __init__(self) -> None:
        self.conversation: Conversation | None = None
        self._number: int | None = None

    def come(self, number: int) -> None:
        """Take note of a signal; called in the event loop."""
        self._number = number
        if self.conversation is not None:
            self.conversation.cancel(cause(f"ended by {signal.Signals(number).name}"))

    def end(self) -> None:
        """Raise SystemExit where one came."""
        if self._number is not None:
            raise SystemExit(128 + self._number)


class _Tally:
    """What has come out so far; a run without any turn is complete."""

    def __init__(self) -> None:
        self.outcome = "completed"
        self.turns = 0
        self.failure: Mapping[str, Any] | None = None
        self.stopped = False

    def see(self, event: Event) -> None:
        if event["type"] == "turn/end" and not self.stopped:
            reason = reason_of(event)
            if reason["kind"] == "interrupted":  # a turn of an earlier life that was closed now
                return
            self.turns += 1
            self.outcome, self.failure = reason["kind"], failure_of(reason)

    def stop(self, outcome: str, failure: Mapping[str, Any]) -> None:
        """Have the run end so, whatever becomes of the turn that runs."""
        self.outcome, self.failure, self.stopped = outcome, failure, True
