"""What is typed while an answer comes: not echoed into it, and kept for the next prompt.

It is read as it comes, what is pasted as one text. Ctrl-C and Ctrl-Z are signals meanwhile, so
that they work whatever hangs.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, TextIO

from prompt_toolkit.input.typeahead import get_typeahead, store_typeahead
from prompt_toolkit.key_binding.key_processor import KeyPress
from prompt_toolkit.keys import Keys

from dshloop.signals import handled_by

if TYPE_CHECKING:
    from prompt_toolkit.input import Input
    from prompt_toolkit.output import Output


class TypeAhead:
    """Works on the terminal that the prompts read; what it reads is theirs."""

    def __init__(self, keys: Input, screen: Output) -> None:
        self._keys, self._screen = keys, screen
        self._kept = ""
        self._lent = False

    def take(self) -> str:
        """Give what was kept, for a prompt to begin with."""
        kept, self._kept = self._kept, ""
        return kept.rstrip("\n")

    def keep(self) -> None:
        """Keep what was typed up to now, so that it answers no question."""
        self._read()
        self._kept = _typed(self._kept, get_typeahead(self._keys))

    @contextmanager
    def unechoed(self) -> Iterator[None]:
        """Read what is typed, and show nothing of it, while the block runs."""
        if os.name != "posix":
            yield
            return
        with self._keys.attach(self._read), self._quiet():
            yield

    @contextmanager
    def asking(self) -> Iterator[None]:
        """Leave the terminal to a question within `unechoed`."""
        self._lent = True
        try:
            yield
        finally:
            self._lent = False
            self._mark_pastes(True)

    @contextmanager
    def lent(self) -> Iterator[None]:
        """Leave the terminal to another program within `unechoed`."""
        self._mark_pastes(False)
        with self.asking(), self._keys.detach(), self._keys.cooked_mode():
            yield

    def _read(self) -> None:
        while presses := self._keys.read_keys():
            store_typeahead(self._keys, presses)

    @contextmanager
    def _quiet(self) -> Iterator[None]:
        fd = self._keys.fileno()
        if not os.isatty(fd):
            yield
            return
        mode = _quiet_mode(fd)

        def begin() -> None:
            if not self._lent and os.tcgetpgrp(fd) == os.getpgrp():
                mode.__enter__()
                self._mark_pastes(True)

        begin()
        try:
            # while we are stopped a shell has modes of its own
            with handled_by(signal.SIGCONT, lambda *_: begin()):
                yield
        finally:
            self._mark_pastes(False)
            mode.__exit__(None, None, None)

    def _mark_pastes(self, on: bool) -> None:
        """Have the terminal say where a paste begins and ends."""
        try:
            if on:
                self._screen.enable_bracketed_paste()
            else:
                self._screen.disable_bracketed_paste()
            self._screen.flush()
        except OSError:
            pass  # the terminal is gone


@contextmanager
def restored(stream: TextIO) -> Iterator[None]:
    """Give a terminal back as it was, whatever interrupts the block."""
    if os.name != "posix" or not stream.isatty():
        yield
        return
    import termios

    before = termios.tcgetattr(stream.fileno())
    try:
        yield
    finally:
        try:
            termios.tcsetattr(stream.fileno(), termios.TCSANOW, before)
        except termios.error:
            pass  # the terminal is gone


def _quiet_mode(fd: int) -> AbstractContextManager[None]:
    """Make the mode of a terminal that gives each key at once and shows none, but has signals."""
    import termios

    from prompt_toolkit.input.vt100 import raw_mode

    class Quiet(raw_mode):
        @classmethod
        def _patch_lflag(cls, attrs: int) -> int:
            raw = super()._patch_lflag(attrs)
            return raw | (attrs & termios.ISIG) | termios.NOFLSH  # Ctrl-C takes no typed word away

    return Quiet(fd)


def _typed(text: str, presses: Iterable[KeyPress]) -> str:
    """Add keys to a text; others than texts, line ends and Backspace count for nothing."""
    for press in presses:
        if press.key in (Keys.ControlM, Keys.ControlJ):
            text += "\n"
        elif press.key == Keys.ControlH:
            text = text[:-1]
        elif press.key == Keys.BracketedPaste:
            text += press.data.replace("\r\n", "\n").replace("\r", "\n")
        elif len(press.key) == 1:
            text += press.data
    return text
