"""Keys and values of rows and patches in the user's files: what dsh ignores or takes otherwise."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from difflib import get_close_matches

from dshloop.dsh_yaml import JsExpr, Value, stringify, truthy
from dshloop.profiles.checks import kinds
from dshloop.profiles.checks.edits import set_value
from dshloop.profiles.checks.findings import Finding, Kind, Mend
from dshloop.profiles.checks.subject import Case, Steps, UserFile, every_row
from dshloop.profiles.layers import Place
from dshloop.profiles.row_names import id_text

ROW_KEYS = ("id", "name", "config", "group", "disabled", "inject", "intercept", "isolate")
_NEVER_EVALUATED = ("id", "name", "group", "inject")
_TYPES: Mapping[str, tuple[type, ...]] = {
    "id": (str, int, float),
    "name": (str,),
    "disabled": (bool, JsExpr, type(None)),
    "group": (bool, type(None)),
    "inject": (list, dict, type(None)),
    "intercept": (dict, type(None)),
    "isolate": (dict, type(None)),
}
_ADVICE = {
    "remove": "write `disabled: true`; a row can't be removed",
    "delete": "write `disabled: true`; a row can't be removed",
    "before": "rows can't be ordered; they come in the order of the layers",
    "after": "rows can't be ordered; they come in the order of the layers",
    "position": "rows can't be ordered; they come in the order of the layers",
    "move": "rows can't be moved",
    "rename": "rows can't be renamed",
    "enabled": "write `disabled: true` or `disabled: false`",
}


def check_rows(case: Case) -> Iterator[Finding]:
    """Look at every entry of the user's patch files, and at the rows that they insert."""
    for file in case.user_files:
        if file.file is None:
            continue
        for index, item in enumerate(file.file.patches):
            if isinstance(item, dict):
                yield from _item(file, item, (index,))


def _item(file: UserFile, item: dict[str, Value], steps: Steps) -> Iterator[Finding]:
    if item.get("insert") is not None:
        ignored = [key for key in item if key not in ("id", "insert")]
        for key in ignored:
            why = f"dsh ignores `{key}` beside `insert`"
            yield _finding(kinds.PATCH_KEY_IGNORED, file, item, key, why)
        for row, where in every_row(item["insert"], (*steps, "insert")):
            yield from _row(file, row, where, inserted=True)
        return
    yield from _row(file, item, steps, inserted=False)
    for row, where in every_row(item.get("config"), (*steps, "config")):
        if truthy(item.get("group")) and "name" in row:
            yield from _row(file, row, where, inserted=True)


def _row(
    file: UserFile, row: dict[str, Value], steps: Steps, *, inserted: bool
) -> Iterator[Finding]:
    known = ROW_KEYS if inserted else (*ROW_KEYS, "insert")
    for key in row:
        if key not in known:
            yield _unknown_key(file, row, key, known)
    for key, types in _TYPES.items():
        if key in row and not _fits(row[key], types):
            yield _suspicious(file, row, key)
    if inserted:
        yield from _inserted(file, row, steps)


def _unknown_key(
    file: UserFile, row: dict[str, Value], key: str, known: tuple[str, ...]
) -> Finding:
    near = get_close_matches(key, known, n=1, cutoff=0.7)
    advice = _ADVICE.get(key) or (f"did you mean `{near[0]}`?" if near else "")
    why = f"dsh does not know the key `{key}`: it does nothing"
    fix = advice[:1].upper() + advice[1:] if advice else f"Take `{key}` out."
    return _finding(kinds.ROW_KEY_UNKNOWN, file, row, key, why, fix=fix)


def _fits(value: Value, types: tuple[type, ...]) -> bool:
    return isinstance(value, types) and not (isinstance(value, bool) and bool not in types)


def _suspicious(file: UserFile, row: dict[str, Value], key: str) -> Finding:
    value = row[key]
    shown = f"!!js {value.source}" if isinstance(value, JsExpr) else stringify(value)
    fix = ""
    if isinstance(value, JsExpr) and key in _NEVER_EVALUATED:
        why = f"`{key}` is an expression, which dsh does not evaluate there"
        fix = "Write the value itself."
    elif key in ("disabled", "group"):
        effect = {
            ("disabled", True): "the row is off",
            ("disabled", False): "the row is on",
            ("group", True): "the row counts as a group",
            ("group", False): "the row counts as no group",
        }[key, truthy(value)]
        why = f"`{key}` is {shown}, neither true nor false; dsh takes it so that {effect}"
    else:
        names = {"id": "a text", "name": "a text", "inject": "a list or a mapping"}
        wanted = names.get(key, "a mapping")
        why = f"`{key}` is {shown}; dsh wants {wanted}"
        fix = f"Write {wanted}."
    return _finding(kinds.ROW_VALUE_SUSPICIOUS, file, row, key, why, fix=fix)


def _inserted(file: UserFile, row: dict[str, Value], steps: Steps) -> Iterator[Finding]:
    name = row.get("name")
    if not truthy(name):
        yield _finding(kinds.ROW_NAME_MISSING, file, row, None, "the row has no name")
    if row.get("id") is None:
        why = f"the row of {name if isinstance(name, str) else 'no name'} has no id"
        yield _finding(kinds.ROW_ID_MISSING, file, row, None, why)
    if name == "cordis:group" and not truthy(row.get("group")):
        what = "mark the group with `group: true`"
        mend = set_value(file.path, what, (*steps, "group"), value=True)
        why = "the group is not marked, so its rows can't be patched"
        yield _finding(kinds.GROUP_UNMARKED, file, row, None, why, mend=mend)
    marked = name == "cordis:group" or truthy(row.get("group"))
    if marked and not isinstance(row.get("config"), list):
        why = "the group's config is no list of rows"
        yield _finding(kinds.GROUP_CONFIG_INVALID, file, row, "config", why)


def _finding(
    kind: Kind,
    file: UserFile,
    row: dict[str, Value],
    key: str | None,
    why: str,
    *,
    fix: str = "",
    mend: Mend | None = None,
) -> Finding:
    row_id = row.get("id")
    named = row_id if isinstance(row_id, str | int | float) else None
    return Finding(
        kind,
        why,
        file.place(row, key if key in row else None),
        None if named is None else id_text(named),
        fix=fix,
        mend=mend,
    )


def place_of(file: UserFile, steps: Steps) -> Place:
    """Say where what stands at some steps is written."""
    assert file.file is not None
    container: Value = file.file.patches
    for step in steps[:-1]:
        container = container[step]
    return file.place(container, steps[-1])
