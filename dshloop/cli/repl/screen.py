"""What is written during a conversation: answers as they come, folded lines, the spinner."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress

from prompt_toolkit.utils import get_cwidth

from dshloop.environment import Environment
from dshloop.runs.watching.telling import Told
from dshloop.terminal import one_line, visible

_DIM, _RED, _PLAIN = "\x1b[2m", "\x1b[31m", "\x1b[0m"
_ERASE = "\r\x1b[K"
_TURNING, _TURNING_ASCII = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏", "|/-\\"
_PERIOD = 0.1  # seconds
_SHOWN_LINES = 6  # of added context
_TAIL = 200  # characters of a thought under way


class Screen:
    """The part of the terminal above the prompt. A terminal that is gone is written to no more.

    ``folds`` are all lines that stand for more, numbered from 1.
    """

    def __init__(self, env: Environment, *, color: bool) -> None:
        self.folds: list[Told] = []
        self.gone = False
        self._env, self._color = env, color
        self._spins = env.stdout_tty and env.variables.get("TERM") != "dumb"
        self._turning = _TURNING if _is_unicode(env.stdout) else _TURNING_ASCII
        self._turn = 0  # folds before this turn
        self._midline = False
        self._busy, self._busy_since, self._thought = "", 0.0, ""
        self._spinner_shown = False
        self._held: list[str] | None = None

    # --- text ----------------------------------------------------------------------------------

    def write(self, text: str) -> None:
        """Write text as it is, control characters made visible."""
        if text:
            self._emit(visible(text))
            self._midline = not text.endswith("\n")

    def line(self, text: str, style: str = "") -> None:
        """Write a line of its own; ``style`` is dim, red or none."""
        self.write("\n" if self._midline else "")
        self._emit(self._styled(visible(text), style) + "\n")

    def notice(self, text: str) -> None:
        """Tell something that is not the model's."""
        self.line(f"[{text}]", "dim")

    def failure(self, text: str, hint: str | None = None) -> None:
        """Tell what went wrong and what to do."""
        self.line(f"error: {text}", "red")
        for line in hint.split("\n") if hint else ():
            self.line(f"  {line}")

    # --- what is told of a turn ----------------------------------------------------------------

    def begin_turn(self) -> None:
        """Have `unfold` without a number show what comes from now on."""
        self._turn = len(self.folds)

    def tell(self, told: Told) -> None:
        """Show one thing."""
        if told.kind == "text":
            self._busy = ""
            self.write(told.text)
        elif told.kind == "thought":
            self._thought = (self._thought + told.text)[-_TAIL:]
        elif told.kind == "fold":
            self._thought = ""
            self.line(f"{'✗' if told.failed else '·'} {told.text} {self._kept(told)}", "dim")
        elif told.kind == "context":
            self._context(told)
        elif told.kind == "notice":
            self.notice(told.text)
        elif told.kind == "failure":
            self.failure(told.text)
        elif told.text != self._busy:
            self._busy, self._busy_since = told.text, time.monotonic()

    def unfold(self, number: int | None = None) -> None:
        """Show all of one folded line, or of those of the last turn."""
        first, end = (self._turn, len(self.folds)) if number is None else (number - 1, number)
        wanted = range(first, end)
        if not wanted:
            self.notice("nothing is folded in the last turn")
        for at in wanted:
            told = self.folds[at]
            self.line(f"[{at + 1}] {told.text}")
            self.line(_indented(told.body), "dim")

    def _kept(self, told: Told) -> str:
        self.folds.append(told)
        return f"[{len(self.folds)}]"

    def _context(self, told: Told) -> None:
        """Show added context as a block of its own, never as anybody's words."""
        lines = told.body.split("\n")
        self.line(f"[{told.text}] {self._kept(told)}", "dim")
        self.line(_indented("\n".join(lines[:_SHOWN_LINES])), "dim")
        more = len(lines) - _SHOWN_LINES
        if more > 0:
            self.line(f"  … {more} more line{'s' * (more != 1)}", "dim")

    # --- waiting -------------------------------------------------------------------------------

    @asynccontextmanager
    async def working(self) -> AsyncIterator[None]:
        """Show a spinner whenever nothing comes while the block runs."""
        ticking = asyncio.ensure_future(self._tick()) if self._spins else None
        self._busy, self._busy_since, self._thought = "waiting", time.monotonic(), ""
        try:
            yield
        finally:
            self._busy = ""
            if ticking is not None:
                ticking.cancel()
                with suppress(asyncio.CancelledError):
                    await ticking
            self._end_line()

    @contextmanager
    def held(self) -> Iterator[None]:
        """Keep the screen for somebody else; what is told meanwhile is written afterwards."""
        self._end_line()
        self._held = []
        try:
            yield
        finally:
            kept, self._held = self._held, None
            self._emit("".join(kept))

    def _end_line(self) -> None:
        """Leave the cursor at the left, on a line that nothing stands on."""
        if self._spinner_shown:
            self._put(_ERASE)
            self._spinner_shown = False
        self.write("\n" if self._midline else "")

    async def _tick(self) -> None:
        while True:
            self._spin()
            await asyncio.sleep(_PERIOD)

    def _spin(self) -> None:
        """Draw the spinner, where no line is under way and nobody else has the screen."""
        if not self._busy or self._midline or self._held is not None or self.gone:
            return
        now = time.monotonic()
        frame = self._turning[int(now / _PERIOD) % len(self._turning)]
        waited = f" {now - self._busy_since:.0f} s" if now - self._busy_since >= 1 else ""
        text, room = f"{frame} {self._busy}{waited}", self._env.width - 1
        thought = one_line(self._thought)
        if thought:
            text = f"{text}: {_last_columns(thought, room - len(text) - 2)}"
        self._put(_ERASE + self._styled(text if get_cwidth(text) <= room else frame, "dim"))
        self._spinner_shown = True

    # --- the terminal --------------------------------------------------------------------------

    def _emit(self, raw: str) -> None:
        if self._held is not None:
            self._held.append(raw)
        elif raw:
            erase = _ERASE if self._spinner_shown else ""
            self._spinner_shown = False
            self._put(erase + raw)

    def _put(self, raw: str) -> None:
        if self.gone:
            return
        try:
            self._env.stdout.write(raw)
            self._env.stdout.flush()
        except (OSError, ValueError):
            self.gone = True

    def _styled(self, text: str, style: str) -> str:
        code = {"dim": _DIM, "red": _RED}.get(style)
        return f"{code}{text}{_PLAIN}" if code and self._color and text else text


def _indented(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.split("\n"))


def _last_columns(text: str, room: int) -> str:
    """Give the end of a text that fits in so many columns."""
    while text and get_cwidth(text) > room:
        text = text[1:]
    return text


def _is_unicode(stream: object) -> bool:
    encoding = getattr(stream, "encoding", None) or "utf-8"
    return str(encoding).lower().replace("-", "").startswith("utf")
