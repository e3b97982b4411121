"""Giving an outbox's entries to their home: in the order of their session, until it has them.

Everything here belongs to one event loop. What a daemon can't take now is tried again later and
later; what it refuses is given up at once, and stays to be seen (dsh-agentmemory-bridge 10).
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from typing import Any

from dshloop.errors import (
    DshloopError,
    OutboxUnusableError,
    PeerDeniedError,
    PeerFailedError,
)
from dshloop.memory.agentmemory_client import answers
from dshloop.memory.agentmemory_client.calls import Call as Request
from dshloop.memory.outbox import Entry, Outbox
from dshloop.memory.outbox_flush import is_away, is_final
from dshloop.plugins.agentmemory import calls
from dshloop.plugins.agentmemory.homes import Home

Say = Callable[[str], object]
Answered = Callable[[Entry, Mapping[str, Any]], object]

_HOUR = 3600.0
_SESSION_ROW = 30.0
_SESSION_ATTEMPTS = 3
_CLAIM = 120.0
_TOGETHER = 16
"""Requests that are under way at once: more make neither the daemon nor the client faster."""

_FEWEST = 0.05
_AGAIN = 5.0
"""Seconds until an outbox that could not be read is tried again."""


class Delivery:
    """Delivers from one outbox to one home. ``answered`` is given what came of each entry."""

    def __init__(
        self,
        outbox: Outbox,
        home: Home,
        say: Say,
        answered: Answered = lambda _entry, _value: None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._outbox, self._home, self._say = outbox, home, say
        self._answered, self._clock = answered, clock
        self._locks: dict[str, asyncio.Lock] = {}
        self._room = asyncio.Semaphore(_TOGETHER)
        self._wake = asyncio.Event()
        self._draining: dict[str, asyncio.Task[bool]] = {}
        self._unheard: set[str] = set()  # sessions that wait because the home was away
        self._welcome: set[str] = set()  # those that need wait no longer: it is there again
        self._heard_at = 0.0

    async def drain(self, session: str, *, at_once: bool, until: str | None = None) -> bool:
        """Deliver what is due of a session, with ``at_once`` also what was to wait.

        What is put in meanwhile goes too; ``until`` is the kind of entry to end with. False when
        something is left that has to wait.
        """
        async with self._locks.setdefault(session, asyncio.Lock()):
            try:
                return await self._drain_claimed(session, at_once, until)
            except OutboxUnusableError as error:
                self._say(error.message)
                self._wake.set()
                return False

    async def _drain_claimed(self, session: str, at_once: bool, until: str | None) -> bool:
        claimed = self._clock()
        if not self._outbox.claim(session, _CLAIM):
            self._wake.set()
            return False
        try:
            while due := self._outbox.due(session, all=at_once):
                if not await self._attempt(due[0]):
                    return False
                if due[0].kind == until:
                    return True
                if self._clock() - claimed > _CLAIM / 2:
                    claimed = self._clock()
                    self._outbox.claim(session, _CLAIM)
            return True
        finally:
            self._outbox.release(session)

    async def _attempt(self, entry: Entry) -> bool:
        """Try one entry; False when its session has to wait."""
        try:
            async with self._room:
                value = await self._home.ask(request_of(entry))
        except Exception as error:
            return self._failed(entry, error)
        self._heard()
        self._outbox.done(entry)
        self._answered(entry, value)
        return True

    def _heard(self) -> None:
        """Take note that the home is there: who waited for that alone waits no longer."""
        self._heard_at = self._clock()
        if self._unheard:
            self._welcome |= self._unheard
            self._unheard.clear()
            self._wake.set()

    def _failed(self, entry: Entry, error: Exception) -> bool:
        if is_away(error) and self._clock() - self._heard_at > self._outbox.policy.pause:
            self._unheard.add(entry.session)
        final = is_final(error) or self._is_hopeless(entry, error)
        given_up = self._outbox.failed(entry, said_of(error), final=final)
        self._say(_told(entry, error, given_up=given_up))
        self._wake.set()
        return given_up

    def _is_hopeless(self, entry: Entry, error: Exception) -> bool:
        """Whether it is the entry that the daemon stumbles over, again and again."""
        if not isinstance(error, PeerFailedError):
            return False
        attempts, age = entry.attempts + 1, self._clock() - entry.created_at
        if entry.kind == calls.START:  # an observation makes the session too
            return attempts >= _SESSION_ATTEMPTS and age >= _SESSION_ROW
        return attempts >= self._outbox.policy.attempts and age >= _HOUR

    # --- later ---------------------------------------------------------------------------------

    async def keep_trying(self, holds: Callable[[Entry], bool]) -> None:
        """Deliver what failed, and what earlier processes left, until this is cancelled.

        The home was there a moment ago: what they left is not kept waiting for its time. ``holds``
        are entries that somebody collects, and delivers when there are enough.
        """
        everything = True
        while True:
            try:
                pause = await self._round(holds, everything)
                everything = False
            except OutboxUnusableError as error:
                self._say(error.message)
                pause = _AGAIN
            self._wake.clear()  # of what failed in the round itself
            try:
                await asyncio.wait_for(self._wake.wait(), pause)
            except TimeoutError:
                pass

    async def _round(self, holds: Callable[[Entry], bool], everything: bool) -> float | None:
        """Deliver what is due; give the seconds until more is, None for nothing that waits.

        A session that takes long goes on beside the next rounds.
        """
        welcome, self._welcome = self._welcome, set()
        for head in self._heads(holds):
            at_once = everything or head.session in welcome
            if at_once or head.next_at <= self._clock():
                self._begin(head.session, at_once)
        least = self._outbox.policy.pause if self._draining else _FEWEST
        if self._draining:
            await asyncio.wait(self._draining.values(), timeout=least)
        left = self._heads(holds)
        if not left:
            return None
        if self._welcome:
            return _FEWEST
        return max(min(one.next_at for one in left) - self._clock(), least)

    def _begin(self, session: str, at_once: bool) -> None:
        if session in self._draining:
            return
        task = asyncio.create_task(self.drain(session, at_once=at_once))
        self._draining[session] = task
        task.add_done_callback(lambda _: self._draining.pop(session))

    def _heads(self, holds: Callable[[Entry], bool]) -> list[Entry]:
        return [one for one in self._outbox.due(all=True) if not holds(one)]


def request_of(entry: Entry) -> Request[answers.Row]:
    """Give the request that an entry stands for."""
    return Request("POST", f"/{entry.kind}", answers.whole, entry.body)


def said_of(error: Exception) -> str:
    """Say what went wrong; a wrong secret in the same words wherever it shows."""
    if isinstance(error, PeerDeniedError):
        return f"{error.message}: the row's secret has to be the daemon's AGENTMEMORY_SECRET"
    return error.message if isinstance(error, DshloopError) else repr(error)


def _told(entry: Entry, error: Exception, *, given_up: bool) -> str:
    said = said_of(error)
    if isinstance(error, PeerDeniedError):
        return said
    if given_up:
        return f"{entry.kind} given up for session {entry.session}: {said}"
    if entry.kind == calls.OBSERVE:
        return f"observe failed, re-queuing tail: {said}"
    return f"{entry.kind} failed, it is tried again: {said}"
