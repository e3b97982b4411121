"""What the agents of a team get of the agent that starts them, where the call doesn't say.

A child is on its parent's preset, loop and driver, and asks its parent's model. Another preset or
loop brings its own driver along, if it has one.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dshloop.drivers import DEFAULT, PING_PROVIDER, choose
from dshloop.drivers.fake import LOCAL_PROVIDERS
from dshloop.host.agent import Agent
from dshloop.host.presets import preset_of
from dshloop.loops.binding import Binding, read_binding
from dshloop.loops.names import require_driver_name, require_loop_id
from dshloop.runs.talking.models import ModelAsked
from dshloop.runs.talking.options import RunOptions
from dshloop.runs.teams.service import AgentTeams


def child_options(
    teams: AgentTeams, parent: Agent, asked: Mapping[str, Any], session_id: str
) -> RunOptions:
    """Say how the session of a child is opened; ``asked`` is its part of the tool's arguments.

    Raises INVALID_LOOP_ID, INVALID_DRIVER, and why a loop or driver can't be loaded.
    """
    bound = read_binding(parent.session.events)
    preset = asked.get("preset") or preset_of(parent)
    loop = _loop(asked, bound)
    driver = _driver(teams, parent, asked, bound, loop, preset)
    cwd = parent.session.header.cwd
    return RunOptions(
        cwd=teams.sessions.cwd if cwd is None else Path(cwd),
        command=teams.sessions.command,
        driver=driver,
        loop=loop,
        preset=preset,
        session_id=session_id,
        model=_model(teams, parent, asked, driver),
        rows=teams.rows,
    )


def _loop(asked: Mapping[str, Any], bound: Binding | None) -> str | None:
    if asked.get("loop") is not None:
        return require_loop_id(asked["loop"])
    if asked.get("preset") is not None:  # which has a loop of its own
        return None
    return None if bound is None else bound.loop


def _driver(
    teams: AgentTeams,
    parent: Agent,
    asked: Mapping[str, Any],
    bound: Binding | None,
    loop: str | None,
    preset: str | None,
) -> str | None:
    if asked.get("driver") is not None:
        return require_driver_name(asked["driver"])
    own = None if bound is None else bound.driver
    same = bound is not None and loop == bound.loop
    if own is None or not (same or _borrows(teams, loop, preset)):
        return None
    pinged = own == DEFAULT and _context(parent).get("provider") == PING_PROVIDER
    return "ping" if pinged else own


def _borrows(teams: AgentTeams, loop: str | None, preset: str | None) -> bool:
    """Whether a loop is a strategy for which nobody but the setting or the row names a driver."""
    process = teams.process
    options: dict[str, Any] = {"sessionId": "-"}
    if preset is not None:
        options["meta"] = {"agentPreset": preset}
    if loop is not None:
        options["loop"] = loop
    selection = process.dock.select_create(options)
    process.loops.require_loop(selection.loop)
    found = process.dock.loops.get(selection.loop)
    return (
        selection.driver is None
        and found is not None
        and found.kind == "strategy"
        and found.driver is None
    )


def _model(
    teams: AgentTeams, parent: Agent, asked: Mapping[str, Any], driver: str | None
) -> ModelAsked:
    """Ask the parent's model where a driver of ours asks one at all, and nothing else is said.

    A model that is named alone is one of the parent's provider, unless it is PROVIDER/MODEL.
    """
    told = ModelAsked(
        asked.get("provider"), asked.get("model"), asked.get("max_tokens"), asked.get("effort")
    )
    provider, model = (_context(parent).get(key) for key in ("provider", "model"))
    own = provider is None or provider in LOCAL_PROVIDERS  # nothing that could be inherited
    if told.provider is not None or own or not _asks_model(driver):
        return told
    if told.model is None:
        return ModelAsked(provider, model, told.max_tokens, told.effort)
    if _names_provider(teams, told.model):
        return told
    return ModelAsked(provider, told.model, told.max_tokens, told.effort)


def _asks_model(driver: str | None) -> bool:
    choice = None if driver is None else choose(driver)
    return choice is None or (choice.name == DEFAULT and choice.provider is None)


def _names_provider(teams: AgentTeams, model: str) -> bool:
    provider, slash, rest = model.partition("/")
    known = teams.process.providers
    return bool(slash and rest) and known is not None and known.find(provider) is not None


def _context(parent: Agent) -> Mapping[str, Any]:
    """Give provider and model of the parent's newest request."""
    return parent.latest.get("request/context") or {}
