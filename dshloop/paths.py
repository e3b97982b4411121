"""Where things live: DSH's home, and our data and configuration folders (design: Places)."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from dshloop.errors import HomeUnknownError


@dataclass(frozen=True, slots=True)
class Places:
    """The three folders everything is under; all absolute, none created by asking."""

    dsh_home: Path
    data: Path
    config: Path

    @property
    def profiles(self) -> Path:
        """DSH's profiles."""
        return self.dsh_home / "profiles"

    @property
    def dsh_sessions(self) -> Path:
        """DSH's session logs, which we read and never write."""
        return self.dsh_home / "sessions"

    @property
    def sessions(self) -> Path:
        """Our session logs."""
        return self.data / "sessions"

    @property
    def trash(self) -> Path:
        """Our sessions that were deleted and can be restored."""
        return self.data / "trash"

    @property
    def outbox(self) -> Path:
        """What is on its way to memory stores, a file for each."""
        return self.data / "outbox"

    @property
    def session_index(self) -> Path:
        """What listings and searches remember of sessions; removed, it is made anew."""
        return self.data / "cache" / "sessions.db"

    @property
    def memory_db(self) -> Path:
        """The embedded memory store."""
        return self.data / "memory.db"

    @property
    def synonyms(self) -> Path:
        """A user's words that mean the same, for recall."""
        return self.config / "synonyms.txt"

    @property
    def journal(self) -> Path:
        """What `history`, `undo` and `redo` work on."""
        return self.data / "journal"

    @property
    def locks(self) -> Path:
        """Our lock files; they hold no data."""
        return self.data / "locks"

    @property
    def packages_cache(self) -> Path:
        """What installed packages offer, for completion; it can be removed at any time."""
        return self.data / "cache" / "packages.json"

    @property
    def config_file(self) -> Path:
        """The one configuration file."""
        return self.config / "config.yml"


def find_places(
    variables: Mapping[str, str],
    cwd: Path,
    *,
    home: str | None = None,
    data_dir: str | None = None,
) -> Places:
    """Find the folders: options first, then DSH_HOME, DSHLOOP_DATA, DSHLOOP_CONFIG, then defaults.

    A blank value counts as unset, ``~`` is expanded, a relative path is taken from ``cwd``
    (dsh-profiles 1). Raises HOME_UNKNOWN when a default is needed and there is no home folder.
    """
    data = _named(data_dir, variables.get("DSHLOOP_DATA"))
    config = _named(variables.get("DSHLOOP_CONFIG"))
    return Places(
        dsh_home=absolute(_named(home, variables.get("DSH_HOME")) or "~/.dsh", cwd, variables),
        data=absolute(data or _user_folder("data"), cwd, variables),
        config=absolute(config or _user_folder("config"), cwd, variables),
    )


def absolute(path: str, cwd: Path, variables: Mapping[str, str]) -> Path:
    """Make a path that a user typed absolute, with ``~`` taken as their home; links stay."""
    if path == "~" or path.startswith(("~/", "~\\")):
        path = _home(variables) + path[1:]
    return Path(os.path.normpath(cwd / path))


def private_folder(path: Path) -> Path:
    """Create a folder of ours and its missing parents with mode 0700; give it back."""
    for folder in (*reversed(path.parents), path):
        if not folder.exists():
            folder.mkdir(mode=0o700, exist_ok=True)
    return path


def _named(*values: str | None) -> str | None:
    return next((value for value in values if value and value.strip()), None)


def _home(variables: Mapping[str, str]) -> str:
    home = variables.get("HOME") or variables.get("USERPROFILE") or os.path.expanduser("~")  # noqa: PTH111 - Path raises
    if home == "~":  # neither a variable nor the system's list of users knows
        raise HomeUnknownError("this user has no home folder")
    return home


def _user_folder(kind: str) -> str:
    """Give platformdirs' folder; it begins with ``~`` where no home is known."""
    import platformdirs

    find = platformdirs.user_data_dir if kind == "data" else platformdirs.user_config_dir
    return find("dshloop", appauthor=False)
