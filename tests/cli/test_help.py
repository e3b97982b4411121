"""What the help says, at the widths of small, usual and wide terminals.

``DSHLOOP_TEST_WRITE=1 pytest tests/cli/test_help.py`` writes the snapshots anew.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest
import typer

from dshloop.cli.app import VERBS
from tests.running import dshloop

SNAPSHOTS = Path(__file__).parents[1] / "data" / "help"
WIDTHS = (60, 80, 200)


def groups() -> Iterator[tuple[str, ...]]:
    """Yield the words of the root and of every group, groups within groups included."""
    yield ()
    for name, verb in VERBS.items():
        if not verb.alone:
            group = typer.main.get_group(import_module(f"dshloop.cli.{verb.module}").app)
            yield from _within((name,), group)


def _within(words: tuple[str, ...], group: object) -> Iterator[tuple[str, ...]]:
    yield words
    for name, command in getattr(group, "commands", {}).items():
        if hasattr(command, "commands"):
            yield from _within((*words, name), command)


def commands() -> Iterator[tuple[str, ...]]:
    """Yield the words of every command."""
    for words in groups():
        if not words:
            yield from ((name,) for name, verb in VERBS.items() if verb.alone)
            continue
        group = typer.main.get_group(import_module(f"dshloop.cli.{VERBS[words[0]].module}").app)
        for word in words[1:]:
            group = group.commands[word]
        for name, command in group.commands.items():
            if not hasattr(command, "commands"):
                yield (*words, name)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("words", [*groups()], ids=" ".join)
def test_help_of_groups_is_as_it_was(words: tuple[str, ...], width: int) -> None:
    shown = dshloop(*words, "--help", variables={"COLUMNS": str(width)}).out
    path = SNAPSHOTS / f"{'-'.join(words) or 'root'}-{width}.txt"
    if os.environ.get("DSHLOOP_TEST_WRITE"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(shown, encoding="utf-8", newline="\n")
    assert shown == path.read_text(encoding="utf-8")
    assert max(map(len, shown.splitlines())) <= width


@pytest.mark.parametrize("words", [*groups()], ids=" ".join)
def test_no_verb_is_described_by_half_a_sentence(words: tuple[str, ...]) -> None:
    shown = dshloop(*words, "--help").out
    listed = shown.partition("\nCommands:\n")[2].partition("\n\n")[0]
    assert listed
    assert [line for line in listed.splitlines() if line.endswith("...")] == []


@pytest.mark.parametrize("words", [*commands()], ids=" ".join)
def test_every_command_explains_itself(words: tuple[str, ...]) -> None:
    shown = dshloop(*words, "--help")
    assert (shown.code, shown.err) == (0, "")
    assert shown.out.startswith(f"Usage: dshloop {' '.join(words)}")
    for option in ("--json", "--quiet", "--verbose", "--no-color", "--home", "--data-dir"):
        assert option in shown.out
