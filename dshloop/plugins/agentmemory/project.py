"""Which project a session belongs to: one rule for writing, injecting and the tools."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from dshloop.memory.project import VARIABLE, project_here

NAMELESS = "DSH"


def project_of(variables: Mapping[str, str], cwd: str | None) -> str:
    """Name a session's project (dsh-agentmemory-bridge 5).

    $AGENTMEMORY_PROJECT_NAME, else the name of the git top level of ``cwd``, else the last part of
    ``cwd`` (of a path of Windows too), else ``DSH``.
    """
    named = variables.get(VARIABLE, "").strip()
    if named or not cwd:
        return named or NAMELESS
    last = next((part for part in reversed(re.split(r"[/\\]", cwd)) if part), NAMELESS)
    folder = Path(cwd)
    if not folder.is_absolute() or not _is_there(folder):
        return last
    found = project_here({}, folder)
    return found if found != folder.anchor else last


def _is_there(folder: Path) -> bool:
    try:
        return folder.is_dir()
    except (OSError, ValueError):
        return False
