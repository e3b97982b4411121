"""Which memory store is meant, and opening it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

from dshloop.errors import StoreUnknownError
from dshloop.files import shown
from dshloop.memory.store import MemoryReader, MemoryRecorder, MemoryStore

if TYPE_CHECKING:
    from dshloop.memory.embedding import Embedder

EMBEDDED = "embedded"
PATCHOULI = "patchouli"
AGENTMEMORY = "agentmemory"
POSTGRES = "postgres"
STORES = (EMBEDDED, POSTGRES, AGENTMEMORY, PATCHOULI)
PATCHOULI_HOME = "~/.patchouli"
_NO_VARIABLES: Mapping[str, str] = {}
DATABASE = "memory.db"
"""What the embedded store's file is called in a data folder."""


class Opening(TypedDict, total=False):
    """How an embedded store is opened.

    ``readonly`` refuses every write; ``notice`` is called with what a person should know.
    ``embedder`` opens the model for recall by meaning, which ``semantic`` makes the usual way;
    ``synonyms`` is a user's file of them.
    """

    clock: Callable[[], float]
    readonly: bool
    notice: Callable[[str], None] | None
    embedder: Callable[[], Embedder] | None
    semantic: bool
    synonyms: Path | None


def open_store(
    name: str | None,
    *,
    database: Path,
    place: Callable[[str], Path] = Path,
    setting: Callable[[str], Any] = lambda _key: None,
    variables: Mapping[str, str] = _NO_VARIABLES,
    **opening: Unpack[Opening],
) -> MemoryStore:
    """Open a store by name, the embedded one when there is none; raises STORE_UNKNOWN.

    ``database`` is the embedded store's file; nothing is created before something is remembered.
    ``embedded:PATH`` is another file, or the one in a folder; ``place`` makes its path absolute.
    ``patchouli`` and ``patchouli:PATH`` (a socket or a file) is Patchouli's storage, found by what
    ``setting`` gives of config.yml's keys. ``agentmemory`` and ``agentmemory:URL`` is the daemon of
    that name; ``variables`` (of the environment) may hold its address, and hold its secret.
    ``postgres``, ``postgres:DSN`` and ``postgres://...`` (a connection string without a password)
    is PostgreSQL.
    """
    other = _other(name, setting, place, variables, opening)
    if other is not None:
        return other
    file = _database(name, database, place, readonly=opening.get("readonly", False))
    from dshloop.memory.sqlite.store import SqliteStore

    return SqliteStore(file, **opening)


def open_reader(
    name: str | None,
    *,
    database: Path,
    place: Callable[[str], Path] = Path,
    setting: Callable[[str], Any] = lambda _key: None,
    variables: Mapping[str, str] = _NO_VARIABLES,
    **opening: Unpack[Opening],
) -> MemoryReader:
    """Open what only reads a store: like `open_store`, in half the time.

    Without ``readonly`` a file of an older schema is brought forward.
    """
    other = _other(name, setting, place, variables, opening)
    if other is not None:
        return other
    file = _database(name, database, place, readonly=opening.get("readonly", False))
    from dshloop.memory.sqlite.reader import SqliteReader

    return SqliteReader(file, **opening)


def open_recorder(
    name: str | None,
    *,
    database: Path,
    place: Callable[[str], Path] = Path,
    setting: Callable[[str], Any] = lambda _key: None,
    variables: Mapping[str, str] = _NO_VARIABLES,
    **opening: Unpack[Opening],
) -> MemoryRecorder:
    """Open what takes down what happens in a store: like `open_store`, in half the time."""
    other = _other(name, setting, place, variables, opening)
    if other is not None:
        return other
    file = _database(name, database, place, readonly=opening.get("readonly", False))
    from dshloop.memory.sqlite.recorder import SqliteRecorder

    return SqliteRecorder(file, **opening)


