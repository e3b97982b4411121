"""`dshloop config`: read and change config.yml."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from dshloop.cli.complete import setting_keys
from dshloop.cli.invocation import Invocation
from dshloop.cli.params import Command, invocation, new_app
from dshloop.result import Document, Result, Table

if TYPE_CHECKING:
    from dshloop.journal import Change, Journal

app = new_app("config", "Read and change dshloop's own settings.")

Key = Annotated[
    str, typer.Argument(help="The setting, e.g. memory.store.", autocompletion=setting_keys)
]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Show the change as a diff and write nothing.")
]


@app.command("list", cls=Command)
def list_settings(ctx: typer.Context) -> Result[list[dict[str, Any]]]:
    """List every setting, its value and what it does."""
    from dshloop.config import SETTINGS

    config = invocation(ctx).config
    data = [
        {"key": item.key, "value": config.get(item.key), "summary": item.summary}
        for item in SETTINGS
    ]
    rows = [(row["key"], _shown(row["value"]), str(row["summary"])) for row in data]
    return Result(data, Table(("KEY", "VALUE", "MEANING"), rows))


@app.command(cls=Command)
def get(ctx: typer.Context, key: Key) -> Result[dict[str, Any]]:
    """Print the value of a setting; nothing when it isn't set."""
    from dshloop.config import find_setting

    setting = find_setting(key)
    value = invocation(ctx).config.get(setting.key)
    return Result({"key": key, "value": value}, "" if value is None else str(value))


@app.command("set", cls=Command)
def set_setting(
    ctx: typer.Context,
    key: Key,
    value: Annotated[str, typer.Argument(help="Its new value.")],
    dry_run: DryRun = False,
) -> Result[dict[str, Any]]:
    """Set a setting in config.yml; comments and the other lines stay as they are."""
    from dshloop.config import plan_set

    run = invocation(ctx)
    if key == "memory.postgres.dsn":  # it may have a password in it, which is never stored
        from dshloop.memory.postgres.opening import parts_of

        parts_of(value)
    journal = run.journal_for(dry_run=dry_run)
    return _write(run, journal, plan_set(run.places, key, value), key, dry_run=dry_run)


@app.command(cls=Command)
def unset(ctx: typer.Context, key: Key, dry_run: DryRun = False) -> Result[dict[str, Any]]:
    """Remove a setting from config.yml, so that its default counts again."""
    from dshloop.config import plan_unset

    run = invocation(ctx)
    journal = run.journal_for(dry_run=dry_run)
    return _write(run, journal, plan_unset(run.places, key), key, dry_run=dry_run)


def _write(
    run: Invocation, journal: Journal, change: Change, key: str, *, dry_run: bool
) -> Result[dict[str, Any]]:
    from dshloop.config import write_config
    from dshloop.journal import Plan

    changed = change.before != change.after
    data = {"key": key, "file": str(change.path), "changed": changed}
    if dry_run:
        diff = Plan((change,)).diff()
        return Result({**data, "dry_run": True, "diff": diff}, Document(diff))
    if changed:
        write_config(journal, change, command=run.command)
    return Result(
        data, notices=[f"{'changed' if changed else 'nothing to change in'} {change.path}"]
    )


def _shown(value: Any) -> str:
    return "" if value is None else str(value)
