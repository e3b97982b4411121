"""Memories of files that don't tell when they were made."""

from __future__ import annotations

from typing import NamedTuple

from dshloop.memory.entries import Memory


class Untimed(NamedTuple):
    """A memory whose times are those of its file: where a store has it, its times are as there."""

    memory: Memory

    def as_known(self, known: Memory | None) -> Memory:
        """Give it with the times that the store has."""
        if known is None:
            return self.memory
        return self.memory._replace(created_at=known.created_at, updated_at=known.updated_at)
