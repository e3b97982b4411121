"""`dshloop loop demo`: what a dock does, in a second and without a model."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from dshloop.cli.loop.common import app
from dshloop.cli.params import Command
from dshloop.result import Result


def _demos(ctx: Any, args: list[str], incomplete: str) -> list[tuple[str, str]]:
    from dshloop.runs.docks.demos import DEMOS

    return [(name, "demo") for name in DEMOS if name.startswith(incomplete)]


@app.command(cls=Command, epilog="Example: dshloop loop demo two-strategies")
def demo(
    name: Annotated[
        str,
        typer.Argument(autocompletion=_demos, help="two-strategies or two-drivers."),
    ],
) -> Result[dict[str, Any]]:
    """Run two agents on two loops in one dock: no key, no network, nothing is written."""
    from dshloop.runs.docks.demos import run_demo

    lines = run_demo(name)
    return Result({"demo": name, "lines": lines}, "\n".join(lines))
