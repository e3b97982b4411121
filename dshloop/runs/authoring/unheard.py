"""What fails where nobody waits for it: a task, a thread, a coroutine that was never awaited."""

from __future__ import annotations

import asyncio
import gc
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple, cast

_FIX = (
    "Await what you start, and catch what it raises; what must outlive a call is ended by "
    "agent.undo(...)."
)


class Unheard(NamedTuple):
    """A failure that only stderr would tell of, and the exception where there is one."""

    said: str
    raised: BaseException | None = None
    fix: str = _FIX


@contextmanager
def unheard() -> Iterator[list[Unheard]]:
    """Collect such failures while the block lasts, in the order in which they come out.

    To be entered in the event loop in which a loop is tried. Threads and warnings are those of the
    whole program, so that only one block may last at a time.
    """
    found: list[Unheard] = []
    loop, before = asyncio.get_running_loop(), threading.excepthook

    def in_loop(_loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        found.append(Unheard(f"{context['message']}", context.get("exception")))

    def in_thread(args: threading.ExceptHookArgs) -> None:
        name = "a thread" if args.thread is None else f"the thread {args.thread.name}"
        found.append(Unheard(f"{name} raised", args.exc_value))

    with warnings.catch_warnings():
        warnings.simplefilter("always", RuntimeWarning)
        show = warnings.showwarning

        def warned(message: Any, category: Any, file: str, line: int, *rest: Any) -> None:
            if "was never awaited" in str(message):
                found.append(Unheard(str(message), fix="Write await before the call."))
            else:
                show(message, category, file, line, *rest)

        warnings.showwarning = cast("Any", warned)
        loop.set_exception_handler(in_loop)
        threading.excepthook = in_thread
        try:
            yield found
            gc.collect()  # which is when a task's failure that nobody asked for is told
        finally:
            threading.excepthook = before
            loop.set_exception_handler(None)
