"""Loops and drivers that installed packages offer, by entry points (loop-dock 17).

To find them costs a look into every distribution. Completion asks with each press of a key, so
`remembered` keeps the answer in a file, for as long as no folder on sys.path changes (design 2).
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any, Literal, NamedTuple

from dshloop.errors import DshloopError
from dshloop.files import read_bytes, replace_file
from dshloop.paths import private_folder

Group = Literal["dshloop.loops", "dshloop.drivers"]
GROUPS: tuple[Group, ...] = ("dshloop.loops", "dshloop.drivers")

SETTLED = 3.0
"""Seconds for which a folder must not have changed: an installer may still be at work in it."""


class Offered(NamedTuple):
    """An entry point: its name is the id; nothing of it is imported yet."""

    id: str
    target: str
    distribution: str


def offered(group: Group, name: str | None = None) -> list[Offered]:
    """Give what packages offer in a group, or of one name only; a package counts once.

    The metadata of every distribution is read only where some file says that there is anything.
    """
    found = dict.fromkeys(_entry_points(group))
    return sorted(one for one in found if name is None or one.id == name)


def _entry_points(group: Group) -> Iterator[Offered]:
    if not offers_any(group):
        return
    from importlib.metadata import distributions

    for distribution in distributions():
        try:
            points = distribution.entry_points
        except Exception:  # one package with broken metadata must not hide the others
            continue
        for point in points:
            if point.group == group:
                yield Offered(point.name, target_of(point.value), str(distribution.name))


def target_of(value: str) -> str:
    """Give the import path of an entry point's value, whose extras are the installer's matter."""
    return value.partition("[")[0].strip()


def offers_any(group: str) -> bool:
    """Whether some package may offer something in a group."""
    return bool(offering((group,)))


def offering(groups: Collection[str]) -> set[str]:
    """Give those of the groups in which some package may offer something.

    The look costs little more than listing the folders, while importlib.metadata alone takes
    longer than most commands.
    """
    found: set[str] = set()
    for text in _entry_point_files():
        if text is None:
            return set(groups)
        found.update(group for group in groups if f"[{group}]".encode() in text)
    return found


def _entry_point_files() -> Iterator[bytes | None]:
    """Give the entry points of every package as text, None for an archive.

    Only importlib.metadata looks into archives.
    """
    for entry in sys.path:
        try:
            with os.scandir(entry or ".") as found:
                infos = [each.path for each in found if each.name.endswith(_INFOS)]
        except NotADirectoryError:
            yield None
            continue
        except (OSError, ValueError):
            continue
        for info in infos:
            try:
                yield Path(info, "entry_points.txt").read_bytes()
            except OSError:
                continue


_INFOS = (".dist-info", ".egg-info")


# --- the cache -----------------------------------------------------------------------------------


def remembered(group: Group, cache: Path) -> list[Offered]:
    """Give what `offered` gives, from `cache` if that was written for sys.path as it is now.

    Else the file is written anew. One that can't be read, holds something else or can't be
    written counts as none: nothing is raised and nothing is said.
    """
    key = _folders()
    known = _read(cache, key)
    if known is None:
        known = {each: offered(each) for each in GROUPS}
        if _is_settled(key):
            _write(cache, key, known)
    return known[group]


def _folders() -> list[list[Any]]:
    """Give each entry of sys.path and when it changed last, in nanoseconds; None if not there."""
    return [[entry, _changed(entry)] for entry in sys.path]


def _changed(entry: str) -> int | None:
    try:
        return Path(entry).stat().st_mtime_ns
    except (OSError, ValueError):
        return None


def _is_settled(folders: list[list[Any]]) -> bool:
    latest = max((changed for _, changed in folders if changed is not None), default=0)
    return latest < time.time_ns() - SETTLED * 1e9


def _read(cache: Path, key: list[list[Any]]) -> dict[Group, list[Offered]] | None:
    try:
        held = json.loads(read_bytes(cache) or b"null")
        if held["folders"] != key:
            return None
        return {group: [_offered(one) for one in held[group]] for group in GROUPS}
    except (DshloopError, ValueError, LookupError, TypeError, RecursionError):
        return None


def _offered(parts: Any) -> Offered:
    if len(parts) != 3 or not all(isinstance(part, str) for part in parts):
        raise ValueError("not an entry point")
    return Offered(*parts)


def _write(cache: Path, key: list[list[Any]], known: dict[Group, list[Offered]]) -> None:
    text = json.dumps({"folders": key, **known})
    try:
        private_folder(cache.parent)
        replace_file(cache, text.encode(), mode=0o600)
    except (DshloopError, OSError):
        pass
