"""What waits in outboxes, delivered without a session."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

from dshloop.errors import DshloopError, PeerUnreachableError
from dshloop.plugins.deliveries import Surroundings, delivery

if TYPE_CHECKING:
    from dshloop.memory.outbox import Entry, Outbox
    from dshloop.memory.outbox_flush import Flushed


class Delivered(NamedTuple):
    """What came of an outbox: how many entries arrived and failed, how many sessions others
    deliver, how many entries still wait, how many are given up.

    ``error`` is the last one; ``unreachable`` tells that nothing but a peer's absence was wrong.
    """

    store: str
    delivered: int = 0
    failed: int = 0
    busy: int = 0
    pending: int = 0
    given_up: int = 0
    error: str | None = None
    unreachable: bool = False

    def as_json(self) -> dict[str, Any]:
        """Give the value that ``--json`` shows."""
        return self._asdict()


def deliver_all(
    outboxes: Iterable[Outbox],
    around: Surroundings,
    session: str | None = None,
    tell: Callable[[str], object] = lambda _store: None,
) -> list[Delivered]:
    """Deliver what waits, each session in its order up to its first failure.

    An outbox that can't be delivered from here doesn't keep the others waiting.
    """
    done = []
    for outbox in outboxes:
        if outbox.due(session, all=True):
            tell(outbox.store)
            done.append(_delivered(outbox, around, session))
    return done


def _delivered(outbox: Outbox, around: Surroundings, session: str | None) -> Delivered:
    from dshloop.memory.outbox_flush import Flushed, flush

    faults: list[Exception] = []
    came = Flushed()
    try:
        with delivery(outbox.store, around) as deliver:

            def attempt(entry: Entry) -> None:
                try:
                    deliver(entry)
                except Exception as error:
                    faults.append(error)
                    raise

            came = flush(outbox, attempt, session)
    except DshloopError as error:
        faults.append(error)
    return _counted(outbox, came, faults)


def _counted(outbox: Outbox, came: Flushed, faults: list[Exception]) -> Delivered:
    state = outbox.state()
    return Delivered(
        outbox.store,
        came.delivered,
        came.failed,
        came.busy,
        state.pending,
        state.given_up,
        (str(faults[-1]) or type(faults[-1]).__name__) if faults else None,
        bool(faults) and all(isinstance(fault, PeerUnreachableError) for fault in faults),
    )
