"""What stands behind the `dsh` on PATH: a node package, or a program of its own.

A shell script that only starts another file (a wrapper, or the shims of npm and pnpm) is followed
where that file is named outright or beside the script; what can't be seen that way, such as a
name that the shell computes, is left alone, and the script itself stands for the installation.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from dshloop.dsh import Program

_BESIDE = re.compile(r"\$\{?basedir\}?(?=/)")
_SHELL = re.compile(rb"#!.*\b(sh|bash|dash|zsh|ksh)\b")
_NODE = re.compile(rb"#!.*\bnode\b")
_STARTS = re.compile(r"""^[ \t]*(?:\w+=\S*[ \t]+)*exec[ \t].*|^.*[ \t]"\$@".*$""", re.MULTILINE)
_HEAD = 16384  # bytes of a script that are looked at
_LONGEST_CHAIN = 5


@dataclass(frozen=True, slots=True)
class Installation:
    """The files that start dsh, the one on PATH first; ``package`` is its folder, if it is one."""

    files: tuple[Path, ...]
    package: Path | None = None

    @property
    def key(self) -> list[list[str | int]]:
        """What changes when another dsh is installed there: path, size and mtime of each file."""
        return [list(_stamp(path)) for path in self.files]


def find_installation(program: Program) -> Installation:
    """Follow the links and wrappers of a dsh; reads files, starts nothing."""
    files = [program.real]
    places = [program.path.parent, program.real.parent]
    while len(files) < _LONGEST_CHAIN:
        target = _target(files[-1], places)
        if target is None or target in files:
            break
        files.append(target)
        places = [target.parent]
    return Installation(tuple(files), _package_of(files[-1]))


def _stamp(path: Path) -> tuple[str, int, int]:
    try:
        found = path.stat()
    except OSError:
        return str(path), -1, -1
    return str(path), found.st_size, found.st_mtime_ns


def _target(script: Path, places: list[Path]) -> Path | None:
    """Give the file that a shell script starts; None for what is no such script."""
    head = _head_of(script)
    if _SHELL.match(head) is None:
        return None
    text = head.decode("utf-8", "replace")
    for line in _STARTS.findall(text):
        for place in places:
            for word in reversed(_words(line, place)):
                path = Path(word)
                if path.is_absolute() and path.is_file():
                    return path.resolve()
    return None


def _words(line: str, place: Path) -> list[str]:
    import shlex

    try:
        return shlex.split(_BESIDE.sub(lambda _: str(place), line), comments=True)
    except ValueError:  # a quote that ends on another line
        return []


def _package_of(entry: Path) -> Path | None:
    """Give the folder of the node package whose program ``entry`` is and that calls it dsh."""
    if entry.suffix not in (".js", ".mjs", ".cjs") and _NODE.match(_head_of(entry)) is None:
        return None
    for folder, manifest in _manifests_above(entry):
        if isinstance(manifest.get("name"), str):
            programs = manifest.get("bin")
            named = str(manifest["name"]).rpartition("/")[2]
            known = set(programs) if isinstance(programs, dict) else {named}
            return folder if "dsh" in known else None
    return None


def _manifests_above(entry: Path) -> Iterator[tuple[Path, dict[str, object]]]:
    for folder in entry.parents:
        try:
            value = json.loads((folder / "package.json").read_bytes())
        except (OSError, ValueError, RecursionError):
            continue
        if isinstance(value, dict):
            yield folder, value


def _head_of(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(_HEAD)
    except OSError:
        return b""
