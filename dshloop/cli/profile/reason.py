"""The verbs that say why a profile is as it is, and how two differ."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from dshloop.cli.inbox import notices, user_inbox
from dshloop.cli.invocation import Invocation
from dshloop.cli.params import ProfileCommand, invocation
from dshloop.cli.profile.common import Reveal, app, file_at, meant, row_ids
from dshloop.result import Document, Result

if TYPE_CHECKING:
    from dshloop.profiles.diff import Item
    from dshloop.profiles.inbox.source import Inbox


@app.command(cls=ProfileCommand, epilog="Example: dshloop profile explain agent-loop.agents")
def explain(
    ctx: typer.Context,
    row: Annotated[
        str,
        typer.Argument(
            metavar="ROW[.KEY...]",
            autocompletion=row_ids,
            help="A row, or a key in its config; a dot in an id is \\. where it is unclear.",
        ),
    ],
    reveal: Reveal = False,
) -> Result[dict[str, Any]]:
    """Say who set a row or a key, and what got lost.

    Names every layer in order and what it replaced. Patches that were skipped, or that hit a row
    which is in no tree, are told too.
    """
    from dshloop.profiles.compose import compose
    from dshloop.profiles.explain import explain
    from dshloop.profiles.explain_text import explanation_text
    from dshloop.profiles.stack import stack_layers

    run = invocation(ctx)
    profile = meant(run, None)
    with user_inbox(run) as inbox:
        composition = compose(stack_layers(profile, inbox=inbox).layers)
    found = explain(composition, row, reveal=reveal)
    data = {"profile": profile.name, **found.as_json()}
    return Result(data, explanation_text(found), notices=notices(inbox))


@app.command(cls=ProfileCommand, epilog="Example: dshloop profile diff web web-test")
def diff(
    ctx: typer.Context,
    one: Annotated[str, typer.Argument(metavar="A", help="A profile, or a patch file.")],
    other: Annotated[str, typer.Argument(metavar="B", help="A profile, or a patch file.")],
    reveal: Reveal = False,
) -> Result[dict[str, Any]]:
    """Show how two profiles or patch files differ.

    + added, - removed, ~ changed, > moved. What is no profile's name is a file.
    """
    from dshloop.profiles.diff import compare

    run = invocation(ctx)
    with user_inbox(run) as inbox:
        sides = _side(run, one, inbox), _side(run, other, inbox)
    found = compare((one, sides[0]), (other, sides[1]), reveal=reveal)
    same = [] if found.rows else [f"{one} and {other} do not differ"]
    return Result(found.as_json(), Document(found.as_text()), notices=[*notices(inbox), *same])


def _side(run: Invocation, text: str, inbox: Inbox | None) -> list[Item]:
    """Read one side: the rows of a profile, or what a patch file says."""
    from dshloop.profiles.compose import compose
    from dshloop.profiles.diff import items_of_composition, items_of_layer
    from dshloop.profiles.layers import read_layer
    from dshloop.profiles.layout import find_profile
    from dshloop.profiles.stack import stack_layers

    path = file_at(run, text)
    if "/" in text or "\\" in text or (path.is_file() and path.suffix in (".yml", ".yaml")):
        return items_of_layer(read_layer(path, text))
    profile = find_profile(run.places, text)
    composition = compose(stack_layers(profile, inbox=inbox).layers)
    return items_of_composition(composition, profile.folder)
