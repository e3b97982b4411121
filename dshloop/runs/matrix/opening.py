"""How a cell's session is opened: what all cells share, and what this one asks for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dshloop.drivers import FAKE, choose
from dshloop.drivers.settings import EngineSettings
from dshloop.host.rows import HostRow
from dshloop.paths import Places
from dshloop.runs.conversation import RunOptions
from dshloop.runs.matrix.plan import Asked, Cell
from dshloop.runs.models import ModelAsked
from dshloop.runs.profile import ProfileRows

if TYPE_CHECKING:
    from dshloop.llm.providers import Providers
    from dshloop.loops.loops_file import LoopsFile


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What all cells of a run share, as it can be given to another process.

    ``rows`` are `HostRow`s without their places in files.
    """

    places: Places
    rows: tuple[tuple[Any, ...], ...]
    profile: str | None
    file: LoopsFile | None
    engines: EngineSettings
    variables: Mapping[str, str]
    cwd: Path
    command: str
    run: str
    folder: Path  # of the file, for commands that check
    timeout: float
    allow_partial: bool = False
    workspace: Path | None = None
    work: Path | None = None  # where copies of the workspace go

    @property
    def profile_rows(self) -> ProfileRows:
        """What each cell's process starts; what is to be told of it was told already."""
        return ProfileRows(tuple(HostRow(*row) for row in self.rows), self.profile, (), self.file)


def run_options(cell: Cell, around: Surroundings, cwd: Path) -> RunOptions:
    """Say how a cell's session is opened. Raises what reading its script or config.yml raises."""
    from functools import cache

    from dshloop.config import read_config
    from dshloop.llm.credentials import Keyring
    from dshloop.llm.providers import read_providers

    asked = cell.asked

    @cache
    def providers() -> Providers:
        keys = Keyring(around.variables, around.places.dsh_home)
        return read_providers(read_config(around.places), keys)

    choice = None if asked.driver is None else choose(asked.driver)
    modelless = choice is not None and (choice.name == FAKE or choice.provider is not None)
    options = RunOptions(
        cwd=cwd,
        command=around.command,
        driver=asked.driver,
        loop=asked.loop,
        preset=asked.preset,
        session_id=cell.session(around.run),
        model=ModelAsked() if modelless else _model(asked, providers),
        providers=providers,
        rows=around.profile_rows,
        engines=_engines(asked, around),
        allow_partial=around.allow_partial,
    )
    if asked.script is not None and choice is not None and choice.name == FAKE:
        from dshloop.drivers.script import read_script

        options = replace(options, script=read_script(asked.script))
    return options


def _model(asked: Asked, providers: Callable[[], Providers]) -> ModelAsked:
    """Tell provider and model apart, for drivers that don't know our providers' names."""
    provider, model = asked.provider, asked.model
    if provider is None and model is not None and "/" in model:
        name, _, rest = model.partition("/")
        if rest and providers().find(name) is not None:
            provider, model = name, rest
    return ModelAsked(provider, model, asked.max_tokens, asked.effort)


def _engines(asked: Asked, around: Surroundings) -> EngineSettings:
    if asked.command is None:
        return around.engines
    return replace(around.engines, acp_command=asked.command)
