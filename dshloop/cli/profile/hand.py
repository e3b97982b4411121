"""`dshloop profile edit`: a patch file in the user's own editor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import typer

from dshloop.cli.inbox import notices, user_inbox
from dshloop.cli.invocation import Invocation
from dshloop.cli.params import ProfileCommand, invocation
from dshloop.cli.profile.change import Layer
from dshloop.cli.profile.common import app, as_caution, case_for, meant, sole_writer
from dshloop.errors import UsageError
from dshloop.result import Result

if TYPE_CHECKING:
    from pathlib import Path

    from dshloop.journal import Change
    from dshloop.profiles.checks.findings import Finding
    from dshloop.profiles.edits.hand_edit import Choice
    from dshloop.profiles.layout import Profile

_QUESTION = "What now? (e)dit again, e(x)it without saving, (Q)uit and save all the same: "
_CHOICES: dict[str, Choice] = {"e": "edit", "x": "drop", "Q": "write", "": "edit"}


@app.command(cls=ProfileCommand, epilog="Example: dshloop profile edit --profile web")
def edit(ctx: typer.Context, layer: Layer = "profile") -> Result[dict[str, Any]]:
    """Edit a patch file in $VISUAL or $EDITOR.

    You edit a copy, which is checked before it is saved.
    """
    from dshloop.files import shown
    from dshloop.profiles.edits.hand_edit import edit_file, editor_command, run_editor

    run = invocation(ctx)
    if not (run.env.interactive and run.env.stderr_tty):
        raise UsageError(
            "profile edit needs a terminal",
            hint="Use dshloop profile set, unset or row, or edit the file and run profile check.",
        )
    profile = meant(run, None)
    path, template = _file(profile, layer)
    command = editor_command(run.env.variables)
    with user_inbox(run) as inbox:
        case = case_for(run, profile, inbox)
        done = edit_file(
            case,
            path,
            template,
            lambda copy: run_editor(command, copy, run.env.variables),
            lambda errors: _ask(run, errors),
        )
    if done.change is not None:
        with sole_writer(run, profile):
            changes = [*_new_files(profile, path), done.change]
            run.journal.record(run.command, changes, cwd=run.env.cwd)
    data = {
        "profile": profile.name,
        "file": shown(path),
        "changed": done.change is not None,
        "findings": [finding.as_json() for finding in done.findings],
    }
    view = f"wrote {shown(path)}" if done.change else "nothing was changed"
    said = [as_caution(one) for one in done.findings if one.severity == "warning"]
    return Result(data, view, notices=notices(inbox), warnings=said)


def _file(profile: Profile, layer: str) -> tuple[Path, str]:
    """Give the file of a layer and what it starts from."""
    from dshloop.profiles.create import HOME_PATCH_TEXT, PATCH_TEXT

    if layer == "profile":
        return profile.patch, PATCH_TEXT
    if layer == "home":
        return profile.home_patch, HOME_PATCH_TEXT
    if layer.startswith("preset:"):
        from dshloop.profiles.edits.target import preset_file

        return preset_file(profile, layer.removeprefix("preset:")), ""
    raise UsageError(
        f'there is no layer "{layer}" to edit', hint="Layers: profile, home, preset:ID."
    )


def _new_files(profile: Profile, path: Path) -> list[Change]:
    """Plan the other files of a profile that a template names and that isn't there yet."""
    from dshloop.profiles.create import new_profile
    from dshloop.profiles.layout import template_for

    if profile.exists or path != profile.patch:
        return []
    changes = new_profile(profile, template_for(profile.name))
    return [change for change in changes if change.path != path]


def _ask(run: Invocation, errors: Sequence[Finding]) -> Choice:
    """Show what the check refuses and ask, as visudo does; end of input drops the edit."""
    from dshloop.terminal import one_line

    err = run.env.stderr
    for error in errors:
        for line in error.as_text().splitlines():
            err.write(one_line(line) + "\n")
    while True:
        err.write(_QUESTION)
        err.flush()
        line = run.env.stdin.readline()
        if not line:
            return "drop"
        choice = _CHOICES.get(line.strip())
        if choice is not None:
            return choice
