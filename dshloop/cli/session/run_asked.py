"""What was typed of a run, as the library takes it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dshloop.cli.docked import run_rows
from dshloop.cli.invocation import Invocation
from dshloop.cli.models import asking
from dshloop.cli.session.run_options import Typed
from dshloop.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path

    from dshloop.runs.profile import ProfileRows
    from dshloop.runs.talking.conversation import RunOptions
    from dshloop.runs.talking.prompts import Format


def run_options(invoked: Invocation, typed: Typed) -> RunOptions:
    """Give the options of a run. Raises USAGE, and what the files and the profile raise."""
    from dshloop.runs.talking.conversation import RunOptions

    options = RunOptions(
        cwd=_folder(invoked, typed.cwd),
        command=invoked.command,
        moved=typed.cwd is not None,
        driver=typed.driver,
        loop=typed.loop,
        preset=typed.preset,
        session_id=typed.session_id,
        resume=typed.resume,
        force_rebind=typed.force_rebind,
        fork=typed.fork,
        read_only=typed.read_only,
        allow_partial=typed.allow_partial,
        rows=_rows(invoked, typed),
    )
    model = (typed.provider, typed.model, typed.max_tokens, typed.effort)
    options = asking(invoked, options, *model, typed.seed)
    options = _as_agent(invoked, options, typed)
    options = _scripted(invoked, options, typed)
    options = _with_system(invoked, options, typed)
    options = _with_files(invoked, options, typed)
    return _engines(invoked, options, typed.command)


def input_format(typed: Typed) -> Format:
    """Give the format of standard input. Raises USAGE."""
    from dshloop.runs.talking.prompts import FORMATS

    name = "text" if typed.input_format is None else typed.input_format
    for known in FORMATS:
        if name == known:
            return known
    raise UsageError(f'--input-format is text, lines or jsonl, not "{name}"')


def _folder(invoked: Invocation, cwd: str | None) -> Path:
    if cwd is None:
        return invoked.env.cwd
    folder = invoked.env.cwd / cwd
    if not folder.is_dir():
        raise UsageError(f"there is no folder {folder}", option="--cwd")
    return folder.resolve()


def _rows(invoked: Invocation, typed: Typed) -> ProfileRows:
    """Have the rows of this run allow what is asked for."""
    from dshloop.runs.talking.asked import asked_rows, read_allowed

    rows = asked_rows(run_rows(invoked), read_allowed(typed.allow), typed.memory)
    if typed.read_only:
        from dshloop.runs.talking.reading import read_only_rows

        rows = read_only_rows(rows)
    return rows


def _with_system(invoked: Invocation, options: RunOptions, typed: Typed) -> RunOptions:
    """Add the text of --system; @FILE stands for what is in a file."""
    text = typed.system
    if text is None:
        return options
    from dataclasses import replace

    from dshloop.runs.talking.asked import read_system, with_system

    if text.startswith("@"):
        from dshloop.paths import absolute

        text = read_system(absolute(text[1:], invoked.env.cwd, invoked.env.variables))
    if not text.strip():
        raise UsageError("--system has no text", option="--system")
    return replace(options, system=text, rows=with_system(options.rows, text))


def _as_agent(invoked: Invocation, options: RunOptions, typed: Typed) -> RunOptions:
    if typed.agent is None:
        return options
    from dshloop.runs.talking.declared import as_agent

    return as_agent(options, typed.agent, invoked.places)


def _scripted(invoked: Invocation, options: RunOptions, typed: Typed) -> RunOptions:
    """Have the fake driver follow a script; it is chosen where nobody chose another."""
    if typed.script is None:
        return options
    from dataclasses import replace

    from dshloop.drivers import FAKE, choose
    from dshloop.drivers.script import read_script
    from dshloop.paths import absolute

    driver = options.driver or "fake"
    if choose(driver).name != FAKE:
        raise UsageError(f"--script is for the fake driver, not for {driver}", option="--script")
    path = absolute(typed.script, invoked.env.cwd, invoked.env.variables)
    script = read_script(path)
    if typed.seed is not None:
        script = replace(script, seed=typed.seed)
    return replace(options, driver=driver, script=script)


def _with_files(invoked: Invocation, options: RunOptions, typed: Typed) -> RunOptions:
    """Add what is read and written beside: attachments, the transcript."""
    from dataclasses import replace

    from dshloop.paths import absolute

    env = invoked.env
    if typed.attach:
        from dshloop.runs.talking.attaching import read_attachments

        paths = [absolute(each, env.cwd, env.variables) for each in typed.attach]
        options = replace(options, attached=read_attachments(paths))
    if typed.transcript is not None:
        from dshloop.runs.talking.transcribing import Transcribing

        path = absolute(typed.transcript, env.cwd, env.variables)
        options = replace(options, watcher=Transcribing(path))
    return options


def _engines(invoked: Invocation, options: RunOptions, command: str | None) -> RunOptions:
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
    return replace(options, driver=driver, engines=engines, ask=ask)
