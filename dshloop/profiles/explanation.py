"""An explanation as data: rows of an id, who said what of them, and what came to nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from dshloop.dsh_yaml import Value, to_json
from dshloop.profiles.layers import Place
from dshloop.profiles.patch import UNDEFINED

Action = Literal["insert", "set"]
Path = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Contribution:
    """One layer that said something about a value; `before` is UNDEFINED where nothing was.

    `lost` are the paths below the value that this contribution made vanish; `wins` is true for
    the one whose value is in the composition.
    """

    action: Action
    key: Path
    layer: str
    kind: str
    place: Place | None
    before: Value
    after: Value
    lost: tuple[Path, ...] = ()
    wins: bool = False

    def as_json(self) -> dict[str, Any]:
        """Give the value for --json; `before` and `after` are left out where there was nothing."""
        told: dict[str, Any] = {
            "action": self.action,
            "key": list(self.key),
            "layer": self.layer,
            "kind": self.kind,
            **_where(self.place),
            "lost": [list(path) for path in self.lost],
            "wins": self.wins,
        }
        for name, value in (("before", self.before), ("after", self.after)):
            if value is not UNDEFINED:
                told[name] = to_json(value)
        return told


@dataclass(frozen=True, slots=True)
class Unheard:
    """A patch that changed nothing people see: skipped, or on a row that is in no tree."""

    layer: str
    kind: str
    place: Place | None
    reason: str
    message: str
    key: Path = ()

    def as_json(self) -> dict[str, Any]:
        """Give the value for --json."""
        return {
            "layer": self.layer,
            "kind": self.kind,
            **_where(self.place),
            "reason": self.reason,
            "message": self.message,
            "key": list(self.key),
        }


@dataclass(frozen=True, slots=True)
class Instance:
    """One row with the id, where it stands, and what made it so. Patches hit `target` only."""

    name: Value
    groups: tuple[str, ...]
    in_tree: bool
    target: bool
    disabled: Value
    disabled_by: str | None
    """The id of the group that switches it off with itself, if one does."""
    value: Value
    contributions: tuple[Contribution, ...]

    def as_json(self) -> dict[str, Any]:
        """Give the value for --json."""
        told: dict[str, Any] = {
            "name": None if self.name is UNDEFINED else to_json(self.name),
            "groups": list(self.groups),
            "in_tree": self.in_tree,
            "target": self.target,
            "disabled": to_json(self.disabled),
            "disabled_by": self.disabled_by,
            "contributions": [one.as_json() for one in self.contributions],
        }
        if self.value is not UNDEFINED:
            told["value"] = to_json(self.value)
        return told


@dataclass(frozen=True, slots=True)
class Explanation:
    """The answer: the rows of that id (one, unless it is there twice), and patches that failed."""

    row: str
    key: Path
    instances: tuple[Instance, ...]
    unheard: tuple[Unheard, ...]

    @property
    def winner(self) -> Contribution | None:
        """The contribution that has the last word on the row's, or the key's, value."""
        for instance in reversed(self.instances):
            if instance.in_tree:
                return next((one for one in reversed(instance.contributions) if one.wins), None)
        return None

    def as_json(self) -> dict[str, Any]:
        """Give the value for --json."""
        winner = self.winner
        return {
            "row": self.row,
            "key": list(self.key),
            "winner": winner.as_json() if winner else None,
            "instances": [one.as_json() for one in self.instances],
            "unheard": [one.as_json() for one in self.unheard],
        }


def _where(place: Place | None) -> dict[str, Any]:
    file, line, column = (place.file, place.line, place.column) if place else (None, None, None)
    return {"file": file, "line": line, "column": column}
