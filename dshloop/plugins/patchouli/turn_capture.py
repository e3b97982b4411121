"""A turn that has ended: made durable, then handed to its delivery (patchouli 5)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from dshloop.host.abort import AbortSignal
from dshloop.host.hooks import Hooks
from dshloop.plugins.patchouli.points import stored_turn, turn_end
from dshloop.plugins.patchouli.turn_delivery import FAILED, TurnDelivery

if TYPE_CHECKING:
    from dshloop.sessions.session import Session

Event = Mapping[str, Any]

_flushing: ContextVar[str | None] = ContextVar("flushing", default=None)
"""The session that this task flushes for a turn end: its own listener must not wait for it."""


class TurnCapture:
    """Captures turn ends; an entry is in the outbox before anything is waited for."""

    def __init__(
        self,
        delivery: TurnDelivery,
        hooks: Hooks,
        lifetime: AbortSignal,
        warn: Callable[[str], object],
    ) -> None:
        self._delivery, self._hooks = delivery, hooks
        self._lifetime, self._warn = lifetime, warn

    def flushes(self, session_id: str) -> bool:
        """Whether the flush that is asked about is one of this capture's own."""
        return _flushing.get() == session_id

    async def capture(self, session: Session, end: Event, agent: Mapping[str, Any]) -> None:
        """Capture the turn that ``end`` ends; what fails is a warning.

        ``agent`` is what was to be seen of the agent when the turn ended.
        """
        try:
            await self._captured(session, end, agent)
        except Exception as error:
            self._warn(FAILED.format(str(error) or type(error).__name__))

    async def _captured(self, session: Session, end: Event, agent: Mapping[str, Any]) -> None:
        places = places_of(session, end, agent)
        kept = self._delivery.reads(places[-1])
        plugins = await self._delivery.admit(session.header.raw, end, places) if kept else []
        await self._flush(session)
        if self._lifetime.aborted:
            return
        if kept:
            await self._delivery.deliver(plugins, places[-1])
            return
        turn = stored_turn(session.events, end["data"]["turn"], end["seq"])
        await self._delivery.deliver_request(turn_end(agent, session.header.raw, turn))

    async def _flush(self, session: Session) -> None:
        flushing = _flushing.set(session.header.id)
        try:
            await self._hooks.parallel("session/flush", session)
            session.flush()
        finally:
            _flushing.reset(flushing)


def places_of(session: Session, end: Event, agent: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Say where the turns of a session stand, up to the one that ends with ``end``.

    Raises ValueError when that one has no start in the live log.
    """
    path = getattr(session, "path", None)
    place = {"session": session.header.id, "log": None if path is None else str(path)}
    earlier = (event for event in session.events if event["seq"] < end["seq"])
    starts: dict[Any, int] = {}
    places = []
    for event in (*earlier, end):
        data = event["data"]
        turn = data.get("turn") if isinstance(data, Mapping) else None
        if event["type"] == "turn/start":
            starts[turn] = event["seq"]
        elif event["type"] == "turn/end" and turn in starts:
            span = {"turn": turn, "start": starts[turn], "end": event["seq"]}
            places.append({**place, **span, "agent": agent})
    if not places or places[-1]["end"] != end["seq"]:
        raise ValueError(f"session has no matching turn/start for turn {end['data']['turn']}")
    return places
