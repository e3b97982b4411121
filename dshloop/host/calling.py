"""Calls into code of other authors: async or not, and never the end of the process."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from dshloop.errors import AgentFailedError


class ProcessExit(Exception):  # noqa: N818 - what was raised is told under its own name
    """Stands for what is no Exception but was raised by a loop, driver, listener or tool."""

    def __init__(self, raised: BaseException) -> None:
        super().__init__(repr(raised))


async def call(function: Callable[..., Any], *args: Any) -> Any:
    """Call something that may be async and give its result.

    Raises what it raises; `sys.exit` and the like as ProcessExit, which ends nothing but the call.
    """
    try:
        result = function(*args)
        return await result if isinstance(result, Awaitable) else result
    except Exception:
        raise
    except BaseException as raised:
        raise contained(raised) from raised


def contained(raised: BaseException) -> Exception:
    """Give the Exception to raise for what a call raised.

    Raises interrupts, the closing of coroutines, and a cancellation that was asked of this task
    again: they aren't the author's.
    """
    if isinstance(raised, Exception):
        return raised
    from asyncio import CancelledError

    if isinstance(raised, CancelledError) and not _cancelled():
        return ProcessExit(raised)
    if isinstance(raised, KeyboardInterrupt | CancelledError | GeneratorExit):
        raise raised
    return ProcessExit(raised)


def _cancelled() -> bool:
    """Whether somebody has asked this task to end."""
    from asyncio import current_task

    try:
        task = current_task()
    except RuntimeError:  # no event loop runs here
        return False
    return task is not None and task.cancelling() > 0


def at_once(result: Any, what: str) -> Any:
    """Give the result of what may be a coroutine, run without waiting for anything.

    Raises AGENT_FAILED for one that would have to wait, after ending it.
    """
    if not isinstance(result, Awaitable):
        return result
    steps = result.__await__()
    try:
        next(steps)
    except StopIteration as done:
        return done.value
    for end in (getattr(result, "cancel", None), getattr(steps, "close", None)):
        if end is not None:
            end()
    raise AgentFailedError(
        f"{what} waits for something, and must be done at once",
        hint="Wait for it in the setup; what is done at publication can only look and refuse.",
    )
