"""The verbs about stores themselves: which there are, and which one is used."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import typer

from dshloop.cli.invocation import Invocation
from dshloop.cli.memory import complete
from dshloop.cli.memory.common import module_app
from dshloop.cli.params import Command, invocation
from dshloop.errors import UsageError
from dshloop.result import Caution, Document, Result, Table

app = module_app()
_VARIABLE = "DSHLOOP_STORE"
_SETTING = "memory.store"


@app.command(cls=Command)
def stores(ctx: typer.Context) -> Result[list[dict[str, Any]]]:
    """List the stores, which one is used, and why."""
    from dshloop.memory.stores import STORES, shown_store

    run = invocation(ctx)
    used, why = _in_use(run)
    names = [*STORES, *([] if used in STORES else [used])]
    found = [
        {
            "name": shown_store(name),
            "known": name in STORES,
            "in_use": name == used,
            "why": why if name == used else None,
            "where": where_of(run, name),
        }
        for name in names
    ]
    rows = [_row(row) for row in found]
    return Result(found, Table(("NAME", "USED", "BECAUSE OF", "WHERE"), rows))


@app.command(cls=Command, epilog="Example: dshloop memory use embedded")
def use(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(help="The store.", autocompletion=complete.stores)],
    dsn: Annotated[
        str | None,
        typer.Option(
            "--dsn", metavar="DSN", help="How to connect to PostgreSQL, without a password."
        ),
    ] = None,
    password_variable: Annotated[
        str | None,
        typer.Option(
            "--password-variable", metavar="NAME", help="The variable that holds its password."
        ),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show the change as a diff and write nothing.")
    ] = False,
) -> Result[dict[str, Any]]:
    """Use a store from now on: sets memory.store in config.yml.

    The password of PostgreSQL comes from the environment, a service file or ~/.pgpass; it is never
    stored.
    """
    from dshloop.config import plan_settings, write_config
    from dshloop.journal import Plan
    from dshloop.memory.stores import STORES, shown_store, unknown

    run = invocation(ctx)
    if name not in STORES:
        raise unknown(name)
    journal = run.journal_for(dry_run=dry_run)
    settings = {_SETTING: name, **_connection(name, dsn, password_variable)}
    change = plan_settings(run.places, settings)
    changed = change.before != change.after
    data = {"store": name, "file": str(change.path), "changed": changed}
    if dry_run:
        diff = Plan((change,)).diff()
        return Result({**data, "dry_run": True, "diff": diff}, Document(diff))
    if changed:
        write_config(journal, change, command=run.command)
    other = run.env.variables.get(_VARIABLE)
    warnings = []
    if other and other != name:
        warnings.append(
            Caution(f"${_VARIABLE} is {shown_store(other)}, which counts more", "STORE_OVERRIDDEN")
        )
    said = f"{'changed' if changed else 'nothing to change in'} {change.path}"
    return Result(data, notices=[said], warnings=warnings)


def _connection(name: str, dsn: str | None, password_variable: str | None) -> dict[str, str]:
    """Give the settings of options that are PostgreSQL's alone. Raises STORE_PASSWORD."""
    from dshloop.memory.postgres import opening
    from dshloop.memory.stores import POSTGRES

    given = {opening.DSN: dsn, opening.PASSWORD_VARIABLE: password_variable}
    settings = {key: value for key, value in given.items() if value is not None}
    if settings and name != POSTGRES:
        raise UsageError(f"--dsn and --password-variable go with the store {POSTGRES}")
    if dsn is not None:
        opening.parts_of(dsn)
    return settings


def where_of(run: Invocation, name: str) -> str | None:
    """Give where a store is as far as that is known without looking."""
    from dshloop.memory.stores import AGENTMEMORY, EMBEDDED, PATCHOULI, POSTGRES

    if name == EMBEDDED:
        return str(run.places.memory_db)
    if name == AGENTMEMORY:
        from dshloop.memory.agentmemory_client.address import configured_url, shown_url

        return shown_url(configured_url(run.config.get, run.env.variables))
    if name == POSTGRES:
        return without_password(run.config.get("memory.postgres.dsn"))
    if name != PATCHOULI:
        return None
    from dshloop.memory.patchouli_socket.client import DEFAULT_ENDPOINT

    return run.config.get("memory.patchouli.socket") or DEFAULT_ENDPOINT


def without_password(dsn: str | None) -> str | None:
    """Give a connection string for people; one that somebody wrote by hand may have a password."""
    from dshloop.redact import redact_text

    return None if dsn is None else redact_text(dsn)


def _row(store: Mapping[str, Any]) -> tuple[str, ...]:
    name = store["name"] if store["known"] else f"{store['name']} (unknown)"
    return name, "*" if store["in_use"] else "", store["why"] or "", store["where"] or ""


def _in_use(run: Invocation) -> tuple[str, str]:
    """Give the store that a verb would use without --store, and what says so."""
    from dshloop.memory.stores import EMBEDDED

    named = run.env.variables.get(_VARIABLE)
    if named:
        return named, f"${_VARIABLE}"
    config = run.config
    named = config.get(_SETTING)
    if named:
        return named, f"{_SETTING} in {config.path}"
    return EMBEDDED, "default"
