"""What is typed while an answer comes: not echoed into it, and kept for the next prompt.

The terminal stays in its line mode meanwhile, so that Ctrl-C is a signal whatever hangs.
"""

from __future__ import annotations

import os
import select
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TextIO

from prompt_toolkit.input.typeahead import get_typeahead
from prompt_toolkit.key_binding.key_processor import KeyPress
from prompt_toolkit.keys import Keys

if TYPE_CHECKING:
    from prompt_toolkit.input import Input


class TypeAhead:
    """Works on the terminal that the prompts read; other inputs are left alone."""

    def __init__(self, keys: Input) -> None:
        self._keys = keys
        self._kept = ""

    def take(self) -> str:
        """Give what was kept, for a prompt to begin with."""
        kept, self._kept = self._kept, ""
        return kept.rstrip("\n")

    def keep(self) -> None:
        """Keep what was typed up to now, so that it answers no question."""
        self._kept += "".join(map(_text_of, get_typeahead(self._keys)))
        if self._fd is not None:
            self._kept += _waiting(self._fd)

    @contextmanager
    def unechoed(self) -> Iterator[None]:
        """Show nothing of what is typed while the block runs."""
        fd = self._fd
        if fd is None:
            yield
            return
        import termios

        before = termios.tcgetattr(fd)
        _set(fd, _without(before, termios.ECHO | termios.ECHONL))
        try:
            yield
        finally:
            _set(fd, before)

    @property
    def _fd(self) -> int | None:
        """The terminal's number, None where there is none or none that can be asked."""
        if os.name != "posix":
            return None
        fd = self._keys.fileno()
        return fd if os.isatty(fd) else None


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
        _set(stream.fileno(), before)


def _set(fd: int, attributes: list[Any]) -> None:
    import termios

    try:
        termios.tcsetattr(fd, termios.TCSANOW, attributes)
    except termios.error:
        pass  # the terminal is gone


def _without(attributes: list[Any], flags: int) -> list[Any]:
    """Give a terminal's attributes without some of its local modes, the fourth of them."""
    return [*attributes[:3], attributes[3] & ~flags, *attributes[4:]]


def _text_of(press: KeyPress) -> str:
    """Give the text of a key that was pressed; other keys than texts count for nothing."""
    if press.key in (Keys.ControlM, Keys.ControlJ):
        return "\n"
    return press.data if press.key == Keys.BracketedPaste or len(press.key) == 1 else ""


def _waiting(fd: int) -> str:
    """Read what waits in a terminal, a line that isn't finished too."""
    import termios

    before = termios.tcgetattr(fd)
    _set(fd, _without(before, termios.ICANON))
    found = b""
    try:
        while select.select([fd], [], [], 0)[0]:
            read = os.read(fd, 4096)
            if not read:
                break
            found += read
    finally:
        _set(fd, before)
    text = found.decode("utf-8", "ignore").replace("\r", "\n")
    return "".join(char for char in text if char.isprintable() or char == "\n")
