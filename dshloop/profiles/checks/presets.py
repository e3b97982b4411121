"""The user's own agent presets: each a list of rows in ``.agent-presets/ID/agent.cordis.yml``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from dshloop.dsh_yaml import load_document
from dshloop.errors import DshloopError
from dshloop.files import shown
from dshloop.profiles.checks import kinds
from dshloop.profiles.checks.findings import Finding
from dshloop.profiles.checks.subject import Case
from dshloop.profiles.layers import Place

FILE = "agent.cordis.yml"


def check_presets(case: Case) -> Iterator[Finding]:
    """Read each preset of the home; patches among its rows are the classic mistake."""
    for path in sorted((case.profile.dsh_home / ".agent-presets").glob(f"*/{FILE}")):
        yield from _preset(case, path)


def _preset(case: Case, path: Path) -> Iterator[Finding]:
    preset = path.parent.name
    place = Place(preset, shown(path))
    try:
        document = load_document(case.files.read(path) or b"", source=shown(path))
    except DshloopError as fault:
        at = place._replace(line=fault.details.get("line"), column=fault.details.get("column"))
        reason = fault.details.get("reason") or fault.message
        yield Finding(kinds.PRESET_FILE_INVALID, f"preset {preset}: {reason}", at)
        return
    rows = document.value
    if not isinstance(rows, list):
        why = f"preset {preset} is no list of rows"
        yield Finding(kinds.PRESET_FILE_INVALID, why, place._replace(line=1, column=1))
        return
    for index, row in enumerate(rows):
        if not isinstance(row, dict) or "insert" in row or "name" not in row:
            position = document.position(rows, index)
            at = place._replace(line=position[0], column=position[1]) if position else place
            why = f"preset {preset}: entry {index + 1} is no row with a name"
            yield Finding(kinds.PRESET_FILE_INVALID, why, at)
