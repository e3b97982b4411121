"""Where a node stands, and where its entries stand in the text."""

from __future__ import annotations

from enum import Enum

from dshloop.dsh_yaml.values import Value

MAX_DEPTH = 100


class Context(Enum):
    """Where a node stands, which decides what it may be."""

    FLOW_IN = 1
    FLOW_OUT = 2
    BLOCK_IN = 3
    BLOCK_OUT = 4


class EntryMarks:
    """Offsets of a collection and of its entries (`Marks` of dsh_yaml.document)."""

    __slots__ = ("container", "keys", "start")

    def __init__(self, container: Value, start: int) -> None:
        self.container = container
        self.start = start
        self.keys: dict[str | int, int] = {}

    def entry(self, key: str | int) -> int | None:
        """Give the offset of a key or an item."""
        return self.keys.get(key)
