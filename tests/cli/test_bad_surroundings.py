"""Homes, folders and words that are not what a command hopes for."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from tests.running import dshloop

posix = pytest.mark.skipif(sys.platform == "win32", reason="about POSIX users and files")


@posix
@pytest.mark.parametrize("words", [["doctor"], ["memory", "list"], ["session", "run", "x"]])
def test_a_user_without_a_home_is_told_what_to_set(
    words: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    import pwd

    def unknown(_uid: int) -> None:
        raise KeyError

    monkeypatch.setattr(pwd, "getpwuid", unknown)
    for name in ("HOME", "USERPROFILE", "DSHLOOP_DATA", "DSHLOOP_CONFIG", "DSH_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name in [name for name in os.environ if name.startswith("XDG_")]:
        monkeypatch.delenv(name)
    ran = dshloop(*words, "--json")
    assert (ran.code, ran.out) == (1, "")
    assert ran.error["code"] == "HOME_UNKNOWN"


def test_what_the_system_refuses_is_no_internal_fault(tmp_path: Path) -> None:
    long = str(tmp_path / ("x" * 5000))
    for words in (["session", "list"], ["profile", "list"], ["history"], ["doctor"]):
        ran = dshloop(*words, variables={"DSHLOOP_DATA": long, "DSH_HOME": long})
        assert "INTERNAL" not in ran.err
    ran = dshloop("memory", "remember", "x", "--json", variables={"DSHLOOP_DATA": long})
    assert (ran.code, ran.error["code"]) == (1, "WRITE_FAILED")


def test_a_refused_path_that_no_command_asked_for_first(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied", "/somewhere")

    monkeypatch.setattr("dshloop.config.read_config", refused)
    ran = dshloop("config", "list", "--json")
    assert (ran.code, ran.error["code"]) == (1, "SYSTEM_REFUSED")
    assert ran.error["message"] == "can't use /somewhere: permission denied"


@pytest.mark.parametrize("words", [["nope"], ["nope", "x", "--limit", "3"]])
def test_an_unknown_command_is_a_json_error_where_json_is_asked_for(words: list[str]) -> None:
    ran = dshloop(*words, "--json")
    assert (ran.code, ran.out) == (2, "")
    assert ran.error["code"] == "USAGE"


@pytest.mark.parametrize("limit", [2**31, 2**62, 2**63 - 1, 2**63, 10**30])
def test_a_limit_may_be_any_number(limit: int) -> None:
    dshloop("memory", "remember", "we deploy on Fridays")
    dshloop("session", "run", "--driver", "fake", "x")
    for words in (["memory", "list"], ["memory", "recall", "deploy"], ["session", "list"]):
        ran = dshloop(*words, "--limit", str(limit), "--json")
        assert (ran.code, len(ran.json)) == (0, 1)


def test_a_score_is_a_number() -> None:
    ran = dshloop("memory", "recall", "x", "--min-score", "nan", "--json")
    assert (ran.code, ran.error["code"]) == (2, "USAGE")


def test_a_blank_project_is_none() -> None:
    here = {"AGENTMEMORY_PROJECT_NAME": "here"}
    made = dshloop("memory", "remember", "apples", "--project", " ", "--json", variables=here)
    assert made.json["project"] == "here"
    assert dshloop("memory", "recall", "apples", "--project", "").code == 0


@posix
def test_what_is_no_file_is_never_waited_for(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.jsonl"
    os.mkfifo(pipe)
    for path in (pipe, Path("/dev/zero")):
        ran = dshloop("session", "show", str(path), "--json")
        assert (ran.code, ran.error["code"]) == (4, "SESSION_UNREADABLE")


def test_an_id_may_look_like_a_path(tmp_path: Path) -> None:
    assert dshloop("session", "run", "--driver", "fake", "--session-id", "a/b", "x").code == 0
    assert dshloop("session", "show", "a/b", "--json").json["id"] == "a/b"
    assert dshloop("session", "show", "a/c", "--json").error["code"] == "SESSION_NOT_FOUND"
    assert dshloop("session", "show", ".", cwd=tmp_path).code == 3
    assert dshloop("session", "show", "~nobody-of-that-name/x").code == 3


@pytest.mark.parametrize(
    "text",
    ["profile: !!int x", "a: &a [*a]", "? [a]: b\n: 1", "profile: 1e999", "[" * 20_000, "- a"],
)
def test_a_config_file_of_any_text_is_read_or_refused(text: str) -> None:
    path = Path(os.environ["DSHLOOP_CONFIG"]) / "config.yml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    for words in (["config", "list"], ["config", "set", "profile", "web"], ["memory", "list"]):
        ran = dshloop(*words, "--json")
        assert ran.code in (0, 1, 4)
        assert ran.code == 0 or ran.error["code"] not in ("INTERNAL", "SYSTEM_REFUSED")
