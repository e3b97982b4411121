"""Delivering what a Patchouli outbox holds without a run of its profile."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from dshloop.errors import OutboxTargetError
from dshloop.memory.outbox import Entry
from dshloop.plugins.patchouli.durable import read_back
from dshloop.plugins.patchouli.points import Request, stored_turn, turn_end
from dshloop.plugins.patchouli.store_plugin import ID, StorePlugin
from dshloop.plugins.patchouli.turn_delivery import outbox_name

if TYPE_CHECKING:
    from dshloop.memory.outbox_flush import Deliver
    from dshloop.memory.store import MemoryStore
    from dshloop.plugins.deliveries import Surroundings


@contextmanager
def delivery(outbox: str, around: Surroundings) -> Iterator[Deliver]:
    """Lend what delivers an outbox of Patchouli (`plugins.deliveries`). Raises OUTBOX_TARGET."""
    place = around.place
    if place.open_store is None:
        raise OutboxTargetError("there is no memory store here to deliver to")
    yield delivery_to_store(outbox, place.open_store, place.variables)


def delivery_to_store(
    store: str, open_store: Callable[[], MemoryStore], variables: Mapping[str, str]
) -> Deliver:
    """Give what delivers entries of our own store's outbox (`outbox_flush.flush`).

    Raises OUTBOX_TARGET for the outbox of another plugin, which only a run of its profile has.
    """
    if store != outbox_name(ID):
        raise OutboxTargetError(f"what {store} holds is delivered by a run of its profile")

    async def delivered(entry: Entry) -> None:
        plugin = StorePlugin(open_store, variables)
        try:
            await plugin.update(await turn_of(entry), signal=None)
        finally:
            await plugin.close()

    return lambda entry: asyncio.run(delivered(entry))


async def turn_of(entry: Entry) -> Request:
    """Read the request of a turn's entry back from its log.

    Raises BrokenTurnError, and what reading raises.
    """
    place = entry.body
    stored = await read_back(place["session"], place["start"], place.get("log"))
    events = stored_turn(stored.events, place["turn"], place["end"])
    return turn_end(place["agent"], stored.header, events)
