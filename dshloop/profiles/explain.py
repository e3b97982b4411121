"""Who set a row, or a key in its config: every contribution in order, and what each replaced.

A patch replaces a row's whole `config` (dsh-profiles 5), so a key may be gone though nobody
removed it; what vanished that way is told too. A view of one composition, nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from dshloop.dsh_yaml import JsExpr, Value, identity, truthy
from dshloop.errors import RowKeyNotFoundError
from dshloop.profiles.compose import Composition, Placed
from dshloop.profiles.explanation import Contribution, Explanation, Instance, Path, Unheard
from dshloop.profiles.layers import Layer, Place
from dshloop.profiles.masking import masked
from dshloop.profiles.past import Past
from dshloop.profiles.patch import UNDEFINED, Assignment, Row, Skip
from dshloop.profiles.row_names import id_text
from dshloop.profiles.row_path import RowPath, parse_row_path


def explain(composition: Composition, text: str, *, reveal: bool = False) -> Explanation:
    """Explain ``ROW[.key...]``; secrets are masked unless `reveal`.

    Raises ROW_PATH_INVALID, ROW_NOT_FOUND for a row that no patch speaks of, and
    ROW_KEY_NOT_FOUND for a key that no layer ever set.
    """
    path = parse_row_path(text, known_ids(composition))
    instances = tuple(_instances(composition, path))
    unheard = (
        *_skips(composition, path.row),
        *_replaced_groups(composition, path.row),
        *_lost_causes(composition, path.row),
    )
    if path.keys and not any(one.contributions for one in instances):
        _no_such_key(composition, path)
    found = Explanation(id_text(path.row), path.keys, instances, unheard)
    return found if reveal else _hidden(found)


def known_ids(composition: Composition) -> list[Value]:
    """Give the ids of all rows and of all patches that failed, the rows' first."""
    ids = [placed.row.get("id") for placed in composition.walk()]
    ids += [change.row.get("id") for change in composition.assignments]
    ids += [row.get("id") for _, row in _thrown_out(composition)]
    ids += [_named(skip) for skip in composition.skips]
    return [row_id for row_id in ids if row_id is not None and not isinstance(row_id, dict | list)]


def _instances(composition: Composition, path: RowPath) -> Iterator[Instance]:
    placed = composition.find(path.row)
    seen = {id(one.row) for one in placed}
    left = [change.row for change in composition.assignments]
    left += [row for _, row in _thrown_out(composition)]
    gone = {
        id(row): row
        for row in left
        if id(row) not in seen and identity(row.get("id")) == identity(path.row)
    }
    target = composition.target(path.row)
    for row, groups, in_tree in (
        *((one.row, one.groups, True) for one in _once(placed)),
        *((row, (), False) for row in gone.values()),
    ):
        yield Instance(
            row.get("name", UNDEFINED),
            tuple(id_text(group.get("id")) for group in groups),
            in_tree,
            row is target,
            row.get("disabled"),
            next((id_text(g.get("id")) for g in groups if _off(g.get("disabled"))), None),
            _value(row, path.keys),
            tuple(_contributions(composition, row, path.keys)),
        )


def _once(placed: Sequence[Placed]) -> list[Placed]:
    return list({id(one.row): one for one in placed}.values())


def _value(row: Row, keys: Sequence[str | int]) -> Value:
    return dict(row) if not keys else member(row, ("config", *keys))


def _contributions(
    composition: Composition, row: Row, keys: Sequence[str | int]
) -> Iterator[Contribution]:
    """Give what was said of the row, or of one path in its config, oldest first."""
    history, past = composition.history(row), Past(composition)
    if not keys:
        yield _inserted(past, row, history, ())
        for change in history:
            wins = composition.history(row, change.key)[-1] is change
            before, after = past.before(change), past.after(change)
            yield _set(change, (change.key,), before, after, change.place, wins)
        return
    yield from _of_key(past, row, history, ("config", *keys))


def _of_key(
    past: Past, row: Row, history: Sequence[Assignment], path: Path
) -> Iterator[Contribution]:
    changes = [change for change in history if change.key == path[0]]
    said: list[Contribution] = []
    inserted = _inserted(past, row, history, path)
    if inserted.after is not UNDEFINED:
        said.append(inserted)
    for change in changes:
        before = member({path[0]: past.before(change)}, path)
        after = member({path[0]: past.after(change)}, path)
        if before is UNDEFINED and after is UNDEFINED:
            continue
        place = _deep_place(past.composition, change.after, path[1:]) or change.place
        said.append(_set(change, path, before, after, place, wins=False))
    if said:
        said[-1] = replace(said[-1], wins=True)
    yield from said


def _inserted(past: Past, row: Row, history: Sequence[Assignment], path: Path) -> Contribution:
    """Give the contribution of the layer that brought the row, as the row was then."""
    composition = past.composition
    original, place = past.inserted(row), composition.inserted(row)
    if path:
        changes = [change for change in history if change.key == path[0]]
        first = changes[0].before if changes else row.get(str(path[0]))
        place = _deep_place(composition, first, path[1:]) or (
            composition.place(row, str(path[0])) or place
        )
    label = place.label if place else ""
    return Contribution(
        "insert",
        path,
        label,
        _kind(composition, label),
        place,
        UNDEFINED,
        member(original, path) if path else original,
        wins=not history,
    )


