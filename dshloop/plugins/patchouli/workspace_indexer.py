"""The row `dsh-patchouli-workspace-indexer`: the text files of workspaces become observations.

Off unless its config says ``enabled: true``. What git ignores is left out; only what has changed
since the last time is read; what is gone is forgotten.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dshloop.host.mount import Mount
from dshloop.plugins.memory_place import SERVICE as PLACE
from dshloop.plugins.memory_place import MemoryPlace
from dshloop.plugins.patchouli.config import Keys
from dshloop.plugins.patchouli.indexing import Indexing, Stopped
from dshloop.plugins.patchouli.workspace_files import read_inside

if TYPE_CHECKING:
    from dshloop.memory.entries import Observation
    from dshloop.plugins.patchouli.indexing import IndexStore

KIND = "patchouli/indexed-workspace"
"""The kind of the documents that say what was read of a workspace, and in which state."""
_BATCH = 100
_LEFT_OUT = frozenset({"node_modules", "__pycache__", "venv", "dist", "build", "target"})
"""Folders that are left out where there is no git to ask, beside hidden ones."""


@dataclass(frozen=True, slots=True)
class WorkspaceIndexerConfig:
    """Whether it works, and which files are too long for it."""

    enabled: bool = False
    max_file_bytes: int = 65_536
    max_files: int = 20_000


def read_workspace_indexer_config(raw: Any) -> WorkspaceIndexerConfig:
    """Check the config of the row. Raises ValueError."""
    keys = Keys(raw, "")
    config = WorkspaceIndexerConfig(
        enabled=keys.flag("enabled", False),
        max_file_bytes=keys.count("maxFileBytes", 65_536, least=1),
        max_files=keys.count("maxFiles", 20_000, least=1),
    )
    keys.finish()
    return config


class WorkspaceIndexer:
    """Reads the workspace of each agent that comes, in the background."""

    name = "dsh-patchouli-workspace-indexer"
    Config = staticmethod(read_workspace_indexer_config)

    async def apply(self, host: Mount, config: WorkspaceIndexerConfig) -> None:
        """Listen for agents, where it is switched on and there is a store."""
        place: MemoryPlace | None = host.service(PLACE)
        if not config.enabled or place is None or place.open_store is None:
            return
        indexing = Indexing(host, place, self.name)
        seen: set[str] = set()

        def created(event: Mapping[str, Any]) -> None:
            cwd = event["agent"].session.header.cwd
            if not cwd or cwd in seen:
                return
            seen.add(cwd)

            def work(store: IndexStore, stopped: Stopped) -> None:
                index_workspace(store, place, Path(cwd), config, stopped)

            indexing.begin(work)

        host.on("agent/created", created)


def index_workspace(
    store: IndexStore,
    place: MemoryPlace,
    root: Path,
    config: WorkspaceIndexerConfig,
    stopped: Stopped,
) -> tuple[int, int]:
    """Bring the index of a workspace up to date; give how many files were read and forgotten."""
    from dshloop.memory.answers import OVERWRITE

    known: dict[str, Any] = dict(store.document(KIND, str(root)) or {})
    there: dict[str, list[int]] = {}
    batch: list[Observation] = []
    read = 0

    def keep() -> None:
        for _ in store.put(batch, on_conflict=OVERWRITE):
            pass
        batch.clear()
        store.keep_document(KIND, str(root), {**known, **there})

    for path in files_of(root):
        if stopped() or len(there) >= config.max_files:
            break
        mark = _mark(root / path, config.max_file_bytes)
        if mark is None:
            continue
        if known.get(path) != mark:
            observation = _observation(place, root, path, config.max_file_bytes)
            if observation is None:
                continue
            batch.append(observation)
            read += 1
        there[path] = mark
        if len(batch) >= _BATCH:
            keep()
    gone = [] if stopped() else [path for path in known if path not in there]
    known = {path: mark for path, mark in known.items() if path not in gone}
    keep()
    return read, _forget(store, root, gone)


def files_of(root: Path) -> Iterator[str]:
    """Give the paths of a workspace's files: what git knows and doesn't ignore, else all."""
    listed = _asked_git(root)
    if listed is not None:
        yield from listed
        return
    for folder, names, files in os.walk(root):
        names[:] = sorted(
            name for name in names if not name.startswith(".") and name not in _LEFT_OUT
        )
        for name in sorted(files):
            if not name.startswith("."):
                yield Path(folder, name).relative_to(root).as_posix()


def _asked_git(root: Path) -> list[str] | None:
    """Ask git; None without one, and outside of work trees."""
    import subprocess

    command = ["git", "-C", str(root), "ls-files", "-z", "--cached", "--others"]
    try:
        done = subprocess.run(
            [*command, "--exclude-standard"], capture_output=True, check=False, timeout=60
        )
    except (OSError, subprocess.SubprocessError):
        return None
    if done.returncode:
        return None
    names = done.stdout.decode("utf-8", "surrogateescape").split("\0")
    return sorted({name for name in names if name})


def _mark(path: Path, limit: int) -> list[int] | None:
    """Tell one state of a file from another; None for what is not read: links, folders, long."""
    import stat

    try:
        found = path.lstat()
    except (OSError, ValueError):
        return None
    if not stat.S_ISREG(found.st_mode) or not 0 < found.st_size <= limit:
        return None
    return [found.st_size, found.st_mtime_ns]


def _observation(place: MemoryPlace, root: Path, path: str, limit: int) -> Observation | None:
    """Read a file; None for what is no text."""
    from dshloop.memory.entries import Observation
    from dshloop.memory.project import project_here
    from dshloop.redact import redact

    try:
        content, _ = read_inside(str(root), path, limit)
        text = content.decode("utf-8")
        made_at = (root / path).stat().st_mtime
    except (ValueError, OSError):
        return None
    if "\0" in text or not text.strip():
        return None
    return Observation(
        id=file_id(root, path),
        session="",
        hook="workspace_file",
        type="file_read",
        title=path,
        subtitle="",
        content=str(redact(text, private=True).value),
        concepts=(),
        files=(path,),
        project=project_here(place.variables, root),
        agent=None,
        source={"kind": "workspace", "path": path},
        created_at=made_at,
    )


def file_id(root: Path, path: str) -> str:
    """Give the id of a file's observation."""
    from dshloop.memory.interchange.ids import made_id

    return made_id("obs_", "workspace", str(root), path)


def _forget(store: IndexStore, root: Path, paths: list[str]) -> int:
    from dshloop.errors import MemoryNotFoundError

    if not paths:
        return 0
    try:
        return len(store.forget([file_id(root, path) for path in paths], purge=True).entries)
    except MemoryNotFoundError:
        return 0
