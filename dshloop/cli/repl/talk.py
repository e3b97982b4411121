"""Read a line, stream the answer, until the person leaves."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from prompt_toolkit import PromptSession
from prompt_toolkit.history import FileHistory
from prompt_toolkit.output import create_output

from dshloop.cli.invocation import Invocation
from dshloop.cli.repl.commands import action_of, help_text, said
from dshloop.environment import Environment
from dshloop.errors import DshloopError
from dshloop.files import writing
from dshloop.host.abort import USER, AbortSignal
from dshloop.paths import private_folder
from dshloop.runs.conversation import Conversation, RunOptions
from dshloop.runs.interrupts import Running, interrupts
from dshloop.runs.reply import Reply, failure_of, failure_text, reason_of
from dshloop.terminal import visible
from dshloop.transcripts.vocabulary import Event

if TYPE_CHECKING:
    from prompt_toolkit.input import Input
    from prompt_toolkit.output import Output

PROMPT = "> "


@dataclass(frozen=True, slots=True)
class Left:
    """How a conversation was left: the session and how many turns it had this time."""

    id: str
    turns: int


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
    with Running() as running:
        return running.run(lambda: _converse(invoked, options, keys, screen))


async def _converse(
    invoked: Invocation, options: RunOptions, keys: Input | None, screen: Output | None
) -> Left:
    history = _history(invoked.places.data)
    conversation = await Conversation.open(invoked.places, options, invoked.env.clock)
    try:
        screen = screen or create_output(stdout=invoked.env.stdout)
        lines: PromptSession[str] = PromptSession(history=history, input=keys, output=screen)
        talk = _Talk(conversation, invoked.env)
        talk.greet()
        await talk.run(lines)
        return Left(conversation.id, talk.turns)
    finally:
        conversation.cancel()
        await conversation.close()


def _history(data: Path) -> FileHistory:
    path = data / "history"
    with writing(path):
        private_folder(data)
        path.touch(mode=0o600)
    return FileHistory(str(path))


@dataclass(slots=True)
class _Talk:
    conversation: Conversation
    env: Environment
    turns: int = 0

    def greet(self) -> None:
        bound = self.conversation.binding
        session = "resumed session" if self.conversation.agent.session.resumed else "session"
        for notice in self.conversation.notices:
            self._write(f"{notice}\n")
        self._write(f"{session} {self.conversation.id} · {bound.loop} on {bound.driver} · /help\n")

    async def run(self, lines: PromptSession[str]) -> None:
        """Read and answer until /exit or Ctrl-D; Ctrl-C clears the line."""
        while True:
            try:
                line = await lines.prompt_async(PROMPT)
            except KeyboardInterrupt:
                continue
            except EOFError:
                return
            match action_of(line):
                case "leave":
                    return
                case "help":
                    self._write(help_text())
                case "compact":
                    await self._compact()
                case "unknown":
                    self._write(f"there is no command {line.strip()}; /help lists them\n")
                case "say":
                    await self._answer(said(line))

    async def _compact(self) -> None:
        signal = AbortSignal()
        try:
            with interrupts(asyncio.get_running_loop(), lambda: signal.abort(USER)):
                self._write(f"[{await self.conversation.compact(signal)}]\n")
        except DshloopError as error:
            self._write(f"error: {error.message} ({error.code})\n")

    async def _answer(self, prompt: str) -> None:
        reply = Reply()
        with interrupts(asyncio.get_running_loop(), self.conversation.cancel):
            try:
                self.conversation.say(prompt)
                async for event in self.conversation.events():
                    self._write(reply.text_of(event) or "")
                    told = reply.notice_of(event)
                    self._write(f"[{told}]\n" if told else "")
                    self._turn_end(event)
            except DshloopError as error:
                self._write(f"error: {error.message} ({error.code})\n")

    def _turn_end(self, event: Event) -> None:
        if event["type"] != "turn/end":
            return
        reason = reason_of(event)
        if reason["kind"] == "interrupted":
            return
        self.turns += 1
        failure = failure_of(reason)
        if failure is not None:
            self._write(f"error: {failure_text(failure)}\n")
        elif reason["kind"] != "completed":
            self._write(f"[{reason['kind']}]\n")

    def _write(self, text: str) -> None:
        self.env.stdout.write(visible(text))
        self.env.stdout.flush()