def _set(
    change: Assignment, path: Path, before: Value, after: Value, place: Place, wins: bool
) -> Contribution:
    layer = change.patch.layer
    lost = tuple(lost_paths(before, after, path))
    return Contribution("set", path, layer.label, layer.kind, place, before, after, lost, wins)


def lost_paths(before: Value, after: Value, path: Path = ()) -> Iterator[Path]:
    """Give the paths of keys that were in `before` and are in `after` no more."""
    if not isinstance(before, dict):
        return
    kept = after if isinstance(after, dict) else {}
    for key, value in before.items():
        if key not in kept:
            yield (*path, key)
        else:
            yield from lost_paths(value, kept[key], (*path, key))


def member(value: Value, path: Sequence[str | int]) -> Value:
    """Give what is at a path, UNDEFINED for nothing; digits are an index where a list stands."""
    for step in path:
        if isinstance(value, dict):
            value = value.get(str(step), UNDEFINED)
        elif isinstance(value, list) and str(step).isdecimal() and int(step) < len(value):
            value = value[int(step)]
        else:
            return UNDEFINED
    return value


def _deep_place(composition: Composition, root: Value, path: Path) -> Place | None:
    """Say where the deepest part of a path below `root` is written."""
    found: Place | None = None
    for step in path:
        if isinstance(root, list):
            step = int(step) if str(step).isdecimal() else step
        found = (composition.place(root, step) if isinstance(root, dict | list) else None) or found
        root = member(root, (step,))
    return found


def _skips(composition: Composition, row_id: Value) -> Iterator[Unheard]:
    for skip in composition.skips:
        if identity(_named(skip)) == identity(row_id):
            layer = skip.patch.layer
            yield Unheard(layer.label, layer.kind, skip.patch.place, skip.reason, skip.message)


def _lost_causes(composition: Composition, row_id: Value) -> Iterator[Unheard]:
    """Give patches that hit a row of this id that stands in no tree."""
    for change in composition.detached():
        if identity(change.row.get("id")) == identity(row_id):
            layer = change.patch.layer
            message = f"{change.key} was set on a row whose group was replaced; nobody sees it"
            yield Unheard(
                layer.label, layer.kind, change.place, "detached-row", message, (change.key,)
            )


def _thrown_out(composition: Composition) -> Iterator[tuple[Assignment, Row]]:
    """Give the rows that were in a list which a patch replaced as a group's config."""
    for change in composition.assignments:
        if change.key == "config" and isinstance(change.before, list):
            for row in change.before:
                if isinstance(row, dict):
                    yield change, row


def _replaced_groups(composition: Composition, row_id: Value) -> Iterator[Unheard]:
    """Give the patches that replaced the group a row of this id was in."""
    seen = {id(placed.row) for placed in composition.find(row_id)}
    for change, row in _thrown_out(composition):
        if identity(row.get("id")) == identity(row_id) and id(row) not in seen:
            layer, group = change.patch.layer, id_text(change.row.get("id"))
            message = f"it replaced the config of group {group}, and the row went with it"
            yield Unheard(layer.label, layer.kind, change.place, "group-replaced", message)


def _named(skip: Skip) -> Value:
    item = skip.patch.file.patches[skip.patch.number - 1]
    return item.get("id") if isinstance(item, dict) else None


def _kind(composition: Composition, label: str) -> str:
    found: Layer | None = next((one for one in composition.layers if one.label == label), None)
    return found.kind if found else "bundle"


def _off(disabled: Value) -> bool:
    return truthy(disabled) and not isinstance(disabled, JsExpr)


def _no_such_key(composition: Composition, path: RowPath) -> None:
    """Raise ROW_KEY_NOT_FOUND, with the near keys that are there."""
    from difflib import get_close_matches

    there: list[str] = []
    for placed in composition.find(path.row):
        around = member(placed.row, ("config", *path.keys[:-1]))
        there += list(around) if isinstance(around, dict) else []
    near = get_close_matches(str(path.keys[-1]), there, n=3)
    key = ".".join(map(str, path.keys))
    raise RowKeyNotFoundError(
        f"no layer ever set {key} in the config of row {id_text(path.row)}",
        hint=f"Did you mean {' or '.join(near)}?" if near else None,
        row=id_text(path.row),
        key=list(path.keys),
    )


def _hidden(found: Explanation) -> Explanation:
    instances = tuple(
        replace(
            one,
            value=_mask(one.value, ("config", *found.key) if found.key else ()),
            contributions=tuple(map(_hide, one.contributions)),
        )
        for one in found.instances
    )
    return replace(found, instances=instances)


def _hide(said: Contribution) -> Contribution:
    before, after = _mask(said.before, said.key), _mask(said.after, said.key)
    return replace(said, before=before, after=after)


def _mask(value: Value, path: Path) -> Value:
    return value if value is UNDEFINED else masked(value, path)
