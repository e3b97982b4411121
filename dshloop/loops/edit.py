"""Edits of the dock row, planned on a profile's composition: loop, routes, agents (design 3)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, NoReturn

from dshloop.dsh_yaml.values import text_of
from dshloop.errors import (
    AgentNotFoundError,
    DockRowMissingError,
    EditRefusedError,
    RouteNotFoundError,
)
from dshloop.loops.config import read_dock_config
from dshloop.loops.fields import near_match
from dshloop.loops.names import ABSENT, is_object, listed
from dshloop.loops.rows import OFFICIAL_ENGINE, DockRows, default_rows, dock_rows, is_on
from dshloop.loops.selection import Route
from dshloop.profiles.edits.desk import Desk
from dshloop.profiles.edits.edit import disable_row, enable_row, set_config, unset_config
from dshloop.profiles.edits.layer_edit import LayerEdit, Note, finish
from dshloop.profiles.edits.row_edit import insert_row
from dshloop.profiles.patch import UNDEFINED, Row
from dshloop.profiles.row_path import RowPath
from dshloop.splice import YamlText
from dshloop.splice.change import with_item

RouteMap = Literal["presetLoops", "sessionLoops"]
ROUTE_MAPS: tuple[RouteMap, ...] = ("presetLoops", "sessionLoops")
Work = Callable[[Desk], LayerEdit]


def use_loop(desk: Desk, loop_id: str) -> LayerEdit:
    """Plan another default loop."""
    return _set(desk, ("defaultLoop",), loop_id)


def set_route(desk: Desk, where: RouteMap, key: str, route: Route) -> LayerEdit:
    """Plan a route of a preset or a session; an old one of the same key is replaced."""
    value = route.loop if route.driver is None else route.as_json()
    return _set(desk, (where, key), value)


def remove_route(desk: Desk, where: Sequence[RouteMap], key: str) -> LayerEdit:
    """Plan the end of a route in the first of the maps that has it. Raises ROUTE_NOT_FOUND."""
    row = _row(desk)
    for name in where:
        if key in _routes(row, name):
            return unset_config(desk, RowPath(row["id"], (name, key)))
    known = [other for name in where for other in _routes(row, name)]
    near = near_match(key, known)
    hint = f'Did you mean "{near}"?' if near else f"Routes: {listed(known)}."
    raise RouteNotFoundError(
        f'nothing routes "{key}" in {" or ".join(where)}', hint=hint, key=key, routes=known
    )


def routes_of(desk: Desk, key: str) -> list[RouteMap]:
    """Say which maps have a route of a key."""
    row = dock_rows(desk.composition).dock
    return [] if row is None else [name for name in ROUTE_MAPS if key in _routes(row, name)]


def add_agents(desk: Desk, entries: Sequence[Mapping[str, Any]]) -> LayerEdit:
    """Plan more agents behind those there are. Raises INVALID_CONFIG for what would be wrong."""
    works = [_adding(entry) for entry in entries]
    return chained(desk, works)


def remove_agent(desk: Desk, agent_id: str) -> LayerEdit:
    """Plan the end of the last agent of an id. Raises AGENT_NOT_FOUND."""
    row = _row(desk)
    agents = _agents(row)
    ids = [str(entry.get("id")) if is_object(entry) else "" for entry in agents]
    if agent_id not in ids:
        near = near_match(agent_id, ids)
        hint = f'Did you mean "{near}"?' if near else f"Agents: {listed(ids)}."
        raise AgentNotFoundError(
            f'there is no agent "{agent_id}"', hint=hint, agent=agent_id, agents=ids
        )
    index = len(ids) - 1 - ids[::-1].index(agent_id)
    return unset_config(desk, RowPath(row["id"], ("agents", index)))


def with_dock(work: Work) -> Work:
    """Make an edit that first puts in what the profile lacks: dock, engine, one factory only."""

    def do(desk: Desk) -> LayerEdit:
        return chained(desk, [*_missing_rows(desk), work])

    return do


def missing_dock(rows: DockRows, layer: str) -> str | None:
    """Ask whether the dock row may be put in, or switched on; None when it is there."""
    if rows.dock is not None:
        return None
    if rows.off is not None:
        return f"The dock row {text_of(rows.off.get('id'))} is disabled. Enable it?"
    return f"The profile has no dock row. Put one into the {layer} layer?"


def refuse_missing(question: str) -> NoReturn:
    """Raise DOCK_ROW_MISSING with what was asked."""
    raise DockRowMissingError(question.split(".")[0][:1].lower() + question.split(".")[0][1:])


def chained(desk: Desk, works: Sequence[Work]) -> LayerEdit:
    """Plan edits one on top of the other, as one change of the layer's file."""
    first, *rest = works
    edit = first(desk)
    notes = list(edit.notes)
    changed = edit if edit.changes else None
    for work in rest:
        edit = work(_reopened(edit))
        notes += [note for note in edit.notes if note not in notes]
        changed = edit if edit.changes else changed
    return LayerEdit(edit.desk, changed.changes if changed else (), tuple(notes))


