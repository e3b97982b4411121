"""Which project a memory belongs to."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

VARIABLE = "AGENTMEMORY_PROJECT_NAME"


def project_here(variables: Mapping[str, str], cwd: Path) -> str:
    """Name the project one stands in.

    $AGENTMEMORY_PROJECT_NAME, else the name of the folder that holds ``.git`` (a folder, or a file
    in a work tree), else the working directory's name; ``/`` is its own name.
    """
    named = variables.get(VARIABLE, "").strip()
    if named:
        return named
    top = project_folder(cwd)
    return top.name or str(top)


def project_folder(cwd: Path) -> Path:
    """Give the folder of the project one stands in: the nearest that holds ``.git``, or this."""
    return next((folder for folder in (cwd, *cwd.parents) if _has_git(folder)), cwd)


def project_filter(asked: str | None, variables: Mapping[str, str], cwd: Path) -> str | None:
    """Read a ``--project`` option: ``.`` is the project one stands in, none (or blank) is all."""
    name = (asked or "").strip()
    return project_here(variables, cwd) if name == "." else name or None


def _has_git(folder: Path) -> bool:
    try:
        return (folder / ".git").exists()
    except OSError:  # a parent that may not be looked into
        return False
