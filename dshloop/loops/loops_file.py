"""A profile's loops.yml: loops and drivers by import path, and strategies as data (design 4).

::

    loops:
      critic: my_package.loops:critic
      careful:
        prompt: Look twice.
        budget: {steps: 8}
    drivers:
      mine: my_package.engine:Driver
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

from dshloop.errors import (
    DuplicateDriverError,
    DuplicateLoopError,
    LoopsFileInvalidError,
)
from dshloop.files import decode, read_bytes, shown
from dshloop.loops.fields import Fields, Page
from dshloop.loops.names import is_name
from dshloop.loops.strategy import Strategy, is_target, read_strategy

NAME = "loops.yml"
Kind = Literal["loop", "driver"]
_KINDS: tuple[tuple[str, Kind], ...] = (("loops", "loop"), ("drivers", "driver"))
_TWICE = "duplicated mapping key"
_SECOND = "second-of-two--"
_BREAK = re.compile(r"\r\n|\n|\r")


class Registered(NamedTuple):
    """One entry: what it says, and where; either an import path or a strategy."""

    id: str
    kind: Kind
    file: str
    line: int
    target: str | None = None
    strategy: Strategy | None = None

    @property
    def where(self) -> str:
        """Give file and line."""
        return f"{self.file}:{self.line}"


@dataclass(frozen=True, slots=True)
class LoopsFile:
    """What a loops.yml registers, in its order; nothing when there is no file."""

    path: Path | None = None
    loops: tuple[Registered, ...] = ()
    drivers: tuple[Registered, ...] = ()


def read_loops_file(path: Path) -> LoopsFile:
    """Read and check a file, which need not be there.

    Raises LOOPS_FILE_INVALID, DUPLICATE_LOOP and DUPLICATE_DRIVER, each with file and line.
    """
    data = read_bytes(path)
    return LoopsFile(path) if data is None else parse_loops(decode(data, path).value, path)


def parse_loops(text: str, path: Path) -> LoopsFile:
    """Read and check the text of a file; raises as `read_loops_file`."""
    try:
        page = Page.read(text, shown(path), LoopsFileInvalidError)
    except LoopsFileInvalidError as fault:
        raise _registered_twice(fault, text, path) or fault from None
    if page.document.value is None:
        return LoopsFile(path)
    whole = page.fields(page.document.value, None, "")
    whole.only([key for key, _ in _KINDS])
    loops, drivers = (tuple(_entries(whole, key, kind)) for key, kind in _KINDS)
    return LoopsFile(path, loops, drivers)


def _entries(whole: Fields, key: str, kind: Kind) -> Iterator[Registered]:
    if whole.value.get(key) is None:
        return
    entries = whole.page.fields(whole.value, key, key)
    for name, value in entries.value.items():
        if not is_name(name):
            entries.refuse(
                f"{name!r} is no {'loop id' if kind == 'loop' else 'driver name'}",
                name,
                "It begins with a-z or 0-9; more of these, '.', '_' and '-' may follow.",
            )
        yield _entry(entries, name, value, kind)


def _entry(entries: Fields, name: str, value: Any, kind: Kind) -> Registered:
    page = entries.page
    line = page.line(entries.value, name) or 1
    if is_target(value):
        return Registered(name, kind, page.file, line, target=value)
    if kind == "driver" or not isinstance(value, dict):
        more = "" if kind == "driver" else ", or a mapping that describes a strategy"
        entries.refuse(f"{entries.at(name)} must be an import path MODULE:OBJECT{more}", name)
    strategy = read_strategy(name, page.fields(entries.value, name, entries.at(name)))
    return Registered(name, kind, page.file, line, strategy=strategy)


def _registered_twice(
    fault: LoopsFileInvalidError, text: str, path: Path
) -> DuplicateLoopError | DuplicateDriverError | None:
    """Tell a loop or driver that is there twice from other keys that are.

    The second one is read again under a name of its own, and then looked for.
    """
    if fault.details.get("reason") != _TWICE:
        return None
    whole = _without_twins(_renamed(text, fault, _SECOND), path)
    for holder, kind in _KINDS:
        entries = whole.get(holder) if isinstance(whole, dict) else None
        names = entries if isinstance(entries, dict) else ()
        second = next((name for name in names if name.startswith(_SECOND)), None)
        if second is not None:
            name = second.removeprefix(_SECOND)
            error = DuplicateLoopError if kind == "loop" else DuplicateDriverError
            return error(f'{kind} "{name}" is registered twice: {fault.message}', **fault.details)
    return None


def _without_twins(text: str, path: Path) -> Any:
    """Read a text whose further keys may be there twice; None for what has other faults."""
    for number in range(100):
        try:
            return Page.read(text, shown(path), LoopsFileInvalidError).document.value
        except LoopsFileInvalidError as fault:
            if fault.details.get("reason") != _TWICE:
                break
            text = _renamed(text, fault, f"other-{number}-")
    return None


def _renamed(text: str, fault: LoopsFileInvalidError, prefix: str) -> str:
    """Put something before the key that a fault is about."""
    starts = [0, *(found.end() for found in _BREAK.finditer(text))]
    at = starts[fault.details["line"] - 1] + fault.details["column"] - 1
    at += text[at] in "\"'"
    return text[:at] + prefix + text[at:]