def _reopened(edit: LayerEdit) -> Desk:
    """Open the layer as an edit leaves it; what is on disk stays what was read."""
    desk = edit.desk
    after = next((c.after for c in edit.changes if c.path == desk.target.path), None)
    if not isinstance(after, bytes):
        return desk
    text = YamlText(after.decode(), source=str(desk.target.path))
    target = replace(desk.target, text=text, layer=desk.target.with_text(text))
    layers = tuple(target.layer if n == desk.at else one for n, one in enumerate(desk.layers))
    return Desk(target, layers, desk.at)


def _missing_rows(desk: Desk) -> list[Work]:
    rows = dock_rows(desk.composition)
    if rows.dock is not None:
        return []
    dock, engine = default_rows()
    works: list[Work] = []
    if rows.off is not None:
        off = rows.off.get("id")
        works.append(lambda desk: enable_row(desk, off))
    else:
        works.append(lambda desk: insert_row(desk, dict(dock)))
    if rows.engine is None and not desk.composition.find(engine["id"]):
        works.append(lambda desk: insert_row(desk, dict(engine)))
    if any(is_on(placed) for placed in desk.composition.find(OFFICIAL_ENGINE)):
        works.append(lambda desk: disable_row(desk, OFFICIAL_ENGINE))
    return works


def _set(desk: Desk, keys: tuple[str, ...], value: Any) -> LayerEdit:
    row = _row(desk)
    edit = set_config(desk, RowPath(row["id"], keys), value)
    read_dock_config(_config_after(edit))
    return edit


def _adding(entry: Mapping[str, Any]) -> Work:
    def add(desk: Desk) -> LayerEdit:
        row = _row(desk)
        agents = _agents(row)
        read_dock_config({"agents": [*agents, entry]})
        edit = _append(desk, row, agents, dict(entry))
        ids = [other.get("id") for other in agents if is_object(other)]
        if entry["id"] not in ids:
            return edit
        said = f'there is an agent "{entry["id"]}" already; messages can\'t tell the two apart'
        return replace(edit, notes=(*edit.notes, Note("agent-twice", said)))

    return add


def _append(desk: Desk, row: Row, agents: Sequence[Any], entry: dict[str, Any]) -> LayerEdit:
    """Put an agent behind the others; their text stays as it is where the layer has it."""
    spots = desk.spots(row, "config")
    config = spots[-1].value if spots else UNDEFINED
    if not is_object(config) or not isinstance(config.get("agents"), list):
        return set_config(desk, RowPath(row["id"], ("agents",)), [*agents, entry])
    text = desk.target.text.append((*desk.target.in_file(spots[-1].path), "agents"), entry)
    new = {**row, "config": with_item(config, ("agents",), len(config["agents"]), entry)}
    swapped = {} if desk.overriding(row, "config") else {id(row): new}
    return finish(desk, text, swapped)


def _row(desk: Desk) -> Row:
    """Give the dock row. Raises DOCK_ROW_MISSING, and EDIT_REFUSED for one without an id."""
    row = dock_rows(desk.composition).dock
    if row is None:
        raise DockRowMissingError("the profile has no dock row that is on")
    if row.get("id") is None:
        raise EditRefusedError("the dock row has no id, so no patch can reach it")
    return row


def _config(row: Row) -> Mapping[str, Any]:
    config = row.get("config")
    return config if is_object(config) else {}


def _routes(row: Row, name: RouteMap) -> Mapping[str, Any]:
    routes = _config(row).get(name)
    return routes if is_object(routes) else {}


def _agents(row: Row) -> list[Any]:
    agents = _config(row).get("agents")
    return agents if isinstance(agents, list) else []


def _config_after(edit: LayerEdit) -> Any:
    row = dock_rows(_reopened(edit).composition).dock
    return ABSENT if row is None else row.get("config", ABSENT)
