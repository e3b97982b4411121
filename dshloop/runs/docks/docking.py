"""The dock of a profile as it would be: its config, and all loops and drivers it would have.

Nothing runs. What a profile lacks of dock and engine row is taken from the built-in profile.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from dshloop.drivers.engines import engine_drivers
from dshloop.errors import DshloopError, FailedError, UnknownDriverError, UnknownLoopError
from dshloop.files import shown
from dshloop.host.settings import DshSettings
from dshloop.loops.binding import PRESET_LOOPS
from dshloop.loops.catalog import (
    Entry,
    Offer,
    catalogue_drivers,
    catalogue_loops,
    driver_offers,
    loop_offers,
)
from dshloop.loops.dock import Dock
from dshloop.loops.engine_row import FAKE_DRIVER, EngineConfig, read_engine_config
from dshloop.loops.fields import near_match
from dshloop.loops.loops_file import NAME, LoopsFile, read_loops_file
from dshloop.loops.names import ABSENT, is_object, listed
from dshloop.loops.registry import DEFAULT_DRIVER, Driver, Loop
from dshloop.loops.rows import DOCK, ENGINE, DockRows, dock_rows
from dshloop.loops.settings_default import KEY, NAMESPACE
from dshloop.loops.standard import standard_loop
from dshloop.loops.strategy_setup import strategy_as_loop
from dshloop.paths import Places
from dshloop.profiles.compose import compose
from dshloop.profiles.layers import Layer
from dshloop.profiles.layout import Profile

T = TypeVar("T")
BUILT_IN_CONFIG: Mapping[str, Any] = {"presetLoops": PRESET_LOOPS}
BUILT_IN = "built-in"


@dataclass(frozen=True)
class Docking:
    """A profile's dock with everything docked; ``fault`` is what its row's config has wrong.

    With a fault the dock is that of an empty config, so that loops and drivers can be listed.
    """

    dock: Dock
    config: Any
    rows: DockRows | None
    file: LoopsFile
    loops: Mapping[str, Entry[Loop]]
    drivers: Mapping[str, Entry[Driver]]
    settings: DshSettings
    engine: EngineConfig | None
    notices: tuple[str, ...] = ()
    fault: DshloopError | None = None

    @property
    def places(self) -> dict[str, str]:
        """Give where each candidate of an explanation is written."""
        found = {f"{NAMESPACE}.{KEY}": _setting_place(self.settings)}
        for entry in self.loops.values():
            offer = entry.offer
            by_file = offer.source == "profile"
            place = offer.where if by_file else f"{offer.source} ({offer.where})"
            found[f'loop "{entry.id}"'] = place
        for path in _paths(self.config):
            where = self.rows.where(path) if self.rows is not None else None
            found[path] = f"{where} ({path})" if where else f"{path} ({BUILT_IN})"
        return found

    def require_loop(self, loop_id: str) -> Entry[Loop]:
        """Give a loop that is known. Raises UNKNOWN_LOOP with near matches."""
        return _require(self.loops, loop_id, "loop", UnknownLoopError)

    def require_driver(self, name: str) -> Entry[Driver]:
        """Give a driver that is known. Raises UNKNOWN_DRIVER with near matches."""
        return _require(self.drivers, name, "driver", UnknownDriverError)

    @property
    def faults(self) -> Iterator[tuple[str, DshloopError]]:
        """Give what can't be used, by its name, and why."""
        for kind, entries in (("loop", self.loops), ("driver", self.drivers)):
            for entry in entries.values():
                if entry.fault is not None:
                    yield f"{kind} {entry.id}", entry.fault


def read_docking(
    places: Places,
    profile: Profile | None,
    layers: Sequence[Layer] = (),
    *,
    packages: bool = True,
    sessions: Any = None,
) -> Docking:
    """Read a profile's dock, or the built-in one without a profile.

    ``packages`` says whether what installed packages offer is read, which takes its time.
    Raises LOOPS_FILE_INVALID, DUPLICATE_LOOP and DUPLICATE_DRIVER of loops.yml.
    """
    rows = None if profile is None else dock_rows(compose(layers))
    file = LoopsFile() if profile is None else read_loops_file(profile.folder / NAME)
    notices = list(_lacking(profile, rows))
    config = BUILT_IN_CONFIG if rows is None or rows.dock is None else rows.config
    engine, engine_fault = _engine(rows)
    loops, drivers = _known(file, engine, packages)
    settings = DshSettings(places)
    dock, fault = _build(config, settings, sessions)
    if fault is not None and rows is not None:
        fault = _located(fault, rows.where(str(fault.details.get("path", ""))))
    for loop in loops.values():
        if loop.value is not None:
            dock.register(loop.value)
    for driver in drivers.values():
        if driver.value is not None:
            dock.register_driver(driver.id, driver.value)
    notices += [entry.notice for entry in loops.values() if entry.notice]
    notices += [entry.notice for entry in drivers.values() if entry.notice]
    return Docking(
        dock, config, rows, file, loops, drivers, settings, engine, tuple(notices),
        fault or engine_fault,
    )  # fmt: skip


