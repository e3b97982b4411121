"""Agents from a file, in the shape that the dock's own documents show them in."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dshloop.errors import InvalidConfigError
from dshloop.files import require_text, shown
from dshloop.loops.config import read_agent
from dshloop.loops.fields import Page, near_match
from dshloop.loops.names import is_object
from dshloop.loops.rows import DOCK_ID, agent_keys


@dataclass(frozen=True, slots=True)
class Team:
    """The entries of a file in its order; ``left_out`` are keys of the dock it says besides."""

    entries: tuple[dict[str, Any], ...]
    left_out: tuple[str, ...] = ()


def read_team(path: Path) -> Team:
    """Read ``agent-loop-dock: {agents: [...]}``, ``{agents: [...]}`` or the list alone.

    Raises UNREADABLE_FILE, and INVALID_CONFIG with file and line for an entry the dock would
    refuse, and for keys it doesn't know.
    """
    page = Page.read(require_text(path).value, shown(path), InvalidConfigError)
    value, where = page.document.value, ""
    if is_object(value) and set(value) == {DOCK_ID}:
        value, where = value[DOCK_ID], DOCK_ID
    if is_object(value):
        left_out = tuple(key for key in value if key != "agents")
        agents = page.fields(value, None, where).items("agents")
        if agents is None:
            page.refuse(f"{where or 'the file'} has no agents", value)
    elif isinstance(value, list):
        left_out, agents = (), value
    else:
        page.refuse("a team is a list of agents, or a mapping with agents", value)
    return Team(tuple(_entry(page, agents, index) for index in range(len(agents))), left_out)


def _entry(page: Page, agents: Any, index: int) -> dict[str, Any]:
    entry = agents[index]
    try:
        read_agent(entry, f"agents[{index}]")
    except InvalidConfigError as fault:
        key = str(fault.details["path"]).rpartition("]")[2].removeprefix(".")
        inside = is_object(entry) and key in entry
        container, at = (entry, key) if inside else (agents, index)
        page.refuse(fault.message, container, at, fault.hint)
    keys = agent_keys()
    for key in entry:
        if key not in keys:
            near = near_match(key, keys)
            hint = f'Did you mean "{near}"?' if near else f"Keys: {', '.join(keys)}."
            page.refuse(f"agents[{index}].{key} is no key of an agent", entry, key, hint)
    return dict(entry)
