"""The service `memoryPlace`: where rows that record and recall find memory on this machine."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dshloop.memory.store import MemoryStore

SERVICE = "memoryPlace"


@dataclass(frozen=True, slots=True)
class MemoryPlace:
    """Our data folder, its outbox, and how the store that the user works on is opened.

    ``open_store`` None is for hosts without one. What it gives belongs to the thread that called
    it. ``variables`` are those of the environment; ``sessions`` are the folders of session logs.
    """

    data: Path
    outbox: Path
    open_store: Callable[[], MemoryStore] | None = None
    variables: Mapping[str, str] = field(default_factory=dict)
    sessions: tuple[Path, ...] = ()
