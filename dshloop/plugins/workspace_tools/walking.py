"""The files beneath a folder of the workspace, without those that git ignores."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from dshloop.plugins.workspace_tools.ignoring import Rule, is_ignored, read_rules

_RULES_FILE = ".gitignore"
_LARGEST_RULES = 1024 * 1024
_NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
_FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0)
_MOST_FOLDERS_DEEP = 64


class Found(NamedTuple):
    """Something in a folder that is open now; ``path`` is its way from the root."""

    path: str
    name: str
    folder: int
    status: os.stat_result

    @property
    def is_folder(self) -> bool:
        """Whether it is a folder itself, no link to one."""
        return stat.S_ISDIR(self.status.st_mode)

    @property
    def is_link(self) -> bool:
        """Whether it is a link."""
        return stat.S_ISLNK(self.status.st_mode)

    @property
    def is_file(self) -> bool:
        """Whether it is a regular file."""
        return stat.S_ISREG(self.status.st_mode)


def walk(
    folder: int, path: str, rules: Sequence[Rule] = (), depth: int = _MOST_FOLDERS_DEEP
) -> Iterator[Found]:
    """Yield what lies beneath an open folder, by name, each folder before what is in it.

    Links are given and never followed; what can't be opened is passed over. ``.git`` is left out.
    """
    base = f"{path}/" if path else ""
    rules = [*rules, *_own_rules(folder, base)]
    for name in sorted(os.listdir(folder)):
        found = _look(folder, name, base)
        if found is None or name == ".git" or is_ignored(rules, found.path, folder=found.is_folder):
            continue
        yield found
        if found.is_folder and depth > 1:
            yield from _inside(found, rules, depth - 1)


def _inside(found: Found, rules: Sequence[Rule], depth: int) -> Iterator[Found]:
    try:
        opened = os.open(found.name, _FOLDER, dir_fd=found.folder)
    except OSError:
        return
    try:
        yield from walk(opened, found.path, rules, depth)
    finally:
        os.close(opened)


def _look(folder: int, name: str, base: str) -> Found | None:
    try:
        status = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except OSError:  # gone meanwhile
        return None
    return Found(base + name, name, folder, status)


def _own_rules(folder: int, base: str) -> list[Rule]:
    return list(read_rules(_small_text(folder, _RULES_FILE), base))


def rules_above(root: Path, path: str) -> list[Rule]:
    """Give the rules that hold in a folder and stand above it, up to the top of its repository."""
    above = [root, *root.parents]
    at = next((at for at, one in enumerate(above) if (one / ".git").exists()), None)
    found: list[Rule] = []
    if at is not None:
        found += _rules_in(above[at] / ".git" / "info", "exclude", above=_way(above[at], root))
        for folder in reversed(above[1 : at + 1]):
            found += _rules_in(folder, _RULES_FILE, above=_way(folder, root))
    names = path.split("/") if path else []
    for count in range(len(names)):
        base = "".join(f"{name}/" for name in names[:count])
        found += _rules_in(root / base, _RULES_FILE, base)
    return found


def _way(folder: Path, root: Path) -> str:
    return "".join(f"{name}/" for name in root.relative_to(folder).parts)


def _rules_in(folder: Path, name: str, base: str = "", above: str = "") -> list[Rule]:
    try:
        opened = os.open(folder, _FOLDER)
    except OSError:
        return []
    try:
        return list(read_rules(_small_text(opened, name), base, above))
    finally:
        os.close(opened)


def _small_text(folder: int, name: str) -> str:
    try:
        descriptor = os.open(name, os.O_RDONLY | _NO_FOLLOW, dir_fd=folder)
    except OSError:
        return ""
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_size > _LARGEST_RULES:
            return ""
        return file.read().decode("utf-8", "replace")
