"""Changes of memory plugins, in order and from where one was (patchouli 8.4)."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from dshloop.host.abort import AbortSignal
from dshloop.host.calling import call
from dshloop.plugins.patchouli.cursors import Binding
from dshloop.plugins.patchouli.service import Call, MemoryService

FIRST_PAUSE, LONGEST_PAUSE, LONGEST_JITTER = 0.25, 30.0, 1.0

Change = Mapping[str, Any]
Handler = Callable[[Change], Awaitable[None] | None]
OnError = Callable[[str, Exception], object]
"""Told of a plugin's failure: its id, and what was raised."""


class SubscriptionFailure(Exception):  # noqa: N818 - what ended a subscription
    """Raise it in `subscribe` or through `ended`; only a ``retryable`` one is tried again.

    ``reset_required`` says that the cursor is too old: never retried, and the cursor stays.
    """

    def __init__(
        self, message: str, *, retryable: bool = False, reset_required: bool = False
    ) -> None:
        super().__init__(message)
        self.retryable = retryable and not reset_required
        self.reset_required = reset_required


class Cursors(Protocol):
    """Where positions are kept: the service `patchouliCursors`."""

    def load(self, binding: Binding) -> str | None:
        """Give a cursor."""
        ...

    def store(self, binding: Binding, cursor: str) -> None:
        """Keep a cursor."""
        ...


class Subscribed(NamedTuple):
    """What a plugin's ``subscribe(request, handler, *, signal)`` gives back.

    ``cursor`` is the boundary from which changes come; ``ended`` is done when the connection is
    gone, with what ended it; ``unsubscribe`` ends it.
    """

    cursor: str
    ended: Awaitable[None]
    unsubscribe: Callable[[], Awaitable[None] | None]


@dataclass(slots=True)
class Subscription:
    """Workers for all matching plugins; `unsubscribe` may be called twice."""

    stop: AbortSignal = field(default_factory=AbortSignal)
    tasks: list[asyncio.Task[None]] = field(default_factory=list)
    plugins: tuple[str, ...] = ()

    async def unsubscribe(self) -> None:
        """End all workers and wait for what they do."""
        self.stop.abort({"kind": "unsubscribed"})
        await self.closed()

    async def closed(self) -> None:
        """Wait until every worker has ended."""
        if self.tasks:
            await asyncio.wait(self.tasks)


class Subscriber(NamedTuple):
    """Who subscribes, to what, and what becomes of changes and errors."""

    consumer: str
    key: str
    handler: Handler
    on_error: OnError


def subscribe(
    memory: MemoryService,
    meta: Mapping[str, Any],
    cursors: Cursors,
    subscriber: Subscriber,
    *,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    chance: Callable[[], float] = random.random,
) -> Subscription:
    """Follow the changes of all matching plugins that can be followed."""
    found, _ = memory.matching(Call("subscribe", meta))
    subscription = Subscription()
    names = []
    for name, plugin in found.items():
        if isinstance(plugin, dict):
            subscriber.on_error(name, ValueError(str(plugin["error"])))
        elif hasattr(plugin, "subscribe"):
            binding = Binding(subscriber.consumer, subscriber.key, str(meta["scope"]), name)
            binding.key  # noqa: B018 - raises for a blank part before anything runs
            worker = _Worker(plugin, meta, cursors, binding, subscriber, subscription.stop,
                             sleep, chance)  # fmt: skip
            subscription.tasks.append(asyncio.ensure_future(worker.run()))
            names.append(name)
    subscription.plugins = tuple(names)
    return subscription


@dataclass(slots=True)
class _Worker:
    plugin: Any
    meta: Mapping[str, Any]
    cursors: Cursors
    binding: Binding
    subscriber: Subscriber
    stop: AbortSignal
    sleep: Callable[[float], Awaitable[None]]
    chance: Callable[[], float]
    failures: int = 0

    async def run(self) -> None:
        """Subscribe again after each retryable failure, until the end."""
        while not self._is_over():
            try:
                await self._once()
                return
            except Exception as error:
                if self._is_over():
                    return
                self.subscriber.on_error(self.binding.plugin, error)
                if getattr(error, "retryable", False) is not True:
                    return
            await self._pause()

    def _is_over(self) -> bool:
        return self.stop.aborted

    async def _pause(self) -> None:
        base = min(LONGEST_PAUSE, FIRST_PAUSE * 2.0**self.failures)
        self.failures += 1
        jitter = self.chance() * min(base, LONGEST_JITTER)
        waiting = asyncio.ensure_future(self.sleep(base + jitter))
        await _either(waiting, self.stop)
        waiting.cancel()

    async def _once(self) -> None:
        """Follow until the connection ends or the subscription does."""
        arrived: asyncio.Queue[Change] = asyncio.Queue()
        request = {"meta": self.meta, "afterCursor": self.cursors.load(self.binding)}
        subscribed: Subscribed = await call(
            lambda: self.plugin.subscribe(request, arrived.put_nowait, signal=self.stop)
        )
        ended = asyncio.ensure_future(_waited(subscribed.ended))
        following = asyncio.ensure_future(self._follow(arrived, subscribed.cursor))
        try:
            await _either(ended, self.stop, following)
            if following.done():
                await following  # raises: a handler or the store of cursors has failed
            if ended.done():
                await self._rest(arrived, following)
                await ended
        finally:
            if self.stop.aborted:
                await self._rest(arrived, following)
            following.cancel()
            await call(subscribed.unsubscribe)
            ended.cancel()

    async def _rest(self, arrived: asyncio.Queue[Change], following: asyncio.Future[None]) -> None:
        """Let what has arrived be handled."""
        drained = asyncio.ensure_future(arrived.join())
        await asyncio.wait({drained, following}, return_when=asyncio.FIRST_COMPLETED)
        drained.cancel()

    async def _follow(self, arrived: asyncio.Queue[Change], boundary: str) -> None:
        last = boundary
        self.cursors.store(self.binding, boundary)
        while True:
            change = await arrived.get()
            try:
                cursor = str(change["cursor"])
                if cursor != last:
                    told = {**change, "pluginId": self.binding.plugin}
                    await call(self.subscriber.handler, told)
                    self.cursors.store(self.binding, cursor)
                    last, self.failures = cursor, 0
            finally:
                arrived.task_done()


async def _waited(something: Awaitable[None]) -> None:
    await something


async def _either(
    task: asyncio.Future[Any], stop: AbortSignal, *others: asyncio.Future[Any]
) -> None:
    """Wait for one of some tasks, or for an abort."""
    stopped: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def end() -> None:
        if not stopped.done():
            stopped.set_result(None)

    stop.on_abort(end)
    try:
        await asyncio.wait({task, stopped, *others}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        stop.forget(end)
