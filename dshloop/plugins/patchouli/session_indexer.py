"""The row `dsh-patchouli-session-indexer`: stored sessions become observations.

Off unless its config says ``enabled: true``; then every start reads the logs that have changed
since, under the ids that recording them live would have given.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dshloop.host.mount import Mount
from dshloop.plugins.memory_place import SERVICE as PLACE
from dshloop.plugins.memory_place import MemoryPlace
from dshloop.plugins.patchouli.config import Keys
from dshloop.plugins.patchouli.indexing import Indexing, Stopped

if TYPE_CHECKING:
    from dshloop.plugins.patchouli.indexing import IndexStore

KIND = "patchouli/indexed-session"
"""The kind of the documents that say how much of a log was read."""


@dataclass(frozen=True, slots=True)
class SessionIndexerConfig:
    """Whether it works at all."""

    enabled: bool = False


def read_session_indexer_config(raw: Any) -> SessionIndexerConfig:
    """Check the config of the row. Raises ValueError."""
    keys = Keys(raw, "")
    config = SessionIndexerConfig(keys.flag("enabled", False))
    keys.finish()
    return config


class SessionIndexer:
    """Reads logs in the background."""

    name = "dsh-patchouli-session-indexer"
    Config = staticmethod(read_session_indexer_config)

    async def apply(self, host: Mount, config: SessionIndexerConfig) -> None:
        """Begin, where it is switched on and there is a store."""
        place: MemoryPlace | None = host.service(PLACE)
        if not config.enabled or place is None or place.open_store is None:
            return

        def work(store: IndexStore, stopped: Stopped) -> None:
            index_sessions(store, place, stopped)

        Indexing(host, place, self.name).begin(work)


def index_sessions(store: IndexStore, place: MemoryPlace, stopped: Stopped) -> int:
    """Read the logs that have changed into a store; give how many."""
    from dshloop.transcripts.programs import logs_in

    known = store.documents(KIND)
    done = 0
    for root in place.sessions:
        for log in logs_in(root) if root.is_dir() else ():
            if stopped():
                return done
            mark = _mark(log)
            if mark is not None and known.get(str(log)) != mark:
                _index(store, place, log)
                store.keep_document(KIND, str(log), mark)
                done += 1
    return done


def _mark(log: Path) -> list[int] | None:
    """Tell one state of a log from another; None for one that is gone."""
    try:
        found = log.stat()
    except OSError:
        return None
    return [found.st_size, found.st_mtime_ns]


def _index(store: IndexStore, place: MemoryPlace, log: Path) -> None:
    from dshloop.errors import DshloopError
    from dshloop.memory.answers import MERGE
    from dshloop.memory.interchange.ingesting import items
    from dshloop.memory.interchange.report import Report
    from dshloop.memory.project import project_here
    from dshloop.transcripts.programs import reader_of

    try:
        reader = reader_of(log)
        cwd = "" if reader is None else reader.outline(log).cwd
    except DshloopError:
        return
    project = project_here(place.variables, Path(cwd)) if cwd else ""
    found = items(store, [log], Report(), project=project, again=True)
    records = (item.record for item in found)
    for _ in store.put((record for record in records if record is not None), on_conflict=MERGE):
        pass
