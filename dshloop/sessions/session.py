"""What an agent writes its life to, on disk or in memory: a header and a list of events."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from dshloop.sessions.events import new_event
from dshloop.transcripts.header import Header, read_header
from dshloop.transcripts.vocabulary import Event

Clock = Callable[[], float]  # seconds since the epoch


class Session(Protocol):
    """A log that events are appended to.

    ``events`` begins with the ``stored`` ones of earlier lives, if it was ``resumed``.
    """

    header: Header
    events: list[Event]
    resumed: bool
    stored: int

    def append(
        self,
        kind: str,
        data: Any,
        *,
        surface_op: str | Mapping[str, Any] | None = None,
        sources: Sequence[int] | None = None,
        later: bool = False,
    ) -> Event:
        """Add one event and give it back; one for ``later`` is kept with the next other one."""
        ...

    def keep(self) -> None:
        """Write what was added for later now, without waiting for another event."""
        ...

    def flush(self) -> None:
        """Make everything appended so far last."""
        ...

    def close(self) -> None:
        """Give the log free for others."""
        ...


class EventList:
    """The part of a session that every kind has: header, events, the next seq and time."""

    def __init__(self, header: Mapping[str, Any], events: Sequence[Event], clock: Clock) -> None:
        self.header = read_header(header)
        self.events: list[Event] = list(events)
        self.resumed = bool(events)
        self.stored = len(events)
        self._clock = clock

    def _next_event(
        self,
        kind: str,
        data: Any,
        surface_op: str | Mapping[str, Any] | None,
        sources: Sequence[int] | None,
    ) -> Event:
        return new_event(
            kind,
            data,
            seq=len(self.events),
            time=int(self._clock() * 1000),
            surface_op=surface_op,
            sources=sources,
        )


class MemoryLog(EventList):
    """A session that is not kept: for tests and for loops that are only tried out."""

    def append(
        self,
        kind: str,
        data: Any,
        *,
        surface_op: str | Mapping[str, Any] | None = None,
        sources: Sequence[int] | None = None,
        later: bool = False,  # noqa: ARG002 - nothing is kept anyway
    ) -> Event:
        """Add one event and give it back."""
        event = self._next_event(kind, data, surface_op, sources)
        self.events.append(event)
        return event

    def keep(self) -> None:
        """Do nothing: there is no disk."""

    def flush(self) -> None:
        """Do nothing: there is no disk."""

    def close(self) -> None:
        """Do nothing: nobody else can want it."""
