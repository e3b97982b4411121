"""Read a line, do what it says, stream the answer, until the person leaves."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from prompt_toolkit.output import create_output

from dshloop.cli.invocation import Invocation
from dshloop.cli.repl.commands import meaning_of, near_to
from dshloop.cli.repl.ending import Ending
from dshloop.cli.repl.lines import Cleared, Lines
from dshloop.cli.repl.offers import Offering
from dshloop.cli.repl.past import history_of
from dshloop.cli.repl.screen import Screen
from dshloop.cli.repl.typeahead import restored
from dshloop.errors import DshloopError, ExitCode, SessionNotFoundError, UsageError
from dshloop.host.abort import USER, Cause
from dshloop.llm.messages import Message
from dshloop.runs.interrupts import Running
from dshloop.runs.talking.branching import past_turns, reopening
from dshloop.runs.talking.conversation import Conversation, RunOptions
from dshloop.runs.terminating import terminations
from dshloop.runs.watching.recalled import keep_apart
from dshloop.runs.watching.reply import reason_of
from dshloop.runs.watching.status import Spent, status_of
from dshloop.runs.watching.telling import Narrator
from dshloop.sessions.catalog import find_id
from dshloop.terminal import one_line

if TYPE_CHECKING:
    from prompt_toolkit.input import Input
    from prompt_toolkit.output import Output

    from dshloop.environment import Environment
    from dshloop.transcripts.vocabulary import Event


_USAGE = "/help lists the commands."
_NAME = 60  # characters of what is no command


@dataclass(frozen=True, slots=True)
class Left:
    """How a conversation was left: its session, how many turns it had this time, and by what."""

    id: str
    turns: int
    exit_code: ExitCode = ExitCode.DONE


def converse(
    invoked: Invocation,
    options: RunOptions,
    *,
    keys: Input | None = None,
    screen: Output | None = None,
) -> Left:
    """Hold a conversation; ``keys`` and ``screen`` stand in for the terminal in tests.

    Raises what opening the session raises, before the first prompt is shown.
    """
    with restored(invoked.env.stdin), Running() as running:
        return running.run(lambda: Talk(invoked, options, keys, screen).hold())


class Talk:
    """One conversation on a terminal; commands work on it.

    ``options`` are those that its session was opened with, ``spent`` counts the session's tokens.
    """

    def __init__(
        self, invoked: Invocation, options: RunOptions, keys: Input | None, screen: Output | None
    ) -> None:
        self.env, self.places = invoked.env, invoked.places
        self.options = replace(options, ask=self.ask)
        self.spent = Spent()
        self.ending = Ending()
        color = invoked.env.color and not invoked.no_color
        self.screen = Screen(invoked.env, color=color)
        self.conversation: Conversation
        self._past = history_of(self.places, options.cwd)
        self._lines = Lines(
            self._past,
            Offering(self),
            self._toolbar,
            self.screen.unfold,
            keys=keys,
            screen=screen or _output(invoked.env),
            color=color,
        )
        self._narrator = Narrator()
        self._earlier: set[str] = set()  # sessions of this conversation
        self._turns = 0
        self._told: set[str] = set()

    async def hold(self) -> Left:
        """Open the session, read and answer, close it."""
        self.conversation = await self._open(self.options)
        try:
            with terminations(asyncio.get_running_loop(), self._terminate):
                self._greet()
                await self._read_and_answer()
        finally:
            self.conversation.cancel()
            await self.conversation.close()
        return Left(self.conversation.id, self._turns, self.ending.code or ExitCode.DONE)

    # --- what commands do ----------------------------------------------------------------------

    async def reopen(self, options: RunOptions) -> None:
        """Go on with another session, or with this one on something else.

        Raises what opening raises; the conversation then goes on as it was.
        """
        before = self.conversation
        if before.kept:
            await self._close_and_open(options)
        else:  # what was said in it is nowhere else
            self.conversation = await self._open(options)
            await before.close()
        if options.rebind:
            self.conversation.agent.session.keep()
        self.options = replace(options, rebind=False)
        self._tell_warnings()

    async def answer(self, said: str | Message) -> None:
        """Say something and show what comes of it."""
        self.screen.begin_turn()
        async with self.working(self.conversation.cancel):
            if isinstance(said, str):
                self.conversation.say(said)
            else:
                self.conversation.agent.followup(said)
            async for event in self.conversation.events():
                for told in self._narrator.tell(event):
                    self.screen.tell(told)
                self._count(event)
        self._tell_warnings()

    @asynccontextmanager
    async def working(self, stop: Callable[[Cause], object]) -> AsyncIterator[None]:
        """Show that something is done, which Ctrl-C stops."""
        with self.ending.stopping(stop):
            async with self.screen.working():
                yield

    @contextmanager
    def lent(self, stop: Callable[[Cause], object]) -> Iterator[None]:
        """Leave the terminal, and Ctrl-C, to a program that ``stop`` ends."""
        with self.ending.stopping(stop, keys=False), self._lines.typeahead.lent():
            yield

    def remember(self, text: str) -> None:
        """Have a text found with the Up key."""
        self._lines.remember(text)

    def tell_status(self) -> None:
        """Say what answers from now on."""
        self.screen.notice(status_of(self.conversation, self.spent).line())

    def require_stored(self) -> None:
        """Raise SESSION_NOT_FOUND as long as nothing was said."""
        if find_id(self.places, self.conversation.id) is None:
            raise SessionNotFoundError("nothing was said yet", hint="Say something first.")

    async def ask(self, question: str) -> bool:
        """Ask whether a call is allowed; Ctrl-C stops the turn that asks."""
        with self.screen.held():
            try:
                return await self._lines.ask(question)
            except KeyboardInterrupt:
                self.ending.interrupt()
            except EOFError:
                pass
            return False

    # --- the conversation ----------------------------------------------------------------------

    async def _open(self, options: RunOptions) -> Conversation:
        conversation = await Conversation.open(self.places, options, self.env.clock)
        agent = conversation.agent
        keep_apart(conversation, self._earlier - {conversation.id})
        self._earlier.add(conversation.id)
        self.spent = Spent()
        self.spent.see(agent.session.events)
        self._narrator = Narrator(str(agent.latest.get("request/context", {}).get("model") or ""))
        return conversation

    async def _read_and_answer(self) -> None:
        while not self.ending.near():
            try:
                line = await self._lines.read()
            except Cleared as cleared:
                self._cleared(cleared)
                continue
            except EOFError:
                return
            except OSError:
                if not self.ending.near():
                    raise
                return  # the terminal is gone
            with self.ending.stopping(self._hurried), self._lines.typeahead.unechoed():
                await self._do(line)

    async def _close_and_open(self, options: RunOptions) -> None:
        before = reopening(self.places, self.options, self.conversation)
        await self.conversation.close()
        try:
            self.conversation = await self._open(options)
        except DshloopError:
            self.conversation = await self._open(before)
            raise

    async def _do(self, line: str) -> None:
        meant = meaning_of(line)
        if meant is None:
            return
        try:
            if meant.said is not None:
                await self.answer(meant.said)
            elif meant.command is not None:
                await meant.command.run(self, meant.words)
            else:
                name = one_line(meant.unknown or "", _NAME)
                self.screen.line(f"there is no command {name}{near_to(name)}")
        except DshloopError as error:
            hint = _USAGE if error.hint == UsageError.hint else error.hint
            self.screen.failure(f"{error.message} ({error.code})", hint)

    def _greet(self) -> None:
        """Say which session it is, how far it is, and what it effectively runs on."""
        agent = self.conversation.agent
        turns = len(past_turns(agent.session.events))
        preset = self.conversation.process.presets.composed(agent)
        parts = [
            f"{'resumed session' if agent.session.resumed else 'session'} {self.conversation.id}",
            f"{turns} turn{'s' * (turns != 1)}" if turns else "",
            str(self.conversation.binding),
            f"preset {preset}" if preset else "",
            "/help",
        ]
        self._tell_warnings()
        self.screen.line(" · ".join(filter(None, parts)))

    def _tell_warnings(self) -> None:
        """Tell what rows have warned of since the last time, and that typed lines are not kept."""
        for notice in (*self.conversation.notices, self._past.fault):
            if notice is not None and notice not in self._told:
                self._told.add(notice)
                self.screen.line(notice)

    def _count(self, event: Event) -> None:
        self.spent.see((event,))
        if event["type"] == "turn/end":
            self._turns += reason_of(event)["kind"] != "interrupted"

    def _toolbar(self, columns: int) -> str:
        return one_line(f" {status_of(self.conversation, self.spent).line()}", columns)

    # --- being stopped -------------------------------------------------------------------------

    def _cleared(self, cleared: Cleared) -> None:
        """Ctrl-C at the prompt."""
        self.ending.pressed()
        if not (self.ending.near() or cleared.text):
            self.screen.notice("once more leaves, and so does Ctrl-D")

    def _hurried(self, cause: Cause) -> None:
        """Ctrl-C in a command that nothing stops halfway."""
        if cause is USER and not self.ending.near():
            self.screen.notice("this is done to its end; once more leaves at once")

    def _terminate(self, number: int) -> None:
        self.ending.terminate(number)
        self._lines.leave()


def _output(env: Environment) -> Output | None:
    """Give where prompts are drawn; None for a terminal on which nothing can be drawn."""
    return None if env.variables.get("TERM") == "dumb" else create_output(stdout=env.stdout)
