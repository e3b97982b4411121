"""`dshloop doctor`: what this machine has, and where everything is."""

from __future__ import annotations

from typing import Any

import typer

from dshloop.cli.params import Command, invocation, new_app
from dshloop.result import Result

app = new_app("doctor", "Check versions, folders and the programs found.")


@app.command(cls=Command)
def doctor(ctx: typer.Context) -> Result[dict[str, Any]]:
    """Check versions, folders and the programs found.

    Prints the versions dshloop runs on, every folder it uses and whether it can write there,
    which dsh, node and pnpm it finds and where, and which extras are installed. Changes nothing.
    """
    from dshloop.doctor import examine

    run = invocation(ctx)
    report = examine(run.places, run.env)
    return Result(report.as_json(), report.as_text(), warnings=report.warnings)
