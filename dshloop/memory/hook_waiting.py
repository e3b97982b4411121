"""Hooks whose store can't be reached wait in its outbox, and go before what comes later.

What waits has no secrets: they are taken out before it is written down.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from dshloop.memory.hook_input import START, HookCall
from dshloop.memory.hooking import Setup, record
from dshloop.memory.outbox import Entry, Item, Outbox
from dshloop.memory.outbox_flush import flush
from dshloop.memory.store import MemoryRecorder
from dshloop.redact import redact

KIND = "hook"
AT_START = 2.0
"""Seconds that the start of a session takes for what other sessions left."""


def outbox_for(folder: Path, store: str, clock: Callable[[], float] = time.time) -> Outbox:
    """Give the outbox of hooks for a store."""
    return Outbox(folder, f"{KIND}:{store}", clock=clock)


def store_of(outbox: str) -> str:
    """Name the store that an outbox of hooks is for."""
    return outbox.partition(":")[2]


def wait(
    outbox: Outbox, call: HookCall, setup: Setup, at: float, silence: str | None = None
) -> None:
    """Put what a hook would record behind what waits. Raises OUTBOX_UNUSABLE.

    After a ``silence`` of the store, which says so, the session's next try is put off: each costs
    the agent its patience.
    """
    body = {
        "cwd": call.cwd,
        "data": redact(call.data, private=True).value,
        "project": setup.project,
        "agent": setup.agent,
        "at": at,
    }
    outbox.put(call.session, [Item(call.event, body)])
    if silence is not None:
        for first in outbox.due(call.session, all=True):
            outbox.failed(first, silence)


def deliver(store: MemoryRecorder, entry: Entry) -> None:
    """Record what waited, as of the time when it happened."""
    body: Mapping[str, Any] = entry.body
    call = HookCall.made(entry.kind, entry.session, body["cwd"], body["data"])
    record(store, call, Setup(body["project"], body["agent"]), at=body["at"])


def caught_up(outbox: Outbox, store: MemoryRecorder, call: HookCall) -> bool:
    """Record what waits of the call's session; False when some of it has to wait on.

    It is not tried before its time. When a session starts, what others left goes too, for a short
    while.
    """
    if outbox.due(call.session, all=True) and not outbox.due(call.session):
        return False
    done = flush(outbox, lambda entry: deliver(store, entry), call.session)
    if done.failed or done.busy:
        return False
    if call.event == START:
        until = time.monotonic() + AT_START
        for first in outbox.due():
            if time.monotonic() > until:
                break
            flush(outbox, lambda entry: deliver(store, entry), first.session)
    return True
