"""Delivering what hooks of other agents left for a store that was away."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from dshloop.errors import OutboxTargetError

if TYPE_CHECKING:
    from dshloop.memory.outbox_flush import Deliver
    from dshloop.plugins.deliveries import Surroundings


@contextmanager
def delivery(outbox: str, around: Surroundings) -> Iterator[Deliver]:
    """Lend what records the entries in the store that the outbox names (`deliveries`)."""
    from dshloop.memory.hook_waiting import deliver, store_of

    if around.recorder is None:
        raise OutboxTargetError(f"no stores can be opened here for what {outbox} holds")
    store = around.recorder(store_of(outbox))
    try:
        yield lambda entry: deliver(store, entry)
    finally:
        store.close()
