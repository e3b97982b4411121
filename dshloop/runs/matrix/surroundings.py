"""What all cells of a run share; light, since the process that has the workers needs no more."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dshloop.paths import Places

if TYPE_CHECKING:
    from dshloop.loops.engine_row import EngineConfig
    from dshloop.loops.loops_file import LoopsFile
    from dshloop.runs.profile import ProfileRows


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What all cells of a run share, as it can be given to another process.

    ``rows`` are `HostRow`s without their places in files; ``engine`` is what the profile says of
    engines; ``folder`` is that of the matrix's file, ``work`` where copies of ``workspace`` go.
    """

    places: Places
    rows: tuple[tuple[Any, ...], ...]
    profile: str | None
    file: LoopsFile | None
    engine: EngineConfig | None
    variables: Mapping[str, str]
    cwd: Path
    command: str
    run: str
    folder: Path
    timeout: float
    allow_partial: bool = False
    workspace: Path | None = None
    work: Path | None = None

    @property
    def profile_rows(self) -> ProfileRows:
        """What each cell's process starts; what is to be told of it was told already."""
        from dshloop.host.rows import HostRow
        from dshloop.runs.profile import ProfileRows

        return ProfileRows(tuple(HostRow(*row) for row in self.rows), self.profile, (), self.file)
