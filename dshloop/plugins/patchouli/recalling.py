"""Asking memory at a point, and making a message of what is new (patchouli 6)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dshloop.host.abort import AbortSignal
from dshloop.llm.messages import Message
from dshloop.plugins.patchouli.loop_config import LoopConfig
from dshloop.plugins.patchouli.points import Request
from dshloop.plugins.patchouli.recall import (
    Injected,
    capped,
    checked,
    recall_message,
    results_of,
)
from dshloop.plugins.patchouli.service import MemoryService
from dshloop.plugins.patchouli.signals import reason_of


class Recalls:
    """Knows what each session's turn has been given already."""

    def __init__(
        self, memory: MemoryService, config: LoopConfig, warn: Callable[[str], object]
    ) -> None:
        self._memory, self._config, self._warn = memory, config, warn
        self._injected: dict[str, Injected] = {}

    def forget(self, session_id: str) -> None:
        """Let go of a session that is over."""
        self._injected.pop(session_id, None)

    async def message(
        self,
        point: str,
        session_id: str,
        request: Request | None,
        signal: AbortSignal | None,
        turn: Any = None,
    ) -> Message | None:
        """Ask memory; give the message of what it knows and this turn has not seen yet.

        Raises the reason of a signal that is aborted meanwhile; all else is a warning.
        """
        if request is None:
            return None
        results = await self._asked(point, request, signal)
        known = self._injected.setdefault(session_id, Injected())
        if turn is not None:
            known.turn(turn)
        if not self._config.repeat_recall:
            results = known.news(results)
        kept = capped(point, results, self._config.recall_limit)
        known.keep(results[: len(kept)])
        return recall_message(point, kept) if kept else None

    async def _asked(
        self, point: str, request: Request, signal: AbortSignal | None
    ) -> list[dict[str, Any]]:
        try:
            outcomes = checked(await self._memory.retrieve(request, signal=signal))
        except Exception as error:
            if signal is not None and signal.aborted:
                raise reason_of(signal) from None
            self._warn(f"patchouli retrieve at {point} failed: {error}")
            return []
        for outcome in outcomes:
            if not outcome["ok"]:
                name, said = outcome["pluginId"], outcome["error"]
                self._warn(f'patchouli retrieve failed for memory plugin "{name}": {said}')
        return results_of(outcomes)
