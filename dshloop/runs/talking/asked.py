"""What is asked of a run's rows for this run alone: tools that are allowed, memory on or off."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from dshloop.errors import UnreadableFileError, UsageError
from dshloop.files import decode, read_bytes, shown
from dshloop.host.rows import HostRow
from dshloop.plugins.built_in import MEMORY, TOOLS, recorder_of
from dshloop.runs.profile import ProfileRows

PROMPT = "dshloop/prompt"
ALLOWED = ("edit", "shell")
"""What ``--allow`` takes."""
LARGEST_SYSTEM = 1_000_000
"""Bytes of a file for ``--system``; more fills any model's window."""


def read_allowed(texts: Sequence[str]) -> tuple[str, ...]:
    """Read ``--allow``: names with commas between. Raises USAGE."""
    names = [name.strip() for text in texts for name in text.split(",")]
    for name in names:
        if name not in ALLOWED:
            known = " and ".join(ALLOWED)
            raise UsageError(f'--allow takes {known}, not "{name}"', option="--allow")
    return tuple(dict.fromkeys(names))


def asked_rows(
    rows: ProfileRows, allow: Collection[str] = (), memory: bool | None = None
) -> ProfileRows:
    """Have tools run without a question, and memory recorded and recalled (or left out).

    Raises USAGE where the profile has no row that could do it; it names the one in its place.
    """
    if allow:
        _require(rows, TOOLS.name, "--allow")
        rows = _changed(rows, TOOLS.name, {"allow": list(allow)})
    if memory is None:
        return rows
    if not memory:
        kept = tuple(row for row in rows.rows if row.name != MEMORY.name)
        return replace(rows, rows=kept)
    recorder = recorder_of(rows.rows)
    if recorder is not None:
        raise UsageError(
            f'--memory is for the row {MEMORY.name}, and memory is kept by row "{recorder.id}" '
            f"({recorder.name}) of this profile",
            option="--memory",
        )
    _require(rows, MEMORY.name, "--memory")
    return _changed(rows, MEMORY.name, {"record": True, "inject": True})


def read_system(path: Path) -> str:
    """Read a text for the system prompt. Raises UNREADABLE_FILE, USAGE for what is no such text."""
    content = read_bytes(path, LARGEST_SYSTEM)
    if content is None:
        raise UnreadableFileError(f"there is no file {shown(path)}", file=shown(path))
    if b"\0" in content:
        raise UsageError(f"--system takes text, and {shown(path)} is binary", option="--system")
    if len(content) > LARGEST_SYSTEM:
        text = f"--system takes {LARGEST_SYSTEM:,} bytes, and {shown(path)} has more"
        raise UsageError(text, option="--system")
    return decode(content, path).value


def with_system(rows: ProfileRows, text: str) -> ProfileRows:
    """Add a section to the system prompt, behind those of the profile."""
    row = HostRow("session-run-system", PROMPT, {"name": "run", "text": text, "order": 1000})
    return replace(rows, rows=(*rows.rows, row))


def _require(rows: ProfileRows, name: str, option: str) -> None:
    if not any(row.name == name and row.off is None for row in rows.rows):
        where = f"profile {rows.profile}" if rows.profile else "this profile"
        raise UsageError(f"{option} needs the row {name}, which {where} doesn't run", option=option)


def _changed(rows: ProfileRows, name: str, more: Mapping[str, Any]) -> ProfileRows:
    def change(row: HostRow) -> HostRow:
        if row.name != name or row.off is not None:
            return row
        config = row.config if isinstance(row.config, Mapping) else {}
        return replace(row, config={**config, **more})

    return replace(rows, rows=tuple(map(change, rows.rows)))
