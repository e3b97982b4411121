"""How a cell's session is opened: what it asks for, beside what all cells share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from dshloop.config import Config, read_config
from dshloop.drivers import FAKE, choose
from dshloop.drivers.settings import EngineSettings
from dshloop.runs.engines import engine_settings
from dshloop.runs.matrix.plan import Asked, Cell
from dshloop.runs.matrix.surroundings import Surroundings
from dshloop.runs.talking.conversation import RunOptions
from dshloop.runs.talking.models import ModelAsked

if TYPE_CHECKING:
    from dshloop.llm.providers import Providers


def run_options(cell: Cell, around: Surroundings, cwd: Path) -> RunOptions:
    """Say how a cell's session is opened. Raises what reading its script or config.yml raises."""
    from functools import cache

    from dshloop.llm.credentials import Keyring
    from dshloop.llm.providers import read_providers

    asked, config = cell.asked, read_config(around.places)

    @cache
    def providers() -> Providers:
        keys = Keyring(around.variables, around.places.dsh_home)
        return read_providers(config, keys)

    choice = None if asked.driver is None else choose(asked.driver)
    modelless = choice is not None and not choice.asks_model
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
        engines=_engines(asked, around, config),
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


def _engines(asked: Asked, around: Surroundings, config: Config) -> EngineSettings:
    settings = engine_settings(
        around.places, variables=around.variables, config=config, row=around.engine
    )
    return settings if asked.command is None else replace(settings, acp_command=asked.command)
