"""The runs of matrices on disk: a folder each, with one line for every finished cell.

``matrix/<run>/run.json`` is written once, when the run begins; ``cells.ndjson`` gets a line, and
is flushed to the disk, whenever a cell has ended; of a cell that ran again the last line counts.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from dshloop.errors import MatrixRunDamagedError, MatrixRunNotFoundError
from dshloop.files import read_bytes, replace_file, shown, sync_folder, writing
from dshloop.json_text import json_text
from dshloop.locks import hold, owner_of
from dshloop.paths import Places, private_folder

ABOUT, CELLS, LOCK = "run.json", "cells.ndjson", "run.lock"
SCHEMA = 1
_KINDS: Mapping[str, Any] = {"cells": int, "profile": str | None}  # of run.json; else texts
Record = dict[str, Any]


class About(NamedTuple):
    """What a run is: of which file and profile, what it goes by, how many cells it has."""

    id: str
    file: str
    fingerprint: str
    cells: int
    created_at: str
    profile: str | None
    cwd: str
    command: str

    def as_json(self) -> Record:
        """Give what run.json holds."""
        return {"schema": SCHEMA, **self._asdict()}


@dataclass(frozen=True, slots=True)
class Run:
    """A run that was found or begun."""

    folder: Path
    about: About

    @property
    def id(self) -> str:
        """The run's id: the name of its folder."""
        return self.about.id

    @property
    def running(self) -> bool:
        """Whether a process is at work on it."""
        return owner_of(self.folder / LOCK) is not None

    def records(self) -> dict[int, Record]:
        """Read what is finished, by the cells' numbers; a line that was cut off counts for none.

        Raises MATRIX_RUN_DAMAGED for a whole line that is no record.
        """
        path = self.folder / CELLS
        lines = (read_bytes(path) or b"").split(b"\n")[:-1]
        found: dict[int, Record] = {}
        for number, line in enumerate(lines, 1):
            try:
                record = json.loads(line)
                found[int(record["number"])] = record
            except (ValueError, KeyError, TypeError, RecursionError):
                raise _damaged(path, f"line {number} is no record", line=number) from None
        return dict(sorted(found.items()))

    @contextmanager
    def writer(self, command: str) -> Iterator[Writer]:
        """Give who adds records, alone. Raises LOCK_HELD naming who else is at work on it."""
        with hold(self.folder / LOCK, command=command, what=f"matrix run {self.id}"):
            path = self.folder / CELLS
            with writing(path):
                descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
                try:
                    whole = (read_bytes(path) or b"").rfind(b"\n") + 1
                    os.ftruncate(descriptor, whole)
                    sync_folder(self.folder)
                    yield Writer(path, descriptor)
                finally:
                    os.close(descriptor)


@dataclass(frozen=True, slots=True)
class Writer:
    """Adds records to a run; each is on the disk when `add` returns."""

    path: Path
    descriptor: int

    def add(self, *records: Mapping[str, Any]) -> None:
        """Write finished cells, at once. Raises WRITE_FAILED."""
        lines = [json_text(record).encode("utf-8", "backslashreplace") for record in records]
        data = b"".join(line + b"\n" for line in lines)
        with writing(self.path):
            while data:
                data = data[os.write(self.descriptor, data) :]
            os.fsync(self.descriptor)


def folder_of_runs(places: Places) -> Path:
    """Give the folder that holds all runs."""
    return places.data / "matrix"


def begin(places: Places, about: About) -> Run:
    """Make the folder of a new run; its id gets a number when it is taken. Raises WRITE_FAILED."""
    root = folder_of_runs(places)
    with writing(root):
        private_folder(root)
        for name in _names(about.id):
            folder = root / name
            with contextlib.suppress(FileExistsError):
                folder.mkdir(mode=0o700)
                break
    run = Run(folder, about._replace(id=folder.name))
    text = json.dumps(run.about.as_json(), ensure_ascii=False, indent=1) + "\n"
    replace_file(folder / ABOUT, text.encode("utf-8", "backslashreplace"), mode=0o600)
    sync_folder(root)
    return run


def new_id(file: Path, now: float) -> str:
    """Name a run by its file and moment (UTC)."""
    from datetime import UTC, datetime

    stem = re.sub(r"[^A-Za-z0-9._-]+", "-", file.stem)[:40].strip("-.") or "matrix"
    return f"{stem}-{datetime.fromtimestamp(now, UTC):%Y%m%d-%H%M%S}"


def runs(
    places: Places, warn: Callable[[MatrixRunDamagedError], object] = lambda _damage: None
) -> list[Run]:
    """Give all runs, the newest first; ``warn`` is told of those that can't be read.

    A folder that a killed command left without a run.json is none.
    """
    root = folder_of_runs(places)
    found = []
    for folder in sorted(root.iterdir()) if root.is_dir() else ():
        try:
            found.append(_read(folder))
        except MatrixRunDamagedError as damage:
            warn(damage)
    whole = [run for run in found if run is not None]
    return sorted(whole, key=lambda run: (run.about.created_at, run.id), reverse=True)


def find_run(places: Places, name: str) -> Run:
    """Find a run by its id, the beginning of it, or ``last``.

    Raises MATRIX_RUN_NOT_FOUND, and MATRIX_RUN_DAMAGED for one that can't be read.
    """
    damaged: list[MatrixRunDamagedError] = []
    everything = runs(places, damaged.append)
    if name == "last" and everything:
        return everything[0]
    exact = [run for run in everything if run.id == name]
    fitting = exact or [run for run in everything if name and run.id.startswith(name)]
    if len(fitting) == 1:
        return fitting[0]
    for damage in damaged:
        if damage.details["run"] == name:
            raise damage
    ids = [run.id for run in fitting][:20]
    message = f'"{name}" fits {len(fitting)} runs: {", ".join(ids)}'
    raise MatrixRunNotFoundError(
        message if fitting else f'there is no matrix run "{name}"', run=name, runs=ids
    )


def _read(folder: Path) -> Run | None:
    path = folder / ABOUT
    data = read_bytes(path) if folder.is_dir() else None
    if data is None:
        return None
    try:
        value = json.loads(data)
        about = About(**{name: value[name] for name in About._fields})
        typed = (isinstance(value[name], _KINDS.get(name, str)) for name in About._fields)
        ours = value["schema"] == SCHEMA and all(typed)
    except (ValueError, KeyError, TypeError, RecursionError):
        ours = False
    if not ours:
        raise _damaged(path, "it is not what dshloop writes", run=folder.name)
    return Run(folder, about._replace(id=folder.name))


def _names(name: str) -> Iterator[str]:
    yield name
    number = 2
    while True:
        yield f"{name}-{number}"
        number += 1


def _damaged(path: Path, why: str, **details: Any) -> MatrixRunDamagedError:
    return MatrixRunDamagedError(f"{shown(path)} can't be read: {why}", file=shown(path), **details)
