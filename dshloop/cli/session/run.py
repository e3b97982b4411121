"""`dshloop session run`: one prompt, piped prompts, or a conversation on a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dshloop.cli.dock_complete import loop_ids, preset_ids, runnable_drivers
from dshloop.cli.docked import run_rows
from dshloop.cli.invocation import Invocation
from dshloop.cli.models import asking, model_names, provider_names
from dshloop.cli.params import ProfileCommand, invocation, new_app
from dshloop.cli.session.common import session_ids
from dshloop.errors import ExitCode, PromptMissingError, UsageError
from dshloop.result import Caution, End, Result, Stream

if TYPE_CHECKING:
    from dshloop.runs.conversation import RunOptions
    from dshloop.runs.prompts import Format
    from dshloop.runs.run import Ended, Record

app = new_app("session", "")


def _formats(ctx: Any, args: list[str], incomplete: str) -> list[str]:
    return [name for name in ("text", "lines", "jsonl") if name.startswith(incomplete)]


def _tools(ctx: Any, args: list[str], incomplete: str) -> list[str]:
    return [name for name in ("edit", "shell", "edit,shell") if name.startswith(incomplete)]


@app.command(cls=ProfileCommand)
def run(
    ctx: typer.Context,
    prompt: Annotated[
        str | None, typer.Argument(help="What to say; - takes it from standard input.")
    ] = None,
    driver: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="What answers: headless (a model), dsh, acp, fake, ping.",
            autocompletion=runnable_drivers,
        ),
    ] = None,
    command: Annotated[
        str | None,
        typer.Option(
            "--command", metavar="COMMAND", help="What starts the agent of the driver acp."
        ),
    ] = None,
    loop: Annotated[
        str | None, typer.Option(metavar="ID", autocompletion=loop_ids, help="The loop it runs on.")
    ] = None,
    preset: Annotated[
        str | None,
        typer.Option(
            metavar="ID", autocompletion=preset_ids, help="The agent preset of a new session."
        ),
    ] = None,
    session_id: Annotated[
        str | None, typer.Option(metavar="ID", help="The id of the new session.")
    ] = None,
    resume: Annotated[
        str | None,
        typer.Option(
            metavar="ID",
            help="Continue a session: its id, the beginning of it, or last.",
            autocompletion=session_ids,
        ),
    ] = None,
    script: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="What the fake driver says, as a YAML file."),
    ] = None,
    input_format: Annotated[
        str,
        typer.Option(
            metavar="FORMAT",
            help="Standard input is one prompt (text), or one a line (lines, jsonl).",
            autocompletion=_formats,
        ),
    ] = "text",
    stdin: Annotated[
        bool, typer.Option("--stdin", help="Read standard input behind the PROMPT.")
    ] = False,
    provider: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", autocompletion=provider_names, help="The model provider that answers."
        ),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", autocompletion=model_names, help="Its model, or PROVIDER/MODEL in one."
        ),
    ] = None,
    max_tokens: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="The most tokens of an answer.")
    ] = None,
    effort: Annotated[
        str | None,
        typer.Option(metavar="LEVEL", help="How much the model thinks: off, low, high …"),
    ] = None,
    allow: Annotated[
        list[str] | None,
        typer.Option(
            "--allow",
            metavar="TOOLS",
            help="Tools that nobody is asked about: edit, shell or both, with a comma. "
            "shell is not confined to the folder.",
            autocompletion=_tools,
        ),
    ] = None,
    memory: Annotated[
        bool | None,
        typer.Option(
            "--memory/--no-memory",
            help="Record the session and recall earlier ones; or no memory tools at all.",
        ),
    ] = None,
    cwd: Annotated[str | None, typer.Option(metavar="DIR", help="Work in this folder.")] = None,
    force_rebind: Annotated[
        bool,
        typer.Option(
            "--force-rebind",
            help="Go on with a session whose log is damaged: in a new one, bound anew.",
        ),
    ] = False,
    allow_partial: Annotated[
        bool,
        typer.Option(
            "--allow-partial",
            help="Go on where the driver doesn't carry all that the loop needs; says what.",
        ),
    ] = False,
) -> Stream | Result[Any]:
    """Talk to an agent: one prompt, piped prompts, or a conversation on a terminal.

    Lines of --input-format lines and jsonl are turns, read as they come; a jsonl line is a JSON
    string or {"prompt": text}. The run stops at the first turn that fails. Without a profile the
    built-in one is used: a loop dock, and the drivers headless, dsh, acp, fake and ping.
    """
    invoked = invocation(ctx)
    if force_rebind and resume is None:
        raise UsageError("--force-rebind is for a session that --resume continues")
    options = _options(
        invoked,
        cwd,
        force_rebind,
        driver=driver,
        loop=loop,
        preset=preset,
        session_id=session_id,
        resume=resume,
    )
    options = _with_rows(options, allow, memory)
    options = asking(invoked, options, provider, model, max_tokens, effort)
    options = _scripted(invoked, options, script)
    options = _engines(invoked, options, command, allow_partial)
    kind = _format(input_format)
    typed = None if prompt == "-" else prompt
    if typed is None and prompt != "-" and not stdin and invoked.env.stdin_tty:
        return _converse(invoked, options)
    reads = typed is None or stdin
    from dshloop.runs.prompts import prompts
    from dshloop.runs.run import run_session

    texts = prompts(typed, invoked.env.stdin if reads else None, kind)
    records = run_session(invoked.places, options, texts, invoked.env.clock)
    return _stream(records)


# --- run -----------------------------------------------------------------------------------------


def _options(
    invoked: Invocation, cwd: str | None, force_rebind: bool, **given: str | None
) -> RunOptions:
    from dshloop.runs.conversation import RunOptions

    if given["resume"] is not None:
        for name in ("session_id", "preset"):
            if given[name] is not None:
                option = f"--{name.replace('_', '-')}"
                raise UsageError(
                    f"{option} is for a new session and --resume continues one: give only one "
                    "of them"
                )
    folder = invoked.env.cwd if cwd is None else invoked.env.cwd / cwd
    if not folder.is_dir():
        raise UsageError(f"there is no folder {folder}", option="--cwd")
    return RunOptions(
        cwd=folder.resolve() if cwd is not None else folder,
        command=invoked.command,
        driver=given["driver"],
        loop=given["loop"],
        preset=given["preset"],
        session_id=given["session_id"],
        resume=given["resume"],
        force_rebind=force_rebind,
        rows=run_rows(invoked),
    )


def _with_rows(options: RunOptions, allow: list[str] | None, memory: bool | None) -> RunOptions:
    """Have the rows of this run allow what is asked for."""
    from dataclasses import replace

    from dshloop.runs.asked import asked_rows, read_allowed

    return replace(options, rows=asked_rows(options.rows, read_allowed(allow or ()), memory))


def _scripted(invoked: Invocation, options: RunOptions, script: str | None) -> RunOptions:
    """Have the fake driver follow a script; it is chosen where nobody chose another."""
    if script is None:
        return options
    from dataclasses import replace

    from dshloop.drivers import FAKE, choose
    from dshloop.drivers.script import read_script
    from dshloop.paths import absolute

    driver = options.driver or "fake"
    if choose(driver).name != FAKE:
        raise UsageError(f"--script is for the fake driver, not for {driver}", option="--script")
    path = absolute(script, invoked.env.cwd, invoked.env.variables)
    return replace(options, driver=driver, script=read_script(path))


def _engines(
    invoked: Invocation, options: RunOptions, command: str | None, allow_partial: bool
) -> RunOptions:
    """Add what drivers of other programs need, and who allows what their agents ask for."""
    from dataclasses import replace

    from dshloop.drivers import choose
    from dshloop.drivers.engines import ACP
    from dshloop.runs.engines import engine_row, engine_settings

    driver = options.driver
    if command is not None:
        driver = driver or ACP
        if choose(driver).name != ACP:
            text = f"--command is for the driver acp, not for {driver}"
            raise UsageError(text, option="--command")
    env = invoked.env
    engines = engine_settings(
        invoked.places,
        variables=env.variables,
        config=invoked.config,
        row=engine_row(options.rows.dock_rows),
        command=command,
    )
    ask = env.ask if env.stdin_tty and env.stderr_tty else None
    return replace(options, driver=driver, engines=engines, allow_partial=allow_partial, ask=ask)


def _format(name: str) -> Format:
    from dshloop.runs.prompts import FORMATS

    for known in FORMATS:
        if name == known:
            return known
    raise UsageError(f'--input-format is text, lines or jsonl, not "{name}"')


def _converse(invoked: Invocation, options: RunOptions) -> Result[Any]:
    """Hold a conversation on the terminal; without one, say which command to use."""
    if not invoked.env.interactive or invoked.json:
        raise PromptMissingError(
            "there is no prompt, and a conversation needs a terminal on both sides and no --json"
        )
    from dshloop.cli.repl import converse

    ended = converse(invoked, options)
    data = {"id": ended.id, "turns": ended.turns}
    return Result(data, notices=[_id_notice(ended.id)] if ended.turns else [])


def _stream(records: Iterator[Record]) -> Stream:
    from dshloop.runs.reply import Reply

    reply = Reply()

    def text(record: Mapping[str, Any]) -> str | None:
        return reply.text_of(record["event"]) if record["type"] == "event" else None

    def aside(record: Mapping[str, Any]) -> str | None:
        return reply.notice_of(record["event"]) if record["type"] == "event" else None

    return Stream(map(_record, records), text, aside)


def _record(record: Record) -> Mapping[str, Any] | End:
    from dshloop.runs.run import Ended, Opened

    if isinstance(record, Ended):
        return _end(record)
    if isinstance(record, Opened):
        return {
            "type": "session",
            "id": record.id,
            "cwd": record.cwd,
            "loop": record.loop,
            "driver": record.driver,
            "resumed": record.resumed,
        }
    return {"type": "event", "event": record.event}


def _end(ended: Ended) -> End:
    from dshloop.runs.reply import failure_text

    fields: dict[str, Any] = {"id": ended.id, "turns": ended.turns}
    warnings = []
    if ended.failure is not None:
        fields["failure"] = ended.failure
    if ended.exit_code not in (ExitCode.DONE, ExitCode.INTERRUPTED):
        message = failure_text(ended.failure) if ended.failure else f"turn ended: {ended.outcome}"
        warnings.append(Caution(message, "TURN_FAILED", line=f"error: {message}"))
    return End(
        ended.outcome,
        fields,
        notices=[*ended.notices, _id_notice(ended.id)],
        warnings=warnings,
        exit_code=ended.exit_code,
    )


def _id_notice(session_id: str) -> str:
    return f"session {session_id}"
