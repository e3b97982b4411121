"""The options of `dshloop session run`, and what was typed of them.

They come with the class of the command and aren't parameters of its function: Typer would read
the signature of thirty of them before every first answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import typer
from typer.core import TyperOption

from dshloop.cli.dock_complete import agent_ids, loop_ids, preset_ids, runnable_drivers
from dshloop.cli.models import model_names, provider_names
from dshloop.cli.params import ProfileCommand
from dshloop.cli.session.common import session_ids

_KEPT = "dshloop.session.run"


class Typed(NamedTuple):
    """What was typed; None and False stand for what wasn't."""

    driver: str | None = None
    command: str | None = None
    loop: str | None = None
    agent: str | None = None
    preset: str | None = None
    session_id: str | None = None
    resume: str | None = None
    fork: bool = False
    read_only: bool = False
    script: str | None = None
    seed: int | None = None
    input_format: str | None = None
    stdin: bool = False
    attach: tuple[str, ...] = ()
    system: str | None = None
    provider: str | None = None
    model: str | None = None
    max_tokens: int | None = None
    effort: str | None = None
    max_turns: int | None = None
    timeout: float | None = None
    allow: tuple[str, ...] = ()
    memory: bool | None = None
    transcript: str | None = None
    cwd: str | None = None
    force_rebind: bool = False
    allow_partial: bool = False


class RunVerb(ProfileCommand):
    """A command with the options of a run."""

    def __init__(self, name: str | None, **attrs: Any) -> None:
        params = [*(attrs.pop("params", None) or []), *_options()]
        super().__init__(name, params=params, **attrs)


def typed(ctx: typer.Context) -> Typed:
    """Give what was typed."""
    return Typed(**ctx.meta.get(_KEPT, {}))


def _options() -> Iterator[TyperOption]:
    yield _value(
        "--driver", "NAME", "What answers: headless (a model), dsh, acp, fake, ping.",
        runnable_drivers,
    )  # fmt: skip
    yield _value("--command", "COMMAND", "What starts the agent of the driver acp.")
    yield _value("--loop", "ID", "The loop it runs on.", loop_ids)
    yield _value("--agent", "ID", "Run as this agent of the profile's dock row.", agent_ids)
    yield _value("--preset", "ID", "The agent preset of a new session.", preset_ids)
    yield _value("--session-id", "ID", "The id of the new session.")
    text = "Continue a session: its id, the beginning of it, or last."
    yield _value("--resume", "ID", text, session_ids)
    yield _flag("--fork", "Continue a copy of the session that --resume names.")
    yield _flag(
        "--read-only",
        "No tool that changes anything; memory is only read, and so is the session of --resume.",
    )
    yield _value("--script", "FILE", "What the fake driver says, as a YAML file.")
    yield _number("--seed", "N", "Fixes what the fake driver draws, or a model that takes a seed.")
    yield _value(
        "--input-format", "FORMAT",
        "Standard input is one prompt (text), or one a line (lines, jsonl).", _formats,
    )  # fmt: skip
    yield _flag("--stdin", "Read standard input behind the PROMPT.")
    yield _value(
        "--attach", "FILE", "Send an image or a text file along with the prompt; may be repeated.",
        multiple=True,
    )  # fmt: skip
    yield _value("--system", "TEXT", "Add this to the system prompt; @FILE reads it from there.")
    yield _value("--provider", "NAME", "The model provider that answers.", provider_names)
    yield _value("--model", "NAME", "Its model, or PROVIDER/MODEL in one.", model_names)
    yield _number("--max-tokens", "N", "The most tokens of an answer.", least=1)
    yield _value("--effort", "LEVEL", "How much the model thinks: off, low, high …")
    yield _number("--max-turns", "N", "The most turns of this run.", least=1)
    yield _number("--timeout", "SECONDS", "The most seconds of a turn.", type_=float)
    yield _value(
        "--allow", "TOOLS",
        "Tools that nobody is asked about: edit, shell or both, with a comma. "
        "shell is not confined to the folder.",
        _tools, multiple=True,
    )  # fmt: skip
    text = "Record the session and recall earlier ones; or no memory tools at all."
    yield _flag("--memory/--no-memory", text, default=None)
    yield _value(
        "--transcript", "FILE",
        "Also write what happens to this new file, to be read or, as .jsonl, as a log.",
    )  # fmt: skip
    yield _value("--cwd", "DIR", "Work in this folder.")
    yield _flag(
        "--force-rebind", "Go on with a session whose log is damaged: in a new one, bound anew."
    )
    yield _flag(
        "--allow-partial",
        "Go on where the driver doesn't carry all that the loop needs; says what.",
    )


def _value(
    name: str, metavar: str, text: str, offered: Callable[..., Any] | None = None, **more: Any
) -> TyperOption:
    return _option(name, text, type=str, metavar=metavar, autocompletion=offered, **more)


def _number(
    name: str, metavar: str, text: str, *, type_: type = int, least: int | None = None
) -> TyperOption:
    def keep(ctx: Any, param: Any, value: Any) -> None:
        if value is not None and least is not None and value < least:
            raise typer.BadParameter(f"{value} is not at least {least}", ctx, param)
        _keep(ctx, param, value)

    return _option(name, text, type=type_, metavar=metavar, callback=keep)


def _flag(name: str, text: str, *, default: bool | None = False) -> TyperOption:
    return _option(name, text, is_flag=True, default=default)


def _option(name: str, text: str, **more: Any) -> TyperOption:
    """Make an option whose value is kept for `typed`, and no parameter of the function."""
    return TyperOption(
        **{"param_decls": [name], "expose_value": False, "callback": _keep, "help": text, **more}
    )


def _keep(ctx: Any, param: Any, value: Any) -> None:
    """Keep what was typed for `typed`."""
    source = ctx.get_parameter_source(param.name)
    if source is not None and source.name == "COMMANDLINE":
        kept = tuple(value) if param.multiple else value
        ctx.meta.setdefault(_KEPT, {})[param.name] = kept


def _formats(ctx: Any, args: list[str], incomplete: str) -> list[str]:
    return [name for name in ("text", "lines", "jsonl") if name.startswith(incomplete)]


def _tools(ctx: Any, args: list[str], incomplete: str) -> list[str]:
    return [name for name in ("edit", "shell", "edit,shell") if name.startswith(incomplete)]
