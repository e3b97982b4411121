"""`dshloop memory hook`: called by the hooks of other agents, which it never breaks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dshloop.cli.invocation import Invocation
from dshloop.cli.memory import complete
from dshloop.cli.memory.common import (
    WriteVerb,
    given,
    module_app,
    project,
)
from dshloop.cli.memory.hook_outbox import catch_up, caution, put_off
from dshloop.cli.memory.opening import way_to_open
from dshloop.cli.memory.texts import piped
from dshloop.cli.params import invocation
from dshloop.errors import (
    DshloopError,
    HookDataInvalidError,
    StoreUnknownError,
    UsageError,
)
from dshloop.memory.stores import EMBEDDED
from dshloop.result import Document, Result

if TYPE_CHECKING:
    from dshloop.memory.answers import Observed
    from dshloop.memory.hook_input import HookCall

app = module_app()
_TYPER_FAULT: type[Exception] = typer.BadParameter.__mro__[2]
_STRICT = "--strict"
BUDGET = 1500
"""Tokens that are given back at most."""


class HookVerb(WriteVerb):
    """A verb whose faults, those of its options too, must not reach the agent that calls it.

    To agents an exit code of 2 means that they may not go on.
    """

    def make_context(
        self, info_name: Any, args: list[str], parent: Any = None, **extra: Any
    ) -> Any:
        """Parse the words; what is wrong with them is told, and that is all."""
        strict = _STRICT in args
        try:
            return super().make_context(info_name, args, parent, **extra)
        except _TYPER_FAULT as fault:
            if strict or parent is None:
                raise
            text = str(getattr(fault, "message", fault))
            invocation(parent).answer = _left_alone(UsageError(text))
            raise typer.Exit from None


def _events(ctx: Any, args: list[str], incomplete: str) -> list[tuple[str, str]]:
    from dshloop.memory.hook_input import events

    return [(name, "event") for name in events() if name.startswith(incomplete)]


def _programs(ctx: Any, args: list[str], incomplete: str) -> list[tuple[str, str]]:
    from dshloop.memory.hook_settings import PROGRAMS

    return [(name, one.file) for name, one in PROGRAMS.items() if name.startswith(incomplete)]


@app.command(cls=HookVerb, epilog="Example: dshloop memory hook --print-settings claude-code")
def hook(
    ctx: typer.Context,
    event: Annotated[
        str | None,
        typer.Argument(
            metavar="[EVENT]",
            help="What happened, e.g. PostToolUse; else hook_event_name of the data.",
            autocompletion=_events,
        ),
    ] = None,
    agent: Annotated[
        str | None, typer.Option("--agent", metavar="NAME", help="Whose session it is.")
    ] = None,
    project_name: Annotated[
        str | None,
        typer.Option(
            "--project",
            metavar="NAME",
            help="The project instead of that of the data's cwd.",
            autocompletion=complete.projects,
        ),
    ] = None,
    budget: Annotated[
        int, typer.Option("--budget", min=1, metavar="N", help="Give back at most N tokens.")
    ] = BUDGET,
    record: Annotated[
        bool, typer.Option("--record/--no-record", help="Keep what happened.")
    ] = True,
    inject: Annotated[
        bool, typer.Option("--inject/--no-inject", help="Give back what is known.")
    ] = True,
    strict: Annotated[
        bool, typer.Option(_STRICT, help="Fail when something fails; agents may stop then.")
    ] = False,
    print_settings: Annotated[
        str | None,
        typer.Option(
            "--print-settings",
            metavar="AGENT",
            help="Print the hooks to set in claude-code or codex.",
            autocompletion=_programs,
        ),
    ] = None,
    program: Annotated[
        str, typer.Option("--program", metavar="PATH", help="How the settings call dshloop.")
    ] = "dshloop",
) -> Result[dict[str, Any]]:
    """Take the JSON that a hook of Claude Code or Codex gives on standard input.

    What happened is recorded, secrets taken out. SessionStart and UserPromptSubmit give back what
    is known of the project and of the prompt, as JSON that those programs put before the model; no
    session is told the same entry twice. Whatever goes wrong is one line on stderr and exit 0,
    unless --strict is given.
    """
    if print_settings is not None:
        given_here = {"project": project_name, "budget": None if budget == BUDGET else str(budget)}
        switches = [
            name for name, on in (("--no-record", record), ("--no-inject", inject)) if not on
        ]
        return _settings(ctx, print_settings, program, given_here, switches)
    try:
        return _taken(ctx, event, agent, project_name, budget, record=record, inject=inject)
    except Exception as fault:
        if strict:
            raise
        return _left_alone(fault)


def _taken(
    ctx: typer.Context,
    event: str | None,
    agent: str | None,
    project_name: str | None,
    budget: int,
    *,
    record: bool,
    inject: bool,
) -> Result[dict[str, Any]]:
    from dshloop.memory.hook_input import read_hook
    from dshloop.memory.hook_told import ToldFiles
    from dshloop.memory.hooking import Setup, patience_of, take
    from dshloop.memory.patience import within
    from dshloop.memory.stores import open_recorder

    run = invocation(ctx)
    call = read_hook(event, _data(run))
    setup = Setup(_project(run, call, project_name), agent, budget, record, inject)
    name, options = way_to_open(ctx)
    told = ToldFiles(run.places.data / "hooks", run.env.clock)

    def taken() -> tuple[Observed | None, str]:
        with closing(open_recorder(name, **options)) as store:
            if setup.records:
                catch_up(run, name, store, call)
            return take(store, call, setup, told)

    try:
        return _answer(run, call, *within(patience_of(call.event), name or EMBEDDED, taken))
    except (UsageError, StoreUnknownError):
        raise
    except DshloopError as fault:
        if not (setup.records and call.recordable):
            raise
        raise put_off(run, name, call, setup, fault) from None


def _answer(
    run: Invocation, call: HookCall, recorded: Observed | None, text: str
) -> Result[dict[str, Any]]:
    """Give what the agent reads: nothing, or the one object that it knows."""
    notices = []
    if run.verbose and recorded is not None:
        notices = [f"{recorded.observation.id} in session {call.session}"]
    if not text:
        return Result({}, notices=notices)
    import json

    answer = {"hookSpecificOutput": {"hookEventName": call.event, "additionalContext": text}}
    return Result(answer, Document(json.dumps(answer) + "\n"), notices=notices)


def _left_alone(fault: Exception) -> Result[dict[str, Any]]:
    """Tell a fault, and let the agent go on."""
    return Result({}, warnings=[caution(fault)])


def _data(run: Invocation) -> Any:
    import json

    text = "" if run.env.stdin_tty else piped(run)
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as fault:
        raise HookDataInvalidError(f"standard input is no JSON: {fault}") from None


def _project(run: Invocation, call: HookCall, named: str | None) -> str:
    from pathlib import Path

    from dshloop.memory.project import project_here

    cwd = Path(call.cwd) if call.cwd else run.env.cwd
    return project(run, named) or project_here(run.env.variables, cwd)


def _settings(
    ctx: typer.Context,
    agent: str,
    program: str,
    more: Mapping[str, str | None],
    switches: Sequence[str],
) -> Result[dict[str, Any]]:
    import json
    import shutil

    from dshloop.memory.hook_settings import PROGRAMS, settings

    run = invocation(ctx)
    if agent not in PROGRAMS:
        known = ", ".join(PROGRAMS)
        raise UsageError(f'there are no settings for "{agent}"', hint=f"Agents: {known}.")
    asked = {**more, "store": given(ctx).get("store"), "data-dir": run.data_dir}
    words = [word for key, value in asked.items() if value for word in (f"--{key}", value)]
    options = [*words, *switches]
    found = settings(agent, program, options)
    notices = [f"these belong into {PROGRAMS[agent].file}, beside the hooks that are there"]
    if shutil.which(program, path=run.env.variables.get("PATH")) is None:
        notices.append(f"{program} is not on PATH: name the program by --program")
    return Result(found, Document(json.dumps(found, indent=2) + "\n"), notices=notices)
