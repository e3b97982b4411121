"""Who delivers what outboxes hold without a run: a table by the kind of outbox.

An outbox is called ``KIND`` or ``KIND:NAME``. The function of a kind is a context manager
``(outbox's name, Surroundings)`` that lends a `Deliver`; connections live as long as it does. It
raises OUTBOX_TARGET where only a run of the profile can deliver.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple

from dshloop.errors import OutboxTargetError

if TYPE_CHECKING:
    from dshloop.host.rows import HostRow
    from dshloop.memory.outbox_flush import Deliver
    from dshloop.memory.store import MemoryRecorder
    from dshloop.plugins.memory_place import MemoryPlace

TABLE = {
    "hook": "dshloop.plugins.hook_delivery:delivery",
    "agentmemory": "dshloop.plugins.agentmemory.flushing:delivery",
    "patchouli": "dshloop.plugins.patchouli.flushing:delivery",
}
"""The kind of an outbox -> what delivers it."""


class Surroundings(NamedTuple):
    """Where what is delivered goes: our own memory, other stores by their names (``recorder``),
    and the rows of the profile that was named.

    ``rows`` composes them when they are asked for (secrets that only a row has); without a profile
    there are none.
    """

    place: MemoryPlace
    rows: Callable[[], Sequence[HostRow]] = tuple
    recorder: Callable[[str], MemoryRecorder] | None = None


Delivery = Callable[[str, Surroundings], AbstractContextManager["Deliver"]]


def delivery(outbox: str, around: Surroundings) -> AbstractContextManager[Deliver]:
    """Give what lends a function that delivers an outbox's entries. Raises OUTBOX_TARGET."""
    kind = outbox.partition(":")[0]
    if kind not in TABLE:
        known = ", ".join(TABLE)
        raise OutboxTargetError(
            f"nothing here delivers what {outbox} holds", hint=f"Kinds of outboxes: {known}."
        )
    module, _, name = TABLE[kind].partition(":")
    make: Delivery = getattr(import_module(module), name)
    return make(outbox, around)