def distinct_stores(
    names: Sequence[str],
    *,
    database: Path,
    place: Callable[[str], Path] = Path,
    setting: Callable[[str], Any] = lambda _key: None,
) -> Sequence[str]:
    """Give the names that mean different stores: of a database under two names the first stays.

    Raises STORE_UNKNOWN, STORE_PASSWORD.
    """
    found: dict[Any, str] = {}
    for name in names:
        kind, where = kind_and_place(name)
        meant: Any = name
        if kind == POSTGRES:
            from dshloop.memory.postgres.opening import DSN, parts_of

            meant = POSTGRES, *sorted(parts_of(where or setting(DSN) or "").items())
        elif kind not in (AGENTMEMORY, PATCHOULI):
            meant = _database(name, database, place, readonly=False).resolve()
        found.setdefault(meant, name)
    return list(found.values())


def kind_and_place(name: str) -> tuple[str, str]:
    """Take a store's name apart; a connection string may stand for itself."""
    if name.startswith(("postgres://", "postgresql://")):
        return POSTGRES, name
    kind, _, where = name.partition(":")
    return kind, where


def shown_store(name: str) -> str:
    """Say a store's name for people: without a password that may be in it."""
    from dshloop.redact import redact_text

    return redact_text(name) if ":" in name else name


def set_up_stores(
    setting: Callable[[str], Any], variables: Mapping[str, str], place: Callable[[str], Path]
) -> Sequence[str]:
    """Name the stores that are asked where all are meant: the embedded one, the one in use, and
    each that something is known of: a part ``memory.NAME`` in config.yml, its variable NAME_URL,
    or Patchouli's folder in the usual place. None of them is looked for on the network."""
    used = variables.get("DSHLOOP_STORE") or setting("memory.store")
    known = [
        name
        for name in STORES
        if setting(f"memory.{name}")
        or variables.get(f"{name.upper()}_URL", "").strip()
        or (name == PATCHOULI and place(PATCHOULI_HOME).is_dir())
    ]
    return list(dict.fromkeys([EMBEDDED, *([used] if used else ()), *known]))


def _other(
    name: str | None,
    setting: Callable[[str], Any],
    place: Callable[[str], Path],
    variables: Mapping[str, str],
    opening: Opening,
) -> MemoryStore | None:
    """Open a store that is not the embedded one; None where that is meant."""
    kind, where = kind_and_place(name or EMBEDDED)
    if kind == AGENTMEMORY:
        from dshloop.memory.agentmemory.opening import open_agentmemory

        return open_agentmemory(where, setting, variables, opening)
    if kind == POSTGRES:
        from dshloop.memory.postgres.opening import open_postgres

        return open_postgres(where, setting, variables, opening)
    if kind != PATCHOULI:
        return None
    from dshloop.memory.patchouli.opening import open_patchouli

    return open_patchouli(where, setting, place, opening.get("notice"))


def _database(
    name: str | None, usual: Path, place: Callable[[str], Path], *, readonly: bool
) -> Path:
    """Give the file that a store's name means. Raises STORE_UNKNOWN."""
    kind, colon, where = (name or EMBEDDED).partition(":")
    if kind == EMBEDDED and colon and where:
        return _database_at(place(where), readonly=readonly)
    if (name or EMBEDDED) != EMBEDDED:
        raise unknown(name or "")
    return usual


def unknown(name: str) -> StoreUnknownError:
    """Give the error that says that there is no such store."""
    told, hint = shown_store(name), f"Stores: {', '.join(STORES)}."
    return StoreUnknownError(f'there is no memory store "{told}"', hint=hint, store=told)


def _database_at(path: Path, *, readonly: bool) -> Path:
    """Give the database that a path names: a file, or the one in a folder.

    Raises STORE_UNKNOWN where there is none to read.
    """
    file = path / DATABASE if path.is_dir() else path
    if readonly and not file.exists():
        where = shown(file)
        raise StoreUnknownError(f"there is no memory database {where}", store=where)
    return file
