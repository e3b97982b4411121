"""The options that every command has, and the Typer classes that declare them.

They are declared at the root, on each group and on each command, so that they work before and
after the verb; the one nearest to the end wins. A command's function doesn't take them: it takes
``ctx: typer.Context`` and reads ``invocation(ctx)``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup, TyperOption

from dshloop.cli.invocation import Invocation
from dshloop.result import Result

_WHOLE = 1000  # characters: more than any first sentence has
MOST_SECONDS = 1_000_000
Completion = Callable[[typer.Context, list[str], str], list[Any]]


def invocation(ctx: typer.Context) -> Invocation:
    """Give the run that a command's context belongs to."""
    found = ctx.find_object(Invocation)
    assert found is not None, "cli.app.run() always passes one"
    return found


def seconds(value: float) -> float:
    """Refuse a time that nothing can wait for: NaN, which no range keeps out, and the endless."""
    if not value <= MOST_SECONDS:
        raise typer.BadParameter(f"{value:g} is not at most {MOST_SECONDS}")
    return value


def new_app(name: str, summary: str, *, profile: bool = False) -> typer.Typer:
    """Make the Typer app of a group; ``profile`` adds --profile to it and to its commands."""
    return typer.Typer(
        name=name,
        help=summary,
        cls=ProfileGroup if profile else Group,
        rich_markup_mode=None,
        add_completion=False,
        no_args_is_help=True,
    )


class Command(TyperCommand):
    """A command with the common options, listed under their own heading in its help."""

    extra: Sequence[str] = ()

    def __init__(self, name: str | None, **attrs: Any) -> None:
        own = [*(attrs.pop("params", None) or []), *_extra_options(self.extra)]
        for param in own:
            if param.param_type_name == "argument" and param.metavar is None:
                param.metavar = param.name.upper().replace("_", "-")
        self._own = frozenset(id(param) for param in own)
        super().__init__(
            name, params=[*own, *_common_options()], add_help_option=False, **_without_help(attrs)
        )

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the command's own parameters, then the common options."""
        _format_options(self, self._own, ctx, formatter)


class ProfileCommand(Command):
    """A command that also takes --profile."""

    extra = ("profile",)


class Group(TyperGroup):
    """A group of commands; the common options work between it and the verb too."""

    extra: Sequence[str] = ()

    def __init__(self, **attrs: Any) -> None:
        own = [*(attrs.pop("params", None) or []), *_extra_options(self.extra)]
        self._own = frozenset(id(param) for param in own)
        super().__init__(
            params=[*own, *_common_options()], add_help_option=False, **_without_help(attrs)
        )

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write each verb with its whole first sentence, which Typer would cut to the line."""
        rows = [
            (name, verb.get_short_help_str(_WHOLE))
            for name in self.list_commands(ctx)
            if (verb := self.get_command(ctx, name)) is not None and not verb.hidden
        ]
        with formatter.section("Commands"):
            formatter.write_dl(rows)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the verbs first: they are what a reader of a group's help looks for."""
        self.format_commands(ctx, formatter)
        _format_options(self, self._own, ctx, formatter)


class ProfileGroup(Group):
    """A group that also takes --profile between its name and the verb, as DSH users type it."""

    extra = ("profile",)


def _without_help(attrs: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in attrs.items() if key != "add_help_option"}


def _format_options(command: Any, own: frozenset[int], ctx: Any, formatter: Any) -> None:
    sections: dict[str, list[tuple[str, str]]] = {"Arguments": [], "Options": []}
    sections["Common options"] = []
    for param in command.get_params(ctx):
        record = param.get_help_record(ctx)
        if record is None:
            continue
        if param.param_type_name == "argument":
            sections["Arguments"].append(record)
        else:
            sections["Options" if id(param) in own else "Common options"].append(record)
    for title, records in sections.items():
        if records:
            with formatter.section(title):
                formatter.write_dl(records)


def _common_options() -> list[TyperOption]:
    return [
        _flag("--json", "Print the result as JSON."),
        _flag("--quiet", "Print no notices."),
        _flag("--verbose", "Print more about what happens."),
        _flag("--no-color", "Use no colours (also: NO_COLOR)."),
        _value("--home", "DIR", "DSH's home instead of $DSH_HOME or ~/.dsh."),
        _value("--data-dir", "DIR", "Our data folder instead of $DSHLOOP_DATA."),
        TyperOption(
            param_decls=["--help", "-h"],
            is_flag=True,
            default=False,
            is_eager=True,
            expose_value=False,
            callback=_show_help,
            help="Show this text.",
        ),
    ]


def _extra_options(names: Sequence[str]) -> list[TyperOption]:
    if "profile" not in names:
        return []
    from dshloop.cli.complete import profile_names

    return [_value("--profile", "NAME", "The profile to work on.", autocompletion=profile_names)]


def _flag(name: str, text: str) -> TyperOption:
    return TyperOption(
        param_decls=[name],
        is_flag=True,
        default=False,
        expose_value=False,
        callback=_keep,
        help=text,
    )


def _value(name: str, metavar: str, text: str, **more: Any) -> TyperOption:
    return TyperOption(
        param_decls=[name],
        type=str,
        metavar=metavar,
        expose_value=False,
        callback=_keep,
        help=text,
        **more,
    )


def _keep(ctx: Any, param: Any, value: Any) -> None:
    """Keep a common option's value on the invocation, where it was given at all."""
    source = ctx.get_parameter_source(param.name)
    if source is not None and source.name == "COMMANDLINE":
        setattr(ctx.find_object(Invocation), param.name, value)


def _show_help(ctx: Any, param: Any, value: bool) -> None:
    if value and not ctx.resilient_parsing:
        text = ctx.get_help()
        ctx.find_object(Invocation).answer = Result({"help": text}, text)
        raise typer.Exit