def _known(
    file: LoopsFile, engine: EngineConfig | None, packages: bool
) -> tuple[dict[str, Entry[Loop]], dict[str, Entry[Driver]]]:
    from dshloop.loops.discovery import offered

    loops = offered("dshloop.loops") if packages else []
    drivers = offered("dshloop.drivers") if packages else []
    standard = Offer("standard", "built-in", "dshloop", standard_loop)
    return (
        catalogue_loops([*loop_offers(file, loops, strategy_as_loop), standard]),
        catalogue_drivers([*driver_offers(file, drivers), *_engines(engine)]),
    )


def _engines(engine: EngineConfig | None) -> Iterator[Offer[Driver]]:
    """Give the drivers that are always there, and those of the engine row, if there is one."""
    for name, driver in engine_drivers().items():
        yield Offer(name, "built-in", "dshloop", partial(_itself, driver))
    if engine is None:
        return
    yield Offer(DEFAULT_DRIVER, "built-in", "dshloop", lambda: _default_driver(engine))
    if engine.fake_driver:
        yield Offer(FAKE_DRIVER, "built-in", "dshloop", _fake_driver)


def _itself(driver: Driver) -> Driver:
    return driver


def _default_driver(engine: EngineConfig) -> Driver:
    from dshloop.host.engine import Engine
    from dshloop.loops.hosted import HostedDriver

    return HostedDriver(Engine(engine.max_parallel_tool_calls))


def _fake_driver() -> Driver:
    from dshloop.drivers.fake import FakeDriver
    from dshloop.loops.hosted import HostedDriver

    return HostedDriver(FakeDriver())


def _engine(rows: DockRows | None) -> tuple[EngineConfig | None, DshloopError | None]:
    """Read the engine row; only a profile without a dock row gets the built-in one."""
    if rows is None or (rows.dock is None and rows.engine is None):
        return EngineConfig(fake_driver=True), None
    if rows.engine is None:
        return None, None
    try:
        return read_engine_config(rows.engine.get("config", ABSENT)), None
    except DshloopError as fault:
        where = rows.where_in(rows.engine, str(fault.details.get("path", "")))
        return EngineConfig(), _located(fault, where)


def _build(config: Any, settings: DshSettings, sessions: Any) -> tuple[Dock, DshloopError | None]:
    try:
        return Dock(config, settings=settings, sessions=sessions), None
    except DshloopError as fault:
        return Dock({}, settings=settings, sessions=sessions), fault


def _lacking(profile: Profile | None, rows: DockRows | None) -> Iterator[str]:
    if profile is None or rows is None:
        return
    missing = [name for name, row in ((DOCK, rows.dock), (ENGINE, rows.engine)) if row is None]
    if rows.dock is None:
        names = " and ".join(missing)
        yield f"profile {profile.name} has no loop dock: {names} of the built-in profile stand in"
    elif missing:
        yield f"profile {profile.name} has no {ENGINE} row, so no drivers but those registered"


def _paths(config: Any) -> Iterator[str]:
    """Give the paths in a dock's config that name loops or drivers."""
    yield from ("defaultLoop", "defaultDriver", "presetLoops", "sessionLoops")
    for name in ("presetLoops", "sessionLoops"):
        routes = config.get(name) if is_object(config) else None
        yield from (f"{name}.{key}" for key in (routes if is_object(routes) else {}))


def _require(
    known: Mapping[str, Entry[T]], name: str, kind: str, error: type[DshloopError]
) -> Entry[T]:
    if name in known:
        return known[name]
    near = near_match(name, list(known))
    raise error(
        f'{kind} "{name}" is not registered (available: {listed(sorted(known))})',
        hint=f'Did you mean "{near}"?' if near else None,
        **{kind: name},
        available=sorted(known),
    )


def _located(fault: DshloopError, where: str | None) -> DshloopError:
    """Say where the fault of a row is written, as the host does."""
    file, _, line = (where or "").rpartition(":")
    if not file or not line.isdecimal():
        return fault
    details = {**fault.details, "file": file, "line": int(line)}
    return type(fault)(f"{where}: {fault.message}", hint=fault.hint, **details)


def _setting_place(settings: DshSettings) -> str:
    try:
        return settings.place(NAMESPACE, KEY)
    except FailedError:  # settings that can't be read name their file all the same
        return shown(settings.path)
