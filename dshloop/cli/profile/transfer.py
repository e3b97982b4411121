"""The verbs that put a profile into one file and take it out again."""

from __future__ import annotations

import shlex
from typing import Annotated, Any

import typer

from dshloop.cli.inbox import notices, user_inbox
from dshloop.cli.params import ProfileCommand, invocation
from dshloop.cli.profile.common import (
    DryRun,
    Force,
    app,
    as_caution,
    case_for,
    file_at,
    meant,
)
from dshloop.errors import UsageError
from dshloop.result import Document, Result

File = Annotated[str, typer.Argument(metavar="FILE", help="The file; - is stdout or stdin.")]


@app.command(
    "export", cls=ProfileCommand, epilog="Example: dshloop profile export web.json --profile web"
)
def export_(ctx: typer.Context, file: File, dry_run: DryRun = False) -> Result[dict[str, Any]]:
    """Write a profile into one file.

    It has the manifest, patches, loops.yml and the specs of the plugins. The file holds what the
    patches hold, secrets too; only you may read it.
    """
    from dshloop.files import read_bytes
    from dshloop.journal import Change, Plan
    from dshloop.profiles.transfer import export_profile, export_text

    run = invocation(ctx)
    profile = meant(run, None)
    value = export_profile(profile)
    text = export_text(value)
    if file == "-":
        return Result(value, Document(text))
    path = file_at(run, file)
    change = Change(path, read_bytes(path), text.encode("utf-8", "surrogatepass"), 0o600)
    data = {"profile": profile.name, "file": str(path), "plugins": value["plugins"]}
    if dry_run:
        diff = Plan((change,)).diff()
        return Result({**data, "dry_run": True, "diff": diff}, Document(diff))
    run.journal.record(run.command, [change], cwd=run.env.cwd)
    return Result({**data, "dry_run": False}, f"exported profile {profile.name} to {path}")


@app.command(
    "import", cls=ProfileCommand, epilog="Example: dshloop profile import web.json --name work"
)
def import_(
    ctx: typer.Context,
    file: File,
    name: Annotated[
        str | None,
        typer.Option("--name", metavar="NAME", help="Its name, when not that in the file."),
    ] = None,
    force: Force = False,
    dry_run: DryRun = False,
) -> Result[dict[str, Any]]:
    """Make a profile of an exported file.

    It is checked before anything is written.
    """
    from dshloop.files import read_bytes
    from dshloop.profiles.layout import profile_at
    from dshloop.profiles.transfer import import_profile

    run = invocation(ctx)
    if name is not None and run.profile is not None and name != run.profile:
        raise UsageError(f"two names are given: {name} and --profile {run.profile}")
    path = file_at(run, file)
    text = run.env.stdin.read().encode("utf-8") if file == "-" else read_bytes(path)
    if text is None:
        raise UsageError(f"there is no file {path}", hint="Name the file that export wrote.")
    with user_inbox(run) as inbox:
        imported = import_profile(
            run.places,
            run.journal_for(dry_run=dry_run),
            text,
            path,
            name=name or run.profile,
            command=run.command,
            case=case_for(run, profile_at(run.places, name or "import"), inbox),
            force=force,
            dry_run=dry_run,
        )
    said = [as_caution(one) for one in imported.findings if one.severity != "info"]
    if dry_run:
        told = [*notices(inbox), "dry run: nothing was changed"]
        view: Document | str = Document(imported.plan.diff())
    else:
        quoted = shlex.quote(imported.profile.name)
        install = f"To install its plugins: dsh plugin --profile {quoted} install"
        told = [*notices(inbox), *([install] if imported.plugins else [])]
        view = f"imported profile {imported.profile.name} into {imported.profile.folder}"
    return Result(imported.as_json(), view, notices=told, warnings=said)
