"""Where the journal keeps contents: files by their SHA-256, folders under a name of their own."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Iterator
from pathlib import Path

from dshloop.errors import JournalDamagedError
from dshloop.files import read_bytes, replace_file, shown, sync_folder, writing
from dshloop.journal.state import State
from dshloop.paths import private_folder

# A blob this young may belong to a transaction whose note of it isn't written yet.
_SETTLED = 3600.0


def lasting_folder(path: Path) -> Path:
    """Make a folder of the journal, private to its owner, that survives a crash."""
    if not path.is_dir():
        with writing(path):
            private_folder(path)
            sync_folder(path.parent)
    return path


class Store:
    """The folders `blobs` and `trees` of one journal."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def put(self, data: bytes) -> str:
        """Keep a content lastingly; give its SHA-256 in hex."""
        name = hashlib.sha256(data).hexdigest()
        path = self.blob(name)
        if path.exists() and read_bytes(path) == data:
            os.utime(path)
        else:
            lasting_folder(path.parent)
            replace_file(path, data, mode=0o600)
        return name

    def get(self, name: str) -> bytes:
        """Give a kept content; JOURNAL_DAMAGED when it is lost or no longer what it was."""
        path = self.blob(name)
        data = read_bytes(path)
        if data is None or hashlib.sha256(data).hexdigest() != name:
            fault = "is missing" if data is None else "is damaged"
            raise JournalDamagedError(f"the journal's copy {shown(path)} {fault}", file=shown(path))
        return data

    def require(self, state: State | None, tree: Path | None) -> None:
        """Raise JOURNAL_DAMAGED when the content that `state` tells of is no longer kept."""
        if state is None or state.kind == "link":
            return
        if state.kind == "file":
            self.get(state.value)
        elif tree is None or not tree.is_dir():
            where = "" if tree is None else f" {shown(tree)}"
            raise JournalDamagedError(f"the folder{where} that the journal kept is missing")

    def blob(self, name: str) -> Path:
        """Give the file that holds the content with this SHA-256."""
        return self.root / "blobs" / name[:2] / name

    def tree(self, entry: str, number: int, side: str) -> Path:
        """Give the place for a folder that a step set aside; `side` is ``before`` or ``after``."""
        return lasting_folder(self.root / "trees") / f"{entry}-{number}-{side}"

    def trees_of(self, entry: str) -> Iterator[Path]:
        """Yield the folders that are kept for an entry."""
        yield from (self.root / "trees").glob(f"{entry}-*")

    def sweep(self, wanted: set[str]) -> None:
        """Remove the blobs that nobody wants, but for those of the last hour."""
        limit = time.time() - _SETTLED
        for path in (self.root / "blobs").glob("*/*"):
            if path.name not in wanted and path.stat().st_mtime < limit:
                path.unlink(missing_ok=True)
