"""`dshloop agent team`: the agents of a profile and of a file, at work together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dshloop.cli.dock_complete import agent_ids, runnable_drivers
from dshloop.cli.docked import run_rows
from dshloop.cli.params import ProfileCommand, invocation, new_app
from dshloop.errors import UsageError
from dshloop.result import Caution, End, Stream

if TYPE_CHECKING:
    from dshloop.cli.invocation import Invocation
    from dshloop.runs.talking.options import RunOptions
    from dshloop.runs.teams.member import Worked
    from dshloop.runs.teams.running import Record, TeamEnded

team = new_app("team", "Run several agents together, with one transcript.", profile=True)


@team.callback()
def group() -> None:
    """Run several agents together, with one transcript."""


@team.command(cls=ProfileCommand, epilog="Example: dshloop agent team run team.yml --profile web")
def run(
    ctx: typer.Context,
    file: Annotated[
        str | None,
        typer.Argument(metavar="[FILE]", help="A file with agents, as the dock row has them."),
    ] = None,
    agent: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ID", autocompletion=agent_ids, help="Only this agent; give it again for more."
        ),
    ] = None,
    prompt: Annotated[
        str | None,
        typer.Option(metavar="TEXT", help="What those are to do that have no prompt of their own."),
    ] = None,
    driver: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", autocompletion=runnable_drivers, help="The driver of all agents."
        ),
    ] = None,
    script: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="What the fake driver says, to each from the beginning."),
    ] = None,
    allow: Annotated[
        list[str] | None,
        typer.Option(metavar="TOOLS", help="Tools that nobody is asked about: edit, shell."),
    ] = None,
    parallel: Annotated[int, typer.Option(metavar="N", min=1, help="How many work at once.")] = 8,
    cwd: Annotated[str | None, typer.Option(metavar="DIR", help="Work in this folder.")] = None,
) -> Stream:
    """Give each declared agent its prompt, on its own loop, driver and model, and show all.

    The agents of the profile's dock row run, and those of FILE, whose entries go before. Each
    line of the transcript has its agent's name in front. The exit code is 0 when all completed;
    one that fails stops nobody else.
    """
    from dshloop.paths import absolute
    from dshloop.runs.teams.plan import TeamAsked, plan_team
    from dshloop.runs.teams.running import run_team

    invoked = invocation(ctx)
    env = invoked.env
    base = _base(invoked, driver, script, allow or [], cwd)
    path = None if file is None else absolute(file, env.cwd, env.variables)
    plan = plan_team(invoked.places, TeamAsked(base, path, agent or (), prompt), env.clock)
    records = run_team(invoked.places, plan, base, env.clock, parallel=parallel)
    return _stream(records, plan.notices)


def _base(
    invoked: Invocation, driver: str | None, script: str | None, allow: list[str], cwd: str | None
) -> RunOptions:
    """Give what the sessions of all members have in common."""
    from dataclasses import replace

    from dshloop.cli.models import model_providers
    from dshloop.runs.engines import engine_row, engine_settings
    from dshloop.runs.talking.asked import asked_rows, read_allowed
    from dshloop.runs.talking.options import RunOptions

    env = invoked.env
    folder = env.cwd if cwd is None else (env.cwd / cwd)
    if not folder.is_dir():
        raise UsageError(f"there is no folder {folder}", option="--cwd")
    rows = asked_rows(run_rows(invoked), read_allowed(allow))
    base = RunOptions(
        cwd=folder.resolve() if cwd is not None else folder,
        command=invoked.command,
        driver=driver,
        rows=rows,
        providers=model_providers(invoked),
        engines=engine_settings(
            invoked.places,
            variables=env.variables,
            config=invoked.config,
            row=engine_row(rows.dock_rows),
        ),
        ask=env.ask if env.stdin_tty and env.stderr_tty else None,
    )
    return base if script is None else replace(base, **_scripted(invoked, driver, script))


def _scripted(invoked: Invocation, driver: str | None, script: str) -> dict[str, Any]:
    from dshloop.drivers import FAKE, choose
    from dshloop.drivers.script import read_script
    from dshloop.paths import absolute

    chosen = driver or "fake"
    if choose(chosen).name != FAKE:
        raise UsageError(f"--script is for the fake driver, not for {chosen}", option="--script")
    path = absolute(script, invoked.env.cwd, invoked.env.variables)
    return {"driver": chosen, "script": read_script(path)}


# --- records -------------------------------------------------------------------------------------


def _stream(records: Iterator[Record], notices: tuple[str, ...]) -> Stream:
    from dshloop.runs.teams.labelled import Labelled

    labelled = Labelled()
    return Stream((_record(record, notices) for record in records), labelled.text_of)


def _record(record: Record, notices: tuple[str, ...]) -> Mapping[str, Any] | End:
    from dshloop.runs.teams.member import Worked
    from dshloop.runs.teams.running import TeamBegun, TeamEnded
    from dshloop.runs.teams.transcript import AgentOpened

    if isinstance(record, TeamEnded):
        return _end(record, notices)
    if isinstance(record, Worked):
        return {"type": "agent-end", **record.as_json()}
    if isinstance(record, TeamBegun):
        return {"type": "team", "agents": list(record.agents)}
    if isinstance(record, AgentOpened):
        return {"type": "agent", **record._asdict()}
    return {"type": "event", **record._asdict()}


def _end(ended: TeamEnded, notices: tuple[str, ...]) -> End:
    from dshloop.terminal import one_line

    agents = [{k: v for k, v in one.as_json().items() if k != "text"} for one in ended.agents]
    sessions = [
        f"session {one_line(one.session)} ({one_line(one.name)})"
        for one in ended.agents
        if one.session
    ]
    return End(
        ended.outcome,
        {"agents": agents},
        notices=[*notices, *ended.notices, *sessions],
        warnings=[caution for one in ended.agents if (caution := _caution(one)) is not None],
        exit_code=ended.exit_code,
    )


def _caution(worked: Worked) -> Caution | None:
    """Say why an agent did not complete; an interrupt is no surprise."""
    if worked.why is None or (worked.outcome == "aborted" and worked.failure is None):
        return None
    from dshloop.terminal import one_line

    said = f'agent "{one_line(worked.name)}": {worked.why}'
    hint = (worked.failure or {}).get("hint")
    lines = [f"error: {said}", *(f"  {line}" for line in (hint or "").splitlines())]
    return Caution(said, "AGENT_NOT_COMPLETED", line="\n".join(lines))
