"""What is wrong or doubtful in a profile's dock, its loops.yml and the driver setting, for CI."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any, Literal

from dshloop.dsh_yaml.values import text_of
from dshloop.errors import AgentFactoryTakenError, DshloopError, DuplicateDriverError
from dshloop.host.hooks import EVENTS
from dshloop.host.presets import FOLDER, preset_names
from dshloop.loops.binding import Binding, read_binding
from dshloop.loops.check import DockFinding, Surroundings, check_config
from dshloop.loops.engine_row import KEYS as ENGINE_KEYS
from dshloop.loops.engine_row import read_engine_config
from dshloop.loops.fields import near_match
from dshloop.loops.names import ABSENT, is_object
from dshloop.loops.rows import DOCK
from dshloop.loops.settings_default import KEY, NAMESPACE
from dshloop.paths import Places
from dshloop.runs.docks.docking import Docking
from dshloop.runs.docks.hints import ONLY_DSH
from dshloop.sessions.catalog import find_id
from dshloop.transcripts.dsh import read_transcript

Severity = Literal["error", "warning"]


@dataclass(frozen=True, slots=True)
class Located:
    """A finding and the file and line it is about, as far as they are known."""

    code: str
    severity: Severity
    path: str
    message: str
    hint: str
    where: str | None = None

    def as_json(self) -> dict[str, Any]:
        """Give the value for --json."""
        file, _, line = (self.where or "").rpartition(":")
        known = bool(file) and line.isdecimal()
        return {
            "code": self.code,
            "severity": self.severity,
            "path": self.path,
            "file": file if known else self.where,
            "line": int(line) if known else None,
            "message": self.message,
            "hint": self.hint,
        }

    def as_text(self) -> str:
        """Give the lines people see."""
        at = f"{self.where}: " if self.where else ""
        way = f"\n  -> {self.hint}" if self.hint else ""
        return f"{self.severity:<7} {self.code}\n  {at}{self.message}{way}"


def check_docking(docking: Docking, places: Places) -> list[Located]:
    """Find everything, errors first."""
    found = [
        *_faults(docking),
        *_config(docking, places),
        *_foreign(docking),
        *_strategies(docking),
        *_data(docking, places),
        *_engine(docking),
        *_twice(docking),
    ]
    return sorted(found, key=lambda one: one.severity)


def _faults(docking: Docking) -> Iterator[Located]:
    """Tell of loops and drivers that can't be used."""
    for entries in (docking.loops, docking.drivers):
        for entry in entries.values():
            if entry.fault is not None:
                fault = entry.fault
                yield Located(
                    fault.code, "error", entry.id, fault.message, fault.hint or "",
                    entry.offer.where,
                )  # fmt: skip


def _config(docking: Docking, places: Places) -> Iterator[Located]:
    foreign = docking.rows.foreign_loops() if docking.rows is not None else {}
    kinds = {entry.id: entry.value.kind for entry in docking.loops.values() if entry.value}
    broken = {entry.id: "broken" for entry in docking.loops.values() if entry.value is None}
    setting: object = None
    try:
        values = docking.settings.get(NAMESPACE)
        setting = values.get(KEY) if values is not None else None
    except DshloopError as fault:
        yield Located(fault.code, "error", KEY, fault.message, fault.hint or "")
    around = Surroundings(
        loops={**dict.fromkeys(foreign, "foreign"), **broken, **kinds},
        drivers=set(docking.drivers),
        bindings=dict(_bindings(docking, places)),
        setting=setting,
    )
    for one in check_config(docking.config, around):
        yield _located(docking, one)


def _located(docking: Docking, one: DockFinding) -> Located:
    if one.path.startswith(NAMESPACE):
        where: str | None = docking.places[f"{NAMESPACE}.{KEY}"]
    else:
        where = docking.rows.where(one.path) if docking.rows is not None else None
    return Located(one.code, one.severity, one.path, one.message, one.hint, where)


def _bindings(docking: Docking, places: Places) -> Iterator[tuple[str, Binding]]:
    """Read what the sessions record that have a route; what can't be read records nothing."""
    routes = docking.config.get("sessionLoops") if is_object(docking.config) else None
    for session in routes if is_object(routes) else ():
        try:
            entry = find_id(places, session)
            bound = None if entry is None else read_binding(read_transcript(entry.path).events)
        except DshloopError:
            continue
        if bound is not None:
            yield session, bound


