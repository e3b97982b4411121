"""``ROW.key.key2``: a row's id and a path inside its config, as people type it.

The longest row id that fits wins, so ids may hold dots; ``\\.`` and ``\\[`` take a dot or bracket
as it is. An item of a list is ``key[0]`` or ``key.0``; in a map ``.0`` is the key "0".
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from dshloop.dsh_yaml import Value
from dshloop.dsh_yaml.values import text_of
from dshloop.errors import RowKeyNotFoundError, RowNotFoundError, RowPathInvalidError

_STEP = re.compile(r"(?P<dot>\.)?(?:\[(?P<index>[0-9]+)\]|(?P<name>(?:\\.|[^\\.\[])*))")
_ESCAPE = re.compile(r"\\(.)")


@dataclass(frozen=True, slots=True)
class RowPath:
    """A row, by the id it has, and the keys and indexes inside its config ("" = all of it)."""

    row: Value
    keys: tuple[str | int, ...] = ()

    @property
    def name(self) -> str:
        """The row's id as text."""
        return text_of(self.row)

    def __str__(self) -> str:
        steps = (f"[{key}]" if isinstance(key, int) else f".{_escaped(key)}" for key in self.keys)
        return _escaped(self.name) + "".join(steps)


def parse_row_path(text: str, ids: Iterable[Value]) -> RowPath:
    """Read a path; `ids` are those of the rows there are.

    Raises ROW_PATH_INVALID for an empty key, ROW_NOT_FOUND with near matches.
    """
    known: dict[str, Value] = {}
    for row_id in ids:
        name = text_of(row_id)
        if name not in known or isinstance(row_id, str):
            known[name] = row_id
    steps = _steps(text)
    for count in range(len(steps), 0, -1):
        name = "".join(raw for raw, _ in steps[:count])
        if name in known:
            return RowPath(known[name], tuple(key for _, key in steps[count:]))
    raise row_missing("".join(raw for raw, _ in steps[:1]), known)


def row_missing(name: str, known: Iterable[str]) -> RowNotFoundError:
    """Make the error for a row that isn't there."""
    from difflib import get_close_matches

    near = get_close_matches(name, list(known), n=3)
    hint = f"Did you mean {' or '.join(near)}?" if near else "dshloop profile row list shows all."
    return RowNotFoundError(f'there is no row "{name}"', hint=hint, row=name, near=near)


def resolve_keys(value: Value, path: RowPath) -> tuple[str | int, ...]:
    """Say what the keys of a path mean in a config: indexes in lists, else keys.

    Keys that a map lacks may follow. Raises ROW_KEY_NOT_FOUND for an item that isn't there.
    """
    found: list[str | int] = []
    for key in path.keys:
        if not isinstance(value, list):
            found.append(str(key))
            value = value.get(str(key)) if isinstance(value, dict) else None
            continue
        index = int(key) if str(key).isdecimal() else -1
        if not 0 <= index < len(value):
            raise RowKeyNotFoundError(
                f"{path}: the list has {len(value)} items, none of them is [{key}]",
                row=path.name,
                path=[*found, key],
            )
        found.append(index)
        value = value[index]
    return tuple(found)


def _steps(text: str) -> list[tuple[str, str | int]]:
    """Cut a path into its steps: how each is spelled in an id, and what it means as a key."""
    steps: list[tuple[str, str | int]] = []
    at = 0
    while at < len(text):
        match = _STEP.match(text, at)
        name = match["name"] if match else None
        if match is None or match.end() == at or name == "" or (not at and match["dot"]):
            raise RowPathInvalidError(f'"{text}" has an empty key at character {at + 1}')
        dot = match["dot"] or ""
        if name is None:
            steps.append((f"{dot}[{match['index']}]", int(match["index"])))
        else:
            plain = _ESCAPE.sub(r"\1", name)
            steps.append((dot + plain, plain))
        at = match.end()
    if not steps:
        raise RowPathInvalidError("the path of a row is empty")
    return steps


def _escaped(text: str) -> str:
    return re.sub(r"([\\.\[])", r"\\\1", text)
