"""`plugin check`: looking into a plugin before it is installed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dshloop.cli.inbox import notices, user_inbox
from dshloop.cli.invocation import Invocation
from dshloop.cli.params import ProfileCommand, invocation
from dshloop.cli.plugin.common import app, meant, request_for
from dshloop.errors import ExitCode, ProfileNotNamedError
from dshloop.result import Result

if TYPE_CHECKING:
    from dshloop.profiles.layout import Profile


@app.command(cls=ProfileCommand)
def check(
    ctx: typer.Context,
    spec: Annotated[str, typer.Argument(metavar="SPEC", help="A plugin, as plugin add takes it.")],
    boot: Annotated[
        bool,
        typer.Option("--boot", help="Boot the real dsh with it, in a home that is thrown away."),
    ] = False,
) -> Result[dict[str, Any]]:
    """Look into a plugin without installing it.

    Holds it against the profile that is named, else against a new one, and says what `plugin add`
    would find. --boot runs the plugin's code.
    """
    from dataclasses import replace
    from tempfile import TemporaryDirectory

    from dshloop.dsh import find_program
    from dshloop.profiles.plugins.look import look_into

    run = invocation(ctx)
    with (
        TemporaryDirectory(prefix="dshloop-check-") as folder,
        user_inbox(run, silent=True) as inbox,
    ):
        profile = _held_against(run, Path(folder))
        request = request_for(run, profile=profile, dry_run=True, inbox=inbox)
        if not profile.exists:
            request = replace(request, places=replace(request.places, dsh_home=profile.dsh_home))
        with run.progress(f"looking into {spec}"):
            dsh = find_program("dsh", run.env.variables)
            look = look_into(request, spec, dsh=dsh, trying=boot)
    code = ExitCode.DONE if look.ok else ExitCode.FAILED
    return Result(look.as_json(), look.as_text(), notices=notices(inbox), exit_code=code)


def _held_against(run: Invocation, folder: Path) -> Profile:
    from dshloop.profiles.layout import Profile

    try:
        found = meant(run)
    except ProfileNotNamedError:
        return Profile("new", folder / "profiles" / "new", folder)
    return found
