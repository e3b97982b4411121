"""`dshloop profile row`: the rows of a profile, listed, shown, put in, switched and taken out."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dshloop.cli.inbox import notices, user_inbox
from dshloop.cli.params import ProfileCommand, invocation, new_app
from dshloop.cli.profile.change import Layer, edited, yaml_value
from dshloop.cli.profile.common import DryRun, Reveal, app, meant, row_ids
from dshloop.errors import UsageError
from dshloop.result import Document, Result, Table

if TYPE_CHECKING:
    from dshloop.profiles.compose import Composition, Placed
    from dshloop.profiles.edits.desk import Desk
    from dshloop.profiles.edits.layer_edit import LayerEdit

row_app = new_app("row", "List, show, insert, disable, enable and drop rows.", profile=True)
app.add_typer(row_app)

RowId = Annotated[str, typer.Argument(metavar="ROW", autocompletion=row_ids, help="A row's id.")]
_SCOPED_NAME = re.compile(r"""(\bname["']?\s*:\s*)(@[^\s,}"']+)""")


@row_app.command("list", cls=ProfileCommand, epilog="Example: dshloop profile row list")
def list_rows(ctx: typer.Context) -> Result[list[dict[str, Any]]]:
    """List the rows of a profile, in groups too: what each loads, where it runs, its layer.

    Sessions of dshloop run the rows that it has a plugin for; the others run only in dsh.
    """
    from dshloop.profiles.compose import compose
    from dshloop.profiles.stack import stack_layers

    run = invocation(ctx)
    profile = meant(run, None)
    with user_inbox(run) as inbox:
        composition = compose(stack_layers(profile, inbox=inbox).layers)
    found = [_row(composition, placed) for placed in composition.walk()]
    lines = [
        (
            "  " * len(row["groups"]) + (row["id"] or "-"),
            row["name"] or "-",
            row["state"],
            ", ".join(row["runs_in"]) or "-",
            row["layer"] or "-",
        )
        for row in found
    ]
    table = Table(
        ("ID", "NAME", "STATE", "RUNS IN", "LAYER"), lines, f"Profile {profile.name} has no rows."
    )
    return Result(found, table, notices=notices(inbox))


@row_app.command(cls=ProfileCommand, epilog="Example: dshloop profile row show agent-loop")
def show(ctx: typer.Context, row: RowId, reveal: Reveal = False) -> Result[dict[str, Any]]:
    """Show a row as it is composed, as YAML; dshloop profile explain tells who set what."""
    from dshloop.dsh_yaml import dump, to_json
    from dshloop.profiles.compose import compose
    from dshloop.profiles.masking import masked
    from dshloop.profiles.row_path import parse_row_path, row_missing
    from dshloop.profiles.stack import stack_layers

    run = invocation(ctx)
    with user_inbox(run) as inbox:
        composition = compose(stack_layers(meant(run, None), inbox=inbox).layers)
    ids = [placed.row.get("id") for placed in composition.walk()]
    known = [row_id for row_id in ids if isinstance(row_id, str | int | float)]
    path = parse_row_path(row, known)
    if path.keys:
        raise row_missing(row, map(str, known))
    placed = composition.find(path.row)
    rows = [dict(one.row) if reveal else masked(one.row) for one in placed]
    data = {**_row(composition, placed[-1]), "row": to_json(rows[-1]), "rows": to_json(rows)}
    return Result(data, Document(dump(rows)), notices=notices(inbox))


@row_app.command(
    cls=ProfileCommand,
    epilog="Example: dshloop profile row insert @scope/plugin --id mine --config '{level: 2}'",
)
def insert(
    ctx: typer.Context,
    row: Annotated[
        str,
        typer.Argument(
            metavar="ROW", help="The name of what the row loads, or the whole row as YAML."
        ),
    ],
    row_id: Annotated[str | None, typer.Option("--id", metavar="ID", help="The row's id.")] = None,
    config: Annotated[
        str | None, typer.Option("--config", metavar="YAML", help="The row's config.")
    ] = None,
    group: Annotated[
        str | None, typer.Option("--group", metavar="ROW", help="The group to put it into.")
    ] = None,
    disabled: Annotated[bool, typer.Option("--disabled", help="Put it in switched off.")] = False,
    layer: Layer = "profile",
    dry_run: DryRun = False,
) -> Result[dict[str, Any]]:
    """Put a new row at the end of the top level, or of a group.

    A row that another layer inserts already becomes a patch of it. A row may go without an id;
    no patch can reach it then.
    """
    from dshloop.profiles.edits.row_edit import insert_row

    run = invocation(ctx)
    new = _new_row(row, row_id, config, disabled)

    def work(desk: Desk) -> LayerEdit:
        return insert_row(desk, new, None if group is None else desk.parse(group).row)

    return edited(run, layer, dry_run, work)


@row_app.command(cls=ProfileCommand, epilog="Example: dshloop profile row disable agent-loop")
def disable(
    ctx: typer.Context, row: RowId, layer: Layer = "profile", dry_run: DryRun = False
) -> Result[dict[str, Any]]:
    """Switch a row off."""
    from dshloop.profiles.edits.edit import disable_row

    return edited(invocation(ctx), layer, dry_run, _on_row(row, disable_row))


@row_app.command(cls=ProfileCommand, epilog="Example: dshloop profile row enable agent-loop")
def enable(
    ctx: typer.Context, row: RowId, layer: Layer = "profile", dry_run: DryRun = False
) -> Result[dict[str, Any]]:
    """Switch a row on."""
    from dshloop.profiles.edits.edit import enable_row

    return edited(invocation(ctx), layer, dry_run, _on_row(row, enable_row))


@row_app.command(cls=ProfileCommand, epilog="Example: dshloop profile row drop my-row")
def drop(
    ctx: typer.Context, row: RowId, layer: Layer = "profile", dry_run: DryRun = False
) -> Result[dict[str, Any]]:
    """Take a row out that the layer inserts; a row of another layer is disabled."""
    from dshloop.profiles.edits.row_edit import drop_row

    return edited(invocation(ctx), layer, dry_run, _on_row(row, drop_row))


def _on_row(row: str, work: Callable[[Desk, Any], LayerEdit]) -> Callable[[Desk], LayerEdit]:
    def do(desk: Desk) -> LayerEdit:
        from dshloop.profiles.row_path import row_missing

        path = desk.parse(row)
        if path.keys:
            raise row_missing(row, [path.name])
        return work(desk, path.row)

    return do


def _new_row(text: str, row_id: str | None, config: str | None, disabled: bool) -> Any:
    """Read a row: YAML, in which a scoped name needs no quotes, or only the name."""
    row = yaml_value(_SCOPED_NAME.sub(r"\1'\2'", text)) if _is_yaml(text) else {"name": text}
    if not isinstance(row, dict):
        raise UsageError("ROW is neither a name nor a mapping")
    options: Sequence[tuple[str, Any]] = (
        ("id", row_id),
        ("config", None if config is None else yaml_value(config)),
        ("disabled", True if disabled else None),
    )
    given = {key: value for key, value in options if value is not None}
    first = {"id": given.pop("id")} if "id" in given else {}
    return {**first, **{key: value for key, value in row.items() if key not in first}, **given}


def _is_yaml(text: str) -> bool:
    return text.lstrip()[:1] in ("{", "[", "-") or re.match(r"\s*[A-Za-z]+:\s", text) is not None


def _row(composition: Composition, placed: Placed) -> dict[str, Any]:
    from dshloop.profiles.row_names import id_text

    row = placed.row
    place = composition.inserted(row)
    name = row.get("name")
    return {
        "id": None if row.get("id") is None else id_text(row["id"]),
        "name": None if name is None else id_text(name),
        "groups": [id_text(group.get("id")) for group in placed.groups],
        "state": _state(placed),
        "runs_in": _runs_in(placed),
        "layer": place.label if place else None,
        "file": place.file if place else None,
        "line": place.line if place else None,
    }


def _runs_in(placed: Placed) -> list[str]:
    """Say which programs run a row: dsh, and dshloop where it has a plugin for it."""
    from dshloop.host.rows import is_group, off_reason
    from dshloop.plugins import can_run

    if is_group(placed.row) or _state(placed).startswith("off"):
        return []
    name = placed.row.get("name")
    ours = isinstance(name, str) and off_reason(placed) is None and can_run(name)
    theirs = not (isinstance(name, str) and name.startswith("dshloop/"))
    return ["dsh"] * theirs + ["dshloop"] * ours


def _state(placed: Placed) -> str:
    """Say whether a row runs: on, off, off with its group, or as an expression decides."""
    from dshloop.dsh_yaml import JsExpr, truthy

    own = placed.row.get("disabled")
    if any(
        truthy(g.get("disabled")) and not isinstance(g.get("disabled"), JsExpr)
        for g in placed.groups
    ):
        return "off with its group"
    if isinstance(own, JsExpr):
        return "by expression"
    return "off" if truthy(own) else "on"
