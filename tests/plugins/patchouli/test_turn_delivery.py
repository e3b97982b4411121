"""When a turn that waits for a plugin is tried again."""

from __future__ import annotations

import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from dshloop.errors import OutboxUnusableError
from dshloop.host.abort import AbortSignal
from dshloop.memory.outbox import Entry, Item, Outbox, Policy
from dshloop.plugins.patchouli import turn_delivery
from dshloop.plugins.patchouli.turn_delivery import TurnDelivery, outbox_name
from tests.plugins.agentmemory.checks import until

PLUGIN = "a"


class Delivering(TurnDelivery):
    """Delivers entries without their turns."""

    took: list[str]

    async def _attempt(self, outbox: Outbox, plugin: str, entry: Entry) -> bool:
        self.took.append(entry.session)
        outbox.done(entry)
        return True


def delivering(folder: Path, lifetime: Any) -> Delivering:
    made = Delivering(
        SimpleNamespace(plugins=[PLUGIN]),  # type: ignore[arg-type]
        lifetime,
        lambda _text: None,
        outboxes=folder,
    )
    made.took = []
    return made


def test_a_failure_is_not_kept_waiting_behind_one_that_waits_long(tmp_path: Path) -> None:
    box = Outbox(tmp_path, outbox_name(PLUGIN), policy=Policy(pause=600.0, longest_pause=600.0))
    box.put("long", [Item("turn", {"turn": 1})])
    box.failed(box.due()[0], "it is away")

    async def body() -> None:
        life = AbortSignal()
        delivery = delivering(tmp_path, life)
        task = asyncio.create_task(delivery.keep_trying())
        await asyncio.sleep(0.3)
        box.put("short", [Item("turn", {"turn": 1})])
        delivery._wake.set()  # as an attempt does that has failed
        await until(lambda: delivery.took == ["short"])
        life.abort({"kind": "disposed"})
        await asyncio.wait_for(task, 10)
        delivery.close()

    asyncio.run(body())
    box.close()


def test_an_outbox_that_can_not_be_read_for_a_while_is_read_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(turn_delivery, "_UNUSABLE", 0.05)
    monkeypatch.setattr(turn_delivery, "_AGAIN", 0.05)
    box = Outbox(tmp_path, outbox_name(PLUGIN))
    box.put("s", [Item("turn", {"turn": 1})])
    faults = [OutboxUnusableError("the disk is full")] * 2
    due = Outbox.due

    def failing(self: Outbox, *words: Any, **more: Any) -> list[Entry]:
        if faults:
            raise faults.pop()
        return due(self, *words, **more)

    monkeypatch.setattr(Outbox, "due", failing)

    async def body() -> None:
        life = AbortSignal()
        delivery = delivering(tmp_path, life)
        task = asyncio.create_task(delivery.keep_trying())
        await until(lambda: delivery.took == ["s"])
        life.abort({"kind": "disposed"})
        await asyncio.wait_for(task, 10)
        delivery.close()

    asyncio.run(body())
    box.close()
