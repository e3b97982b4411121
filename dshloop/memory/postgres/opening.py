"""Finding the server: a connection string without a password, and the password from elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from dshloop.errors import (
    PostgresMissingError,
    StorePasswordError,
    StoreUnknownError,
    StoreUnreachableError,
)

if TYPE_CHECKING:
    from dshloop.memory.postgres.pools import Place
    from dshloop.memory.postgres.store import PostgresStore
    from dshloop.memory.stores import Opening

DSN = "memory.postgres.dsn"
SCHEMA = "memory.postgres.schema"
PASSWORD_VARIABLE = "memory.postgres.password_variable"
SECONDS = "memory.postgres.timeout"
DEFAULT_SCHEMA = "dshloop"
_EXAMPLE = "dshloop memory use postgres --dsn postgresql://USER@HOST/DATABASE"

Setting = Callable[[str], Any]


def open_postgres(
    where: str, setting: Setting, variables: Mapping[str, str], opening: Opening
) -> PostgresStore:
    """Open the store that a connection string names, else that of config.yml; nothing is sent yet.

    Raises POSTGRES_UNAVAILABLE, STORE_PASSWORD, STORE_UNKNOWN, STORE_UNREACHABLE.
    """
    place = place_of(where or setting(DSN) or "", setting, variables)
    from dshloop.memory.postgres.store import PostgresStore

    return PostgresStore(place, **opening)


def place_of(dsn: str, setting: Setting, variables: Mapping[str, str]) -> Place:
    """Say where a store is. What a connection string leaves open libpq finds: $PGHOST and its
    like, a service file, ~/.pgpass."""
    if not dsn and not any(name in variables for name in ("PGHOST", "PGSERVICE", "PGDATABASE")):
        raise StoreUnknownError(
            "nothing says where the store postgres is",
            hint=f"Name it: {_EXAMPLE}",
            store="postgres",
        )
    parts_of(dsn)
    from dshloop.memory.postgres.pools import Place

    place = Place(dsn, setting(SCHEMA) or DEFAULT_SCHEMA, _password(setting, variables))
    seconds = setting(SECONDS)
    return place if seconds is None else place._replace(statement_seconds=float(seconds))


def parts_of(dsn: str) -> Mapping[str, Any]:
    """Take a connection string apart. Raises STORE_PASSWORD where it has one in it,
    STORE_UNREACHABLE where it can't be read, POSTGRES_UNAVAILABLE."""
    try:
        from psycopg import ProgrammingError
        from psycopg.conninfo import conninfo_to_dict
    except ImportError as error:
        raise PostgresMissingError(f"the package {error.name} is not installed") from error
    try:
        given = conninfo_to_dict(dsn)
    except ProgrammingError as error:  # what it says may repeat the string
        raise StoreUnreachableError(
            "the connection string can't be read",
            hint=f"It is like postgresql://USER@HOST:PORT/DATABASE or host=HOST dbname=DATABASE. "
            f"{_EXAMPLE}",
        ) from error
    if given.get("password") is not None or given.get("sslpassword") is not None:
        raise StorePasswordError("the connection string has a password in it; it is not stored")
    return given


def _password(setting: Setting, variables: Mapping[str, str]) -> str | None:
    """Give the password of the variable that is named; without one libpq looks for it."""
    name = setting(PASSWORD_VARIABLE)
    if not name:
        return variables.get("PGPASSWORD")
    if name not in variables:
        raise StoreUnreachableError(
            f"${name}, which {PASSWORD_VARIABLE} names, is not set",
            hint="Set it, or take the setting away: dshloop config unset " + PASSWORD_VARIABLE,
            variable=name,
        )
    return variables[name]
