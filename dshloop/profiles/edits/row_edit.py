"""Rows put in and taken out of a layer."""

from __future__ import annotations

from collections.abc import Mapping

from dshloop.dsh_yaml import Value, set_key, truthy
from dshloop.dsh_yaml.values import identity, text_of
from dshloop.errors import EditRefusedError, RowIdTakenError, RowInvalidError
from dshloop.profiles.edits.desk import Desk
from dshloop.profiles.edits.edit import disable_row
from dshloop.profiles.edits.layer_edit import LayerEdit, Note, finish
from dshloop.profiles.patch import Row, children_of
from dshloop.profiles.row_names import resolve_name
from dshloop.splice import YamlText
from dshloop.splice.change import as_read


def insert_row(desk: Desk, row: Value, group: Value = None) -> LayerEdit:
    """Plan a new row at the end of the top level or of a group.

    A row that another layer inserts already under the same id and name becomes an override of
    it, since a second one would end dsh's boot. Raises ROW_INVALID, ROW_NOT_FOUND for the group,
    ROW_ID_TAKEN, EDIT_REFUSED.
    """
    if not isinstance(row, dict) or not isinstance(row.get("name"), str) or not row["name"]:
        raise RowInvalidError("a row is a mapping with a name that is text")
    row = as_read(row)
    if truthy(row.get("id")) and desk.composition.find(row["id"]):
        return _override(desk, row)
    notes = []
    if not truthy(row.get("id")):
        notes.append(
            Note("no-id", "the row has no id: no patch can reach it, and each start gives another")
        )
    text = _with_row(desk, row, group)
    composed = _composed(desk, row)
    return finish(desk, text, _grown(desk, composed, group), notes)


def drop_row(desk: Desk, row_id: Value) -> LayerEdit:
    """Plan a row's end: one that the open layer inserts goes, any other is disabled.

    What the layer itself says of the row elsewhere goes with it; what higher layers say is noted.
    """
    row = desk.row(row_id)
    if not desk.inserts(row):
        edit = disable_row(desk, row_id)
        origin = desk.composition.inserted(row)
        who = origin.label if origin else "another layer"
        note = Note(
            "disabled-instead",
            f"row {text_of(row_id)} comes from {who} and can't be removed here, so it is disabled",
            text_of(row_id),
            (),
            origin,
        )
        return LayerEdit(edit.desk, edit.changes, (note, *edit.notes))
    text = _without_row(desk, row)
    lists = [desk.composition.rows]
    lists += [children for p in desk.composition.walk() if (children := children_of(p.row))]
    swapped = {
        id(rows): [other for other in rows if other is not row]
        for rows in lists
        if any(other is row for other in rows)
    }
    return finish(desk, text, swapped, gone=frozenset(_ids_in(row)))


def _with_row(desk: Desk, row: Row, group: Value) -> YamlText:
    text, target = desk.target.text, desk.target
    if group is not None:
        holder = desk.row(group)
        desk.require_reachable(holder)
        if not truthy(holder.get("group")):
            raise EditRefusedError(f"row {text_of(group)} is no group", row=text_of(group))
        if target.holds_rows:
            return text.append((*target.in_file(desk.path_of(holder)), "config"), row)
        item = {"id": holder["id"], "insert": [row]}
    else:
        if target.holds_rows:
            return text.append((), row)
        item = {"insert": [row]}
    patches = target.layer.patches
    last = patches[-1] if patches else None
    if isinstance(last, dict) and isinstance(last.get("insert"), list) and _same_id(last, item):
        return text.append((len(patches) - 1, "insert"), row)
    return text.append((), item)


def _same_id(one: Row, other: Row) -> bool:
    return identity(one.get("id")) == identity(other.get("id"))


def _composed(desk: Desk, row: Row) -> Row:
    """Give the row as composing makes it: relative names are resolved beside the file."""
    composed: Row = as_read(row)
    pending = [composed]
    while pending:
        current = pending.pop()
        resolve_name(current, desk.target.path)
        pending += [child for child in children_of(current) or [] if isinstance(child, dict)]
    return composed


def _grown(desk: Desk, row: Row, group: Value) -> Mapping[int, Value]:
    if group is None:
        rows = desk.composition.rows
        own = sum(len(i.elements) for i in desk.through.insertions if i.parent is None)
        return {id(rows): [*rows[:own], row, *rows[own:]]}
    holder = desk.row(group)
    children = children_of(holder)
    if children is not None:
        later = [
            element
            for insertion in desk.composition.insertions
            if insertion.parent is holder
            and any(insertion.patch.layer is layer for layer in desk.higher)
            for element in insertion.elements
        ]
        own = len(children) - len(later)
        return {id(children): [*children[:own], row, *children[own:]]}
    new = dict(holder)
    set_key(new, "config", [row])
    return {id(holder): new}


def _override(desk: Desk, row: Row) -> LayerEdit:
    there = desk.row(row["id"])
    name = text_of(row["id"])
    composed = _composed(desk, row)
    owner = desk.composition.inserted(there)
    who = owner.label if owner else "another layer"
    if desk.inserts(there) or there.get("name") != composed.get("name"):
        raise RowIdTakenError(
            f"{who} has a row {name} already",
            hint=f"Change that one (profile set {name}.KEY VALUE), or take another id.",
            row=name,
            owner=who,
        )
    desk.require_reachable(there)
    item = {key: value for key, value in row.items() if key != "name"}
    new = dict(there)
    for key, value in item.items():
        if not desk.overriding(there, key):
            set_key(new, key, value)
    text = desk.target.text.append((), item) if len(item) > 1 else desk.target.text
    note = Note(
        "override-instead",
        f"{who} inserts row {name} already, so it is written as an override of that row",
        name,
        tuple(key for key in item if key != "id"),
        owner,
    )
    return finish(desk, text, {id(there): new}, [note])


def _without_row(desk: Desk, row: Row) -> YamlText:
    """Take the row out, and what the layer says of it elsewhere, from the last item up."""
    patches, text = desk.target.layer.patches, desk.target.text
    path = desk.path_of(row)
    gone = set(_ids_in(row))
    cuts: list[tuple[str | int, ...]] = [path]
    if not desk.target.holds_rows:
        if len(path) == 3 and len(patches[int(path[0])]["insert"]) == 1:
            cuts = [path[:1]]
        ids = [item.get("id") if isinstance(item, dict) else None for item in patches]
        cuts += [
            (number,)
            for number, row_id in enumerate(ids)
            if truthy(row_id) and text_of(row_id) in gone and number != path[0]
        ]
    for cut in sorted(cuts, key=lambda cut: int(cut[0]), reverse=True):
        text = text.unset(desk.target.in_file(cut))
    return text


def _ids_in(row: Row) -> list[str]:
    """Give the ids of a row and of all rows in it."""
    found = [text_of(row["id"])] if truthy(row.get("id")) else []
    for child in children_of(row) or []:
        found += _ids_in(child) if isinstance(child, dict) else []
    return found
