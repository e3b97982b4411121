"""Turns that ended go to memory plugins through an outbox for each, until they have them.

An outbox entry doesn't hold the turn but says where it stands in the log, which is read back when
the entry is delivered (patchouli 5).
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from dshloop.errors import OutboxUnusableError
from dshloop.host.abort import AbortSignal
from dshloop.memory.outbox import Entry, Item, Outbox, Policy
from dshloop.plugins.patchouli.durable import Persistence, read_back
from dshloop.plugins.patchouli.loop_config import Thinning
from dshloop.plugins.patchouli.points import (
    TURN_END,
    BrokenTurnError,
    Request,
    meta_of,
    stored_turn,
    turn_end,
)
from dshloop.plugins.patchouli.service import Call, MemoryService, Outcome
from dshloop.plugins.patchouli.thinning import thinned

KIND = TURN_END
POLICY = Policy(attempts=12, age=86_400.0)
FAILED = "patchouli durable turn capture failed: {}"
PLUGIN_FAILED = 'patchouli update failed for memory plugin "{}": {}'
_AGAIN = 1.0  # seconds until what another process was delivering is looked at again
_UNUSABLE = 5.0  # seconds until an outbox that could not be read is tried again

Place = Mapping[str, Any]
"""Where a turn stands: ``{session, log, turn, start, end, agent}``."""


def outbox_name(plugin_id: str) -> str:
    """Name the outbox of a memory plugin."""
    return f"patchouli:{plugin_id}"


class TurnDelivery:
    """Delivers turn ends; without an ``outboxes`` folder each is tried once."""

    def __init__(
        self,
        memory: MemoryService,
        lifetime: AbortSignal,
        warn: Callable[[str], object],
        *,
        outboxes: Path | None = None,
        persistence: Persistence | None = None,
        thinning: Thinning = Thinning(),  # noqa: B008 - it never changes
        clock: Callable[[], float] = time.time,
        policy: Policy | None = None,
    ) -> None:
        self._memory, self._lifetime, self._warn = memory, lifetime, warn
        self._folder, self._persistence = outboxes, persistence
        self._thinning, self._clock, self._policy = thinning, clock, policy or POLICY
        self._open: dict[str, Outbox] = {}
        self._draining: dict[tuple[str, str], asyncio.Lock] = {}
        self._wake = asyncio.Event()

    def reads(self, place: Place) -> bool:
        """Whether a session's turns can be read back from somewhere."""
        return self._persistence is not None or place["log"] is not None

    # --- putting in ----------------------------------------------------------------------------

    async def admit(
        self, header: Mapping[str, Any], end: Mapping[str, Any], places: list[dict[str, Any]]
    ) -> list[str]:
        """Put the turn that ends with ``end`` into the outbox of each plugin that is to have it.

        ``places`` are the session's turns, this one the last; earlier ones that an outbox has not
        seen come before it. Gives the plugins' ids.
        """
        data = end["data"]
        meta = meta_of(TURN_END, header, turn=data["turn"], outcome=data["reason"]["kind"])
        found, _ = self._memory.matching(Call("update", meta))
        plugins = list(found)
        for plugin in plugins if self._folder is not None else ():
            try:
                await asyncio.to_thread(self._put, plugin, places)
            except OutboxUnusableError as error:
                self._warn(f"{error.message}; the turn is delivered without it")
        return plugins

    def _put(self, plugin: str, places: list[dict[str, Any]]) -> None:
        outbox = self._outbox(plugin)
        session, last = places[-1]["session"], places[-1]["end"]
        mark = outbox.mark(session)
        for place in places:
            if place["end"] == last or (mark is not None and place["end"] > mark):
                outbox.put(session, [Item(KIND, place)], mark=place["end"])

    # --- delivering ----------------------------------------------------------------------------

    async def deliver_request(self, request: Request) -> None:
        """Deliver a turn that is kept nowhere; it is tried once."""
        await self._send(thinned(request, self._thinning), None)

    async def deliver(self, plugins: list[str], place: Place) -> None:
        """Deliver a session's turns to plugins, in their order, up to a plugin's first failure."""
        if self._folder is None:
            request = await self._request(place)
            if request is not None:
                await self._send(request, set(plugins))
            return
        await asyncio.gather(*(self._drain(plugin, place) for plugin in plugins))

    async def _drain(self, plugin: str, place: Place) -> None:
        try:
            await self._drain_session(self._outbox(plugin), plugin, place["session"])
        except OutboxUnusableError:
            request = await self._request(place)
            if request is not None:
                await self._send(request, {plugin})

    async def _drain_session(self, outbox: Outbox, plugin: str, session: str) -> None:
        """Deliver what is due of a session; one at a time, here and among processes."""
        async with self._draining.setdefault((plugin, session), asyncio.Lock()):
            await self._drain_claimed(outbox, plugin, session)

    async def _drain_claimed(self, outbox: Outbox, plugin: str, session: str) -> None:
        if not await asyncio.to_thread(outbox.claim, session):
            self._wake.set()
            return
        try:
            while not self._lifetime.aborted:
                due = await asyncio.to_thread(outbox.due, session)
                if not due or not await self._attempt(outbox, plugin, due[0]):
                    return
        finally:
            await asyncio.shield(asyncio.to_thread(outbox.release, session))

    async def _attempt(self, outbox: Outbox, plugin: str, entry: Entry) -> bool:
        """Try one entry; False when its session has to wait."""
        try:
            request = await self._read(entry.body)
        except BrokenTurnError as error:
            self._warn(FAILED.format(error))
            await asyncio.to_thread(outbox.failed, entry, str(error), final=True)
            return True
        except Exception as error:
            self._warn(FAILED.format(_said(error)))
            return await self._failed(outbox, entry, _said(error))
        if self._lifetime.aborted or plugin not in self._memory.plugins:
            return False
        error_text = await self._send(request, {plugin})
        if error_text is not None:
            return (
                False if self._lifetime.aborted else await self._failed(outbox, entry, error_text)
            )
        await asyncio.to_thread(outbox.done, entry)
        return True

    async def _failed(self, outbox: Outbox, entry: Entry, error: str) -> bool:
        given_up = await asyncio.to_thread(outbox.failed, entry, error)
        if given_up:
            self._warn(
                f"turn {entry.body['turn']} of session {entry.session} is given up for "
                f"{outbox.store}: {error}"
            )
        self._wake.set()
        return given_up

    async def _send(self, request: Request, only: set[str] | None) -> str | None:
        """Call plugins; give the error of one that failed."""
        try:
            outcomes = await self._memory.update(request, signal=self._lifetime, only=only)
        except Exception as error:
            if not self._lifetime.aborted:
                self._warn(f"patchouli update at {TURN_END} failed: {_said(error)}")
            return _said(error)
        return self.told(outcomes)

    def told(self, outcomes: list[Outcome]) -> str | None:
        """Warn of each plugin that failed; give the last one's error."""
        error = None
        for outcome in outcomes:
            if not outcome["ok"]:
                error = str(outcome["error"])
                self._warn(PLUGIN_FAILED.format(outcome["pluginId"], error))
        return error

    async def _request(self, place: Place) -> Request | None:
        try:
            return await self._read(place)
        except Exception as error:
            self._warn(FAILED.format(_said(error)))
            return None

    async def _read(self, place: Place) -> Request:
        """Read a turn back. Raises BrokenTurnError and what reading raises."""
        stored = await read_back(
            place["session"], place["start"], place.get("log"), self._persistence
        )
        events = stored_turn(stored.events, place["turn"], place["end"])
        return thinned(turn_end(place["agent"], stored.header, events), self._thinning)

    # --- later ---------------------------------------------------------------------------------

    async def keep_trying(self) -> None:
        """Deliver what earlier processes and failed attempts left, until the lifetime ends."""
        if self._folder is None:
            return
        self._lifetime.on_abort(self._wake.set)
        await asyncio.sleep(0)
        while True:
            pause = await self._round()
            if self._lifetime.aborted:
                return
            self._wake.clear()  # of what failed in the round itself
            await _within(self._wake, pause)

    async def _round(self) -> float | None:
        """Deliver what is due to the plugins that are there; give how long to wait for more."""
        pause: float | None = None
        for plugin in self._memory.plugins:
            try:
                outbox = self._outbox(plugin)
                for entry in await asyncio.to_thread(outbox.due):
                    await self._drain_session(outbox, plugin, entry.session)
                next_at = await asyncio.to_thread(outbox.next_at)
            except OutboxUnusableError as error:
                self._warn(error.message)
                next_at = self._clock() + _UNUSABLE
            if next_at is not None:
                left = max(_AGAIN, next_at - self._clock())
                pause = left if pause is None else min(pause, left)
        return pause

    def _outbox(self, plugin: str) -> Outbox:
        assert self._folder is not None
        if plugin not in self._open:
            name = outbox_name(plugin)
            self._open[plugin] = Outbox(self._folder, name, clock=self._clock, policy=self._policy)
        return self._open[plugin]

    def close(self) -> None:
        """Let go of the outboxes' files."""
        for outbox in self._open.values():
            outbox.close()
        self._open.clear()


async def _within(event: asyncio.Event, seconds: float | None) -> None:
    waiting = asyncio.ensure_future(event.wait())
    try:
        await asyncio.wait({waiting}, timeout=seconds)
    finally:
        waiting.cancel()


def _said(error: Exception) -> str:
    return str(error) or type(error).__name__
