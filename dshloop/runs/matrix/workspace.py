"""The copy of the workspace that a cell works in."""

from __future__ import annotations

import shutil
import stat
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from dshloop.errors import WorkspaceUncopiedError
from dshloop.files import shown, why


def copied(workspace: Path, copy: Path, without: Path) -> Path:
    """Copy a workspace afresh and give the copy.

    Left out are sockets, pipes and devices, which are no content, and the folder ``without``: our
    own data, where the copy itself may lie. Raises WORKSPACE_UNCOPIED.
    """

    def left_out(folder: str, names: Sequence[str]) -> list[str]:
        return [name for name in names if not _is_content(Path(folder, name), without)]

    shutil.rmtree(copy, ignore_errors=True)
    try:
        shutil.copytree(workspace, copy, symlinks=True, ignore=left_out)
    except shutil.Error as faults:
        source, _, reason = faults.args[0][0]
        more = f", and {len(faults.args[0]) - 1} more" if len(faults.args[0]) > 1 else ""
        raise _uncopied(workspace, f"{shown(source)}: {reason}{more}") from None
    except OSError as fault:
        raise _uncopied(workspace, why(fault)) from None
    return copy


def _is_content(path: Path, without: Path) -> bool:
    kind = 0
    with suppress(OSError):  # copying tells what is wrong with it
        kind = path.lstat().st_mode
    if any(test(kind) for test in (stat.S_ISSOCK, stat.S_ISFIFO, stat.S_ISCHR, stat.S_ISBLK)):
        return False
    return not (stat.S_ISDIR(kind) and without.exists() and path.samefile(without))


def _uncopied(workspace: Path, reason: str) -> WorkspaceUncopiedError:
    return WorkspaceUncopiedError(
        f"can't copy the workspace {shown(workspace)}: {reason}", workspace=shown(workspace)
    )
