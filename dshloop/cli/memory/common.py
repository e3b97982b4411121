"""What the verbs of `dshloop memory` share: their options, the store, and how it is opened.

The options that many verbs have are not parameters of their functions. A verb takes them by its
class (`WriteVerb`, `ListVerb`, ...) and reads them by `opened`, `filters` and `form`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperOption

from dshloop.cli.invocation import Invocation
from dshloop.cli.memory import complete
from dshloop.cli.params import Command, invocation, new_app

if TYPE_CHECKING:
    from dshloop.memory.answers import Filters
    from dshloop.memory.entries import Entry
    from dshloop.memory.merging import Origin
    from dshloop.memory.moments import Moment

FORMATS = ("text", "json", "jsonl", "md")
_NO_FILTER = ("store", "readonly")
_KEPT = "dshloop.memory"
ORIGIN = "dshloop.memory.origin"
_SEVERAL = frozenset({"stores", "all_stores", "timeout"})
_SHARED = "shared_"  # keeps the names of shared options apart from those of a verb's own

Limit = Annotated[int, typer.Option("--limit", min=1, metavar="N", help="Show at most N.")]
Offset = Annotated[int, typer.Option("--offset", min=0, metavar="N", help="Leave out the first N.")]
Count = Annotated[bool, typer.Option("--count", help="Print only how many there are.")]
Semantic = Annotated[
    bool | None,
    typer.Option("--semantic/--lexical", help="Search by meaning too, or by words only."),
]
AllowSecrets = Annotated[
    bool, typer.Option("--allow-secrets", help="Keep what looks like a secret.")
]
ProjectHere = Annotated[
    str | None,
    typer.Option(
        "--project",
        metavar="NAME",
        help="The project instead of the current one.",
        autocompletion=complete.projects,
    ),
]
Id = typer.Argument(metavar="ID", help="The id, or its beginning.", autocompletion=complete.ids)


def number(value: float | None) -> float | None:
    """Refuse NaN, which no range keeps out."""
    if value is not None and value != value:
        raise typer.BadParameter("it is not a number")
    return value


MinScore = Annotated[
    float | None,
    typer.Option(
        "--min-score",
        min=0.0,
        max=1.0,
        metavar="SCORE",
        callback=number,
        help="Leave out hits that score lower; 0 shows all.",
    ),
]


def module_app() -> typer.Typer:
    """Make the app on which a module of this package registers its verbs."""
    return new_app("memory", "")


class WriteVerb(Command):
    """A verb that changes what a store holds."""

    sets: Sequence[str] = ("store",)

    def __init__(self, name: str | None, **attrs: Any) -> None:
        params = [*(attrs.pop("params", None) or []), *_options(self.sets)]
        super().__init__(name, params=params, **attrs)


class FilterWriteVerb(WriteVerb):
    """A verb that changes the entries which pass filters."""

    sets = ("filters", "store")


class ReadVerb(WriteVerb):
    """A verb that reads a store."""

    sets = ("store", "readonly")


class CountVerb(WriteVerb):
    """A verb that reads one store or several at once."""

    sets = ("stores", "readonly")


class ShowVerb(WriteVerb):
    """A verb that shows entries."""

    sets = ("format", "stores", "readonly")


class SessionsVerb(WriteVerb):
    """A verb that lists sessions."""

    sets = ("moments", "format", "store", "readonly")


class FilterVerb(WriteVerb):
    """A verb that reads the entries which pass filters."""

    sets = ("filters", "store", "readonly")


class ListVerb(WriteVerb):
    """A verb that lists the entries which pass filters."""

    sets = ("filters", "format", "stores", "readonly")


def _options(sets: Sequence[str]) -> Iterator[TyperOption]:
    if "filters" in sets:
        yield from _filter_options()
    if "moments" in sets:
        yield from _moment_options()
    if "format" in sets:
        text = "How it is printed: text, json, jsonl or md."
        yield _value("--format", "FORMAT", text, complete.formats)
        yield _flag("--brief", "Print a line for each.")
        yield _flag("--full", "Print whole texts.")
    if "stores" in sets:
        yield from _stores_options()
    else:
        yield _value("--store", "NAME", "The store instead of $DSHLOOP_STORE.", complete.stores)
    if "readonly" in sets:
        yield _flag("--readonly", "Open the store for reading only.")


def _filter_options() -> Iterator[TyperOption]:
    yield _value("--project", "NAME", "Of this project; . is the current one.", complete.projects)
    yield _value("--agent", "NAME", "Of this agent.", complete.agents)
    yield _value("--type", "TYPE", "Of this type, e.g. fact or bug.", complete.types)
    yield _value("--concept", "WORD", "With this concept.", complete.concepts)
    text = "About this file: a path, or its end."
    yield _value("--file", "PATH", text, complete.files, "--file-ref")
    yield _value("--session", "ID", "From this session.", complete.sessions)
    yield from _moment_options()


def _moment_options() -> Iterator[TyperOption]:
    yield _value("--since", "WHEN", "From then on: 2026-01-31, 24h, 7d (UTC).", complete.moments)
    yield _value("--until", "WHEN", "Up to then; a day counts whole.", complete.moments)


def _stores_options() -> Iterator[TyperOption]:
    text = "The store instead of $DSHLOOP_STORE; given again, one more."
    yield _value("--store", "NAME", text, complete.stores, multiple=True)
    yield _flag("--all-stores", "Ask the embedded store and all that are set up.")
    text = "How long each of several stores may take (5)."
    yield _value("--timeout", "SECONDS", text, None, type=float)


def _value(
    name: str, metavar: str, text: str, offered: Any, *others: str, **more: Any
) -> TyperOption:
    return TyperOption(
        param_decls=[name, *others, _SHARED + name[2:]],
        metavar=metavar,
        expose_value=False,
        callback=_keep,
        help=text,
        autocompletion=offered,
        **{"type": str, **more},
    )


def _flag(name: str, text: str) -> TyperOption:
    return TyperOption(
        param_decls=[name, _SHARED + name[2:].replace("-", "_")],
        is_flag=True,
        default=False,
        expose_value=False,
        callback=_keep,
        help=text,
    )


def _keep(ctx: Any, param: Any, value: Any) -> None:
    """Keep a shared option's value for `given`, and let a format of JSON hold for errors too."""
    if value is None or value is False or value == ():
        return
    name = param.name.removeprefix(_SHARED)
    if name == "format":
        if value not in FORMATS:
            raise typer.BadParameter(f'"{value}" is none of {", ".join(FORMATS)}')
        invocation(ctx).json |= value in ("json", "jsonl")
    if isinstance(value, tuple):
        names = tuple(dict.fromkeys(value))
        name, value = (name, names[0]) if len(names) == 1 else ("stores", names)
    ctx.meta.setdefault(_KEPT, {})[name] = value


