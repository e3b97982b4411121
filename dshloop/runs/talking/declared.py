"""A run as one of the agents that the profile's dock row asks for (loop-dock 11)."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from dshloop.drivers import choose
from dshloop.errors import AgentNotFoundError, UsageError
from dshloop.loops.config import AgentEntry, read_dock_config
from dshloop.loops.names import listed
from dshloop.paths import Places
from dshloop.plugins.built_in import DOCK
from dshloop.runs.profile import ProfileRows
from dshloop.runs.talking.models import ModelAsked
from dshloop.runs.talking.options import RunOptions
from dshloop.sessions.catalog import find_id


def as_agent(options: RunOptions, name: str, places: Places) -> RunOptions:
    """Fill in what an agent's entry says and wasn't typed: session, loop, driver, model, folder.

    A session of its ``sessionId`` that is there already is gone on with. Raises AGENT_NOT_FOUND,
    USAGE for a folder that isn't there, and INVALID_CONFIG.
    """
    entry = _entry(options.rows, name)
    options = replace(
        options,
        loop=options.loop or entry.loop,
        driver=options.driver or entry.driver,
        model=_model(options, entry),
        cwd=options.cwd if options.moved else _folder(entry, options.cwd),
    )
    resumed = entry.resume_session_id
    if entry.session_id is not None and find_id(places, entry.session_id) is not None:
        resumed = entry.session_id
    if resumed is None:
        if options.fork:
            raise UsageError(
                f'agent "{name}" has no session yet that --fork could go on with', option="--fork"
            )
        return replace(options, session_id=entry.session_id)
    if options.preset is not None:
        raise UsageError(
            f'agent "{name}" goes on with session "{resumed}", and --preset is for a new one',
            option="--preset",
        )
    return replace(options, resume=resumed)


def _entry(rows: ProfileRows, name: str) -> AgentEntry:
    docks = [row for row in rows.rows if row.name == DOCK.name and row.off is None]
    entries = [entry for row in docks for entry in read_dock_config(row.config).agents]
    found = next((entry for entry in entries if entry.id == name), None)
    if found is not None:
        return found
    known = sorted({entry.id for entry in entries})
    raise AgentNotFoundError(
        f'the dock row asks for no agent "{name}" (it has: {listed(known)})',
        agent=name,
        available=known,
    )


def _model(options: RunOptions, entry: AgentEntry) -> ModelAsked:
    """Take the entry's model for what wasn't typed, unless a driver without one was typed."""
    typed = options.model
    if options.driver is not None and not choose(options.driver).asks_model:
        return typed
    if typed.provider is not None or typed.model is not None:
        entry = entry._replace(provider=None, model=None)
    return typed._replace(
        provider=typed.provider or entry.provider,
        model=typed.model or entry.model,
        max_tokens=typed.max_tokens or entry.max_tokens,
        effort=typed.effort or entry.reasoning_effort,
    )


def _folder(entry: AgentEntry, here: Path) -> Path:
    if entry.cwd is None:
        return here
    folder = here / entry.cwd
    if not folder.is_dir():
        raise UsageError(
            f'agent "{entry.id}" works in {folder}, which is no folder',
            hint="Name another with --cwd, or mend its entry: dshloop agent list.",
        )
    return folder
