"""Changes are handled one after the other, from where one was, through failures."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from dshloop.plugins.patchouli.cursors import Binding, CursorStore
from dshloop.plugins.patchouli.routing import read_service_config
from dshloop.plugins.patchouli.service import MemoryService
from dshloop.plugins.patchouli.subscriptions import (
    Subscribed,
    Subscriber,
    Subscription,
    SubscriptionFailure,
    subscribe,
)
from tests.plugins.patchouli.stand_ins import Recording

META = {"source": {"type": "t", "id": "i"}, "scope": "/w", "attributes": {}}


def run(body: Callable[[], Coroutine[Any, Any, None]]) -> None:
    asyncio.run(asyncio.wait_for(body(), 30))


class Following(Recording):
    """A plugin whose changes a test sends."""

    def __init__(self, name: str = "p", *faults: Exception) -> None:
        super().__init__(name)
        self.faults = list(faults)
        self.asked: list[Any] = []
        self.unsubscribed = 0
        self.early: list[str] = []
        self.send: Callable[[Any], None] = lambda _: None
        self.ended: asyncio.Future[None]

    async def subscribe(self, request: Any, handler: Any, *, signal: Any) -> Subscribed:
        self.asked.append(request["afterCursor"])
        if self.faults:
            raise self.faults.pop(0)
        self.send = handler
        for cursor in self.early:
            handler({"cursor": cursor})
        self.ended = asyncio.get_running_loop().create_future()

        def unsubscribe() -> None:
            self.unsubscribed += 1

        return Subscribed("b0", self.ended, unsubscribe)


class Followed:
    """What a subscriber notes."""

    def __init__(self, *plugins: Any, **routing: Any) -> None:
        self.memory = MemoryService(read_service_config({"routing": routing}))
        for plugin in plugins:
            self.memory.register(plugin)
        self.cursors = CursorStore(None)
        self.cursors.open()
        self.changes: list[Any] = []
        self.errors: list[tuple[str, str]] = []
        self.pauses: list[float] = []

    def begin(self, handler: Any = None) -> Subscription:
        async def sleep(seconds: float) -> None:
            self.pauses.append(seconds)

        subscriber = Subscriber(
            "c",
            "k",
            handler or self.changes.append,
            lambda *e: self.errors.append((e[0], str(e[1]))),
        )
        return subscribe(
            self.memory, META, self.cursors, subscriber, sleep=sleep, chance=lambda: 0.0
        )

    def cursor(self, plugin: str = "p") -> str | None:
        return self.cursors.load(Binding("c", "k", "/w", plugin))


async def turn_over() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


def test_the_boundary_is_stored_first_and_a_repeated_cursor_is_skipped() -> None:
    async def body() -> None:
        plugin = Following()
        plugin.early = ["b0", "1"]
        followed = Followed(plugin)
        stored: list[Any] = []

        async def handler(change: Any) -> None:
            stored.append((change["cursor"], followed.cursor()))
            await asyncio.sleep(0)

        subscription = followed.begin(handler)
        await turn_over()
        plugin.send({"cursor": "1"})
        plugin.send({"cursor": "2"})
        await turn_over()
        assert stored == [("1", "b0"), ("2", "1")]
        assert followed.cursor() == "2"
        await subscription.unsubscribe()
        await subscription.unsubscribe()
        assert plugin.unsubscribed == 1

    run(body)


def test_only_retryable_failures_are_tried_again_from_the_stored_cursor() -> None:
    async def body() -> None:
        plugin = Following("p", SubscriptionFailure("net", retryable=True))
        fatal = Following("q", SubscriptionFailure("gone"))
        reset = Following("r", SubscriptionFailure("old", retryable=True, reset_required=True))
        followed = Followed(plugin, fatal, reset)
        followed.cursors.store(Binding("c", "k", "/w", "r"), "7")
        subscription = followed.begin()
        await turn_over()
        assert (len(plugin.asked), len(fatal.asked), len(reset.asked)) == (2, 1, 1)
        assert followed.errors == [("p", "net"), ("q", "gone"), ("r", "old")]
        assert followed.cursor("r") == "7"
        plugin.send({"cursor": "5"})
        await turn_over()
        plugin.ended.set_exception(SubscriptionFailure("lost", retryable=True))
        await turn_over()
        assert plugin.asked == [None, None, "5"]
        await subscription.unsubscribe()

    run(body)


def test_pauses_grow_and_begin_again_after_a_stored_change() -> None:
    async def body() -> None:
        lost = [SubscriptionFailure("x", retryable=True) for _ in range(2)]
        plugin = Following("p", *lost)
        followed = Followed(plugin)
        subscription = followed.begin()
        await turn_over()
        assert followed.pauses == [0.25, 0.5]
        plugin.send({"cursor": "1"})
        await turn_over()
        plugin.ended.set_exception(SubscriptionFailure("x", retryable=True))
        await turn_over()
        assert followed.pauses == [0.25, 0.5, 0.25]
        await subscription.unsubscribe()

    run(body)


def test_only_plugins_that_match_are_followed_and_filter_faults_are_told() -> None:
    async def body() -> None:
        def wrong(_call: Any) -> bool:
            raise ValueError("bad filter")

        plugin, off = Following("p"), Following("off")
        followed = Followed(plugin, off, Recording("plain"), off={"enabled": False})
        followed.memory.register(Following("w"), wrong)
        subscription = followed.begin()
        await turn_over()
        assert subscription.plugins == ("p",)
        assert followed.errors == [("w", "bad filter")]
        assert off.asked == []
        await subscription.unsubscribe()
        await subscription.closed()

    run(body)


def test_a_handler_that_raises_ends_that_worker_only() -> None:
    async def body() -> None:
        one, other = Following("p"), Following("q")
        followed = Followed(one, other)

        def handler(change: Any) -> None:
            if change["pluginId"] == "p":
                raise ValueError("handler")
            followed.changes.append(change)

        subscription = followed.begin(handler)
        await turn_over()
        one.send({"cursor": "1"})
        other.send({"cursor": "1", "kind": "created"})
        await turn_over()
        assert followed.errors == [("p", "handler")]
        assert followed.cursor("p") == "b0"
        assert followed.changes == [{"cursor": "1", "kind": "created", "pluginId": "q"}]
        await subscription.unsubscribe()

    run(body)


def test_cursors_are_kept_by_binding_and_outlive_the_process(tmp_path: Path) -> None:
    store = CursorStore(tmp_path / "patchouli")
    with pytest.raises(ValueError, match="memory cursor store is not initialized"):
        store.load(Binding("a", "b", "c", "d"))
    store.open()
    bindings = [
        Binding(*each.split()) for each in ("a b c d", "a b c e", "a b x d", "a x c d", "x b c d")
    ]
    for number, binding in enumerate(bindings):
        store.store(binding, str(number))
    spaced = Binding("a", "b", " c ", "d")
    assert spaced.key == '["a","b"," c ","d"]'
    assert store.load(spaced) is None
    store.delete(bindings[1])
    store.close()
    store.close()
    again = CursorStore(tmp_path / "patchouli")
    again.open()
    assert [again.load(each) for each in bindings] == ["0", None, "2", "3", "4"]
    assert (tmp_path / "patchouli" / "patchouli_memory.json").stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    ("binding", "name"),
    [
        (Binding(" ", "b", "c", "d"), "consumerId"),
        (Binding("a", "", "c", "d"), "subscriptionKey"),
        (Binding("a", "b", "\t", "d"), "scope"),
    ],
)
def test_blank_parts_are_refused(binding: Binding, name: str) -> None:
    store = CursorStore(None)
    store.open()
    with pytest.raises(ValueError, match=f"memory cursor {name} must be a non-empty string"):
        store.load(binding)


def test_a_file_that_is_none_of_ours_is_refused(tmp_path: Path) -> None:
    (tmp_path / "patchouli_memory.json").write_text('{"version": 9}')
    with pytest.raises(ValueError, match="holds no cursors of version 1"):
        CursorStore(tmp_path).open()
