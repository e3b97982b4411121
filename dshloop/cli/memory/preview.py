"""`dshloop memory preview`: what memory would be told and asked because of a session."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dshloop.cli.invocation import Invocation
from dshloop.cli.memory.common import module_app
from dshloop.cli.params import ProfileCommand, invocation
from dshloop.result import Document, Result

if TYPE_CHECKING:
    from dshloop.host.rows import HostRow

app = module_app()


def _sessions(ctx: typer.Context, args: list[str], incomplete: str) -> list[tuple[str, str]]:
    from dshloop.cli.session.common import session_ids

    return session_ids(ctx, args, incomplete)


def _points(ctx: typer.Context, args: list[str], incomplete: str) -> list[tuple[str, str]]:
    from dshloop.runs.kept.preview import POINTS

    return [(point, "") for point in POINTS if point.startswith(incomplete)]


@app.command(
    cls=ProfileCommand, epilog="Example: dshloop memory preview last --point compaction/summary"
)
def preview(
    ctx: typer.Context,
    session: Annotated[
        str,
        typer.Argument(
            metavar="SESSION",
            help="An id, its beginning, last, or a log's file.",
            autocompletion=_sessions,
        ),
    ],
    point: Annotated[
        str | None,
        typer.Option("--point", metavar="P", help="Only at this point.", autocompletion=_points),
    ] = None,
) -> Result[list[dict[str, Any]]]:
    """Print the exact calls that a memory row would make for a stored session; nothing is sent.

    With --profile by its row dsh-agentmemory or dsh-patchouli-agent-loop, else by dsh-agentmemory
    without any config. Points are types of events (tool/result), session/created, session/disposed
    and, of Patchouli, agent/pre-step and session/turn-end. Secrets are taken out as they would be.
    """
    from dshloop.cli.session.common import finding_warnings
    from dshloop.runs.kept.preview import preview as previewed
    from dshloop.sessions.locate import locate
    from dshloop.transcripts.dsh import read_transcript

    run = invocation(ctx)
    log = read_transcript(locate(run.places, session, run.env.cwd).path)
    calls = previewed(log, _rows(run), run.env.variables, point)
    notices = [] if calls else ["no call would be made"]
    warnings = finding_warnings(log.findings)
    return Result(calls, Document("".join(_text(calls))), notices=notices, warnings=warnings)


def _rows(run: Invocation) -> Sequence[HostRow]:
    """Give the rows of the profile that was named; without one, none."""
    if run.profile is None:
        return ()
    from dshloop.cli.docked import run_rows

    return run_rows(run).rows


def _text(calls: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Write each call as its method and path, or its operation, over its JSON."""
    from dshloop.json_text import json_text

    for call in calls:
        seq = "" if call["seq"] is None else f"  # event {call['seq']}"
        if "request" in call:
            yield f"{call['operation']} at {call['point']}{seq}\n{json_text(call['request'])}\n"
        else:
            yield f"{call['method']} {call['path']}{seq}\n{json_text(call['body'])}\n"
