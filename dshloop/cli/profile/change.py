"""The verbs that set and unset config keys, and what all edits of a layer share."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dshloop.cli.complete import layer_names
from dshloop.cli.inbox import notices, user_inbox
from dshloop.cli.invocation import Invocation
from dshloop.cli.params import ProfileCommand, invocation
from dshloop.cli.profile.common import DryRun, app, meant, row_ids, sole_writer
from dshloop.errors import DshYamlInvalidError, UsageError
from dshloop.result import Caution, Document, Result

if TYPE_CHECKING:
    from dshloop.profiles.edits.desk import Desk
    from dshloop.profiles.edits.layer_edit import LayerEdit, Note

Layer = Annotated[
    str,
    typer.Option(
        "--layer",
        metavar="LAYER",
        autocompletion=layer_names,
        help="The layer to write to: profile, home or preset:ID.",
    ),
]
RowKey = Annotated[
    str,
    typer.Argument(
        metavar="ROW.KEY...", autocompletion=row_ids, help="A row and a key in its config."
    ),
]
_WARNED = ("pinned", "overridden", "left-behind")


@app.command(
    "set",
    cls=ProfileCommand,
    epilog="Example: dshloop profile set agent-default-model.model deepseek-pro",
)
def set_key(
    ctx: typer.Context,
    key: RowKey,
    value: Annotated[str, typer.Argument(metavar="VALUE", help="YAML, with !!js as dsh reads it.")],
    string: Annotated[bool, typer.Option("--string", help="Take VALUE as text.")] = False,
    layer: Layer = "profile",
    dry_run: DryRun = False,
) -> Result[dict[str, Any]]:
    """Set one key in a row's config.

    Every other byte of the file stays. A patch replaces a row's whole config: where the layer
    does not say it yet, the config in effect is repeated with the one key changed, and the answer
    says what that pins.
    """
    from dshloop.profiles.edits.edit import set_config

    run = invocation(ctx)
    new = value if string else yaml_value(value)
    return edited(run, layer, dry_run, lambda desk: set_config(desk, desk.parse(key), new))


@app.command(cls=ProfileCommand, epilog="Example: dshloop profile unset agent-loop.agents")
def unset(
    ctx: typer.Context, key: RowKey, layer: Layer = "profile", dry_run: DryRun = False
) -> Result[dict[str, Any]]:
    """Take a key out of a row's config.

    Without a key: all that the layer says of the row's config.
    """
    from dshloop.profiles.edits.edit import unset_config

    run = invocation(ctx)
    return edited(run, layer, dry_run, lambda desk: unset_config(desk, desk.parse(key)))


def edited(
    run: Invocation, layer: str, dry_run: bool, work: Callable[[Desk], LayerEdit]
) -> Result[dict[str, Any]]:
    """Plan an edit of a layer and write it, or show it."""
    from dshloop.profiles.edits.desk import open_desk
    from dshloop.profiles.edits.pins import pinned_by
    from dshloop.profiles.stack import stack_layers

    profile = meant(run, None)
    journal = run.journal_for(dry_run=dry_run)
    with user_inbox(run) as inbox:
        stack = stack_layers(profile, inbox=inbox)
    edit = work(open_desk(profile, stack.layers, layer))
    data = {"profile": profile.name, **edit.as_json(), "dry_run": dry_run}
    cautions = [_caution(note) for note in edit.notes if note.code in _WARNED]
    told = [note.message for note in edit.notes if note.code not in _WARNED]
    if dry_run:
        diff = edit.plan.diff()
        said = [*notices(inbox), *told, "dry run: nothing was changed"]
        return Result({**data, "diff": diff}, Document(diff), notices=said, warnings=cautions)
    if edit.changes:
        with sole_writer(run, profile):
            journal.record(run.command, edit.changes, cwd=run.env.cwd, note=pinned_by(edit))
    view = _done(edit) if edit.changes else "nothing was changed"
    return Result(data, view, notices=[*notices(inbox), *told], warnings=cautions)


def yaml_value(text: str) -> Any:
    """Read a value as dsh reads YAML; USAGE when it is none."""
    from dshloop.dsh_yaml import load

    try:
        return load(text, source="VALUE")
    except DshYamlInvalidError as fault:
        raise UsageError(
            f"{fault.message}", hint="Quote it as YAML, or take it as text with --string."
        ) from None


def _done(edit: LayerEdit) -> str:
    from dshloop.files import shown

    return "\n".join(f"wrote {shown(change.path)}" for change in edit.changes)


def _caution(note: Note) -> Caution:
    code = note.code.upper().replace("-", "_")
    return Caution(note.message, f"EDIT_{code}", details=note.as_json())
