"""When what waits in an outbox is tried again."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from dshloop.errors import OutboxUnusableError, PeerDownError, PeerFailedError
from dshloop.memory.outbox import Entry, Item, Outbox, Policy
from dshloop.plugins.agentmemory.delivery import Delivery
from tests.plugins.agentmemory.checks import until
from tests.plugins.agentmemory.stand_ins import run

PATIENT = Policy(pause=600.0, longest_pause=600.0)
"""Pauses longer than any test waits."""


class Peer:
    """A home that answers as it is told to; notes the bodies that it took."""

    def __init__(self) -> None:
        self.fault: Callable[[Any], Exception | None] = lambda _body: None
        self.before: Callable[[Any], Awaitable[object]] = lambda _body: asyncio.sleep(0)
        self.took: list[Any] = []

    async def ask(self, request: Any) -> Any:
        await self.before(request.body)
        fault = self.fault(request.body)
        if fault is not None:
            raise fault
        self.took.append(request.body)
        return {}

    value = ask

    async def close(self) -> None:
        pass


def put(outbox: Outbox, session: str, *bodies: Any) -> None:
    outbox.put(session, [Item("observe", body) for body in bodies])


def trying(outbox: Outbox, peer: Peer, body: Callable[[Delivery], Awaitable[None]]) -> list[str]:
    """Have a delivery go on beside a body; gives what it said."""
    said: list[str] = []

    async def both() -> None:
        delivery = Delivery(outbox, peer, said.append)
        task = asyncio.create_task(delivery.keep_trying(lambda _entry: False))
        try:
            await body(delivery)
        finally:
            task.cancel()

    run(both)
    outbox.close()
    return said


def later(outbox: Outbox, *sessions: str) -> None:
    """Have sessions wait long for another try."""
    for session in sessions:
        outbox.failed(outbox.due(session, all=True)[0], "it was away")


def test_what_an_earlier_run_left_goes_at_once_and_not_at_its_time(tmp_path: Path) -> None:
    outbox, peer = Outbox(tmp_path, "a", policy=PATIENT), Peer()
    put(outbox, "s", 1, 2)
    later(outbox, "s")

    async def body(_: Delivery) -> None:
        await until(lambda: peer.took == [1, 2])

    trying(outbox, peer, body)


def test_a_peer_that_is_back_gets_what_waited_for_it_at_once(tmp_path: Path) -> None:
    outbox, peer = Outbox(tmp_path, "a", policy=PATIENT), Peer()
    for number in range(20):
        put(outbox, f"s{number}", number)
    peer.fault = lambda _body: PeerDownError("nobody there")

    async def body(delivery: Delivery) -> None:
        await until(lambda: all(entry.attempts for entry in outbox.list()))
        peer.fault = lambda _body: None
        await delivery.drain("s3", at_once=True)
        await until(lambda: len(peer.took) == 20)

    trying(outbox, peer, body)


def test_an_entry_that_the_peer_stumbles_over_is_not_tried_whenever_another_arrives(
    tmp_path: Path,
) -> None:
    outbox, peer = Outbox(tmp_path, "a", policy=PATIENT), Peer()
    put(outbox, "bad", "bad")
    peer.fault = lambda body: PeerFailedError("500", status=500) if body == "bad" else None

    async def body(delivery: Delivery) -> None:
        await until(lambda: outbox.list()[0].attempts == 1)
        for number in range(10):
            put(outbox, "good", number)
            await delivery.drain("good", at_once=True)
        await asyncio.sleep(0.2)

    trying(outbox, peer, body)
    (left,) = outbox.list()
    assert left.attempts == 1


def test_a_session_with_much_to_say_does_not_keep_the_others_waiting(tmp_path: Path) -> None:
    policy = Policy(pause=0.05, longest_pause=0.05)
    outbox, peer = Outbox(tmp_path, "a", policy=policy), Peer()
    put(outbox, "long", "long")
    put(outbox, "short", "short")
    failures = [PeerDownError("not yet")]
    peer.fault = lambda body: failures.pop() if failures and body == "short" else None
    over = asyncio.Event()

    async def slowly(body: Any) -> None:
        if body == "long":
            await over.wait()

    peer.before = slowly

    async def body(_: Delivery) -> None:
        await until(lambda: peer.took == ["short"])
        over.set()
        await until(lambda: len(peer.took) == 2)

    trying(outbox, peer, body)


class Failing(Outbox):
    """An outbox that can't be read for a while."""

    faults = 2

    def due(self, session: str | None = None, *, all: bool = False) -> list[Entry]:  # noqa: A002
        if self.faults:
            self.faults -= 1
            raise OutboxUnusableError("the disk is full")
        return super().due(session, all=all)


def test_an_outbox_that_can_not_be_read_for_a_while_is_read_later(
    tmp_path: Path, monkeypatch: Any
) -> None:
    monkeypatch.setattr("dshloop.plugins.agentmemory.delivery._AGAIN", 0.05)
    outbox, peer = Failing(tmp_path, "a", policy=Policy(pause=0.05)), Peer()
    put(outbox, "s", 1)

    async def body(_: Delivery) -> None:
        await until(lambda: peer.took == [1])

    assert trying(outbox, peer, body) == ["the disk is full"] * 2
