"""`dshloop session export`: a session as a page, as data, or as a log of dsh."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dshloop.cli.invocation import Invocation
from dshloop.cli.params import Command, invocation, new_app
from dshloop.cli.session.common import Session, finding_warnings
from dshloop.errors import UsageError
from dshloop.result import Document, Result

if TYPE_CHECKING:
    from dshloop.runs.kept.exporting import Exported, Format

app = new_app("session", "")


def _formats(ctx: Any, args: list[str], incomplete: str) -> list[str]:
    return [name for name in ("markdown", "json", "jsonl", "html") if name.startswith(incomplete)]


@app.command(cls=Command, epilog="Example: dshloop session export last --format html --out it.html")
def export(
    ctx: typer.Context,
    session: Annotated[str, Session],
    form: Annotated[
        str | None,
        typer.Option(
            "--format",
            metavar="FORMAT",
            help="markdown (as without it), json, jsonl, html.",
            autocompletion=_formats,
        ),
    ] = None,
    to: Annotated[
        str | None,
        typer.Option(metavar="PEER", help="dsh: a log in the format that dsh 0.2 resumes."),
    ] = None,
    last: Annotated[
        int | None, typer.Option(metavar="N", min=0, help="The last N turns only.")
    ] = None,
    out: Annotated[
        str | None, typer.Option(metavar="FILE", help="A new file to write to, not stdout.")
    ] = None,
    install: Annotated[
        bool, typer.Option("--install", help="With --to dsh: put it where dsh finds it.")
    ] = False,
) -> Result[dict[str, Any]]:
    """Export a session: Markdown, JSON, JSON lines, one HTML page, or a log for dsh.

    Tool calls, thoughts and injected context are folded in pages. The HTML page has no script and
    loads nothing. Of a damaged log all that is whole is exported.
    """
    from dshloop.runs.kept.exporting import export_session

    invoked = invocation(ctx)
    kind = _kind(form, to)
    _require_fitting(kind, last, out, install=install)
    exported = export_session(invoked.places, session, invoked.env.cwd, kind, last=last)
    path = _target(invoked, exported, out, install=install)
    warnings = finding_warnings(exported.session.transcript.findings)
    if path is None:
        return _printed(exported, warnings)
    return _written(exported, path, warnings)


def _printed(exported: Exported, warnings: Any) -> Result[dict[str, Any]]:
    from dshloop.runs.kept.exporting import outcome

    text = exported.text()
    return Result(outcome(exported, None, text), Document(text), warnings=warnings)


def _written(exported: Exported, path: Path, warnings: Any) -> Result[dict[str, Any]]:
    from dshloop.files import shown
    from dshloop.runs.kept.exporting import outcome

    exported.write(path)
    notices = []
    if exported.format == "dsh":
        notices.append(_way_on(exported))
    data = outcome(exported, path, None)
    return Result(data, f"wrote {shown(path)}", notices=notices, warnings=warnings)


def _way_on(exported: Exported) -> str:
    """Say which of dsh's programs take the session up: headless knows no presets."""
    stored = exported.session.stored
    if stored.recorded or stored.preset:
        return f"dsh resumes it as {exported.id}, in every app but headless"
    return f'go on with: dsh --profile headless --session-id {exported.id} "…"'


def _kind(form: str | None, to: str | None) -> Format:
    from dshloop.runs.kept.exporting import FORMATS

    if to is not None:
        if to != "dsh" or form is not None:
            raise UsageError("--to is only for dsh, and then without --format", option="--to")
        return "dsh"
    wanted = {"md": "markdown", None: "markdown"}.get(form, form)
    for known in FORMATS:
        if wanted == known and known != "dsh":
            return known
    raise UsageError(f'--format is markdown, json, jsonl or html, not "{form}"', option="--format")


def _require_fitting(kind: Format, last: int | None, out: str | None, *, install: bool) -> None:
    if kind == "dsh" and last is not None:
        raise UsageError("--last is not for --to dsh: dsh resumes whole sessions", option="--last")
    if install and (kind != "dsh" or out is not None):
        raise UsageError("--install is for --to dsh, and without --out", option="--install")


def _target(
    invoked: Invocation, exported: Exported, out: str | None, *, install: bool
) -> Path | None:
    if install:
        from dshloop.runs.kept.exporting import dsh_place

        return dsh_place(invoked.places, exported.session)
    if out is None or out == "-":
        return None
    from dshloop.paths import absolute

    return absolute(out, invoked.env.cwd, invoked.env.variables)
