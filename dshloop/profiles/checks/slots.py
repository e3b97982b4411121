"""What a harness has one of: the agent factory, a recorder, a source of recall; and presets."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches

from dshloop.dsh_yaml import Value, stringify, truthy
from dshloop.profiles.checks import kinds
from dshloop.profiles.checks.edits import append_patch, set_value
from dshloop.profiles.checks.findings import Finding, Mend
from dshloop.profiles.checks.names import plugin_of, runs, value_at
from dshloop.profiles.checks.subject import Case
from dshloop.profiles.patch import Row
from dshloop.profiles.row_names import id_text

ENGINE = "@deepseek-ai/dsh-agent-loop"
DOCK = "dsh-loop-dock"
BRIDGE = "dsh-agentmemory"
PATCHOULI = "dsh-patchouli-agent-loop"
PRESET = "@deepseek-ai/dsh-agent-preset"
HOOKS = "@deepseek-ai/dsh-hooks-claude-code"
MCP = "@deepseek-ai/dsh-mcp-client"
_SHIPPED = {
    "012": ("standard", "code", "minimal", "cordis"),
    "021": ("standard", "ptc", "minimal", "cordis"),
}
_RENAMED = {"code": "ptc", "ptc": "code"}
_RETRIEVE = {"preStep": True}  # what is on by default; the other points are off


def check_slots(case: Case) -> Iterator[Finding]:
    """Look at the rows of which one is enough."""
    rows = [placed.row for placed in case.composition.walk() if runs(placed)]
    yield from _factories(case, rows)
    yield from _recorders(case, rows)
    yield from _recall(case, rows)
    for row in rows:
        if plugin_of(row) == DOCK:
            yield from _presets(case, row)


def _factories(case: Case, rows: list[Row]) -> Iterator[Finding]:
    engines = [row for row in rows if plugin_of(row) == ENGINE]
    docks = [row for row in rows if plugin_of(row) == DOCK]
    twice = set(case.composition.duplicates())
    for row in [*engines, *docks[1:]] if docks else engines[1:]:
        if stringify(row.get("id")) in twice:
            continue  # that is the fault; an id can't switch off one of two rows
        taker = _named(docks[0] if docks else engines[0])
        why = f"row {_named(row)} takes the agent-factory slot, which row {taker} takes too"
        fix = f"dshloop profile row disable {_named(row)}"
        yield Finding(
            kinds.AGENT_FACTORY_TWICE,
            why,
            case.composition.inserted(row),
            _named(row),
            fix=fix,
            mend=_disabling(case, row),
        )
    own = [p.row for p in case.composition.walk() if plugin_of(p.row) in (ENGINE, DOCK)]
    if own and not engines and not docks and all(_off(row) for row in own):
        place = case.composition.origin(own[0], ("disabled",))
        why = f"row {_named(own[0])} is disabled, and no other row takes the agent-factory slot"
        yield Finding(kinds.AGENT_FACTORY_NONE, why, place, _named(own[0]))


def _off(row: Row) -> bool:
    return row.get("disabled") is True


def _disabling(case: Case, row: Row) -> Mend | None:
    """Mend by switching a row off: where the user's file sets it, else by a patch at the end."""
    if not truthy(row.get("id")):
        return None
    what = f"disable row {_named(row)}"
    for change in reversed(case.composition.history(row, "disabled")):
        file = case.user_file(change.patch.layer)
        if file is not None:
            return set_value(file.path, what, (change.patch.number - 1, "disabled"), value=True)
    return append_patch(case.profile.patch, {"id": row["id"], "disabled": True}, what)


