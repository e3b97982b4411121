"""A planned edit of one layer, with the proof that it changes what was meant and nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from dshloop.dsh_yaml import Value
from dshloop.dsh_yaml.values import text_of
from dshloop.errors import EditRefusedError
from dshloop.files import shown
from dshloop.journal import Change, Plan
from dshloop.profiles.compose import Composition, compose
from dshloop.profiles.edits.desk import Desk
from dshloop.profiles.layers import Place
from dshloop.profiles.patch import Skip
from dshloop.splice import YamlText, same

NoteCode = Literal[
    "pinned", "overridden", "unchanged", "disabled-instead", "left-behind", "override-instead",
    "no-id", "created", "agent-twice",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Note:
    """Something the user should know of an edit; `keys` and `place` where it is about any."""

    code: NoteCode
    message: str
    row: str | None = None
    keys: tuple[str, ...] = ()
    place: Place | None = None

    def as_json(self) -> dict[str, Any]:
        """Give the value for --json."""
        return {
            "code": self.code,
            "message": self.message,
            "row": self.row,
            "keys": list(self.keys),
            "place": self.place.as_json() if self.place else None,
        }


@dataclass(frozen=True, slots=True)
class LayerEdit:
    """What an edit does to the files; no change when all is as wanted already."""

    desk: Desk
    changes: tuple[Change, ...]
    notes: tuple[Note, ...]

    @property
    def plan(self) -> Plan:
        """The changes as `Journal.record` takes them and as ``--dry-run`` shows them."""
        return Plan(self.changes)

    def as_json(self) -> dict[str, Any]:
        """Give the value for --json."""
        target = self.desk.target
        return {
            "layer": target.kind,
            "file": shown(target.path),
            "changed": bool(self.changes),
            "notes": [note.as_json() for note in self.notes],
        }


def unchanged(desk: Desk, notes: Sequence[Note]) -> LayerEdit:
    """Give the edit that has nothing to do."""
    return LayerEdit(desk, (), tuple(notes))


def finish(
    desk: Desk,
    text: YamlText,
    swapped: Mapping[int, Value],
    notes: Sequence[Note] = (),
    *,
    gone: frozenset[str] = frozenset(),
) -> LayerEdit:
    """Prove an edit and give it; EDIT_REFUSED naming the rows that would change besides.

    `swapped` is what parts of the composition are to be, by their ids; patches for ids in `gone`
    may begin to be skipped, which is noted.
    """
    layers = list(desk.layers)
    layers[desk.at] = desk.target.with_text(text)
    after = compose(layers)
    if not same(desk.composition.rows, after.rows, swapped):
        raise _side_effect(_changed_rows(desk.composition, after, swapped))
    notes = [*notes, *_new_skips(desk.composition, after, gone)]
    if desk.target.data is None:
        notes.append(Note("created", f"{shown(desk.target.path)} is new"))
    same_text = desk.target.data is not None and text.text == desk.target.text.text
    changes = () if same_text else (*desk.target.others, desk.target.change(text))
    return LayerEdit(desk, changes, tuple(notes))


def _new_skips(before: Composition, after: Composition, gone: frozenset[str]) -> list[Note]:
    """Refuse an edit that makes other patches useless; those for rows that go are noted."""
    known = [_identity(skip) for skip in before.skips]
    notes = []
    for skip in after.skips:
        if _identity(skip) in known:
            known.remove(_identity(skip))
            continue
        item = skip.patch.file.patches[skip.patch.number - 1]
        name = text_of(item.get("id")) if isinstance(item, dict) else ""
        place = skip.patch.place
        if name not in gone:
            raise _side_effect([name])
        at = f":{place.line}" if place.line else ""
        notes.append(
            Note(
                "left-behind",
                f"{place.label}{at} still speaks of row {name}, which is gone; dsh will warn",
                name,
                (),
                place,
            )
        )
    return notes


def _identity(skip: Skip) -> tuple[str, str]:
    return skip.patch.layer.label, skip.message


def _changed_rows(
    before: Composition, after: Composition, swapped: Mapping[int, Value]
) -> list[str]:
    rows: list[Value] = swapped.get(id(before.rows), before.rows)
    pairs = zip(rows, after.rows, strict=False)
    names = [_name(old) for old, new in pairs if not same(old, new, swapped)]
    longer = max(rows, after.rows, key=len)
    return names + [_name(row) for row in longer[min(len(rows), len(after.rows)) :]]


def _name(row: Value) -> str:
    return text_of(row["id"]) if isinstance(row, dict) and "id" in row else "without id"


def _side_effect(rows: Sequence[str]) -> EditRefusedError:
    return EditRefusedError(
        f"the edit would change more than it should: row {', '.join(rows)}", rows=list(rows)
    )
