"""Rows as the host runs them: flat, in their order, each with the place it was written at."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from dshloop.profiles.compose import Composition, Placed

GROUP = "cordis:group"


class Absent(Enum):
    """The type of ABSENT."""

    ABSENT = "absent"


JAVASCRIPT = "its config holds !!js, which only dsh can evaluate"
ABSENT: Final = Absent.ABSENT  # the row has no config, which is not the same as null
_STEP = re.compile(r"([^.\[\]]+)|\[(\d+)\]")


class Spot(NamedTuple):
    """Where something of a row stands: the layer, and the file with line and column."""

    layer: str
    file: str | None = None
    line: int | None = None
    column: int | None = None

    @property
    def text(self) -> str:
        """The place as messages begin with it, or the layer where there is no file."""
        if self.file is None:
            return self.layer
        return self.file if self.line is None else f"{self.file}:{self.line}"


Locate = Callable[[Sequence[str | int]], Spot]
BUILT_IN = Spot("built-in")


@dataclass(frozen=True, slots=True)
class HostRow:
    """One row to be run. ``config`` is ABSENT where the row has none.

    ``off`` says why it is not to run at all; ``spot`` finds the place of a value in its config.
    """

    id: str
    name: str
    config: Any = ABSENT
    needs: tuple[str, ...] = ()
    off: str | None = None
    locate: Locate = field(default=lambda _path: BUILT_IN, repr=False)

    @property
    def spot(self) -> Spot:
        """Where the row itself is written."""
        return self.locate(())

    def spot_of(self, path: str) -> Spot:
        """Give the place of a path like ``agents[0].id`` in the config, or of what holds it."""
        steps: list[str | int] = [
            int(match[2]) if match[2] else match[1] for match in _STEP.finditer(path)
        ]
        held, known = self.config, list[str | int]()
        for step in steps:
            if not _has(held, step):
                break
            held = held[step]
            known.append(step)
        return self.locate(("config", *known)) if self.config is not ABSENT else self.spot

    def details(self, spot: Spot | None = None) -> dict[str, Any]:
        """Give what an error says of the row."""
        place = spot or self.spot
        return {"row": self.id, "name": self.name, **place._asdict()}


def host_rows(composition: Composition) -> list[HostRow]:
    """Give the rows of a composition; groups are left out, their rows stand in their place."""
    return list(_rows(composition))


def is_group(row: Mapping[str, Any]) -> bool:
    """Whether a row only holds others."""
    from dshloop.dsh_yaml.values import truthy

    return truthy(row.get("group")) or row.get("name") == GROUP


def _rows(composition: Composition) -> Iterator[HostRow]:
    from dshloop.dsh_yaml.values import truthy

    for placed in composition.walk():
        row = placed.row
        if is_group(row):
            continue
        row_id, name = row.get("id"), row.get("name")
        yield HostRow(
            id=row_id if isinstance(row_id, str) else f"#{row_id}" if truthy(row_id) else "",
            name=name if isinstance(name, str) else "",
            config=row.get("config", ABSENT),
            needs=_needs(row.get("inject")),
            off=off_reason(placed),
            locate=_locator(composition, placed),
        )


def _needs(inject: Any) -> tuple[str, ...]:
    """Read the services that a row itself asks for: a list, or a map."""
    if isinstance(inject, Mapping):
        return tuple(
            name
            for name, wanted in inject.items()
            if not isinstance(wanted, Mapping) or wanted.get("required", True)
        )
    return tuple(item for item in inject if isinstance(item, str)) if _is_list(inject) else ()


def off_reason(placed: Placed) -> str | None:
    """Say why a row doesn't run here: it or its group is disabled, or only dsh can tell."""
    from dshloop.dsh_yaml.values import JsExpr, truthy

    for row in (*placed.groups, placed.row):
        disabled = row.get("disabled")
        own = row is placed.row
        if isinstance(disabled, JsExpr):
            return "whether it is disabled is JavaScript, which only dsh can tell"
        if truthy(disabled):
            return "disabled" if own else f"its group {row.get('id')} is disabled"
    if _has_javascript(placed.row.get("config")):
        return JAVASCRIPT
    return None


def _has_javascript(value: Any) -> bool:
    from dshloop.dsh_yaml.values import JsExpr

    if isinstance(value, JsExpr):
        return True
    if isinstance(value, Mapping):
        return any(_has_javascript(item) for item in value.values())
    return _is_list(value) and any(_has_javascript(item) for item in value)


def _locator(composition: Composition, placed: Placed) -> Locate:
    def locate(path: Sequence[str | int]) -> Spot:
        place = composition.origin(placed.row, path) or composition.inserted(placed.row)
        return Spot("?") if place is None else Spot(place.label, *place[1:])

    return locate


def _has(value: Any, step: str | int) -> bool:
    if isinstance(step, int):
        return _is_list(value) and step < len(value)
    return isinstance(value, Mapping) and step in value


def _is_list(value: Any) -> bool:
    return isinstance(value, list | tuple)
