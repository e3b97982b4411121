"""`dshloop memory observe`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import typer

from dshloop.cli.invocation import Invocation
from dshloop.cli.memory import complete
from dshloop.cli.memory.common import (
    AllowSecrets,
    ProjectHere,
    WriteVerb,
    module_app,
    project,
)
from dshloop.cli.memory.opening import opened
from dshloop.cli.memory.texts import piped, redaction
from dshloop.cli.params import invocation
from dshloop.errors import HookDataInvalidError, UsageError
from dshloop.result import Result

app = module_app()
_SESSION_KEYS = ("session_id", "sessionId")


@app.command(
    cls=WriteVerb,
    epilog='Example: dshloop memory observe stop --session s1 --data \'{"reason": "done"}\'',
)
def observe(
    ctx: typer.Context,
    hook: Annotated[
        str,
        typer.Argument(help="What happened, e.g. post_tool_use.", autocompletion=complete.hooks),
    ],
    data: Annotated[
        str | None, typer.Option("--data", metavar="JSON", help="Instead of standard input.")
    ] = None,
    session: Annotated[
        str | None,
        typer.Option(
            "--session",
            metavar="ID",
            help="Where it happened, unless the data say so.",
            autocompletion=complete.sessions,
        ),
    ] = None,
    project_name: ProjectHere = None,
    agent: Annotated[
        str | None,
        typer.Option(
            "--agent", metavar="NAME", help="Whose session it is.", autocompletion=complete.agents
        ),
    ] = None,
    at: Annotated[
        str | None,
        typer.Option(
            "--at", metavar="WHEN", help="When, if not now.", autocompletion=complete.moments
        ),
    ] = None,
    allow_secrets: AllowSecrets = False,
) -> Result[dict[str, Any]]:
    """Keep what an agent's hook reports, as JSON on standard input, and print its id.

    The keys tool_name, tool_input, tool_output, error and prompt are known; any other JSON is kept
    as text. A repeat within five minutes is counted, not doubled. The hooks session_start
    and session_end begin and end the session.
    """
    from dshloop.memory.entries import NewSession
    from dshloop.memory.moments import read_moment
    from dshloop.memory.observing import SESSION_END, SESSION_START, observed
    from dshloop.memory.project import project_here

    run = invocation(ctx)
    if not hook.strip():
        raise UsageError("a hook needs a name")
    value = _data(run, data)
    new = observed(
        hook.strip(),
        value,
        session=_session(session, value),
        project=project(run, project_name) or project_here(run.env.variables, run.env.cwd),
        cwd=str(run.env.cwd),
        at=None if at is None else read_moment(at, run.env.clock()).start,
        agent=agent,
        allow_secrets=allow_secrets,
    )
    with opened(ctx) as store:
        if new.hook == SESSION_START:
            store.start_session(NewSession(new.session, new.project, new.cwd, new.agent))
        done = store.observe(new, allow_secrets=allow_secrets)
        if new.hook == SESSION_END:
            store.end_session(new.session)
    said = f"counted again ({done.observation.repeats} times)" if done.duplicate else "observed"
    result = {
        **done.observation.as_json(),
        "duplicate": done.duplicate,
        "redacted": done.redacted,
    }
    notice = f"{said} in session {done.observation.session}"
    return Result(result, done.observation.id, notices=[notice], warnings=redaction(done.redacted))


def _data(run: Invocation, given: str | None) -> Any:
    import json

    where = "--data" if given is not None else "standard input"
    if given is None:  # nobody is meant to type the data
        given = "" if run.env.stdin_tty else piped(run)
    if not given.strip():
        return {}
    try:
        return json.loads(given)
    except (ValueError, RecursionError) as fault:
        raise HookDataInvalidError(
            f"{where} is no JSON: {fault}",
            line=getattr(fault, "lineno", None),
            column=getattr(fault, "colno", None),
        ) from None


def _session(named: str | None, data: Any) -> str:
    """Give the session that an option or the data name; HOOK_DATA_INVALID when neither does."""
    if named is not None and named.strip():
        return named.strip()
    if isinstance(data, Mapping):
        for key in _SESSION_KEYS:
            found = data.get(key)
            if isinstance(found, str) and found.strip():
                return found.strip()
    raise HookDataInvalidError(
        "the data name no session", hint="Give --session ID, or session_id in the data."
    )
