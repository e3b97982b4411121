"""A person at the terminal who allows calls, or doesn't."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from inspect import iscoroutinefunction
from typing import cast

from dshloop.host.approval import ALLOWED
from dshloop.host.tools import Execution
from dshloop.terminal import one_line

Ask = Callable[[str], bool]
"""Blocks until there is an answer."""

Asking = Callable[[str], Awaitable[bool]]
"""Is awaited in the event loop; a turn that is stopped cancels it."""

_LONGEST = 4000  # characters of a call's arguments in the question; nobody allows what is hidden


@dataclass(frozen=True, slots=True)
class PersonAsked:
    """Asks one question at a time."""

    question: Asking
    turn: asyncio.Lock

    @classmethod
    def by(cls, question: Ask | Asking) -> PersonAsked:
        """Ask with this function; one that blocks is called in a thread."""
        if iscoroutinefunction(question):
            return cls(question, asyncio.Lock())
        return cls(partial(_in_thread, cast(Ask, question)), asyncio.Lock())

    async def ask(self, execution: Execution, reason: str | None) -> str:
        """Give allowed-once or rejected; whoever stops waiting leaves the question open."""
        async with self.turn:
            return ALLOWED if await self.question(_text(execution, reason)) else "rejected"


def _text(execution: Execution, reason: str | None) -> str:
    arguments = one_line(execution.raw_arguments)
    if len(arguments) > _LONGEST:
        out = len(arguments) - _LONGEST
        half = _LONGEST // 2
        arguments = f"{arguments[:half]} … [{out} MORE CHARACTERS] … {arguments[-half:]}"
    why = f" ({one_line(reason)})" if reason and reason != execution.name else ""
    return f"Allow {one_line(execution.name)} {arguments}{why}?"


async def _in_thread(question: Ask, text: str) -> bool:
    """Call it in a thread that nobody waits for when the process ends."""
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[bool] = loop.create_future()

    def tell(said: bool) -> None:
        if not answer.done():
            answer.set_result(said)

    def run() -> None:
        said = question(text)
        try:
            loop.call_soon_threadsafe(tell, said)
        except RuntimeError:
            pass  # the loop is closed: nobody waits any more

    threading.Thread(target=run, daemon=True).start()
    return await answer
