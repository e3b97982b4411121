"""What `dshloop memory hook` leaves for later, and what it finds that was left."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from dshloop.cli.invocation import Invocation
from dshloop.errors import (
    DshloopError,
    HookWaitsError,
    OutboxUnusableError,
    PeerUnreachableError,
    StoreBusyError,
    StoreSilentError,
)
from dshloop.memory.stores import EMBEDDED
from dshloop.result import Caution

if TYPE_CHECKING:
    from dshloop.memory.hook_input import HookCall
    from dshloop.memory.hooking import Setup
    from dshloop.memory.store import MemoryRecorder


def catch_up(run: Invocation, store: str | None, recorder: MemoryRecorder, call: HookCall) -> None:
    """Record what waited before this call. Raises HOOK_WAITS where some of it has to wait on.

    An outbox that can't be used is told, and keeps nothing else from being recorded.
    """
    from dshloop.memory.hooking import any_waits

    if not any_waits(run.places.outbox):
        return
    from dshloop.memory.hook_waiting import caught_up, outbox_for

    with closing(outbox_for(run.places.outbox, store or EMBEDDED, run.env.clock)) as outbox:
        try:
            if caught_up(outbox, recorder, call):
                return
            error = outbox.state().last_error
        except OutboxUnusableError as fault:
            run.cautions.append(caution(fault))
            return
    reason = "" if error is None else f" ({error})"
    raise HookWaitsError(f"what happened before can't be recorded yet{reason}")


def put_off(
    run: Invocation, store: str | None, call: HookCall, setup: Setup, fault: DshloopError
) -> DshloopError:
    """Have a call wait in the outbox of a store that did not take it; give what is to be told."""
    from dshloop.memory.hook_waiting import outbox_for, wait

    silence = fault.message if isinstance(fault, StoreSilentError) else None
    try:
        with closing(outbox_for(run.places.outbox, store or EMBEDDED, run.env.clock)) as outbox:
            wait(outbox, call, setup, run.env.clock(), silence)
    except OutboxUnusableError:
        return fault
    if isinstance(fault, PeerUnreachableError | StoreBusyError):
        return HookWaitsError(f"{fault.message}; what happened is kept until then")
    return fault  # its own words tell what has to be mended until then


def caution(fault: Exception) -> Caution:
    """Say on one line what went wrong."""
    from dshloop.terminal import one_line

    text = fault.message if isinstance(fault, DshloopError) else f"{type(fault).__name__}: {fault}"
    code = fault.code if isinstance(fault, DshloopError) else "UNEXPECTED"
    return Caution(text, code, line=one_line(f"dshloop memory hook: {text}"))
