"""The root of the command line: a static table of groups, and the one error boundary.

How a verb is written (cli/doctor.py is the shortest example)::

    app = new_app("plugin", "Add, remove and list the plugins of a profile.", profile=True)

    @app.command(cls=ProfileCommand)
    def add(ctx: typer.Context, specs: Annotated[list[str], typer.Argument(...)]) -> Result[...]:
        \"\"\"Add plugins: folders or archives.\"\"\"
        run = invocation(ctx)
        report = install.add(run.places, ...)           # one library call, imported in here
        return Result(report.as_json(), view, notices=[...])

A group's module is imported when one of its verbs is called, no sooner.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import redirect_stdout
from copy import copy
from importlib import import_module
from typing import Any, NamedTuple

import typer

from dshloop.cli.invocation import Invocation
from dshloop.cli.output import Output
from dshloop.cli.params import Command, Group
from dshloop.environment import Environment
from dshloop.errors import (
    DshloopError,
    ExitCode,
    InternalError,
    InterruptedByUserError,
    SystemRefusedError,
    UsageError,
)
from dshloop.result import Result, Stream


class Verb(NamedTuple):
    """Where a word of the root is defined: a group's ``app``, or one command of it."""

    module: str
    summary: str
    alone: bool = False


VERBS: dict[str, Verb] = {
    "profile": Verb("profile", "Show, edit, check and mend DSH profiles."),
    "plugin": Verb("plugin", "Add, update, switch and remove the plugins of a profile."),
    "session": Verb("session", "Run, look at, mend, copy and keep sessions."),
    "loop": Verb("loop", "List, explain, check, route, write and try agent loops."),
    "driver": Verb("driver", "List, choose and register the drivers that run loops."),
    "agent": Verb("agent", "List, add, start and team up the agents of a profile."),
    "provider": Verb("provider", "List and try the model providers that sessions ask."),
    "memory": Verb("memory", "Remember, recall and manage memories."),
    "history": Verb("history", "List the changes made by dshloop.", alone=True),
    "undo": Verb("history", "Take back a change, byte for byte.", alone=True),
    "redo": Verb("history", "Make an undone change again.", alone=True),
    "config": Verb("config", "Read and change dshloop's own settings."),
    "doctor": Verb("doctor", "Check versions, folders and the programs found.", alone=True),
}


class UnknownWordError(UsageError):
    """The first word is no verb; the words behind it were not looked at."""


# The class of all of Typer's own faults: ClickException in 0.26, TyperException since.
TYPER_FAULT: type[Exception] = typer.BadParameter.__mro__[2]

HELP_WIDTH = 80  # columns; longer lines are hard to read
NARROWEST_HELP = 40

SUMMARY = """\
The command line for DeepSeek Harness (DSH) profiles, agent loops, sessions and memory.

A community tool, not an official DeepSeek project.
"""

EPILOG = """\
Exit codes: 0 done, 1 failed, 2 usage, 3 not found, 4 refused, 5 a peer could not be reached.
"""


