"""The verbs for what a store of another program holds: its changes, its files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any

import typer

from dshloop.cli.memory.common import Id, ReadVerb, module_app
from dshloop.cli.memory.opening import opened
from dshloop.cli.params import invocation
from dshloop.result import End, Result, Stream

app = module_app()


@app.command(cls=ReadVerb, epilog="Example: dshloop memory tail --store patchouli --after 0")
def tail(
    ctx: typer.Context,
    after: Annotated[
        str | None,
        typer.Option("--after", metavar="CURSOR", help="Begin behind this change; 0 is the first."),
    ] = None,
    once: Annotated[
        bool, typer.Option("--once", help="Show what there is, and don't wait for more.")
    ] = False,
    limit: Annotated[
        int | None, typer.Option("--limit", "-n", min=1, metavar="N", help="End after N changes.")
    ] = None,
) -> Stream:
    """Show changes of a store as they come, from now on; Ctrl-C ends it.

    Each has a cursor, with which --after goes on later.
    """
    return Stream(_changes(ctx, after, limit, follow=not once), _line)


def _changes(
    ctx: typer.Context, after: str | None, limit: int | None, *, follow: bool
) -> Iterator[Mapping[str, Any] | End]:
    from itertools import islice

    from dshloop.errors import StoreUnsupportedError

    with opened(ctx) as store:
        changes = getattr(store, "changes", None)
        if changes is None:
            raise StoreUnsupportedError(
                f"the store {store.name} tells no changes",
                hint="One that does: --store patchouli.",
            )
        for change in islice(changes(after, follow=follow), limit):
            yield {"type": "change", "change": change.as_json()}
    yield End("read")


def _line(record: Mapping[str, Any]) -> str:
    from dshloop.terminal import one_line

    change = record["change"]
    ref = change["ref"]
    return f"{change['cursor']}  {change['kind']:<10}  {ref['type']}  {one_line(ref['id'])}"


@app.command(cls=ReadVerb, epilog="Example: dshloop memory artifact ID --output plan.pdf")
def artifact(
    ctx: typer.Context,
    memory_id: Annotated[str, Id],
    output: Annotated[str, typer.Option("--output", "-o", metavar="FILE", help="The new file.")],
) -> Result[dict[str, Any]]:
    """Write a file that was stored as an artifact to a new file."""
    from dshloop.memory.artifacts import artifact_of, save
    from dshloop.paths import absolute

    run = invocation(ctx)
    path = absolute(output, run.env.cwd, run.env.variables)
    with opened(ctx) as store:
        size = save(artifact_of(store, memory_id), path)
    data = {"id": memory_id, "path": str(path), "bytes": size}
    return Result(data, str(path), notices=[f"{size} bytes written"])
