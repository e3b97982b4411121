"""What patches do to each other: rows there twice, patches that miss, configs they replace."""

from __future__ import annotations

from collections.abc import Iterator

from dshloop.dsh_yaml import JsExpr, Value, identity, truthy
from dshloop.errors import DshloopError
from dshloop.profiles.checks import kinds
from dshloop.profiles.checks.edits import remove_item, yaml_mend
from dshloop.profiles.checks.findings import Finding, Kind, Mend, Severity, where_text
from dshloop.profiles.checks.names import package_of
from dshloop.profiles.checks.subject import Case, Steps, UserFile
from dshloop.profiles.compose import Placed
from dshloop.profiles.explain import lost_paths
from dshloop.profiles.layout import Profile
from dshloop.profiles.patch import Assignment, Row, Skip
from dshloop.profiles.row_names import id_text
from dshloop.profiles.rows import inserted_rows
from dshloop.profiles.stack import bundle_layers
from dshloop.splice import Edit as Splice
from dshloop.splice import same

_SKIPS: dict[str, Kind] = {
    "row-missing": kinds.PATCH_TARGET_MISSING,
    "name-mismatch": kinds.PATCH_NAME_MISMATCH,
    "not-a-group": kinds.PATCH_NOT_A_GROUP,
    "id-missing": kinds.PATCH_ID_MISSING,
}
_NEVER_CARRIED = ("id", "name", "insert")


def check_composition(case: Case) -> Iterator[Finding]:
    """Look at the composition of all layers that can be read."""
    yield from _duplicates(case)
    yield from _skipped(case)
    yield from _detached(case)
    yield from _replaced(case)


def _duplicates(case: Case) -> Iterator[Finding]:
    """Find rows with one id; the later ones are at fault, wherever in the tree they stand."""
    twice = set(case.composition.duplicates())
    if not twice:
        return
    order = _order_of_insertion(case)
    for rows in case.composition.duplicates().values():
        first, *later = sorted(rows, key=lambda placed: order.get(id(placed.row), 0))
        for placed in later:
            # one bundle listed twice is a finding of its own
            if case.composition.inserted(placed.row) != case.composition.inserted(first.row):
                yield _duplicate(case, first, placed)


def _order_of_insertion(case: Case) -> dict[int, int]:
    """Number the rows in the order in which layers brought them."""
    order: dict[int, int] = {}
    for insertion in case.composition.insertions:
        pending = list(insertion.elements)
        while pending:
            row = pending.pop(0)
            if isinstance(row, dict) and id(row) not in order:
                order[id(row)] = len(order)
                children = row.get("config")
                pending = [*(children if isinstance(children, list) else []), *pending]
    return order


def _duplicate(case: Case, first: Placed, second: Placed) -> Finding:
    composition = case.composition
    row_id = id_text(second.row["id"])
    one, other = composition.inserted(first.row), composition.inserted(second.row)
    told = where_text(one) if one and other and one.label == other.label else ""
    owner = told or (one.label if one else "another layer")
    why = f"row {row_id} is inserted{_inside(second)}, but {owner} inserts it already"
    why += _inside(first)
    fix = ""
    mend = _as_override(case, first.row, second.row)
    if mend is not None:
        fix = f"Change the row instead of inserting it again: {mend.what} (profile repair --apply)"
    elif other is not None and case.where_from(second.row) is None:
        fix = f"Disable one of the two: dshloop plugin disable {other.label}"
    details = {"owner": one.label if one else None, "newcomer": other.label if other else None}
    return Finding(kinds.ROW_ID_DUPLICATE, why, other, row_id, fix=fix, mend=mend, details=details)


def _inside(placed: Placed) -> str:
    return f" in group {id_text(placed.groups[-1].get('id'))}" if placed.groups else ""


def _as_override(case: Case, first: Row, second: Row) -> Mend | None:
    """Turn the insert of a row that is there already into a patch with its id.

    Only where both are one plugin (a patch can't rename) and the later one is in a user's file.
    """
    found = case.where_from(second)
    if found is None or not _one_plugin(case, first, second) or truthy(second.get("group")):
        return None
    file, steps = found
    if steps[1:2] != ("insert",):
        return None
    original = _at(file, steps)
    carried = {key: value for key, value in original.items() if key not in _NEVER_CARRIED}
    new = {key: value for key, value in carried.items() if not same(first.get(key), value)}
    if not new:
        return remove_item(file.path, steps, "take the second insert out")
    patch = {"id": original["id"], **new}
    what = "turn the second insert into a patch with its id"
    return yaml_mend(file.path, what, steps, lambda value: _replace_insert(value, steps, patch))


def _one_plugin(case: Case, first: Row, second: Row) -> bool:
    """Whether two rows load one plugin; a bundle may name its own module by a path."""
    name = second.get("name")
    if identity(first.get("name")) == identity(name):
        return True
    place = case.composition.inserted(first)
    return isinstance(name, str) and place is not None and package_of(name)[0] == place.label


