"""What each session was told of, in a small file for each: hooks are processes of their own.

Losing such a file costs nothing but that something is told again.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Set
from contextlib import suppress
from hashlib import blake2s
from pathlib import Path

_KEPT = 7 * 86_400.0  # seconds; sessions that end properly take their file along


class ToldFiles:
    """One file a session in a folder, an id a line."""

    def __init__(self, folder: Path, clock: Callable[[], float] = time.time) -> None:
        self._folder, self._clock = folder, clock

    def ids(self, session: str) -> Set[str]:
        """Give the ids that a session was told of."""
        try:
            return frozenset(self._file(session).read_text("utf-8").split())
        except (OSError, ValueError):
            return frozenset()

    def add(self, session: str, ids: Collection[str]) -> None:
        """Note that a session was told of more; hooks that run at once may both do so."""
        from dshloop.paths import private_folder

        private_folder(self._folder)
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
        file = os.open(self._file(session), flags, 0o600)
        try:
            os.write(file, "".join(f"{id_}\n" for id_ in ids).encode())
        finally:
            os.close(file)

    def forget(self, session: str) -> None:
        """Let go of a session, and of sessions that were left long ago."""
        with suppress(OSError):
            self._file(session).unlink()
        with suppress(OSError):
            self._clear()

    def _clear(self) -> None:
        for file in self._folder.iterdir():
            if file.stat().st_mtime < self._clock() - _KEPT:
                file.unlink()

    def _file(self, session: str) -> Path:
        name = blake2s(session.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
        return self._folder / name