class Root(Group):
    """The root group: knows its verbs from a table, imports one module when it is called."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Give the verbs in the order of the table."""
        return list(VERBS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Import the module of a verb and give its Typer command; None for an unknown word."""
        return _verb(cmd_name) if cmd_name in VERBS else None

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Offer near matches from the table, which Typer's own suggestions don't know."""
        if args and args[0] not in VERBS and not args[0].startswith("-"):
            raise unknown_word(args[0], list(VERBS))
        if args and args[0] in VERBS:
            return args[0], _verb(*args[:2]), args[1:]
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the table without importing anything."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, verb.summary) for name, verb in VERBS.items()])


def _verb(name: str, following: str | None = None) -> Any:
    """Import the module of a verb and give its Typer command.

    A group is given with no other command than the one whose name follows it, if it has that:
    Typer reads the signature of every command that it builds.
    """
    verb = VERBS[name]
    whole = import_module(f"dshloop.cli.{verb.module}").app
    wanted = name if verb.alone else following
    only = [one for one in whole.registered_commands if _name_of(one) == wanted]
    if only:
        whole = copy(whole)
        whole.registered_commands, whole.registered_groups = only, []
    group = typer.main.get_group(whole)
    return group.commands[name] if verb.alone else group


def _name_of(command: Any) -> str:
    name: str = command.name or typer.main.get_command_name(command.callback.__name__)
    return name


app = typer.Typer(
    cls=Root,
    help=SUMMARY,
    epilog=EPILOG,
    rich_markup_mode=None,
    add_completion=False,
    no_args_is_help=False,
    invoke_without_command=True,
)


def _version(ctx: typer.Context, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        from dshloop import __version__

        run = ctx.find_object(Invocation)
        assert run is not None
        run.answer = Result({"version": __version__}, f"dshloop {__version__}")
        raise typer.Exit


@app.callback()
def root(
    ctx: typer.Context,
    version: bool = typer.Option(
        False, "--version", is_eager=True, callback=_version, help="Show the version."
    ),
) -> Result[Any] | None:
    """Answer `dshloop` alone with the help."""
    if ctx.invoked_subcommand is None:
        text = ctx.get_help()
        return Result({"help": text}, text)
    return None


def run(args: Sequence[str], env: Environment | None = None) -> int:
    """Run one command line in this process: parse, call, render; give the exit code.

    The only place that catches what commands raise. A reader that closes the pipe ends the run
    quietly with 0.
    """
    invocation = Invocation(env or Environment.real(), words=tuple(args))
    try:
        with redirect_stdout(invocation.env.stderr):  # what loops and plugins print is no answer
            return _answer(invocation)
    except BrokenPipeError:
        _silence(invocation.env)
        return ExitCode.DONE


def _answer(invocation: Invocation) -> int:
    try:
        answer = call(invocation)
        output = Output(invocation)
        if isinstance(answer, Stream):
            return output.stream(answer)
        return output.result(answer) if answer is not None else ExitCode.DONE
    except BrokenPipeError:
        raise
    except DshloopError as error:
        return Output(invocation).error(error)
    except (KeyboardInterrupt, typer.Abort):
        return Output(invocation).error(InterruptedByUserError("interrupted"))
    except Exception as fault:
        return Output(invocation).error(_unexpected(fault), fault)


def _unexpected(fault: Exception) -> DshloopError:
    """Tell what the machine refuses (no command can ask every path first) from faults of ours."""
    if not isinstance(fault, OSError) or fault.filename is None:
        return InternalError.wrap(fault)
    from dshloop.files import shown, why

    file = shown(os.fsdecode(fault.filename))
    return SystemRefusedError(f"can't use {file}: {why(fault)}", file=file)


def call(invocation: Invocation) -> Result[Any] | Stream | None:
    """Parse the words and call the verb; raises what it raises, usage faults as UsageError."""
    command = typer.main.get_command(app)
    words = list(invocation.words)
    try:
        width = max(min(invocation.env.width, HELP_WIDTH), NARROWEST_HELP) - 2
        with command.make_context("dshloop", words, obj=invocation, terminal_width=width) as ctx:
            answer: Result[Any] | Stream | None = command.invoke(ctx)
            return answer
    except typer.Exit:  # an option that ends the run was met before the others were kept
        invocation.json = invocation.json or _asks_for_json(invocation.words)
        return invocation.answer
    except UnknownWordError:
        invocation.json = invocation.json or _asks_for_json(invocation.words)
        raise
    except TYPER_FAULT as fault:
        invocation.json = invocation.json or _asks_for_json(invocation.words)
        raise _usage_error(fault) from None


def unknown_word(word: str, known: Sequence[str]) -> UnknownWordError:
    """Say that a verb doesn't exist, with the near matches."""
    from difflib import get_close_matches

    near = get_close_matches(word, known, n=3)
    hint = f"Did you mean {' or '.join(near)}?" if near else "Run dshloop --help."
    return UnknownWordError(f'there is no command "{word}"', hint=hint, near=near)


def _usage_error(fault: Any) -> UsageError:
    """Turn Typer's own faults (it has no public class for them) into ours."""
    ctx = getattr(fault, "ctx", None)
    path = ctx.command_path if ctx is not None else "dshloop"
    if type(fault).__name__ == "NoArgsIsHelpError":
        verbs = ", ".join(ctx.command.list_commands(ctx)) if ctx is not None else ""
        return UsageError(f"{path} needs a command: {verbs}", hint=f"Run {path} --help.")
    message = str(fault.format_message()).rstrip(".")
    return UsageError(message[:1].lower() + message[1:], hint=f"Run {path} --help.")


def _asks_for_json(words: Sequence[str]) -> bool:
    before = words[: list(words).index("--")] if "--" in words else words
    return "--json" in before


def _silence(env: Environment) -> None:
    """Send what is still buffered for a closed pipe nowhere, so that exit says nothing."""
    try:
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, env.stdout.fileno())
    except (OSError, ValueError, AttributeError):
        pass


__all__ = ["SUMMARY", "VERBS", "Command", "app", "call", "run"]
