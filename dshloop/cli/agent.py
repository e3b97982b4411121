"""`dshloop agent`: the agents that a profile's dock row asks for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from dshloop.cli.agent_team import team
from dshloop.cli.dock_complete import agent_ids, driver_names, loop_ids, session_ids
from dshloop.cli.docked import (
    DryRun,
    Layer,
    Yes,
    cautions,
    docked,
    edit_dock,
    run_rows,
)
from dshloop.cli.params import ProfileCommand, invocation, new_app, seconds
from dshloop.errors import UsageError
from dshloop.result import Caution, Result, Table
from dshloop.times import iso_time

if TYPE_CHECKING:
    from dshloop.cli.invocation import Invocation
    from dshloop.loops.config import AgentEntry
    from dshloop.runs.docks.agents import StartedAgent
    from dshloop.runs.docks.docking import Docking

app = new_app("agent", "List, add, start and team up the agents of a profile.", profile=True)
app.add_typer(team)


@app.command("list", cls=ProfileCommand, epilog="Example: dshloop agent list --profile web")
def list_agents(ctx: typer.Context) -> Result[list[dict[str, Any]]]:
    """List the agents that the dock row asks for, and whether what they need is there."""
    run = invocation(ctx)
    with docked(run) as (docking, notices):
        entries = docking.dock.config.agents
        data = [_as_json(run, docking, index, entry) for index, entry in enumerate(entries)]
    rows = [
        (
            one["id"], one.get("loop", "-"), one.get("driver", "-"),
            "/".join(filter(None, (one.get("provider"), one.get("model")))) or "-",
            one.get("sessionId") or one.get("resumeSessionId") or "-",
            one["waits_for"] or "ready",
        )
        for one in data
    ]  # fmt: skip
    columns = ("ID", "LOOP", "DRIVER", "MODEL", "SESSION", "STATE")
    table = Table(columns, rows, "the dock row asks for no agents")
    return Result(data, table, notices=notices, warnings=cautions(docking))


@app.command(
    cls=ProfileCommand,
    epilog="Example: dshloop agent add coder --loop careful --model m --profile web",
)
def add(
    ctx: typer.Context,
    agent: Annotated[
        str | None, typer.Argument(metavar="[ID]", help="What the agent is called.")
    ] = None,
    source: Annotated[
        str | None,
        typer.Option(
            "--from", metavar="FILE", help="A file with agents, as the dock row has them."
        ),
    ] = None,
    session: Annotated[
        str | None,
        typer.Option("--session-id", metavar="ID", help="Its session, made if it isn't there."),
    ] = None,
    resume: Annotated[
        str | None,
        typer.Option(
            "--resume-session-id",
            metavar="ID",
            autocompletion=session_ids,
            help="The session it goes on with.",
        ),
    ] = None,
    loop: Annotated[
        str | None, typer.Option(metavar="ID", autocompletion=loop_ids, help="Its loop.")
    ] = None,
    driver: Annotated[
        str | None, typer.Option(metavar="NAME", autocompletion=driver_names, help="Its driver.")
    ] = None,
    provider: Annotated[
        str | None, typer.Option(metavar="NAME", help="The provider of its model.")
    ] = None,
    model: Annotated[str | None, typer.Option(metavar="NAME", help="Its model.")] = None,
    max_tokens: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="How long an answer may be.")
    ] = None,
    effort: Annotated[
        str | None, typer.Option("--reasoning-effort", metavar="LEVEL", help="How hard it thinks.")
    ] = None,
    cwd: Annotated[str | None, typer.Option(metavar="DIR", help="Where it works.")] = None,
    layer: Layer = "profile",
    yes: Yes = False,
    dry_run: DryRun = False,
) -> Result[dict[str, Any]]:
    """Add an agent to the dock row, or all that a file describes."""
    from dshloop.drivers import recorded
    from dshloop.loops.edit import add_agents
    from dshloop.loops.names import require_driver_name, require_loop_id

    run = invocation(ctx)
    given: dict[str, Any] = {
        "id": agent,
        "sessionId": session,
        "resumeSessionId": resume,
        "loop": None if loop is None else require_loop_id(loop),
        "driver": None if driver is None else recorded(require_driver_name(driver)),
        "provider": provider,
        "model": model,
        "maxTokens": max_tokens,
        "reasoningEffort": effort,
        "cwd": cwd,
    }
    entry = {key: value for key, value in given.items() if value is not None}
    if (source is None) == (not entry) or (source is None and agent is None):
        raise UsageError("give either an ID, with its fields as options, or --from FILE alone")
    entries: list[dict[str, Any]] = [entry]
    told: list[str] = []
    if source is not None:
        from dshloop.loops.team_file import read_team_file
        from dshloop.paths import absolute

        team = read_team_file(absolute(source, run.env.cwd, run.env.variables))
        entries = list(team.entries)
        told = [f"not taken from the file: {key}" for key in team.left_out]
        if not entries:
            return Result({"agents": [], "changed": False}, "the file has no agents", notices=told)
    result = edit_dock(
        run,
        lambda desk: add_agents(desk, entries),
        layer=layer,
        dry_run=dry_run,
        yes=yes,
        agents=entries,
    )
    return result._replace(notices=[*result.notices, *told])


@app.command(cls=ProfileCommand, epilog="Example: dshloop agent remove coder --profile web")
def remove(
    ctx: typer.Context,
    agent: Annotated[
        str, typer.Argument(metavar="ID", autocompletion=agent_ids, help="An agent's id.")
    ],
    layer: Layer = "profile",
    dry_run: DryRun = False,
) -> Result[dict[str, Any]]:
    """Take an agent out of the dock row; its session stays. Of several with one id the last."""
    from dshloop.loops.edit import remove_agent

    return edit_dock(
        invocation(ctx),
        lambda desk: remove_agent(desk, agent),
        layer=layer,
        dry_run=dry_run,
        yes=False,
        agent=agent,
    )


@app.command(cls=ProfileCommand, epilog="Example: dshloop agent start --profile web")
def start(
    ctx: typer.Context,
    agents: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[AGENT]...", autocompletion=agent_ids, help="The agents; all without any."
        ),
    ] = None,
    timeout: Annotated[
        float,
        typer.Option(
            metavar="SECONDS",
            min=0,
            callback=seconds,
            help="How long to wait for what is missing, and for a start.",
        ),
    ] = 0,
) -> Result[list[dict[str, Any]]]:
    """Start the agents of the dock row, each on its loop and driver, and let them go again.

    Their sessions are there from then on: talk to one with dshloop session run --resume SESSION.
    One whose loop or driver is missing says what for, since when, and what mends it (exit code
    3); one that fails, or still starts when the timeout is over, says why. No agent gets an
    input, and the command ends once all are started, failed or still waiting after the timeout.
    """
    from dshloop.runs.docks.agents import start_agents
    from dshloop.runs.stored import StoredSessions

    run = invocation(ctx)
    sessions = StoredSessions(run.places, run.env.cwd, run.env.clock, run.command)
    rows = run_rows(run)
    found = start_agents(
        run.places, sessions, rows, agents or (), clock=run.env.clock, timeout=timeout
    )
    data = [one.as_json() for one in found.agents]
    lines = [
        (one["id"], one["loop"] or "-", one["driver"] or "-", one["session"] or "-", one["state"])
        for one in data
    ]
    columns = ("ID", "LOOP", "DRIVER", "SESSION", "STATE")
    table = Table(columns, lines, "the dock row asks for no agents")
    warnings = [told for one in found.agents if (told := _caution(one)) is not None]
    return Result(data, table, found.notices, warnings, found.exit_code)


def _caution(agent: StartedAgent) -> Caution | None:
    """Say why an agent has not started, and what to do."""
    name = f'agent "{agent.entry.id}"'
    if agent.missing is not None:
        text = f"{name} waits since {iso_time(agent.since)}: {agent.missing.message}"
        return Caution(f"{text}\n  {agent.mend}", "AGENT_WAITING")
    if agent.fault is None:
        return None
    hint = f"\n  {agent.fault.hint}" if agent.fault.hint else ""
    said = f"{name} failed: {agent.fault.message}{hint}"
    return Caution(said, agent.fault.code, details=agent.fault.as_json())


def _as_json(run: Invocation, docking: Docking, index: int, entry: AgentEntry) -> dict[str, Any]:
    from dshloop.runs.docks.explaining import keeps_waiting

    where = docking.rows.where(f"agents[{index}]") if docking.rows is not None else None
    waits_for = keeps_waiting(docking, entry, run.places)
    return {**entry.as_json(), "waits_for": waits_for, "where": where}
