"""Bringing a schema to that of this version, and refusing one of a later dshloop."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dshloop.errors import StoreNewerError, StoreOlderError
from dshloop.memory.postgres.schema import MIGRATIONS, PGVECTOR

if TYPE_CHECKING:
    from dshloop.memory.postgres.connection import Server

_LOCK = "SELECT pg_advisory_xact_lock(hashtextextended('dshloop migrations ' || %s, 0))"
# Read as any table: what looks names up may remember from before the lock that there is none.
_THERE = """
    SELECT EXISTS (
      SELECT 1 FROM pg_catalog.pg_tables WHERE schemaname = %s AND tablename = 'migrations'
    )
"""


_EXTENSION = """
    SELECT n.nspname FROM pg_catalog.pg_extension AS e
    JOIN pg_catalog.pg_namespace AS n ON n.oid = e.extnamespace WHERE e.extname = 'vector'
"""
_AVAILABLE = "SELECT 1 FROM pg_catalog.pg_available_extensions WHERE name = 'vector'"


def version_of(server: Server, schema: str) -> int:
    """Give how many migrations a schema has had, 0 when there is none. Raises STORE_NEWER."""
    [there] = server.execute(_THERE, (schema,)).fetchone() or (False,)
    if not there:
        return 0
    counted = server.execute(f"SELECT count(number) FROM {_name(schema)}.migrations").fetchone()
    version = int(counted[0]) if counted else 0
    if version > len(MIGRATIONS):
        raise StoreNewerError(
            f"the schema {schema} was made by a later dshloop ({version}, known {len(MIGRATIONS)})",
            hint="Upgrade dshloop (pip install --upgrade dshloop), or name another database.",
            schema=version,
            known=len(MIGRATIONS),
        )
    return version


def migrate(server: Server, schema: str) -> None:
    """Run the migrations that are missing, all or none; whoever comes meanwhile waits."""
    with server.transaction():
        server.execute("SET LOCAL statement_timeout = 0")
        server.execute("SET LOCAL lock_timeout = 0")
        server.execute(_LOCK, (schema,))
        done = version_of(server, schema)  # asked again under the lock
        if done == len(MIGRATIONS):
            return
        if done == 0:
            server.execute(f"CREATE SCHEMA IF NOT EXISTS {_name(schema)}")
            server.execute(
                f"CREATE TABLE {_name(schema)}.migrations "
                "(number integer PRIMARY KEY, at timestamptz NOT NULL DEFAULT now())"
            )
        for number, statements in enumerate(MIGRATIONS[done:], done + 1):
            for statement in statements:
                server.execute(statement.replace("{schema}", _name(schema)))
            server.execute(f"INSERT INTO {_name(schema)}.migrations (number) VALUES ({number})")
        add_pgvector(server, schema)


def add_pgvector(server: Server, schema: str) -> bool:
    """Let the server find nearest vectors where it has pgvector; tell whether it does now."""
    import psycopg

    found = server.execute(_EXTENSION).fetchone()
    if found is None and server.execute(_AVAILABLE).fetchone() is None:
        return False
    vector = _name("public" if found is None else found[0])
    try:
        with server.transaction():
            server.execute("SET LOCAL statement_timeout = 0")
            server.execute("CREATE EXTENSION IF NOT EXISTS vector SCHEMA public")
            for statement in PGVECTOR:
                named = statement.replace("{schema}", _name(schema))
                server.execute(named.replace("{vector}", vector))
    except psycopg.errors.InsufficientPrivilege:  # who may not do that can do without
        return False
    return True


def refuse_older(version: int, schema: str) -> None:
    """Refuse a schema that only somebody who may write could bring forward; STORE_OLDER."""
    if 0 < version < len(MIGRATIONS):
        raise StoreOlderError(
            f"the schema {schema} is that of an earlier dshloop ({version}, now {len(MIGRATIONS)}),"
            " and may only be read",
            hint="Let its owner run any memory command once without --readonly.",
            schema=version,
        )


def _name(schema: str) -> str:
    return '"' + schema.replace('"', '""') + '"'
