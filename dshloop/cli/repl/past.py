"""What was typed before in this project, for the arrow keys and Ctrl-R."""

from __future__ import annotations

from pathlib import Path

from prompt_toolkit.history import FileHistory

from dshloop.files import replace_file, writing
from dshloop.memory.project import project_folder
from dshloop.paths import Places, private_folder
from dshloop.sessions.naming import folder_of

FOLDER = "typed"
_LARGEST = 1 << 20  # bytes; a file that is larger loses its older half when it is opened


def history_of(places: Places, cwd: Path) -> FileHistory:
    """Open the history of the project that a folder belongs to, a private file of ours.

    A project is the folder that holds ``.git``, else the folder itself. Raises WRITE_FAILED.
    """
    path = places.data / FOLDER / folder_of(str(project_folder(cwd)))
    with writing(path):
        private_folder(path.parent)
        path.touch(mode=0o600)
        if path.stat().st_size > _LARGEST:
            _shorten(path)
    return FileHistory(str(path))


def _shorten(path: Path) -> None:
    """Keep the newer half, from the beginning of an entry on: a line ``# time``."""
    kept = path.read_bytes()[-_LARGEST // 2 :]
    _, mark, rest = kept.partition(b"\n# ")
    replace_file(path, mark + rest, mode=0o600)
