"""A run from outside the event loop: prompts in, typed records out, an outcome at the end."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dshloop.errors import DshloopError, ExitCode
from dshloop.paths import Places
from dshloop.runs.conversation import Conversation, RunOptions
from dshloop.runs.interrupts import interrupts
from dshloop.sessions.session import Clock
from dshloop.transcripts.vocabulary import Event

_EXIT_CODES = {
    "completed": ExitCode.DONE,
    "error": ExitCode.FAILED,
    "max-tokens": ExitCode.FAILED,
    "blocked": ExitCode.FAILED,
    "aborted": ExitCode.INTERRUPTED,
}


@dataclass(frozen=True, slots=True)
class Opened:
    """The session is there; the first record of a run."""

    id: str
    cwd: str | None
    loop: str
    driver: str | None
    resumed: bool


@dataclass(frozen=True, slots=True)
class Happened:
    """An event was appended to the session's log."""

    event: Event


@dataclass(frozen=True, slots=True)
class Ended:
    """The run is over; the last record.

    ``outcome`` is the reason kind of the last turn's end, ``failure`` its error; prompts that
    came after a turn that didn't complete were not sent; ``notices`` tell of the profile's rows.
    """

    id: str
    outcome: str
    turns: int
    failure: Mapping[str, Any] | None = None
    notices: Sequence[str] = ()

    @property
    def exit_code(self) -> ExitCode:
        """What the process should exit with."""
        return _EXIT_CODES.get(self.outcome, ExitCode.FAILED)


Record = Opened | Happened | Ended


def run_session(
    places: Places, options: RunOptions, prompts: Iterable[str], clock: Clock
) -> Iterator[Record]:
    """Open a session and give it one prompt after the other; stop at the first failing turn.

    ``prompts`` is read as it is needed. An interrupt (Ctrl-C) aborts the turn, whose text is
    kept, and ends the run; a second one ends at once. Raises what opening raises, before the first
    record.
    """
    with asyncio.Runner() as runner:
        conversation = runner.run(Conversation.open(places, options, clock))
        try:
            yield _opened(conversation)
            tally = _Tally()
            for prompt in _each(prompts, conversation.id):
                for event in _turn(runner, conversation, prompt, tally):
                    yield Happened(event)
                if tally.outcome != "completed":
                    break
            yield Ended(
                conversation.id, tally.outcome, tally.turns, tally.failure, conversation.notices
            )
        finally:
            conversation.cancel()
            runner.run(conversation.close())


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
    runner: asyncio.Runner, conversation: Conversation, prompt: str, tally: _Tally
) -> Iterator[Event]:
    """Give the events of one prompt's turn, or of all turns that were still waiting."""
    times = 0

    def interrupt() -> None:
        nonlocal times
        times += 1
        conversation.cancel() if times == 1 else conversation.wake()

    # Ctrl-C is an exception only outside the loop, where events are written.
    with interrupts(runner.get_loop(), interrupt):
        runner.run(_call(conversation.say, prompt))
    while not conversation.idle:
        with interrupts(runner.get_loop(), interrupt):
            runner.run(conversation.wait())
        for event in conversation.take():
            tally.see(event)
            yield event
        if times > 1:
            raise KeyboardInterrupt
    runner.run(_call(lambda: None))  # a Ctrl-C of the very last moment still waits in the loop
    if times and tally.outcome == "completed":  # the turn was over already
        tally.outcome = "aborted"


async def _call(function: Callable[..., None], *arguments: Any) -> None:
    function(*arguments)


@dataclass(slots=True)
class _Tally:
    """What has come out so far; a run without any turn is complete."""

    outcome: str = "completed"
    turns: int = 0
    failure: Mapping[str, Any] | None = None

    def see(self, event: Event) -> None:
        if event["type"] == "turn/end":
            reason = event["data"]["reason"]
            if reason["kind"] == "interrupted":  # a turn of an earlier life that was closed now
                return
            self.turns += 1
            self.outcome, self.failure = reason["kind"], reason.get("error")
