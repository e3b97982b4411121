"""Which entries are too old or take too much room, and which contents are still wanted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from dshloop.journal.entry import Entry
from dshloop.journal.pending import Pending
from dshloop.journal.step import Step

MAX_AGE = 90 * 86400.0  # seconds
MAX_SIZE = 200 * 1000 * 1000  # bytes


def expired(entries: Sequence[Entry], now: float, max_age: float, max_size: int) -> list[Entry]:
    """Choose what goes from entries that are given newest first; the newest never does.

    From the first entry that makes the sum too large on, all older ones go too.
    """
    gone: list[Entry] = []
    total = 0
    for entry in entries:
        total += entry.size
        if entry is not entries[0] and (total > max_size or now - entry.time > max_age):
            gone.append(entry)
    return gone


def wanted_blobs(root: Path, entries: Iterable[Entry]) -> set[str]:
    """Name the contents that entries or transactions under way refer to."""
    steps = [step for entry in entries for step in entry.changes]
    steps.extend(_pending_steps(root))
    states = (state for step in steps for state in (step.before, step.after))
    return {state.value for state in states if state is not None and state.kind == "file"}


def _pending_steps(root: Path) -> Iterator[Step]:
    folder = root / "pending"
    for pending in folder.iterdir() if folder.is_dir() else ():
        intent = Pending(root, pending.name).load()
        if intent is not None:
            yield from intent.steps
