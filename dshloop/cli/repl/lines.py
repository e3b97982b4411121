"""The keyboard of a conversation: lines, questions, and what is typed while nobody reads."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from prompt_toolkit import PromptSession
from prompt_toolkit.application import get_app, get_app_or_none
from prompt_toolkit.filters import Condition
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.history import DummyHistory
from prompt_toolkit.input.typeahead import get_typeahead, store_typeahead
from prompt_toolkit.layout.screen import Char
from prompt_toolkit.output import ColorDepth, DummyOutput
from prompt_toolkit.styles import Style

from dshloop.cli.repl.keys import key_bindings
from dshloop.cli.repl.typeahead import TypeAhead
from dshloop.terminal import visible

if TYPE_CHECKING:
    from prompt_toolkit.application import Application
    from prompt_toolkit.completion import Completer
    from prompt_toolkit.history import History
    from prompt_toolkit.input import Input
    from prompt_toolkit.key_binding.key_processor import KeyPress
    from prompt_toolkit.output import Output

PROMPT, CONTINUED = "> ", ". "
_ASTRAY = (*range(0x600, 0x620), *range(0x2000, 0x2070))  # where Unicode reorders and breaks lines
_STYLE = Style.from_dict({"bottom-toolbar": "noreverse dim", "continued": "dim"})

# What is typed or pasted is shown as `visible` does it, as prompt_toolkit does with control keys.
Char.display_mappings.update(
    {char: visible(char) for char in map(chr, _ASTRAY) if visible(char) != char}
)

Toolbar = Callable[[int], str]
"""Gives the status line of at most so many columns."""


class Lines:
    """Reads what a person types. Only one of `read` and `ask` is at work at a time."""

    def __init__(
        self,
        history: History,
        completer: Completer,
        toolbar: Toolbar,
        unfold: Callable[[], None],
        *,
        keys: Input | None,
        screen: Output | None,
        color: bool,
    ) -> None:
        self._history = history
        self._draws = screen is not None
        self._toolbar = toolbar
        shared: dict[str, Any] = {"input": keys, "output": screen, "style": _STYLE}
        shared["enable_suspend"] = True
        if not color:
            shared["color_depth"] = ColorDepth.DEPTH_1_BIT
        self._session: PromptSession[str] = PromptSession(
            PROMPT,
            history=history,
            completer=completer,
            complete_while_typing=Condition(_is_command),
            bottom_toolbar=self._status,
            key_bindings=key_bindings(unfold),
            multiline=True,
            prompt_continuation=_continuation,
            **shared,
        )
        self._session.app.after_render += self._feed_soon
        self._ahead: list[KeyPress] = []
        self._question: PromptSession[str] = PromptSession(history=DummyHistory(), **shared)
        self.typeahead = TypeAhead(self._session.input, screen or DummyOutput())

    async def read(self) -> str:
        """Read one text, of several lines maybe.

        Raises EOFError for Ctrl-D and `leave`, OSError for a terminal that is gone, Cleared for
        Ctrl-C. A text that was typed and not sent is found in the history.
        """
        if self._draws:
            self._ahead = get_typeahead(self._session.input)
        try:
            return await self._session.prompt_async(default=self.typeahead.take())
        except KeyboardInterrupt:
            raise Cleared(bool(self._session.default_buffer.text)) from None
        except (EOFError, OSError):
            self.remember(self._session.default_buffer.text)
            raise

    def remember(self, text: str) -> None:
        """Have a text found in the history."""
        if text.strip():
            self._history.append_string(text)

    async def ask(self, question: str) -> bool:
        """Ask a yes-or-no question; what was typed before it is kept and answers nothing.

        Raises KeyboardInterrupt, EOFError.
        """
        self.typeahead.keep()
        with self.typeahead.asking():
            answer = await self._question.prompt_async(f"{question} [y/N] ")
        return answer.strip().lower() in ("y", "yes")

    def leave(self) -> None:
        """End `read`."""
        app = get_app_or_none()  # another one than the session's on a dumb terminal
        if app is not None and app.layout is self._session.layout and not app.is_done:
            app.exit(exception=EOFError)

    def _feed_soon(self, app: Application[str]) -> None:
        """Have what was typed ahead typed behind the first drawing, which loads the history."""
        keys, self._ahead = self._ahead, []

        def feed() -> None:
            if app.is_running and not app.is_done:
                app.key_processor.feed_multiple(keys)
                app.key_processor.process_keys()
            else:
                store_typeahead(self._session.input, keys)

        if keys:
            asyncio.get_running_loop().call_soon(feed)

    def _status(self) -> StyleAndTextTuples:
        return [("", self._toolbar(get_app().output.get_size().columns))]


class Cleared(Exception):  # noqa: N818 - a key, no fault
    """Ctrl-C was pressed at the prompt; ``text`` says whether there was any to clear."""

    def __init__(self, text: bool) -> None:
        super().__init__()
        self.text = text


def _is_command() -> bool:
    return get_app().current_buffer.text.startswith("/")


def _continuation(_width: int, _line: int, _wrapped: int) -> StyleAndTextTuples:
    return [("class:continued", CONTINUED)]
