"""All outboxes of a folder, and delivering what waits in one."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from dshloop.errors import (
    AgentmemoryRefusedError,
    AgentmemoryRestartingError,
    AgentmemoryTooLargeError,
    PeerAnswerError,
    PeerDeniedError,
    PeerDownError,
    PeerTimeoutError,
    StoreSilentError,
    StoreUnreachableError,
)
from dshloop.memory.outbox import SUFFIX, Entry, Outbox
from dshloop.memory.outbox_entries import HopelessEntryError


def outboxes(folder: Path, *, clock: Callable[[], float] = time.time) -> list[Outbox]:
    """Give the outboxes of a folder, by the name of their store."""
    names = sorted(path.name.removesuffix(SUFFIX) for path in folder.glob(f"*{SUFFIX}"))
    return [Outbox(folder, _store_name(name), clock=clock) for name in names]


Deliver = Callable[[Entry], None]
"""Gives an entry to its store; what it raises is a failed attempt."""

_AWAY = (
    PeerDownError,
    PeerTimeoutError,
    PeerDeniedError,
    PeerAnswerError,
    AgentmemoryRestartingError,
    StoreSilentError,
    StoreUnreachableError,
)
_LATER = (408, 429)
"""Refusals that say: not now."""


def is_away(error: Exception) -> bool:
    """Whether it tells that a peer is not there for us, and not what was wrong with an entry."""
    return isinstance(error, _AWAY)


def is_final(error: Exception) -> bool:
    """Whether trying again is no use: it was refused, by ``success: false`` too, or too large."""
    if isinstance(error, HopelessEntryError):
        return True
    if not isinstance(error, AgentmemoryRefusedError | AgentmemoryTooLargeError):
        return False
    return error.details.get("status") not in _LATER


class Flushed(NamedTuple):
    """What came of a flush: how many arrived, failed, and belong to a session others deliver."""

    delivered: int = 0
    failed: int = 0
    busy: int = 0


def flush(outbox: Outbox, deliver: Deliver, session: str | None = None) -> Flushed:
    """Deliver everything now, each session in its order up to its first failure.

    What is refused for good is given up, and holds nothing back (`is_final`). A peer that can't be
    reached is not tried again for the sessions behind.
    """
    delivered = failed = busy = 0
    away: list[Mapping[str, Any]] = []
    for first in outbox.due(session, all=True):
        if first.target in away:
            continue
        if not outbox.claim(first.session):
            busy += 1
            continue
        try:
            while found := outbox.due(first.session, all=True):
                try:
                    deliver(found[0])
                except Exception as error:
                    said = str(error) or type(error).__name__
                    failed += 1
                    if outbox.failed(found[0], said, final=is_final(error)):
                        continue
                    if is_away(error):
                        away.append(found[0].target)
                    break
                outbox.done(found[0])
                delivered += 1
        finally:
            outbox.release(first.session)
    return Flushed(delivered, failed, busy)


def _store_name(name: str) -> str:
    from urllib.parse import unquote

    return unquote(name)
