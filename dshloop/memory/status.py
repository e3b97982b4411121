"""How a store is: whether it answers, what it holds, what waits for it, and what mends it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, runtime_checkable

from dshloop.errors import DshloopError, ExitCode, OutboxUnusableError
from dshloop.times import iso_time

if TYPE_CHECKING:
    from dshloop.memory.answers import Stats
    from dshloop.memory.outbox import Outbox, State
    from dshloop.memory.store import MemoryReader

FLUSH = "dshloop memory outbox flush"
REPLAY = "dshloop memory outbox replay SESSION"

_MENDING: Mapping[str, str] = {
    "AGENTMEMORY_OLD": "npm install -g @agentmemory/agentmemory@latest",
    "AGENTMEMORY_RESTARTING": "dshloop memory status --store {store}",
    "PEER_CONFIG": "dshloop config list",
    "STORE_CORRUPT": "dshloop memory check --salvage NEWFILE",
    "STORE_OLDER": "dshloop memory check",
}
_MENDING_OF: Mapping[str, Mapping[str, str]] = {
    "agentmemory": {
        "PEER_DENIED": "export AGENTMEMORY_SECRET=SECRET",
        "PEER_DOWN": "dshloop memory serve",
        "PEER_TIMEOUT": "dshloop memory status --store {store}",
        "PEER_FAILED": "dshloop memory status --store {store}",
        "PEER_ANSWER": "dshloop config set memory.agentmemory.url URL",
    },
    "patchouli": {"PEER_DOWN": "patchouli-db serve"},
}
"""By the kind of store and the error's code."""
_SQLITE = b"SQLite format 3\x00"
_USER_VERSION = slice(60, 64)


class Probe(NamedTuple):
    """What a store says of itself; ``auth`` is how it took our secret, ``health`` its own
    words."""

    version: str | None = None
    auth: str | None = None
    health: Sequence[str] = ()


@runtime_checkable
class Probed(Protocol):
    """A store that can be asked how it is before anything is counted."""

    def probe(self, seconds: float) -> Probe:
        """Ask it, within a time. Raises what keeps it from answering."""


class Waiting(NamedTuple):
    """What is on its way to a store, in all its outboxes; times are Unix seconds."""

    outboxes: tuple[str, ...] = ()
    pending: int = 0
    given_up: int = 0
    dropped: int = 0
    bytes: int = 0
    oldest: float | None = None
    last_success: float | None = None
    last_error: str | None = None

    def as_json(self) -> dict[str, Any]:
        """Give the value that ``--json`` shows."""
        shown = {**self._asdict(), "outboxes": list(self.outboxes)}
        return {**shown, "oldest": _time(self.oldest), "last_success": _time(self.last_success)}


class Status(NamedTuple):
    """How a store is; ``mend`` is the command that mends what is wrong, None when nothing is."""

    store: str
    where: str | None
    reachable: bool
    probe: Probe = Probe()
    stats: Stats | None = None
    waiting: Waiting = Waiting()
    error: DshloopError | None = None
    mend: str | None = None

    @property
    def exit_code(self) -> ExitCode:
        """Give 0 for a store that answers, else the code of what it was (5: a peer is away)."""
        return ExitCode.DONE if self.error is None else self.error.exit_code

    def as_json(self) -> dict[str, Any]:
        """Give the value that ``--json`` shows."""
        names = ("memories", "observations", "sessions", "versions", "forgotten")
        counts = None if self.stats is None else {n: getattr(self.stats, n) for n in names}
        return {
            "store": self.store,
            "where": self.where,
            "reachable": self.reachable,
            "version": self.probe.version,
            "auth": self.probe.auth,
            "health": list(self.probe.health),
            "counts": counts,
            "semantic": None if self.stats is None else self.stats.semantic,
            "outbox": self.waiting.as_json(),
            "last_success": _time(self.waiting.last_success),
            "last_error": self.waiting.last_error,
            "error": None if self.error is None else self.error.as_json(),
            "mend": self.mend,
        }


def status_of(
    store: str,
    where: str | None,
    open_reader: Callable[[], MemoryReader],
    outboxes: Sequence[Outbox],
    *,
    seconds: float,
) -> Status:
    """Ask a store how it is; what keeps it from answering is part of the answer.

    ``where`` is its address as far as it is known before it is opened.
    """
    broken: list[DshloopError] = []
    waiting = waiting_in(outboxes, broken.append)
    found = Status(store, where, reachable=False, waiting=waiting)
    try:
        reader = open_reader()
        try:
            found = found._replace(probe=_probed(reader, where, seconds), reachable=True)
            found = found._replace(stats=reader.stats())
        finally:
            reader.close()
    except DshloopError as error:
        auth = "refused" if error.code == "PEER_DENIED" else found.probe.auth
        probe = found.probe._replace(auth=auth)
        found = found._replace(probe=probe, error=error)
    if broken and found.error is None:
        found = found._replace(error=broken[0])
    return found._replace(mend=_mending(found))


def waiting_in(
    outboxes: Sequence[Outbox], tell: Callable[[DshloopError], object] = lambda _error: None
) -> Waiting:
    """Sum up outboxes; of one that can't be used nothing but that is known, and is told."""
    states = [_state(outbox, tell) for outbox in outboxes]
    successes = [one.last_success for one in states if one.last_success is not None]
    return Waiting(
        tuple(one.store for one in states),
        sum(one.pending for one in states),
        sum(one.given_up for one in states),
        sum(one.dropped for one in states),
        sum(one.bytes for one in states),
        min((one.oldest for one in states if one.oldest is not None), default=None),
        max(successes, default=None),
        next((one.last_error for one in states if one.last_error), None),
    )


def _state(outbox: Outbox, tell: Callable[[DshloopError], object]) -> State:
    from dshloop.memory.outbox_entries import State

    try:
        return outbox.state()
    except OutboxUnusableError as error:
        tell(error)
        return State(outbox.store, 0, 0, 0, 0, None, None, error.message)


def _probed(reader: MemoryReader, where: str | None, seconds: float) -> Probe:
    if isinstance(reader, Probed):
        return reader.probe(seconds)
    return Probe(version=_schema(Path(where)) if where else None)


def _schema(file: Path) -> str | None:
    """Give the number of a SQLite file's schema, which stands in its header."""
    try:
        with file.open("rb") as opened:
            head = opened.read(100)
    except OSError:
        return None
    known = head.startswith(_SQLITE)
    return f"schema {int.from_bytes(head[_USER_VERSION], 'big')}" if known else None


def _mending(found: Status) -> str | None:
    """Give the command that mends the first thing that is wrong."""
    if found.error is not None:
        code = found.error.code
        of_kind = _MENDING_OF.get(found.store.partition(":")[0], {})
        mending = of_kind.get(code) or _MENDING.get(code)
        return mending and mending.format(store=found.store)
    if found.waiting.pending:
        return FLUSH
    return REPLAY if found.waiting.given_up else None


def _time(value: float | None) -> str | None:
    return None if value is None else iso_time(value)