def _replace_insert(value: Value, steps: Steps, patch: dict[str, Value]) -> list[Splice]:
    """Take one row out of an insert and put a patch behind it, or in its place when alone."""
    number = steps[0]
    assert isinstance(number, int)
    if len(steps) == 3 and len(value[number]["insert"]) == 1:
        return [Splice("set", (number,), patch)]
    return [Splice("insert", (), patch, number + 1), Splice("unset", steps)]


def _at(file: UserFile, steps: Steps) -> Row:
    assert file.file is not None
    value: Value = file.file.patches
    for step in steps:
        value = value[step]
    assert isinstance(value, dict)
    return value


def _skipped(case: Case) -> Iterator[Finding]:
    for skip in case.composition.skips:
        file = case.user_file(skip.patch.layer)
        item = skip.patch.file.patches[skip.patch.number - 1]
        row_id = item.get("id") if isinstance(item, dict) else None
        severity: Severity | None = None
        mend, fix = None, ""
        if skip.reason == "row-missing":
            owner = _absent_owner(case, skip, row_id)
            if owner:
                severity, fix = "info", f"Leave it: {owner}."
            elif file is not None and isinstance(item, dict) and item.get("insert") is None:
                mend = remove_item(file.path, (skip.patch.number - 1,), "take the patch out")
        yield Finding(
            _SKIPS[skip.reason],
            skip.message.removeprefix("patch: ").removeprefix("patch insert: "),
            skip.patch.place,
            None if row_id is None or isinstance(row_id, JsExpr) else id_text(row_id),
            fix=fix,
            mend=mend,
            severity=severity,
        )


def _absent_owner(case: Case, skip: Skip, row_id: Value) -> str:
    """Say why a patch may be right though its row isn't there; "" when it can't be."""
    if case.bundle_stack[1] or isinstance(case.manifest, DshloopError):
        return "a bundle that could not be read may have the row"
    off = [name for name in _off(case) if identity(row_id) in _ids_of_bundle(case, name)]
    if off:
        return f"the row comes with {off[0]}, which is switched off"
    if skip.patch.layer.kind == "home":
        for manifest in sorted(case.profile.dsh_home.glob("profiles/*/package.json")):
            name = manifest.parent.name
            if name != case.profile.name and identity(row_id) in _ids_of_profile(case, name):
                return f"the row is in profile {name}, which shares this file"
    return ""


def _off(case: Case) -> list[str]:
    """Give the packages of the profile that are on no bundle list."""
    if isinstance(case.manifest, DshloopError):
        return []
    return [name for name in case.manifest.recorded if name not in case.bundles]


def _ids_of_bundle(case: Case, name: str) -> set[object]:
    layers, _ = bundle_layers(case.profile, [name], case.find)
    return {identity(row["id"]) for layer in layers for row in inserted_rows(layer.patches)}


def _ids_of_profile(case: Case, name: str) -> set[object]:
    home = case.profile.dsh_home
    try:
        other = Case(Profile(name, home / "profiles" / name, home), inbox=case.inbox)
        layers, _ = bundle_layers(other.profile, other.bundles, inbox=case.inbox)
        own = [one.layer for one in other.user_files if one.layer and one.kind == "profile"]
    except DshloopError:
        return set()
    return {
        identity(row["id"]) for layer in [*layers, *own] for row in inserted_rows(layer.patches)
    }


def _detached(case: Case) -> Iterator[Finding]:
    for change in case.composition.detached():
        if case.user_file(change.patch.layer) is None:
            continue
        row_id = id_text(change.row.get("id"))
        why = f"{change.key} is set on row {row_id}, whose group was replaced"
        yield Finding(kinds.PATCH_DETACHED, why, change.place, row_id)


def _replaced(case: Case) -> Iterator[Finding]:
    """Find configs that a patch of the user's replaced: of groups, and of rows that lost keys."""
    for change in case.composition.assignments:
        if change.key != "config" or case.user_file(change.patch.layer) is None:
            continue
        if truthy(change.row.get("group")) and isinstance(change.before, list):
            yield _group_replaced(change)
            continue
        lost = [".".join(map(str, path)) for path in lost_paths(change.before, change.after)]
        if lost:
            row_id = id_text(change.row.get("id"))
            why = f"the config of row {row_id} is replaced and loses {', '.join(lost)}"
            yield Finding(kinds.CONFIG_KEYS_LOST, why, change.place, row_id, details={"lost": lost})


def _group_replaced(change: Assignment) -> Finding:
    row_id = id_text(change.row.get("id"))
    rows = [id_text(row.get("id")) for row in change.before if isinstance(row, dict)]
    why = f"the config of group {row_id} is replaced, and rows {', '.join(rows)} go with it"
    if not rows:
        why = f"the config of group {row_id} is replaced; the rows it brings can't be patched"
    return Finding(kinds.GROUP_REPLACED, why, change.place, row_id, details={"rows": rows})
