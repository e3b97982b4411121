"""Groups of many verbs: a table says in which module each is, and one is imported when called."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any

import typer

from dshloop.cli.params import Group


class Verbs(Mapping[str, Any]):
    """The commands of a package by their names, each made when somebody asks for it.

    ``modules`` gives the module of each name, in the order in which the help lists them; a
    module's ``app`` has the commands.
    """

    def __init__(self, package: str, modules: Mapping[str, str]) -> None:
        self._package, self._modules = package, modules
        self._made: dict[str, Mapping[str, Any]] = {}

    def __getitem__(self, name: str) -> Any:
        module = self._modules[name]
        if module not in self._made:
            group: Any = typer.main.get_group(import_module(f"{self._package}.{module}").app)
            self._made[module] = group.commands
        return self._made[module][name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._modules)

    def __len__(self) -> int:
        return len(self._modules)


def verbs_app(package: str, name: str, summary: str, modules: Mapping[str, str]) -> typer.Typer:
    """Make the app of a group whose verbs are found by a table; see `Verbs`."""
    verbs: Any = Verbs(package, modules)

    class VerbsGroup(Group):
        """A group that knows its verbs from the table."""

        def __init__(self, **attrs: Any) -> None:
            super().__init__(**attrs)
            self.commands = verbs

    return typer.Typer(
        name=name,
        help=summary,
        cls=VerbsGroup,
        rich_markup_mode=None,
        add_completion=False,
        no_args_is_help=True,
    )