def given(ctx: typer.Context) -> Mapping[str, Any]:
    """Give the shared options of a verb that were given, by their names."""
    kept: Mapping[str, Any] = ctx.meta.get(_KEPT, {})
    return kept


def asked_several(ctx: typer.Context) -> bool:
    """Whether several stores are asked, or one as if it were one of several."""
    return not _SEVERAL.isdisjoint(given(ctx))


def origins(ctx: typer.Context) -> Callable[[Entry], Origin] | None:
    """Give what tells where an entry comes from, None where one store was asked."""
    known: Callable[[Entry], Origin] | None = ctx.meta.get(ORIGIN)
    return known


def filters(ctx: typer.Context, kinds: tuple[str, ...], *, old: bool = False) -> Filters:
    """Give the filters that were asked for. Raises MEMORY_TYPE, DATE_INVALID."""
    from dshloop.memory.answers import Filters

    run, asked = invocation(ctx), given(ctx)
    since, until = moments(ctx)
    return Filters(
        kinds=kinds,
        project=project(run, asked.get("project")),
        agent=asked.get("agent"),
        type=_type(asked.get("type"), kinds),
        session=asked.get("session"),
        concept=asked.get("concept"),
        file=asked.get("file"),
        since=since,
        until=until,
        old=old,
    )


def chosen(ctx: typer.Context) -> Filters | None:
    """Give the filters, None when there is none: then sessions without entries count too."""
    from dshloop.memory.entries import KINDS

    where = filters(ctx, KINDS)
    return where if any(name not in _NO_FILTER for name in given(ctx)) else None


def moments(ctx: typer.Context) -> tuple[float | None, float | None]:
    """Give from when and up to when was asked for. Raises DATE_INVALID."""
    run, asked = invocation(ctx), given(ctx)
    since, until = _moment(run, asked.get("since")), _moment(run, asked.get("until"))
    return None if since is None else since.start, None if until is None else until.end


def _moment(run: Invocation, text: str | None) -> Moment | None:
    if text is None:
        return None
    from dshloop.memory.moments import read_moment

    return read_moment(text, run.env.clock())


def project(run: Invocation, name: str | None) -> str | None:
    """Give the project that an option names; . is the one that the user stands in."""
    if name is None:
        return None
    from dshloop.memory.project import project_filter

    return project_filter(name, run.env.variables, run.env.cwd)


def _type(name: str | None, kinds: Sequence[str]) -> str | None:
    if name is None:
        return None
    from dshloop.errors import MemoryTypeError

    known = complete.known_types(kinds)
    if name not in known:
        hint = f"Types: {', '.join(known)}."
        raise MemoryTypeError(f'there is no type "{name}"', hint=hint, type=name)
    return name
