"""Row ids across layers: who inserts which, and whose ids a newcomer would take.

dsh 0.1.2 ends at an id that is there twice, 0.2.1 lets the later row win without a word
(dsh-profiles 10); both are found here before anything is installed. Ids are flat over groups.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dshloop.dsh_yaml import load
from dshloop.dsh_yaml.stringify import stringify
from dshloop.dsh_yaml.values import Value, identity, truthy
from dshloop.errors import DshloopError
from dshloop.files import read_bytes
from dshloop.profiles.layers import Layer, read_layer
from dshloop.profiles.layout import Profile
from dshloop.profiles.plugins.changing import LeftRow
from dshloop.profiles.stack import bundle_layers


@dataclass(frozen=True, slots=True)
class Taken:
    """A row id that two layers insert: ``owner`` has it, ``newcomer`` wants it."""

    row: str
    owner: str
    newcomer: str

    @property
    def message(self) -> str:
        """Say who takes what from whom."""
        if self.owner == self.newcomer:
            return f"{self.newcomer} inserts row {self.row} twice"
        return f"{self.newcomer} inserts row {self.row}, which {self.owner} inserts already"


def taken_ids(layers: Sequence[Layer], newcomers: Sequence[Layer]) -> list[Taken]:
    """Find the ids that ``newcomers`` insert though a layer, or an earlier newcomer, has them."""
    owners: dict[Any, str] = {}
    for layer in layers:
        for row in inserted_rows(layer.patches):
            owners.setdefault(identity(row["id"]), layer.label)
    found = []
    for layer in newcomers:
        for row in inserted_rows(layer.patches):
            key = identity(row["id"])
            if key in owners:
                found.append(Taken(_shown(row["id"]), owners[key], layer.label))
            owners.setdefault(key, layer.label)
    return found


def inserted_rows(patches: Sequence[Value]) -> Iterator[dict[str, Value]]:
    """Yield the rows with an id that patch items insert, those inside groups included."""
    for item in patches:
        if isinstance(item, dict) and isinstance(item.get("insert"), list):
            yield from _rows(item["insert"])


def left_rows(profile: Profile, plugins: Sequence[str]) -> list[LeftRow]:
    """Find what the user's files say of plugins: rows that load them, changes of their rows.

    Looks at the patch layers of the profile and of the home, and at the home's agent presets. A
    file that can't be read is passed over; removing a plugin must still work.
    """
    found = []
    for path in (profile.patch, profile.home_patch):
        try:
            patches = read_layer(path).patches if path.is_file() else []
        except DshloopError:
            continue
        for plugin in plugins:
            found += [LeftRow(path, row, plugin) for row in _speaking_of(profile, plugin, patches)]
    for path in sorted(profile.dsh_home.glob(".agent-presets/*/agent.cordis.yml")):
        entries = [{"insert": _entries(path)}]
        for plugin in plugins:
            found += [LeftRow(path, row, plugin) for row in _loading(plugin, entries)]
    return found


def _entries(path: Path) -> list[Value]:
    """Read a preset, which is a list of rows and no patch list."""
    try:
        value = load(read_bytes(path) or b"", source=str(path))
    except DshloopError:
        return []
    return value if isinstance(value, list) else []


def _loading(plugin: str, patches: Sequence[Value]) -> Iterator[str]:
    for row in inserted_rows(patches):
        name = row.get("name")
        if isinstance(name, str) and (name == plugin or name.startswith(plugin + "/")):
            yield _shown(row["id"])


def _speaking_of(profile: Profile, plugin: str, patches: Sequence[Value]) -> Iterator[str]:
    layers, _ = bundle_layers(profile, [plugin])
    own = {identity(row["id"]) for layer in layers for row in inserted_rows(layer.patches)}
    yield from _loading(plugin, patches)
    for item in patches:
        if isinstance(item, dict) and item.get("insert") is None and truthy(item.get("id")):
            yield from [_shown(item["id"])] if identity(item["id"]) in own else []


def _rows(rows: Value) -> Iterator[dict[str, Value]]:
    if not isinstance(rows, list):
        return
    for row in rows:
        if not isinstance(row, dict):
            continue
        if truthy(row.get("id")) and not isinstance(row["id"], (dict, list)):
            yield row
        if truthy(row.get("group")) or row.get("name") == "cordis:group":
            yield from _rows(row.get("config"))


def _shown(row_id: Value) -> str:
    return row_id if isinstance(row_id, str) else stringify(row_id)
