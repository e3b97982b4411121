"""The embedded store: one SQLite file, the default and the reference for every other store."""

from __future__ import annotations

from dshloop.memory.sqlite.store import SqliteStore

__all__ = ["SqliteStore"]
