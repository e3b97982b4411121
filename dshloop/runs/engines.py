"""What a run's drivers of other programs are given: config.yml, the profile, the command line."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

from dshloop.drivers.settings import PATIENCE, EngineSettings
from dshloop.errors import ConfigInvalidError, DshloopError, UsageError
from dshloop.loops.engine_row import EngineConfig, read_engine_config
from dshloop.loops.names import ABSENT
from dshloop.paths import Places

if TYPE_CHECKING:
    from dshloop.config import Config
    from dshloop.loops.rows import DockRows


def engine_settings(
    places: Places,
    *,
    variables: Mapping[str, str] | None = None,
    config: Config | None = None,
    row: EngineConfig | None = None,
    command: str | None = None,
) -> EngineSettings:
    """Put the settings together; the command that was typed goes before the profile's.

    Raises USAGE and CONFIG_INVALID for a command or a time that can't be read.
    """
    configured = None if config is None else config.get("acp.command")
    in_profile = None if row is None else row.acp_command
    return EngineSettings(
        dict(os.environ if variables is None else variables),
        places.dsh_home,
        _words(command, UsageError)
        or _words(in_profile, ConfigInvalidError)
        or _words(configured, ConfigInvalidError),
        _patience(config),
    )


def engine_row(rows: DockRows | None) -> EngineConfig | None:
    """Read the engine row of a profile; one that can't be read says nothing here."""
    if rows is None or rows.engine is None:
        return None
    try:
        return read_engine_config(rows.engine.get("config", ABSENT))
    except DshloopError:
        return None


def _words(command: str | None, error: type[DshloopError]) -> tuple[str, ...] | None:
    if command is None:
        return None
    import shlex

    try:
        words = tuple(shlex.split(command))
    except ValueError as fault:
        raise error(f"the command of the ACP agent can't be read: {fault}") from None
    if not words:
        raise error("the command of the ACP agent is empty")
    return words


def _patience(config: Config | None) -> float:
    given = None if config is None else config.get("engines.patience")
    return PATIENCE if given is None else float(given)
