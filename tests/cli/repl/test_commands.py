"""What a line means, what the help tells, what completion offers."""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document

from dshloop.cli.repl.commands import COMMANDS, help_text, meaning_of
from dshloop.cli.repl.offers import Offering
from dshloop.config import Config
from dshloop.drivers.fake import FAKE_REPLY
from dshloop.llm.credentials import Keyring
from dshloop.llm.providers import read_providers
from dshloop.paths import find_places
from dshloop.runs.talking.conversation import Conversation, RunOptions
from dshloop.runs.watching.telling import Told
from tests.cli.repl.talking import talk
from tests.running import dshloop


@pytest.mark.parametrize("line", ["", "  ", "\n"])
def test_a_blank_line_means_nothing(line: str) -> None:
    assert meaning_of(line) is None


@pytest.mark.parametrize(
    ("line", "name", "words"),
    [
        ("/help", "/help", ""),
        (" /exit now ", "/exit", "now"),
        ("/quit", "/exit", ""),
        ("/?", "/help", ""),
        ("/save  a b.md", "/save", "a b.md"),
        ("/edit first\nsecond", "/edit", "first\nsecond"),
    ],
)
def test_commands_and_their_words(line: str, name: str, words: str) -> None:
    meant = meaning_of(line)
    assert meant is not None
    assert (meant.command, meant.words) == (COMMANDS[name], words)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("hi", "hi"),
        ("a // b", "a // b"),
        ("//etc/hosts // a file", "/etc/hosts // a file"),
        ("  indented", "  indented"),
    ],
)
def test_all_else_is_said(line: str, said: str) -> None:
    meant = meaning_of(line)
    assert meant is not None
    assert meant.said == said


def test_what_is_no_command_is_named() -> None:
    meant = meaning_of("/helping me")
    assert meant is not None
    assert (meant.command, meant.said, meant.unknown) == (None, None, "/helping")


def test_the_help_names_every_command_and_key() -> None:
    text = help_text()
    for name in COMMANDS:
        assert f"\n{name}" in f"\n{text}"
    for key in ("Ctrl-R", "Alt-Enter", "Ctrl-O", "Ctrl-C", "Ctrl-D", "Tab"):
        assert f"\n{key} " in text


# --- completion ----------------------------------------------------------------------------------


def offered(*typed: str, cwd: Path) -> list[list[str]]:
    """Give for each text what may stand in the place of its last word."""

    async def ask() -> list[list[str]]:
        places = find_places(os.environ, cwd)
        providers = read_providers(Config(cwd, {}), Keyring({}, cwd))
        options = RunOptions(cwd, "test", driver="fake", providers=lambda: providers)
        conversation = await Conversation.open(places, options, time.time)
        folds = [Told("fold", "read a"), Told("fold", "read b")]
        talk: Any = SimpleNamespace(
            conversation=conversation,
            screen=SimpleNamespace(folds=folds),
            env=SimpleNamespace(cwd=cwd),
            places=places,
        )
        completer, event = Offering(talk), CompleteEvent()
        try:
            return [
                [one.text for one in completer.get_completions(Document(text), event)]
                for text in typed
            ]
        finally:
            await conversation.close()

    return asyncio.run(ask())


def test_commands_are_offered_and_nothing_else(tmp_path: Path) -> None:
    everything, some, none, said, double, lines = offered(
        "/", "/e", "/nothing", "he", "//", "/save\n", cwd=tmp_path
    )
    assert everything == list(COMMANDS)
    assert some == ["/export", "/edit", "/exit"]
    assert none == said == double == lines == []


def test_arguments_are_offered(tmp_path: Path) -> None:
    (tmp_path / "notes.md").touch()
    loops, drivers, presets, models, folds, formats, files = offered(
        "/loop ", "/driver d", "/preset m", "/model deepseek/", "/show ", "/export h", "/save n",
        cwd=tmp_path,
    )  # fmt: skip
    assert loops == ["standard"]
    assert {"default", "dsh"} <= set(drivers)
    assert presets == ["minimal"]
    assert "deepseek/deepseek-flash" in models
    assert folds == ["2", "1"]
    assert formats == ["html"]
    assert files == ["otes.md"]


def test_a_fork_offers_what_it_changes_and_then_to_what(tmp_path: Path) -> None:
    what, loops, presets, over, unknown, argument = offered(
        "/fork ", "/fork loop s", "/fork preset m", "/fork loop standard x", "/none x",
        "/loop standard s", cwd=tmp_path,
    )  # fmt: skip
    assert what == ["loop", "driver", "preset"]
    assert loops == ["standard"]
    assert presets == ["minimal"]
    assert over == unknown == argument == []


# --- what no person types ------------------------------------------------------------------------

_HUGE = "9" * 5000  # digits; int() takes 4300


def test_a_count_that_is_none_is_refused_whatever_it_is() -> None:
    keys = "".join(f"{name} {_HUGE}\r" for name in ("/undo", "/json", "/show"))
    _, out = talk(f"hello\r{keys}/json 0\r/undo 0\rmore\r\x04")
    assert out.count("/undo takes a number of turns, not ") == 2
    assert out.count("/json takes a number of turns or all, not ") == 2
    assert out.count("there is no folded line ") == 1
    assert out.count(FAKE_REPLY) == 2


def test_an_unknown_name_is_told_in_one_line() -> None:
    _, out = talk(f"/{'x' * 5000}\r\x04")
    assert "there is no command /xxx" in out
    assert max(map(len, out.splitlines())) < 200


def test_the_way_out_of_a_wrong_command_is_one_of_the_conversation() -> None:
    _, out = talk("/model x\r\x04")
    assert "fake asks none (USAGE)\n  /help lists the commands.\n" in out


def test_nothing_is_written_for_a_compaction_of_nothing() -> None:
    _, out = talk("/compact\r\x04")
    assert "[there is nothing to compact yet]" in out
    assert dshloop("session", "list", "--all", "--json").json == []