def _recorders(case: Case, rows: list[Row]) -> Iterator[Finding]:
    bridges = [row for row in rows if plugin_of(row) == BRIDGE]
    connectors = [row for row in rows if _is_connector(row)]
    if bridges and connectors:
        names = ", ".join(map(_named, connectors))
        why = f"row {_named(bridges[0])} and agentmemory's own connector ({names}) both run"
        place = case.composition.inserted(connectors[0])
        yield Finding(kinds.MEMORY_RECORDED_TWICE, why, place, _named(connectors[0]))
    for row in bridges[1:]:
        why = f"rows {_named(bridges[0])} and {_named(row)} both are {BRIDGE}"
        yield Finding(kinds.MEMORY_RECORDED_TWICE, why, case.composition.inserted(row), _named(row))


def _is_connector(row: Row) -> bool:
    """Tell the rows that ``agentmemory connect dsh`` writes: its MCP server and its hooks."""
    if row.get("name") == MCP:
        args = value_at(row, "config", "args")
        serves = isinstance(args, list) and any("agentmemory" in str(arg) for arg in args)
        return serves or value_at(row, "config", "serverName") == "agentmemory"
    return row.get("name") == HOOKS and (
        "agentmemory" in str(row.get("id"))
        or "agentmemory" in str(value_at(row, "config", "configPath"))
    )


def _recall(case: Case, rows: list[Row]) -> Iterator[Finding]:
    injecting = [row for row in rows if _injects(row)]
    for row in injecting[1:]:
        first = injecting[0]
        if plugin_of(row) == plugin_of(first):
            continue
        why = f"rows {_named(first)} and {_named(row)} both inject recalled memory"
        yield Finding(kinds.RECALL_TWICE, why, case.composition.inserted(row), _named(row))


def _injects(row: Row) -> bool:
    config = row.get("config")
    config = config if isinstance(config, dict) else {}
    if plugin_of(row) == BRIDGE:
        context, semantic = config.get("injectContext"), config.get("injectSemantic")
        return config.get("enabled") is not False and (context is not False or semantic is True)
    if plugin_of(row) == PATCHOULI:
        points = config.get("retrieve")
        return any({**_RETRIEVE, **(points if isinstance(points, dict) else {})}.values())
    return row.get("name") == HOOKS and _is_connector(row)


def _presets(case: Case, dock: Row) -> Iterator[Finding]:
    """Find presets that the dock maps by names which this dsh doesn't have."""
    mapped = value_at(dock, "config", "presetLoops")
    if not isinstance(mapped, dict):
        return
    known = _known_presets(case)
    for name in mapped:
        successor = _RENAMED.get(name)
        if name in known or successor in mapped:
            continue
        place = case.composition.origin(dock, ("config", "presetLoops", name))
        why = f"presetLoops maps {name}, which is no preset here ({', '.join(sorted(known))})"
        mend, fix = None, ""
        if successor in known:
            why = f"presetLoops maps {name}, which this dsh calls {successor}"
            fix = f"dshloop profile set {_named(dock)}.presetLoops.{successor} {mapped[name]}"
            mend = _mapping(case, mapped, name, str(successor))
        elif near := get_close_matches(name, known, n=1):
            fix = f"Did you mean {near[0]}?"
        yield Finding(kinds.PRESET_UNKNOWN, why, place, _named(dock), fix=fix, mend=mend)


def _known_presets(case: Case) -> set[str]:
    rows = [placed.row for placed in case.composition.walk() if placed.row.get("name") == PRESET]
    shipped = {str(value_at(row, "config", "id")) for row in rows} or set(_SHIPPED[case.dialect])
    own = case.profile.dsh_home / ".agent-presets"
    return shipped | {path.parent.name for path in own.glob("*/agent.cordis.yml")}


def _mapping(case: Case, mapped: dict[str, Value], old: str, new: str) -> Mend | None:
    """Mend by mapping the new name to the same loop, where the user's file has the mapping."""
    found = case.where_from(mapped)
    if found is None:
        return None
    file, steps = found
    return set_value(file.path, f"map {new} like {old}", (*steps, new), mapped[old])


def _named(row: Row) -> str:
    return id_text(row.get("id")) if row.get("id") is not None else "without id"
