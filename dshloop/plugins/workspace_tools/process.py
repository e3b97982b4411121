"""A process of a tool: in a group of its own, which is ended at a limit or when a turn stops."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal as signals
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, cast

from dshloop.host.abort import AbortSignal

_GRACE = 1.0  # seconds between asking to end and ending
_LAST_WORDS = 0.3  # seconds for output that is still on its way when the process has ended


class Limits(NamedTuple):
    """How long a process may take, and how many bytes it may write."""

    seconds: float
    most_bytes: int = 16 * 1024 * 1024


class Exit(NamedTuple):
    """How it ended; ``why`` it was made to: time, output or abort, None where it wasn't."""

    code: int | None
    why: str | None = None


async def run(
    command: Sequence[str],
    given: bytes,
    limits: Limits,
    take: Callable[[bytes], bool],
    signal: AbortSignal,
    *,
    cwd: Path | None = None,
    environment: Mapping[str, str] | None = None,
) -> Exit:
    """Run a command; ``take`` is given its output, both streams in one, and False ends it.

    Nothing of its group is left when this returns. Raises OSError when it can't be started.
    """
    running = _Running(limits, take)
    transport, _ = await asyncio.get_running_loop().subprocess_exec(
        lambda: running,
        *command,
        stderr=subprocess.STDOUT,
        cwd=cwd,
        env=None if environment is None else dict(environment),
        start_new_session=sys.platform != "win32",
    )
    stop = running.abort
    signal.on_abort(stop)
    try:
        return await running.finish(transport, given)
    finally:
        signal.forget(stop)


class _Running(asyncio.SubprocessProtocol):
    """A process under way: what it writes is taken as it comes."""

    def __init__(self, limits: Limits, take: Callable[[bytes], bool]) -> None:
        self._limits, self._take = limits, take
        self._why: str | None = None
        self._length = 0
        self._exited, self._over, self._silent = (asyncio.Event() for _ in range(3))

    def pipe_data_received(self, fd: int, data: bytes) -> None:  # noqa: ARG002
        """Take output in."""
        self._length += len(data)
        if self._why is None and (not self._take(data) or self._length > self._limits.most_bytes):
            self._end("output")

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:  # noqa: ARG002
        """Know that no more output comes."""
        if fd == 1:
            self._silent.set()

    def process_exited(self) -> None:
        """Know that it has ended; what it started may still hold its output."""
        self._exited.set()
        self._over.set()

    def abort(self) -> None:
        """End it because the turn stops."""
        self._end("abort")

    def _end(self, why: str) -> None:
        self._why = self._why or why
        self._over.set()

    async def finish(self, transport: asyncio.SubprocessTransport, given: bytes) -> Exit:
        """Feed it and wait until it ends or is made to."""
        _feed(transport, given)
        try:
            if not await _within(self._over, self._limits.seconds):
                self._end("time")
            if self._why is None:
                await _within(self._silent, _LAST_WORDS)
        finally:
            await asyncio.shield(self._end_group(transport.get_pid()))
            transport.close()
        return Exit(transport.get_returncode(), self._why)

    async def _end_group(self, pid: int) -> None:
        """End all that is left of the group: first asked to, where it still runs, then made to."""
        if not self._exited.is_set():
            _send(pid, signals.SIGTERM)
            await _within(self._exited, _GRACE)
        _send(pid, getattr(signals, "SIGKILL", signals.SIGTERM))
        await self._exited.wait()


def _feed(transport: asyncio.SubprocessTransport, given: bytes) -> None:
    stdin = cast("asyncio.WriteTransport", transport.get_pipe_transport(0))
    stdin.write(given)
    stdin.close()


async def _within(event: asyncio.Event, seconds: float) -> bool:
    """Wait for an event, so long at most; whether it came."""
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(event.wait(), seconds)
    return event.is_set()


def _send(group: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if sys.platform == "win32":
            os.kill(group, number)
        else:
            os.killpg(group, number)
