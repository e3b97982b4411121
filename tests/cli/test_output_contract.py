"""The output contract: streams, JSON, errors, options in every place, terminals of any kind."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from dshloop.cli.app import app
from tests.running import dshloop, process


def test_version_and_root_help_answer_on_stdout() -> None:
    version = process("--version")
    assert version.returncode == 0
    assert version.stdout.startswith("dshloop ")
    assert process("--help").stdout == process().stdout


def commands() -> Iterator[tuple[str, Any]]:
    """Give every command with the words that call it."""
    found: list[tuple[str, Any]] = [("dshloop", typer.main.get_command(app))]
    for path, command in found:
        yield path, command
        names = command.list_commands(None) if hasattr(command, "list_commands") else ()
        found += [(f"{path} {name}", command.get_command(None, name)) for name in names]


def test_every_option_is_typed_in_small_letters() -> None:
    for path, command in commands():
        flags = [flag for param in command.params for flag in param.opts if flag[0] == "-"]
        assert flags, path
        assert [flag for flag in flags if flag != flag.lower()] == [], path


@pytest.mark.parametrize("words", [["--json", "--version"], ["--version", "--json"]])
def test_version_can_be_json(words: list[str]) -> None:
    assert dshloop(*words).json.keys() == {"version"}


@pytest.mark.parametrize(
    "words",
    [
        ["--json", "config", "list"],
        ["config", "--json", "list"],
        ["config", "list", "--json"],
    ],
)
def test_common_options_work_in_every_place(words: list[str]) -> None:
    ran = dshloop(*words)
    assert ran.code == 0
    assert isinstance(ran.json, list)


def test_option_words_stay_text_after_two_dashes(tmp_path: Path) -> None:
    ran = dshloop("memory", "remember", "--project", "p", "--", "--json")
    assert ran.code == 0
    with pytest.raises(json.JSONDecodeError):
        json.loads(ran.out)
    assert dshloop("memory", "list", "--json").json[0]["content"] == "--json"


def test_option_words_stay_text_as_a_value() -> None:
    ran = dshloop("memory", "remember", "x", "--project=--json")
    assert ran.code == 0
    assert dshloop("memory", "list", "--json").json[0]["project"] == "--json"


def test_error_is_one_json_line_with_nothing_on_stdout() -> None:
    ran = dshloop("config", "get", "nope", "--json")
    assert (ran.code, ran.out) == (3, "")
    assert set(ran.error) == {"code", "message", "hint", "details"}
    assert ran.error["code"] == "SETTING_UNKNOWN"
    assert ran.err.count("\n") == 1


def test_usage_error_before_the_json_option_is_still_json() -> None:
    ran = dshloop("config", "get", "--nope", "--json")
    assert ran.code == 2
    assert ran.error["code"] == "USAGE"


@pytest.mark.parametrize("word", ["plugn", "memry", "sesion"])
def test_unknown_command_offers_the_near_one(word: str) -> None:
    ran = dshloop(word)
    assert ran.code == 2
    assert "Did you mean" in ran.err


def test_group_without_verb_is_a_usage_error() -> None:
    ran = dshloop("config")
    assert ran.code == 2
    assert "list, get, set, unset" in ran.err


def test_quiet_drops_notices() -> None:
    loud = dshloop("config", "set", "profile", "web")
    quiet = dshloop("config", "set", "profile", "acp", "--quiet")
    assert loud.err
    assert quiet.err == ""


def test_user_text_is_never_markup_and_controls_are_shown() -> None:
    text = "[bold]list[str][/items] \x1b[31mred\x1b[0m \u202ereversed"
    dshloop("memory", "remember", text)
    for tty in (False, True):
        shown = dshloop("memory", "list", tty=tty, variables={"COLUMNS": "200"}).out
        assert "[bold]list[str]" in shown
        assert "\\x1b[31mred" in shown
        assert "\u202e" not in shown


def test_no_color_sends_no_escape() -> None:
    for variables in ({"NO_COLOR": "1"}, {"TERM": "dumb"}):
        ran = dshloop("config", "list", tty=True, variables=variables)
        assert "\x1b" not in ran.out
    assert "\x1b" not in dshloop("config", "list", "--no-color", tty=True).out
    assert "\x1b" in dshloop("config", "list", tty=True).out


@pytest.mark.parametrize("width", [21, 60, 80, 200])
def test_tables_fit_the_terminal(width: int) -> None:
    ran = dshloop("config", "list", "--no-color", tty=True, variables={"COLUMNS": str(width)})
    assert max(map(len, ran.out.splitlines())) <= width


@pytest.mark.parametrize("width", [1, 8, 20])
def test_a_terminal_too_narrow_for_columns_gets_a_line_for_each_cell(width: int) -> None:
    dshloop("memory", "remember", "apples", "--project", "p")
    ran = dshloop("memory", "list", tty=True, variables={"COLUMNS": str(width)})
    assert [line.split() for line in ran.out.splitlines()][2:] == [
        ["TYPE", "fact"],
        ["PROJECT", "p"],
        ["TITLE", "apples"],
    ]


def test_pipes_get_whole_lines_whatever_the_width() -> None:
    ran = dshloop("config", "list", variables={"COLUMNS": "20"})
    assert "the profile to work on when --profile names none" in ran.out


def test_a_closed_pipe_ends_quietly() -> None:
    for number in range(40):
        dshloop("memory", "remember", f"fact number {number} " + "x" * 3000)
    ran = subprocess.run(
        f"{sys.executable} -m dshloop memory list --json | head -c 10",
        shell=True,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.stderr == ""
    assert len(ran.stdout) == 10
    helped = subprocess.run(
        ["bash", "-c", f"{sys.executable} -m dshloop --help | true; echo ${{PIPESTATUS[0]}}"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (helped.stdout, helped.stderr) == ("0\n", "")


@pytest.mark.parametrize("encoding", ["ascii", "cp1252"])
def test_any_locale_works_and_json_stays_utf8(encoding: str) -> None:
    dshloop("memory", "remember", "部署在星期五 — ok 😀")
    env = {"PYTHONIOENCODING": encoding, "PYTHONUTF8": "0"}
    text = subprocess.run(
        [sys.executable, "-m", "dshloop", "memory", "list"],
        capture_output=True,
        check=True,
        env={**__import__("os").environ, **env},
    )
    assert b"\\u90e8" in text.stdout
    made = subprocess.run(
        [sys.executable, "-m", "dshloop", "memory", "list", "--json"],
        capture_output=True,
        check=True,
        env={**__import__("os").environ, **env},
    )
    assert json.loads(made.stdout.decode("utf-8"))[0]["content"] == "部署在星期五 — ok 😀"


def test_lone_surrogates_and_odd_numbers_are_valid_json(tmp_path: Path) -> None:
    layer = tmp_path / "L1.yml"
    layer.write_text('- insert:\n  - {id: a, name: p, config: [.nan, -0.0, .inf, "\\ud800"]}\n')
    ran = dshloop("profile", "compose", str(layer), "--json")
    config = ran.json["entries"][0]["config"]
    assert config[:3] == [{"$num": "NaN"}, {"$num": "-0"}, {"$num": "Infinity"}]


def test_internal_faults_are_one_line_without_a_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("boom\nsecond line")

    monkeypatch.setattr("dshloop.config.read_config", broken)
    ran = dshloop("config", "list")
    assert ran.code == 1
    assert "Traceback" not in ran.err
    assert "boom second line (INTERNAL)" in ran.err
    assert "Traceback" in dshloop("config", "list", "--verbose").err


def test_interrupt_exits_130(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("dshloop.config.read_config", interrupted)
    assert dshloop("config", "list").code == 130
