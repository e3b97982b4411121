"""Telling PostgreSQL's errors apart, in our words."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from dshloop.errors import (
    DshloopError,
    StoreBusyError,
    StoreCorruptError,
    StoreForbiddenError,
    StoreReadOnlyError,
    StoreUnreachableError,
    WriteFailedError,
)

if TYPE_CHECKING:
    import psycopg

_BUSY = {
    "55P03": "somebody kept what was wanted locked for too long",
    "40P01": "two changes waited for each other",
    "40001": "another change came between",
    "57014": "it took longer than the server may take for one statement",
}
_GONE = ("57P", "08", "53300")
"""The server goes down or comes up, has no connection left, or the connection broke."""
_FULL = ("53", "54")
_REFUSED = ("28", "3D000")
_IDS = ("entries_id_key", "sessions_pkey")
_HOPELESS = (
    "password", "authentication", "does not exist", "no pg_hba.conf", "definition of", "SSL",
    "certificate", "invalid port", "unrecognized",
)  # fmt: skip


@contextmanager
def explained(where: str) -> Iterator[None]:
    """Turn errors of PostgreSQL and its pool into ours, naming the place; faults of ours stay."""
    import psycopg

    try:
        yield
    except psycopg.Error as error:
        raise ours(error, where) from error


def lost(error: BaseException) -> bool:
    """Tell whether the connection is gone, or none was to be had for now."""
    import psycopg

    if not isinstance(error, psycopg.OperationalError):
        return False
    state = error.sqlstate
    return state is None or state.startswith(_GONE)


def hopeless(error: psycopg.Error) -> bool:
    """Tell whether trying again would end the same: the server answered, and refused."""
    if error.sqlstate is not None:
        return error.sqlstate.startswith(_REFUSED)
    text = str(error)
    return any(one in text for one in _HOPELESS)


def ours(error: psycopg.Error, where: str) -> DshloopError:
    """Give the error that says what happened to a store at a place."""
    state, text = error.sqlstate or "", _line(error)
    if state in _BUSY:
        return StoreBusyError(f"{where} is busy: {_BUSY[state]}", hint="Nothing was changed. Run "
                              "the command again.", where=where)  # fmt: skip
    if state == "25006":
        return StoreReadOnlyError(f"{where} may only be read", where=where)
    if state == "23505" and error.diag.constraint_name in _IDS:  # it is there, but hidden
        return StoreForbiddenError(
            f"{where} refused: something that this role may not see has the same id", where=where
        )
    if state == "42501":
        return StoreForbiddenError(f"{where} refused: {text}", where=where)
    if lost(error) or hopeless(error):
        return StoreUnreachableError(f"can't reach {where}: {text}", where=where)
    if state.startswith(_FULL):
        return WriteFailedError(f"can't write to {where}: {text}", where=where)
    return StoreCorruptError(
        f"{where} failed: {text}",
        hint="Was a table changed by hand, or does the schema hold something else? "
        "memory.postgres.schema names another one.",
        where=where,
        state=state,
    )


def _line(error: psycopg.Error) -> str:
    """Say it in the server's words, without the statement that they were about."""
    from dshloop.redact import redact_text

    said = error.diag.message_primary or str(error)
    return redact_text(" ".join(said.split()))
