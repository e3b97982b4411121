"""Many sessions at once on a peer that dies, hangs, resets, fails and is full, again and again."""

from __future__ import annotations

import asyncio
import os
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from dshloop.memory.outbox import Policy
from dshloop.memory.outbox_flush import outboxes
from tests.plugins.agentmemory.stand_ins import Asked, Bridged, Daemon, Played

EVENTS = int(os.environ.get("DSHLOOP_TEST_BRIDGE_EVENTS", "400"))
"""How many events the storm has: 10000 is the long run, which takes minutes."""

SESSIONS = 25
KILLS = 20 if EVENTS >= 10_000 else 3
POLICY = Policy(pause=0.05, longest_pause=0.5)
TIMEOUT_MS = 400
HANGS = 1.2  # seconds, three times as long as a request may take
PAUSE = 0.01

EVERY = 5
HARMS = ("unheard", "hang", "reset", "fail", "full", "restart")
ANSWERS: dict[str, tuple[int, object]] = {
    "fail": (500, {"error": "[object Object]"}),
    "full": (507, {"error": "database or disk is full"}),
    "restart": (404, b""),
}

Event = tuple[str, int]


@dataclass
class Storm(Daemon):
    """A proxy that does harm: before a request gets through, or when its answer is due."""

    harm: bool = False
    count: int = 0
    unheard: set[int] = field(default_factory=set)
    acknowledged: Counter[Event] = field(default_factory=Counter)
    passed_on: Counter[Event] = field(default_factory=Counter)
    harmed: Counter[str] = field(default_factory=Counter)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self.answer, self.after = self._before, self._behind
        super().__post_init__()

    def _before(self, asked: Asked) -> tuple[int, object] | None:
        with self._lock:
            self.asked.clear()
            what = self._next_harm(asked)
        if what == "hang":
            threading.Event().wait(HANGS)
        if what in ("hang", "reset"):
            raise ConnectionResetError
        return ANSWERS.get(what)

    def _next_harm(self, asked: Asked) -> str:
        """Do harm to every fifth request, in all ways by turns."""
        self.count += self.harm
        if not self.harm or self.count % EVERY:
            return ""
        what = HARMS[self.count // EVERY % len(HARMS)]
        self.harmed[what] += 1
        if what == "unheard":
            self.unheard.add(id(asked))
        return what

    def _behind(self, asked: Asked, status: int) -> None:
        event = event_of(asked)
        with self._lock:
            arrived = event is not None and 200 <= status < 300
            unheard = id(asked) in self.unheard
            self.unheard.discard(id(asked))
            if arrived and event is not None:
                self.passed_on[event] += 1
                self.acknowledged[event] += not unheard
        if unheard:
            raise ConnectionResetError


def event_of(asked: Asked) -> Event | None:
    """Give the event that an observation is about."""
    if asked.path != "/observe":
        return None
    return asked.body["sessionId"], int(asked.body["data"]["prompt"].split()[1])


def blow(storm: Storm, data: Path, restart: Callable[[], None]) -> list[str]:
    """Have all sessions run through the storm; give their ids when everything has arrived."""
    ids = [f"storm-{number}" for number in range(SESSIONS)]

    async def body() -> None:
        async with Bridged(storm.url, data, curlTimeoutMs=TIMEOUT_MS) as bridged:
            sessions = [bridged.session(id_) for id_ in ids]
            storm.harm = True
            ends = [asyncio.ensure_future(talk(one)) for one in sessions]
            for _ in range(KILLS):
                await asyncio.to_thread(restart)
                await asyncio.sleep(0.3)
            await asyncio.gather(*ends)
            (outbox,) = outboxes(data / "outbox")
            while outbox.state().pending:
                await asyncio.gather(*(one.flush() for one in sessions))
            outbox.close()
            storm.harm = False

    asyncio.run(asyncio.wait_for(body(), 1800))
    return ids


async def talk(played: Played) -> None:
    """Have a session say its events, in turns of twenty."""
    count = EVENTS // SESSIONS
    for number in range(count):
        played.prompt(f"event {number} of session {played.id}")
        await asyncio.sleep(PAUSE)
        if number % 20 == 19:
            await played.flush()
    await played.flush()
