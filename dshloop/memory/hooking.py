"""A hook of an agent and a store: what happened is recorded, what is known is given back."""

from __future__ import annotations

from collections.abc import Collection, Set
from pathlib import Path
from typing import NamedTuple, Protocol

from dshloop.memory.answers import Filters, Observed
from dshloop.memory.entries import NewSession
from dshloop.memory.hook_input import END, START, SUBMIT, HookCall
from dshloop.memory.merging import same_text
from dshloop.memory.recalled import Recalled, recalled
from dshloop.memory.store import MemoryReader, MemoryRecorder

PATIENCE = 5.0
"""Seconds that a store may take for a hook; agents wait longer (`hook_settings.SECONDS`)."""
AT_END = 1.5
"""Seconds of them at the end of a session, for which Codex waits three seconds at most."""
QUERY = 2000
"""Characters of a prompt that are searched for."""
_MOST = 12
_WAITING = "hook%3A"


class Setup(NamedTuple):
    """How hooks are taken: whose they are, what is done, and within how many tokens."""

    project: str
    agent: str | None = None
    budget: int = 1500
    records: bool = True
    injects: bool = True


class Told(Protocol):
    """Which entries a session has been told of, kept between the calls of its hooks."""

    def ids(self, session: str) -> Set[str]:
        """Give the ids that it was told of."""

    def add(self, session: str, ids: Collection[str]) -> None:
        """Note that it was told of more."""

    def forget(self, session: str) -> None:
        """Let go of a session, or of what it was told."""


def patience_of(event: str) -> float:
    """Give how many seconds a store may take for an event."""
    return min(PATIENCE, AT_END) if event == END else PATIENCE


def any_waits(outboxes: Path) -> bool:
    """Whether there is an outbox of hooks (hook_waiting.py); asked by every call, so cheap."""
    try:
        return any(file.name.startswith(_WAITING) for file in outboxes.iterdir())
    except OSError:
        return False


def take(store: MemoryRecorder, call: HookCall, setup: Setup, told: Told) -> tuple[
    Observed | None, str
]:  # fmt: skip
    """Take a hook: give what was recorded of it, and the text for the model, empty for none.

    What is known is asked for before it is recorded, so that a prompt doesn't answer itself.
    """
    if call.forgets:
        told.forget(call.session)
    found = _known(store, call, setup, told) if setup.injects else Recalled()
    recorded = record(store, call, setup) if setup.records else None
    if found.ids:
        told.add(call.session, found.ids)
    return recorded, found.text


def _known(store: MemoryReader, call: HookCall, setup: Setup, told: Told) -> Recalled:
    if call.event == START:
        from dshloop.memory.context import context

        window = context(store, setup.project, budget=setup.budget, session=call.session)
        ids = tuple(id_ for block in window.blocks for id_ in block.ids)
        return Recalled(window.text, ids)
    if call.event != SUBMIT or not call.prompt.strip():
        return Recalled()
    hits = store.recall(call.prompt[:QUERY], Filters(project=setup.project), limit=_MOST)
    known, asked = told.ids(call.session), same_text(call.prompt)
    fresh = [
        hit
        for hit in hits
        if hit.entry.session != call.session
        and hit.entry.id not in known
        and same_text(hit.entry.content) != asked  # the same question is no answer
    ]
    return recalled(setup.project, fresh, setup.budget)


def record(
    store: MemoryRecorder, call: HookCall, setup: Setup, *, at: float | None = None
) -> Observed | None:
    """Record what happened, now or ``at`` a time before.

    The beginning and the end of a session are no observations.
    """
    if call.event == START:
        store.start_session(NewSession(call.session, setup.project, call.cwd, setup.agent))
        return None
    if call.event == END:
        store.end_session(call.session)
        return None
    if not call.data:
        return None
    from dshloop.memory.observing import observed

    new = observed(
        call.hook,
        call.data,
        session=call.session,
        project=setup.project,
        cwd=call.cwd,
        agent=setup.agent,
        at=at,
    )
    return store.observe(new._replace(files=(*new.files, *call.patched)))
