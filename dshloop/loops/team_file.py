"""Agents from a file, in the shape that the dock's own documents show them in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dshloop.errors import InvalidConfigError
from dshloop.files import require_text, shown
from dshloop.loops.config import read_agent
from dshloop.loops.fields import Page, near_match
from dshloop.loops.names import is_object, is_text
from dshloop.loops.rows import DOCK_ID, agent_keys


@dataclass(frozen=True, slots=True)
class TeamFile:
    """The entries of a file in its order; ``left_out`` are keys of the dock it says besides.

    ``said`` are the texts beside the agents that were asked for.
    """

    entries: tuple[dict[str, Any], ...]
    left_out: tuple[str, ...] = ()
    said: Mapping[str, str] = field(default_factory=dict)


def read_team_file(path: Path, more: Sequence[str] = ()) -> TeamFile:
    """Read ``agent-loop-dock: {agents: [...]}``, ``{agents: [...]}`` or the list alone.

    ``more`` are keys for texts that may stand in an entry, and beside the agents. Raises
    UNREADABLE_FILE, and INVALID_CONFIG with file and line for an entry the dock would refuse, and
    for keys it doesn't know.
    """
    page = Page.read(require_text(path).value, shown(path), InvalidConfigError)
    value, where = page.document.value, ""
    outer: dict[str, str] = {}
    if is_object(value) and set(value) - set(more) == {DOCK_ID}:
        outer = _said(page, value, "", more)
        value, where = value[DOCK_ID], DOCK_ID
    if is_object(value):
        left_out = tuple(key for key in value if key != "agents" and key not in more)
        agents = page.fields(value, None, where).items("agents")
        if agents is None:
            meant = next((key for key in value if near_match(key, ("agents",))), None)
            hint = None if meant is None else f'Did you mean "agents" by "{meant}"?'
            page.refuse(f"{where or 'the file'} has no agents", value, meant, hint)
        said = {**outer, **_said(page, value, where, more)}
    elif isinstance(value, list):
        left_out, agents, said = (), value, {}
    else:
        page.refuse("a team is a list of agents, or a mapping with agents", value)
    entries = tuple(_entry(page, agents, index, more) for index in range(len(agents)))
    return TeamFile(entries, left_out, said)


def _said(page: Page, holder: Any, path: str, keys: Sequence[str]) -> dict[str, str]:
    """Give the texts of a mapping under some keys."""
    found = {key: holder[key] for key in keys if key in holder}
    for key, text in found.items():
        if not is_text(text):
            at = f"{path}.{key}" if path else key
            page.refuse(f"{at} must be a non-empty string", holder, key)
    return found


def _entry(page: Page, agents: Any, index: int, more: Sequence[str]) -> dict[str, Any]:
    entry = agents[index]
    try:
        read_agent(entry, f"agents[{index}]")
    except InvalidConfigError as fault:
        key = str(fault.details["path"]).rpartition("]")[2].removeprefix(".")
        inside = is_object(entry) and key in entry
        container, at = (entry, key) if inside else (agents, index)
        page.refuse(fault.message, container, at, fault.hint)
    _said(page, entry, f"agents[{index}]", more)
    keys = (*agent_keys(), *more)
    for key in entry:
        if key not in keys:
            near = near_match(key, keys)
            hint = f'Did you mean "{near}"?' if near else f"Keys: {', '.join(keys)}."
            page.refuse(f"agents[{index}].{key} is no key of an agent", entry, key, hint)
    return dict(entry)
