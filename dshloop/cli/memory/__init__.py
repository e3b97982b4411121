"""`dshloop memory`: remember, recall and manage memories and observations.

`VERBS` says in which module a verb is; one is imported, and made into a command, when it is
called. Making all of them would cost `memory recall` half as much as its answer.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from typing import Any

import typer

from dshloop.cli.params import Group

# in the order in which the help lists them
VERBS: Mapping[str, str] = {
    "remember": "keep",
    "recall": "find",
    "search": "find",
    "list": "find",
    "show": "look",
    "history": "look",
    "edit": "edit",
    "forget": "drop",
    "undo": "drop",
    "restore": "drop",
    "context": "window",
    "sessions": "past",
    "observations": "past",
    "observe": "observe",
    "timeline": "past",
    "tail": "peer",
    "artifact": "peer",
    "stats": "look",
    "export": "export",
    "import": "exchange",
    "ingest": "exchange",
    "migrate": "exchange",
    "serve": "serve",
    "audit": "audit",
    "bench": "bench",
    "check": "care",
    "reindex": "care",
    "backup": "care",
    "stores": "place",
    "use": "place",
}


class Verbs(Mapping[str, Any]):
    """The commands by their names, each made when somebody asks for it."""

    def __getitem__(self, name: str) -> Any:
        return _commands(VERBS[name])[name]

    def __iter__(self) -> Iterator[str]:
        return iter(VERBS)

    def __len__(self) -> int:
        return len(VERBS)


@cache
def _commands(module: str) -> Mapping[str, Any]:
    group: Any = typer.main.get_group(import_module(f"dshloop.cli.memory.{module}").app)
    commands: Mapping[str, Any] = group.commands
    return commands


class MemoryGroup(Group):
    """A group that knows its verbs from the table."""

    def __init__(self, **attrs: Any) -> None:
        super().__init__(**attrs)
        self.commands: Any = Verbs()


app = typer.Typer(
    name="memory",
    help="Remember, recall and manage memories.",
    cls=MemoryGroup,
    rich_markup_mode=None,
    add_completion=False,
    no_args_is_help=True,
)
