"""The tool `list`: what lies in a folder of the workspace."""

from __future__ import annotations

import os
from itertools import islice

from dshloop.files import shown
from dshloop.plugins.workspace_tools.walking import Found, rules_above, walk
from dshloop.plugins.workspace_tools.workspace import Workspace

MOST = 500


def list_folder(workspace: Workspace, path: str = ".", depth: int = 1) -> str:
    """Give the lines of a folder. Raises ToolFailure as `Workspace.folder`."""
    with workspace.folder(path) as (folder, real):
        rules = rules_above(workspace.root, real)
        found = [_line(one) for one in islice(walk(folder, real, rules, depth), MOST + 1)]
    if not found:
        return f"[{shown(path)} is empty, or git ignores all of it]"
    if len(found) > MOST:
        found[MOST:] = [f"[more than {MOST}: list the folders below one by one]"]
    return "\n".join(found)


def _line(found: Found) -> str:
    name = shown(found.path)
    if found.is_folder:
        return f"{name}/"
    if found.is_link:
        return f"{name} -> {shown(_target(found))}"
    return f"{name}  {found.status.st_size}" if found.is_file else f"{name}  [no file]"


def _target(found: Found) -> str:
    try:
        return os.readlink(found.name, dir_fd=found.folder)
    except OSError:
        return "?"
