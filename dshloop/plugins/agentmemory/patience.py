"""How long memory may hold up turns."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable
from typing import TypeVar

T = TypeVar("T")


class Patience:
    """How long memory may still hold up the turn of each session, in seconds."""

    def __init__(self, limit: float) -> None:
        self._limit = limit
        self._left: dict[str, float] = {}

    def renew(self, session_id: str) -> None:
        """A turn begins."""
        self._left[session_id] = self._limit

    def forget(self, session_id: str) -> None:
        """A session has ended."""
        self._left.pop(session_id, None)

    async def wait(self, session_id: str, work: Awaitable[T]) -> T | None:
        """Wait for something as long as may be; None when it takes longer, and goes on beside."""
        left = self._left.get(session_id, self._limit)
        began = time.monotonic()
        try:
            async with asyncio.timeout(left):
                return await work
        except TimeoutError:
            return None
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is None or task.cancelling():
                raise
            return None  # it is the work that has ended, not who waits
        finally:
            self._left[session_id] = max(0.0, left - (time.monotonic() - began))
