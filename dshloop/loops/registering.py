"""Edits of a profile's loops.yml: entries put in and taken out, every other byte kept."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dshloop.errors import (
    DuplicateDriverError,
    DuplicateLoopError,
    LoopsFileInvalidError,
    UnknownDriverError,
    UnknownLoopError,
)
from dshloop.files import decode, read_bytes, require_text, shown
from dshloop.journal import Change
from dshloop.loops.fields import Page
from dshloop.loops.loops_file import Kind, parse_loops
from dshloop.loops.names import is_object, listed, require_driver_name, require_loop_id
from dshloop.loops.strategy import is_target, read_strategy
from dshloop.splice import YamlText, unset_value

_NEW = "# Loops and drivers that dshloop adds to this profile; dsh does not read this file.\n"


def plan_register(path: Path, kind: Kind, name: str, value: Any) -> Change:
    """Plan an entry behind those there are; `value` is an import path or a strategy's fields.

    Raises DUPLICATE_LOOP or DUPLICATE_DRIVER for a name the file has, INVALID_LOOP_ID,
    INVALID_DRIVER, LOOPS_FILE_INVALID.
    """
    (require_loop_id if kind == "loop" else require_driver_name)(name)
    data = read_bytes(path)
    text = _NEW if data is None else decode(data, path).value
    there = next((one for one in _entries(text, path, kind) if one.id == name), None)
    if there is not None:
        error = DuplicateLoopError if kind == "loop" else DuplicateDriverError
        raise error(
            f'{kind} "{name}" is registered already, in {there.where}',
            hint=f"Take it out first: dshloop {kind} unregister {name}.",
            **{kind: name},
            file=there.file,
            line=there.line,
        )
    edited = YamlText(text, source=shown(path), portable=True).set([f"{kind}s", name], value)
    parse_loops(edited.text, path)
    return Change(path, data, edited.text.encode())


def plan_unregister(path: Path, kind: Kind, name: str) -> Change:
    """Plan the end of an entry. Raises UNKNOWN_LOOP or UNKNOWN_DRIVER when there is none."""
    data = read_bytes(path)
    text = "" if data is None else decode(data, path).value
    known = [one.id for one in _entries(text, path, kind)]
    if name not in known:
        error = UnknownLoopError if kind == "loop" else UnknownDriverError
        raise error(
            f'{kind} "{name}" is not registered in {shown(path)} (there: {listed(known)})',
            **{kind: name},
            available=known,
        )
    return Change(path, data, unset_value(text, [f"{kind}s", name]).encode())


def read_strategy_file(path: Path, loop_id: str) -> dict[str, Any]:
    """Read the fields of a strategy from a file: alone, or as one of a loops.yml.

    Raises UNREADABLE_FILE, LOOPS_FILE_INVALID with file and line, and UNKNOWN_LOOP when a
    loops.yml has no such loop.
    """
    page = Page.read(require_text(path).value, shown(path), LoopsFileInvalidError)
    fields = page.fields(page.document.value, None, "")
    if is_object(fields.value.get("loops")):
        loops = fields.value["loops"]
        if loop_id not in loops:
            raise UnknownLoopError(
                f'{shown(path)} has no loop "{loop_id}" (there: {listed(list(loops))})',
                loop=loop_id,
                available=list(loops),
            )
        fields = page.fields(loops, loop_id, f"loops.{loop_id}")
    read_strategy(loop_id, fields)
    return dict(fields.value)


def require_target(text: str) -> str:
    """Give an import path back. Raises LOOPS_FILE_INVALID."""
    if is_target(text):
        return text
    raise LoopsFileInvalidError(
        f'"{text}" is no import path', hint="Write MODULE:OBJECT, like my_package.loops:critic."
    )


def _entries(text: str, path: Path, kind: Kind) -> Any:
    file = parse_loops(text, path)
    return file.loops if kind == "loop" else file.drivers
