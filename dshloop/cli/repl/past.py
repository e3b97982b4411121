"""What was typed before in this project, for the arrow keys and Ctrl-R."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from prompt_toolkit.history import FileHistory

from dshloop.errors import WriteFailedError
from dshloop.files import replace_file, shown, why, writing
from dshloop.memory.project import project_folder
from dshloop.paths import Places, private_folder
from dshloop.sessions.naming import folder_of

FOLDER = "typed"
_LARGEST = 1 << 20  # bytes; a file that is larger loses its older half when it is opened


class Past(FileHistory):
    """A history whose file may fail: what is typed is then remembered for this conversation only.

    ``fault`` says why, for the person; None as long as all is well.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(str(path))
        self.fault: str | None = None

    def load_history_strings(self) -> Iterable[str]:
        """Give what was typed, newest first."""
        try:
            return super().load_history_strings()
        except OSError as error:
            self._failed(error)
            return ()

    def store_string(self, string: str) -> None:
        """Add what was typed to the file."""
        try:
            super().store_string(string)
        except OSError as error:
            self._failed(error)

    def open(self) -> None:
        """Make the file, private, or shorten it."""
        path = Path(str(self.filename))
        try:
            with writing(path):
                private_folder(path.parent)
                path.touch(mode=0o600)
                if path.stat().st_size > _LARGEST:
                    _shorten(path)
        except WriteFailedError as error:
            self._fails(error.message)

    def _failed(self, error: OSError) -> None:
        self._fails(f"{shown(Path(str(self.filename)))}: {why(error)}")

    def _fails(self, reason: str) -> None:
        told = f"what you type is remembered for this conversation only: {reason}"
        self.fault = self.fault or told


def history_of(places: Places, cwd: Path) -> Past:
    """Open the history of the project that a folder belongs to, a private file of ours.

    A project is the folder that holds ``.git``, else the folder itself.
    """
    past = Past(places.data / FOLDER / folder_of(str(project_folder(cwd))))
    past.open()
    return past


def _shorten(path: Path) -> None:
    """Keep the newer half, from the beginning of an entry on: a line ``# time``."""
    kept = path.read_bytes()[-_LARGEST // 2 :]
    _, mark, rest = kept.partition(b"\n# ")
    replace_file(path, mark + rest, mode=0o600)
