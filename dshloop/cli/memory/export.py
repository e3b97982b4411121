"""`dshloop memory export`: all that a store holds, to a file or to stdout."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dshloop.cli.invocation import Invocation
from dshloop.cli.memory import complete
from dshloop.cli.memory.common import FilterVerb, chosen, module_app
from dshloop.cli.memory.opening import opened
from dshloop.cli.memory.report_view import counted, not_carried
from dshloop.cli.params import invocation
from dshloop.errors import UsageError
from dshloop.result import Pieces, Result

if TYPE_CHECKING:
    from dshloop.memory.answers import Filters
    from dshloop.memory.interchange.report import Report

app = module_app()


@app.command(cls=FilterVerb, epilog="Example: dshloop memory export backup.jsonl")
def export(
    ctx: typer.Context,
    file: Annotated[
        str, typer.Argument(metavar="[FILE|-]", help="Where to; - (as without it) is stdout.")
    ] = "-",
    form: Annotated[
        str,
        typer.Option(
            "--format",
            metavar="FORMAT",
            help="dshloop (lossless), agentmemory, or markdown (a folder).",
            autocompletion=complete.exports,
        ),
    ] = "dshloop",
    redact: Annotated[
        bool, typer.Option("--redact", help="Take out what looks like a secret.")
    ] = False,
) -> Result[dict[str, Any]]:
    """Write all memories, observations and sessions to a file, or those that pass the filters.

    The format dshloop is a JSON value a line and loses nothing: every version, id and time. What
    was forgotten or has expired is left out. A FILE is replaced as a whole (0600).
    """
    from dshloop.memory.interchange.exporting import FORMATS
    from dshloop.memory.interchange.report import Report

    run = invocation(ctx)
    if form not in FORMATS:
        known = ", ".join(FORMATS)
        raise UsageError(f'--format is one of {known}, not "{form}"', option="--format")
    if form == "markdown" and file == "-":
        raise UsageError("Markdown is written to a folder", hint="Name a new one.")
    where, report = chosen(ctx), Report()
    if file != "-":
        return _export_to(ctx, run, file, form, where, report, redact=redact)
    notices: list[str] = []
    pieces = _streamed(ctx, run, form, where, report, notices, redact=redact)
    if run.json:
        text = "".join(pieces)
        return Result({**_exported(report, form), "file": None, "text": text})
    return Result({}, Pieces(pieces), notices=notices)


def _export_to(
    ctx: typer.Context,
    run: Invocation,
    file: str,
    form: str,
    where: Filters | None,
    report: Report,
    *,
    redact: bool,
) -> Result[dict[str, Any]]:
    from dshloop.files import shown
    from dshloop.memory.interchange.exporting import exported, write_file, write_pages
    from dshloop.paths import absolute

    path = absolute(file, run.env.cwd, run.env.variables)
    with opened(ctx) as store, run.progress("Exporting …") as tell:

        def told(done: int) -> None:
            tell(f"Exporting … {done >> 10:,} KB")

        if form == "markdown":
            size = write_pages(path, store, where, report, told, redacted=redact)
        else:
            pieces = exported(store, form, where, report, run.env.clock(), redacted=redact)
            size = write_file(path, pieces, told)
    data = {**_exported(report, form), "file": str(path), "bytes": size}
    said = f"wrote {counted(_exported(report, form)['exported'])} to {shown(path)}"
    return Result(data, said, warnings=not_carried(report, secrets=not redact))


def _streamed(
    ctx: typer.Context,
    run: Invocation,
    form: str,
    where: Filters | None,
    report: Report,
    notices: list[str],
    *,
    redact: bool,
) -> Iterator[str]:
    from dshloop.memory.interchange.exporting import exported, gathered

    with opened(ctx) as store:
        pieces = exported(store, form, where, report, run.env.clock(), redacted=redact)
        for piece in gathered(pieces):
            yield piece.decode()
    notices.append(counted(_exported(report, form)["exported"]))
    notices += [f"warning: {one.message}" for one in not_carried(report, secrets=not redact)]


def _exported(report: Report, form: str) -> dict[str, Any]:
    kinds = ("session", "memory", "observation", "document")
    counts = {kind: report.outcomes["exported", kind] for kind in kinds}
    lost = report.as_json()["not_carried"]
    return {"format": form, "exported": counts, "not_carried": lost, "secrets": report.redacted}
