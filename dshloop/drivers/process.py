"""A program that runs turns for us: started, spoken to in JSON lines, watched and ended."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
from collections.abc import Mapping, Sequence
from typing import Any

from dshloop.errors import EngineAnswerError, EngineDiedError, EngineMissingError, EngineSilentError
from dshloop.redact import redact_text

Message = dict[str, Any]

LONGEST_LINE = 256 * 1024 * 1024  # bytes; nobody sends more in one message
_PIECE = 1024 * 1024
_TAIL = 4096  # bytes of its last words
GRACE = 2.0
"""Seconds that a program may take to end when it is asked to."""


class EngineProcess:
    """One run of a program. ``heard`` is when it last said something, by the loop's clock."""

    def __init__(self, name: str, process: asyncio.subprocess.Process) -> None:
        self.name = name
        self._process = process
        self._loop = asyncio.get_running_loop()
        self.heard = self._loop.time()
        self._buffer = bytearray()
        self._searched = 0
        self._words = b""  # the end of what it wrote to stderr, and of what was no message
        self._listening = asyncio.ensure_future(self._listen())

    @classmethod
    async def start(
        cls, name: str, command: Sequence[str], *, cwd: str | None, variables: Mapping[str, str]
    ) -> EngineProcess:
        """Start a program in a process group of its own. Raises ENGINE_MISSING."""
        pipe = asyncio.subprocess.PIPE
        try:
            process = await asyncio.create_subprocess_exec(
                *command,
                stdin=pipe,
                stdout=pipe,
                stderr=pipe,
                cwd=cwd,
                env=dict(variables),
                limit=_PIECE,
                start_new_session=True,
            )
        except (OSError, ValueError) as fault:
            raise EngineMissingError(
                f"{command[0]} could not be run: {fault}", program=str(command[0])
            ) from fault
        return cls(name, process)

    @property
    def last_words(self) -> str:
        """What it wrote last to stderr, or to stdout without being a message; no secrets in it."""
        return redact_text(self._words.decode("utf-8", "replace")).strip()

    async def send(self, message: Mapping[str, Any]) -> None:
        """Send one message. Raises ENGINE_DIED."""
        stdin = self._process.stdin
        assert stdin is not None
        try:
            stdin.write(json.dumps(message, ensure_ascii=False).encode("utf-8") + b"\n")
            await stdin.drain()
        except (ConnectionError, RuntimeError) as fault:
            raise await self.died() from fault

    async def receive(self) -> Message | None:
        """Give the next message, None at the end of its output.

        Lines that are none are kept as its last words. Raises ENGINE_ANSWER for one that begins
        as a message and is none, or never ends.
        """
        while (line := await self._line()) is not None:
            self.heard = self._loop.time()
            text = line.strip()
            if text.startswith(b"{"):
                return self._message(text)
            if text:
                self._remember(text + b"\n")
        return None

    def _message(self, line: bytes) -> Message:
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            shown = redact_text(line[:200].decode("utf-8", "replace"))
            raise EngineAnswerError(
                f"{self.name} wrote a line that is no JSON", line=shown, words=self.last_words
            ) from None
        assert isinstance(message, dict)
        return message

    async def _line(self) -> bytes | None:
        """Give the next line of stdout, without its end; one that was cut off counts for none."""
        stdout = self._process.stdout
        assert stdout is not None
        while True:
            end = self._buffer.find(b"\n", self._searched)
            if end >= 0:
                line = bytes(self._buffer[:end])
                del self._buffer[: end + 1]
                self._searched = 0
                return line
            self._searched = len(self._buffer)
            if self._searched > LONGEST_LINE:
                raise EngineAnswerError(
                    f"{self.name} wrote a line of more than {LONGEST_LINE} bytes"
                )
            piece = await stdout.read(_PIECE)
            if not piece:
                return None
            self._buffer += piece

    async def _listen(self) -> None:
        stderr = self._process.stderr
        assert stderr is not None
        while piece := await stderr.read(_PIECE):
            self._remember(piece)

    def _remember(self, words: bytes) -> None:
        self._words = (self._words + words)[-_TAIL:]

    # --- its end -------------------------------------------------------------------------------

    async def died(self) -> EngineDiedError:
        """Wait for the end of a program whose output has ended, and make the error for it."""
        status = await self.end()
        said = self.last_words
        last = said.splitlines()[-1].strip()[:200] if said else ""
        how = f"by {signal.Signals(-status).name}" if status < 0 else f"with status {status}"
        text = f"{self.name} ended {how}" + (f": {last}" if last else "")
        return EngineDiedError(text, status=status, words=said)

    def silent(self, patience: float) -> EngineSilentError:
        """Make the error for one that says nothing any more."""
        text = f"{self.name} said nothing for {patience:g} seconds"
        return EngineSilentError(text, words=self.last_words)

    async def end(self) -> int:
        """End the program and all that it started; gives its status. May be called twice."""
        process = self._process
        if process.stdin is not None:
            process.stdin.close()
        for ask in (None, signal.SIGTERM, signal.SIGKILL):
            if ask is not None:
                self._signal(ask)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(asyncio.shield(self._ended()), _waits(ask))
                break
        self._signal(signal.SIGKILL)  # what it left behind
        return process.returncode if process.returncode is not None else -signal.SIGKILL

    async def kill(self) -> None:
        """End the program at once: what it is doing is not wanted any more."""
        self._signal(signal.SIGTERM)
        await self.end()

    async def _ended(self) -> None:
        await self._process.wait()
        with contextlib.suppress(TimeoutError):  # who holds its stderr open may live on
            await asyncio.wait_for(asyncio.shield(self._listening), 0.2)

    def _signal(self, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, number)


def _waits(ask: signal.Signals | None) -> float | None:
    """Tell how long to wait behind a request to end; the last one can't be refused."""
    return None if ask is signal.SIGKILL else GRACE
