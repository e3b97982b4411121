"""Reading sessions back from where they last (patchouli 5): the one place that knows how."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

SERVICE = "sessionPersistence"

Event = Mapping[str, Any]


class Stored(NamedTuple):
    """What is stored of a session from some event on."""

    header: Mapping[str, Any]
    events: Sequence[Event]


class Persistence(Protocol):
    """The service that other hosts have for it."""

    def read_from(self, session_id: str, seq: int) -> Any:
        """Give ``{header, events}``, or an awaitable of it."""
        ...


async def read_back(
    session_id: str, seq: int, log: str | None, persistence: Persistence | None = None
) -> Stored:
    """Read a session from an event on: from the service, else from its log file.

    Raises what reading raises, SESSION_UNREADABLE among it, and ValueError without a place to
    read from.
    """
    if persistence is not None:
        from dshloop.host.calling import call

        found = await call(persistence.read_from, session_id, seq)
        return Stored(found["header"], found["events"])
    if log is None:
        raise ValueError(f"session {session_id} is kept nowhere")
    return await asyncio.to_thread(_read_file, Path(log), seq)


def _read_file(path: Path, seq: int) -> Stored:
    from dshloop.errors import SessionUnreadableError
    from dshloop.files import shown
    from dshloop.transcripts.dsh import read_transcript

    read = read_transcript(path)
    if read.header is None:
        raise SessionUnreadableError(f"the header of {shown(path)} is damaged", file=shown(path))
    return Stored(read.header.raw, [event for event in read.events if event["seq"] >= seq])
