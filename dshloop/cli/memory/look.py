"""The verbs that look at one entry, or at the store as a whole."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from dshloop.cli.memory.common import Id, ReadVerb, ShowVerb, module_app, opened_to_read
from dshloop.cli.memory.view import Form, briefly, cells, entries_view, form, listed, page
from dshloop.result import Lines, Result, Table, View
from dshloop.terminal import one_line

app = module_app()


@app.command(cls=ShowVerb)
def show(ctx: typer.Context, entry_id: Annotated[str, Id]) -> Result[Any]:
    """Show one memory or observation in full."""
    how = form(ctx)
    with opened_to_read(ctx) as store:
        entry = store.get(entry_id)
    data = briefly(entry.as_json()) if how.brief else entry.as_json()
    if how.kind in ("json", "jsonl"):
        return Result(data if how.kind == "json" else Lines([data]))
    text = how.kind == "text" and not how.brief
    return Result(data, page(entry) if text else entries_view([entry], how._replace(full=True), ""))


@app.command(cls=ShowVerb)
def history(ctx: typer.Context, memory_id: Annotated[str, Id]) -> Result[Any]:
    """List the versions of a memory, the oldest first."""
    with opened_to_read(ctx) as store:
        versions = store.history(memory_id)

    def view(how: Form) -> View:
        if how != Form("text", brief=False, full=False):
            return entries_view(versions, how, "")
        columns = ("VERSION", "ID", "CREATED", "TYPE", "PROJECT", "TITLE")
        rows = [(f"{one.version}{'*' * one.latest}", *cells(one)) for one in versions]
        return Table(columns, rows)

    return listed(ctx, [one.as_json() for one in versions], view)


@app.command(cls=ReadVerb)
def stats(ctx: typer.Context) -> Result[dict[str, Any]]:
    """Count what is stored, by type and project."""
    with opened_to_read(ctx) as store:
        found = store.stats()
    size = "" if found.bytes is None else f", {_size(found.bytes)}"
    lines = [f"{found.memories} memories in {found.where} ({found.store}{size})"]
    for name in ("observations", "sessions", "versions", "forgotten", "semantic"):
        value = getattr(found, name)
        if value:
            lines.append(f"  {name:<12} {one_line(str(value))}")
    lines += [f"  type         {name}: {number}" for name, number in found.types.items()]
    for name, number in found.projects.items():
        lines.append(f"  project      {one_line(name) or '(every project)'}: {number}")
    return Result(found.as_json(), "\n".join(lines))


def _size(count: int) -> str:
    units = ("bytes", "KB", "MB", "GB", "TB")
    value, unit = float(count), 0
    while value >= 1000 and unit < len(units) - 1:
        value, unit = value / 1000, unit + 1
    return (
        f"{value:.0f} {units[unit]}" if unit == 0 or value >= 100 else f"{value:.1f} {units[unit]}"
    )
