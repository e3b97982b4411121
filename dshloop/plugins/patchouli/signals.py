"""Waiting that an abort ends, and what is then raised."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Any, TypeVar

from dshloop.host.abort import AbortSignal

T = TypeVar("T")


class Aborted(Exception):  # noqa: N818 - what was raised is the reason of a signal
    """Stands for the reason of a signal that was aborted without an exception."""


def reason_of(signal: AbortSignal) -> Exception:
    """Give what a signal was aborted with as an exception; its text is the reason's."""
    cause = signal.cause or {}
    reason = cause.get("reason")
    if isinstance(reason, Exception):
        return reason
    message = cause.get("message") or (reason if isinstance(reason, str) else None)
    return Aborted(message or f"aborted: {cause.get('kind', 'its caller')}")


def require_going(signal: AbortSignal | None) -> None:
    """Raise the reason of a signal that is aborted."""
    if signal is not None and signal.aborted:
        raise reason_of(signal)


async def unless_aborted(work: Awaitable[T], signal: AbortSignal | None) -> T:
    """Give what some work gives; an abort ends the wait with its reason, not the work."""
    task = asyncio.ensure_future(work)
    task.add_done_callback(_looked_at)
    if signal is None:
        return await task
    stopped: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def stop() -> None:
        if not stopped.done():
            stopped.set_result(None)

    signal.on_abort(stop)
    try:
        waiting: set[asyncio.Future[Any]] = {task, stopped}
        await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            raise reason_of(signal)
        return task.result()
    finally:
        signal.forget(stop)


def _looked_at(task: asyncio.Future[T]) -> None:
    """Take note of an exception that nobody waits for any more."""
    if not task.cancelled():
        task.exception()
