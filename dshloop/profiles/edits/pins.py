"""What edits repeated from lower layers: a patch replaces a row's whole config (design 3).

An edit that had to repeat a config notes in its journal entry which keys it repeated, each with a
digest of the value it had; so a check can tell a key that its origin has moved on from since.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dshloop.dsh_yaml import Value, stringify
from dshloop.files import shown
from dshloop.journal import Entry
from dshloop.profiles.row_names import id_text

if TYPE_CHECKING:
    from dshloop.profiles.edits.layer_edit import LayerEdit

NOTE = "pins"


@dataclass(frozen=True, slots=True)
class Pin:
    """The keys of one row's config that a patch file repeats, with digests of their values."""

    file: str
    row: str
    values: Mapping[str, str]


def pinned_by(edit: LayerEdit) -> dict[str, Any]:
    """Give the note for an edit's journal entry; empty when it repeated nothing."""
    pins = []
    for note in edit.notes:
        if note.code != "pinned" or note.row is None:
            continue
        config = _config_of(edit, note.row)
        values = {key: fingerprint(config[key]) for key in note.keys if key in config}
        pins.append({"file": shown(edit.desk.target.path), "row": note.row, "values": values})
    return {NOTE: pins} if pins else {}


def pins_in(entries: Iterable[Entry]) -> list[Pin]:
    """Read the notes of entries that are done, the newest for each file and row."""
    found: dict[tuple[str, str], Pin] = {}
    for entry in sorted(entries, key=lambda one: one.sequence):
        if entry.state == "done":
            found.update({(pin.file, pin.row): pin for pin in _read(entry.note.get(NOTE))})
    return list(found.values())


def fingerprint(value: Value) -> str:
    """Give what two values have in common exactly when their JSON is the same."""
    return hashlib.sha256(stringify(value).encode("utf-8", "surrogatepass")).hexdigest()


def _config_of(edit: LayerEdit, row: str) -> Mapping[str, Value]:
    for placed in edit.desk.composition.walk():
        if id_text(placed.row.get("id")) == row:
            config = edit.desk.effective(placed.row, "config")
            return config if isinstance(config, dict) else {}
    return {}


def _read(pins: Any) -> Iterator[Pin]:
    for pin in pins if isinstance(pins, list) else ():
        if isinstance(pin, dict) and isinstance(pin.get("values"), dict):
            yield Pin(str(pin.get("file")), str(pin.get("row")), pin["values"])
