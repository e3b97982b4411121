"""The rows of a profile that matter to the dock: its own, the engine's, and what only dsh runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dshloop.dsh_yaml import truthy
from dshloop.dsh_yaml.values import text_of
from dshloop.loops.config import AGENT_FIELDS, KEYS
from dshloop.loops.names import ABSENT, is_name, is_object
from dshloop.profiles.compose import Composition, Placed
from dshloop.profiles.patch import Row

DOCK, DOCK_ID = "dsh-loop-dock", "agent-loop-dock"
ENGINE, ENGINE_ID = "dsh-loop-dock/headless-driver", "agent-loop-dock-default-driver"
OFFICIAL_ENGINE = "agent-loop"
_SERVICE = "agentLoopDock"


@dataclass(frozen=True)
class DockRows:
    """The dock's row and the engine's, as far as the profile has them and they are on."""

    composition: Composition
    dock: Row | None
    engine: Row | None
    off: Row | None = None  # a dock row that is switched off, when none is on
    more: Sequence[Row] = ()  # further ones that are on: a host starts with none of them

    @property
    def config(self) -> Any:
        """The dock row's config; ABSENT without one."""
        return ABSENT if self.dock is None else self.dock.get("config", ABSENT)

    def where(self, path: str) -> str | None:
        """Give file and line of a path in the dock's config, like ``agents[0].loop``."""
        if self.dock is None:
            return None
        return self.where_in(self.dock, path)

    def where_in(self, row: Row, path: str) -> str | None:
        """Give file and line of a path in a row's config, or of what would hold it."""
        steps = _steps(path)
        place = self.composition.origin(row, ("config", *steps))
        while place is None and steps:
            steps = steps[:-1]
            place = self.composition.origin(row, ("config", *steps))
        place = place or self.composition.inserted(row)
        if place is None:
            return None
        return place.label if place.file is None else f"{place.file}:{place.line}"

    def foreign_loops(self) -> dict[str, str]:
        """Give loops that only dsh can register: their id, and the row that does.

        A row of a loop author's package says in ``loopId`` what it registers (loop-dock 17).
        """
        found = {}
        for row in self._running():
            config = row.get("config")
            loop = config.get("loopId") if is_object(config) else None
            if is_name(loop) and row.get("name") not in (DOCK, ENGINE):
                found[loop] = f"row {text_of(row.get('id'))} ({text_of(row.get('name'))})"
        return found

    def authors(self) -> list[str]:
        """Name the rows that ask for the dock, so that they may register loops in dsh."""
        return [
            f"row {text_of(row.get('id'))} ({text_of(row.get('name'))})"
            for row in self._running()
            if row.get("name") not in (DOCK, ENGINE) and _asks_for_dock(row.get("inject"))
        ]

    def _running(self) -> Iterator[Row]:
        return (placed.row for placed in self.composition.walk() if is_on(placed))


def dock_rows(composition: Composition) -> DockRows:
    """Find the rows in a composition; the first of each that is on.

    Of rows with one id the last counts, as when the host runs them.
    """
    placed = list(composition.walk())
    docks, engines = (
        [one for one in placed if one.row.get("name") == name and _counts(composition, one.row)]
        for name in (DOCK, ENGINE)
    )
    on = [one.row for one in docks if is_on(one)]
    running = [one.row for one in engines if is_on(one)]
    return DockRows(
        composition,
        dock=on[0] if on else None,
        engine=running[0] if running else None,
        off=docks[0].row if docks and not on else None,
        more=(*on[1:], *running[1:]),
    )


def _counts(composition: Composition, row: Row) -> bool:
    """Whether no later row has its id."""
    return row.get("id") is None or composition.find(row["id"])[-1].row is row


def is_on(placed: Placed) -> bool:
    """Whether neither a row nor a group around it is disabled; an expression counts as that."""
    return not any(truthy(row.get("disabled")) for row in (*placed.groups, placed.row))


def _asks_for_dock(inject: object) -> bool:
    return isinstance(inject, list | dict) and _SERVICE in inject


def _steps(path: str) -> tuple[str | int, ...]:
    """Read a config path as findings write it; keys of the route maps are free text."""
    if path.startswith("agents["):
        index, _, rest = path.removeprefix("agents[").partition("]")
        return ("agents", int(index), *([rest[1:]] if rest else []))
    top, dot, rest = path.partition(".")
    if not dot or top not in ("presetLoops", "sessionLoops"):
        return (top,) if top in KEYS else tuple(path.split(".")) if path else ()
    for field in (".loop", ".driver"):
        if rest.endswith(field) and rest != field:
            return (top, rest.removesuffix(field), field[1:])
    return top, rest


def agent_keys() -> tuple[str, ...]:
    """Give the fields of an entry of ``agents``, in the order people write them."""
    return ("id", *(key for key, _, _ in AGENT_FIELDS))


def default_rows() -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """Give the rows that the original's bundle inserts, `ptc` beside `code` (loop-dock 16)."""
    from dshloop.loops.binding import PRESET_LOOPS

    dock = {
        "id": DOCK_ID,
        "name": DOCK,
        "config": {
            "defaultLoop": "standard",
            "defaultDriver": "default",
            "presetLoops": dict(PRESET_LOOPS),
            "sessionLoops": {},
            "agents": [],
        },
    }
    engine_config = {"maxParallelToolCalls": 10, "fakeDriver": True}
    return dock, {"id": ENGINE_ID, "name": ENGINE, "config": engine_config}
