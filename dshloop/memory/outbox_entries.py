"""What an outbox holds and how it stands, as values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from dshloop.times import iso_time

PENDING, GIVEN_UP = "pending", "given-up"


class HopelessEntryError(Exception):
    """What an entry tells of is not there any more; trying it again is no use."""


class Policy(NamedTuple):
    """How long and how much is kept. Times are in seconds.

    A full outbox drops its oldest entries, given-up ones first, and counts them (`State.dropped`).
    An entry is given up after ``attempts`` or at the age of ``age``, whichever comes later.
    """

    entries: int = 20_000
    bytes: int = 256_000_000
    attempts: int = 12
    age: float = 3 * 86_400.0
    pause: float = 1.0
    longest_pause: float = 300.0

    def pause_after(self, attempts: int) -> float:
        """Give how long to wait after so many failed attempts."""
        return float(min(self.longest_pause, self.pause * 2 ** min(attempts - 1, 30)))


class Item(NamedTuple):
    """What is to be sent: a JSON value, and what kind of call it is."""

    kind: str
    body: Any


class Entry(NamedTuple):
    """An item in the outbox.

    ``target`` says where it goes and where the secret for it comes from (``{"url": ..., "secret":
    {"variable": NAME}}`` or ``{"profile", "row"}``), never the secret itself.
    """

    id: int
    store: str
    session: str
    kind: str
    target: Mapping[str, Any]
    body: Any
    state: str
    created_at: float
    attempts: int
    next_at: float
    error: str | None
    bytes: int

    def as_json(self) -> dict[str, Any]:
        """Give the value that is shown: all but the body."""
        shown_ = {**self._asdict(), "target": dict(self.target)}
        del shown_["body"]
        return {
            **shown_,
            "created_at": iso_time(self.created_at),
            "next_at": iso_time(self.next_at) if self.next_at else None,
        }


class State(NamedTuple):
    """How an outbox stands; times are Unix seconds, None for never."""

    store: str
    pending: int
    given_up: int
    bytes: int
    dropped: int
    oldest: float | None
    last_success: float | None
    last_error: str | None

    def as_json(self) -> dict[str, Any]:
        """Give the value that ``--json`` shows."""
        times = {
            name: None if value is None else iso_time(value)
            for name, value in (("oldest", self.oldest), ("last_success", self.last_success))
        }
        return {**self._asdict(), **times}