def _foreign(docking: Docking) -> Iterator[Located]:
    """Warn of what names a loop that only dsh has."""
    rows = docking.rows
    foreign = rows.foreign_loops() if rows is not None else {}
    for path, loop in _named(docking.config):
        if rows is not None and loop in foreign and loop not in docking.loops:
            yield Located(
                "FOREIGN_LOOP",
                "warning",
                path,
                f'{path} names loop "{loop}", which {foreign[loop]} registers in JavaScript',
                f"{ONLY_DSH[0].upper()}{ONLY_DSH[1:]}.",
                rows.where(path),
            )


def _named(config: Any) -> Iterator[tuple[str, Any]]:
    if not is_object(config):
        return
    yield "defaultLoop", config.get("defaultLoop")
    for name in ("presetLoops", "sessionLoops"):
        routes = config.get(name)
        for key, route in routes.items() if is_object(routes) else ():
            yield f"{name}.{key}", route.get("loop") if is_object(route) else route
    agents = config.get("agents")
    for index, entry in enumerate(agents if isinstance(agents, list) else ()):
        yield f"agents[{index}].loop", entry.get("loop") if is_object(entry) else None


def _strategies(docking: Docking) -> Iterator[Located]:
    """Find drivers that loops themselves name and nobody has."""
    for entry in docking.loops.values():
        driver = entry.value.driver if entry.value is not None else None
        if driver is not None and driver not in docking.drivers:
            yield Located(
                "UNKNOWN_DRIVER",
                "error",
                f"{entry.id}.driver",
                f'loop "{entry.id}" names driver "{driver}", which is not registered',
                f"Register it, or use one of these: {', '.join(sorted(docking.drivers))}.",
                entry.offer.where,
            )


def _data(docking: Docking, places: Places) -> Iterator[Located]:
    """Find what strategies of loops.yml name and nobody has: presets, events."""
    presets = preset_names(places.dsh_home / FOLDER)
    for entry in docking.loops.values():
        strategy = entry.offer.strategy
        if strategy is None:
            continue
        for preset in strategy.presets:
            if preset not in presets:
                said = f'loop "{entry.id}" mounts preset "{preset}", which is not there'
                path = f"{entry.id}.presets"
                hint = _meant(preset, presets) or f"Presets: {', '.join(presets)}."
                yield Located("PRESET_NOT_FOUND", "error", path, said, hint, entry.offer.where)
        for event, _ in strategy.hooks:
            if event not in EVENTS:
                near = _meant(event, EVENTS)
                said = f'loop "{entry.id}" listens to "{event}", which the host never tells of'
                hint = near or "It is heard only if a plugin tells of it."
                yield Located(
                    "UNKNOWN_EVENT", "error" if near else "warning", f"{entry.id}.hooks.{event}",
                    said, hint, entry.offer.where,
                )  # fmt: skip


def _meant(name: str, known: Collection[str]) -> str | None:
    near = near_match(name, known)
    return None if near is None else f'Did you mean "{near}"?'


def _engine(docking: Docking) -> Iterator[Located]:
    """Find an engine row that can't be read, and keys and values that look as if they counted."""
    rows = docking.rows
    engine = rows.engine if rows is not None else None
    config: Any = engine.get("config", ABSENT) if engine is not None else None
    if rows is None or engine is None:
        return
    try:
        read_engine_config(config)
    except DshloopError as fault:
        path = str(fault.details.get("path", ""))
        where = rows.where_in(engine, path)
        yield Located(fault.code, "error", path, fault.message, fault.hint or "", where)
        return
    for key in config if is_object(config) else ():
        near = None if key in ENGINE_KEYS else _meant(text_of(key), ENGINE_KEYS)
        if near is not None:  # the others are for dsh's own engine
            said = f"{key} is no key of the engine row"
            yield Located("UNKNOWN_KEY", "warning", key, said, near, rows.where_in(engine, key))
    value = config.get("fakeDriver") if is_object(config) else None
    if value is not True and value is not False and value is not None:
        yield Located(
            "FAKE_DRIVER_OFF",
            "warning",
            "fakeDriver",
            f"fakeDriver is {value!r}, and only true switches the fake driver on",
            f"dshloop profile set {engine.get('id')}.fakeDriver true",
            rows.where_in(engine, "fakeDriver"),
        )


def _twice(docking: Docking) -> Iterator[Located]:
    """Find rows of which there can be one; with two of them no run starts."""
    rows = docking.rows
    for row in rows.more if rows is not None else ():
        assert rows is not None
        name, row_id = row.get("name"), text_of(row.get("id"))
        dock = name == DOCK
        yield Located(
            (AgentFactoryTakenError if dock else DuplicateDriverError).code,
            "error",
            "",
            f"row {row_id} is a second {name}, so nothing starts on this profile",
            f"Switch one of the two off: dshloop profile row disable {row_id}",
            rows.where_in(row, ""),
        )
