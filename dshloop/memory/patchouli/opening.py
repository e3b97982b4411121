"""Finding Patchouli's storage: its socket, else its file."""

from __future__ import annotations

import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

from dshloop.errors import PeerDownError
from dshloop.files import shown
from dshloop.memory.patchouli.found import Scope
from dshloop.memory.patchouli.from_file import FileSource
from dshloop.memory.patchouli.over_socket import SocketSource
from dshloop.memory.patchouli.store import PatchouliStore
from dshloop.memory.patchouli_socket.client import DEFAULT_ENDPOINT

PROVIDERS = "~/.patchouli/providers.json"
DATABASE = "data/patchouli.db"
USER = "agent-loop:dsh-patchouli-agent-loop"
"""The user of what the artifact ingestor stores (patchouli 9.4)."""

Setting = Callable[[str], Any]
Place = Callable[[str], Path]
Notice = Callable[[str], None]


def open_patchouli(
    where: str | None, setting: Setting, place: Place, notice: Notice | None = None
) -> PatchouliStore:
    """Open the socket or the file that is named, else the socket, else the file beside it.

    Raises PEER_DOWN when there is neither, and what opening the file raises.
    """
    notice = notice or (lambda _text: None)
    if where:
        path = place(where)
        reads_file = path.is_file() or (not _is_socket(path) and path.suffix == ".db")
        return _file(path, setting, notice) if reads_file else _socket(path, setting, place, notice)
    socket, file = setting("memory.patchouli.socket"), setting("memory.patchouli.file")
    if file and not socket:
        return _file(place(file), setting, notice)
    try:
        return _socket(place(socket or DEFAULT_ENDPOINT), setting, place, notice, ask=True)
    except PeerDownError as error:
        database = place(file) if file else database_of(place(PROVIDERS))
        if not database.is_file():
            raise
        notice(f"{error.message}; {shown(database)} is read instead")
        return _file(database, setting, notice)


def database_of(providers: Path) -> Path:
    """Give the file of the local provider, the usual one where none is named."""
    import json

    usual = providers.parent / DATABASE
    try:
        named = json.loads(providers.read_bytes())["providers"]["local"]["database"]
    except (OSError, ValueError, KeyError, TypeError):
        return usual
    return providers.parent / named if isinstance(named, str) and named else usual


def _socket(
    path: Path, setting: Setting, place: Place, notice: Notice, *, ask: bool = False
) -> PatchouliStore:
    source = SocketSource(path, _scope(setting, place("")))
    if ask:
        source.client.handshake()
    return PatchouliStore(source, notice)


def _file(path: Path, setting: Setting, notice: Notice) -> PatchouliStore:
    """Read a file: one scope where a workspace is set, else all."""
    named = setting("memory.patchouli.workspace")
    scope = _scope(setting, Path(named)) if named else None
    return PatchouliStore(FileSource(path, scope), notice)


def _scope(setting: Setting, here: Path) -> Scope:
    return {
        "workspace_id": setting("memory.patchouli.workspace") or str(here),
        "user_id": setting("memory.patchouli.user") or USER,
    }


def _is_socket(path: Path) -> bool:
    try:
        return stat.S_ISSOCK(path.stat().st_mode)
    except OSError:
        return False
