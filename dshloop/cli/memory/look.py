"""The verbs that look at one entry, or at the store as a whole."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from dshloop.cli.memory.common import (
    CountVerb,
    Id,
    ShowVerb,
    asked_several,
    module_app,
)
from dshloop.cli.memory.opening import opened_to_read
from dshloop.cli.memory.view import (
    Form,
    briefly,
    cells,
    entries_view,
    form,
    listed,
    page,
    row_of,
)
from dshloop.result import Lines, Result, Table, View
from dshloop.terminal import one_line

if TYPE_CHECKING:
    from dshloop.memory.answers import Stats
    from dshloop.memory.federation import FederatedReader

app = module_app()


@app.command(cls=ShowVerb)
def show(ctx: typer.Context, entry_id: Annotated[str, Id]) -> Result[Any]:
    """Show one memory or observation in full."""
    with opened_to_read(ctx) as store:
        entry = store.get(entry_id)
    how = form(ctx)
    whole = row_of(ctx, entry, entry.as_json())
    data = briefly(whole) if how.brief else whole
    if how.kind in ("json", "jsonl"):
        return Result(data if how.kind == "json" else Lines([data]))
    text = how.kind == "text" and not how.brief
    return Result(
        data, page(entry, how) if text else entries_view([entry], how._replace(full=True), "")
    )


@app.command(cls=ShowVerb)
def history(ctx: typer.Context, memory_id: Annotated[str, Id]) -> Result[Any]:
    """List the versions of a memory, the oldest first."""
    with opened_to_read(ctx) as store:
        versions = store.history(memory_id)

    def view(how: Form) -> View:
        if not how.plain:
            return entries_view(versions, how, "")
        columns = ("VERSION", "ID", "CREATED", "TYPE", "PROJECT", "TITLE")
        rows = [(f"{one.version}{'*' * one.latest}", *cells(one)) for one in versions]
        return Table(columns, rows)

    return listed(ctx, [row_of(ctx, one, one.as_json()) for one in versions], view)


@app.command(cls=CountVerb)
def stats(ctx: typer.Context) -> Result[dict[str, Any]]:
    """Count what is stored, by type and project."""
    with opened_to_read(ctx) as store:
        if asked_several(ctx):
            return _stats_of_several(cast("FederatedReader", store).stats_by_store())
        found = store.stats()
    return Result(found.as_json(), "\n".join(_counts(found)))


def _stats_of_several(by_store: Mapping[str, Stats]) -> Result[dict[str, Any]]:
    from dshloop.memory.federation import total_of

    each = {name: found.as_json() for name, found in by_store.items()}
    views = ["\n".join(_counts(found)) for found in by_store.values()]
    return Result({**total_of(by_store).as_json(), "stores": each}, "\n".join(views))


def _counts(found: Stats) -> list[str]:
    size = "" if found.bytes is None else f", {_size(found.bytes)}"
    lines = [f"{found.memories} memories in {found.where} ({found.store}{size})"]
    for name in ("observations", "sessions", "versions", "forgotten", "semantic"):
        value = getattr(found, name)
        if value:
            lines.append(f"  {name:<12} {one_line(str(value))}")
    lines += [f"  type         {name}: {number}" for name, number in found.types.items()]
    for name, number in found.projects.items():
        lines.append(f"  project      {one_line(name) or '(every project)'}: {number}")
    return lines


def _size(count: int) -> str:
    units = ("bytes", "KB", "MB", "GB", "TB")
    value, unit = float(count), 0
    while value >= 1000 and unit < len(units) - 1:
        value, unit = value / 1000, unit + 1
    return (
        f"{value:.0f} {units[unit]}" if unit == 0 or value >= 100 else f"{value:.1f} {units[unit]}"
    )
