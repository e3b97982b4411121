"""`dshloop session search | stats | list` and their filters on the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.running import dshloop


def run(name: str, prompt: str, cwd: Path, *more: str) -> None:
    words = ("--driver", "fake", "--session-id", name, prompt, *more)
    assert dshloop("session", "run", *words, cwd=cwd).code == 0


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path]:
    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir()
    there.mkdir()
    run("one", "deploy on fridays", here)
    run("two", "什么时候部署", there)
    run("three", "deploy again", there, "--driver", "ping")
    return here, there


def test_search_goes_over_all_folders_and_can_be_narrowed(folders: tuple[Path, Path]) -> None:
    here, there = folders
    hits = dshloop("session", "search", "deploying", "--json", cwd=here).json
    assert [hit["session"] for hit in hits] == ["three", "one"]
    assert {"turn", "seq", "kind", "time", "snippet", "path"} <= hits[0].keys()
    only = dshloop("session", "search", "deploy", "--cwd", str(there), "--json").json
    assert [hit["session"] for hit in only] == ["three"]
    assert dshloop("session", "search", "deploy", "--since", "2199-01-01", "--json").json == []
    text = dshloop("session", "search", "部署")
    assert text.out.splitlines()[1] == "  turn 1 you: 什么时候部署"


def test_a_search_without_a_hit_is_an_empty_list(folders: tuple[Path, Path]) -> None:
    ran = dshloop("session", "search", "nowhere")
    assert (ran.code, ran.out, ran.err) == (0, "", "nothing was found\n")


def test_a_search_where_there_is_nothing_leaves_nothing(isolated: Path) -> None:
    assert dshloop("session", "search", "x", "--json").json == []
    assert dshloop("session", "list", "--json").json == []
    assert not (isolated / "data").exists()


def test_deleted_sessions_are_not_found(folders: tuple[Path, Path]) -> None:
    dshloop("session", "search", "fridays")
    dshloop("session", "delete", "one")
    assert dshloop("session", "search", "fridays", "--json").json == []
    assert [row["id"] for row in dshloop("session", "list", "--deleted", "--json").json] == ["one"]
    dshloop("session", "restore", "one")
    assert len(dshloop("session", "search", "fridays", "--json").json) == 1


@pytest.mark.parametrize(
    ("words", "ids"),
    [
        (("--all",), ["three", "two", "one"]),
        (("--all", "--driver", "fake-driver"), ["two", "one"]),
        (("--all", "--loop", "nothing"), []),
        (("--all", "--state", "completed", "--limit", "1"), ["three"]),
        (("--all", "--preset", "x"), []),
        (("--all", "--since", "2199-01-01"), []),
        (("--all", "--since", "1d"), ["three", "two", "one"]),
        (("--cwd", "../there"), ["three", "two"]),
        ((), ["one"]),
    ],
)
def test_lists_are_narrowed(
    folders: tuple[Path, Path], words: tuple[str, ...], ids: list[str]
) -> None:
    rows = dshloop("session", "list", *words, "--json", cwd=folders[0]).json
    assert [row["id"] for row in rows] == ids


def test_a_list_that_nothing_fits_says_so(folders: tuple[Path, Path]) -> None:
    ran = dshloop("session", "list", "--all", "--loop", "nothing", cwd=folders[0])
    assert ran.err == "no session fits\n"


def test_a_folder_and_all_exclude_each_other() -> None:
    assert dshloop("session", "list", "--all", "--cwd", ".").code == 2
    assert dshloop("session", "list", "--since", "soon").code != 0


def test_lists_are_the_same_with_and_without_the_index(isolated: Path, tmp_path: Path) -> None:
    for number in range(25):
        run(f"s{number}", f"prompt {number}", tmp_path)
    index = isolated / "data" / "cache" / "sessions.db"
    first = dshloop("session", "list", "--json", cwd=tmp_path).json
    assert index.exists()
    assert dshloop("session", "list", "--json", cwd=tmp_path).json == first
    dshloop("session", "rename", "s3", "New title")
    again = dshloop("session", "list", "--json", cwd=tmp_path).json
    assert (again[0]["id"], again[0]["title"]) == ("s3", "New title")
    index.write_bytes(b"x" * 5000)
    assert dshloop("session", "list", "--json", cwd=tmp_path).json == again


def test_stats_count_one_session_or_all(folders: tuple[Path, Path]) -> None:
    everything = dshloop("session", "stats", "--json").json
    assert (everything["sessions"], everything["turns"]) == (3, 3)
    assert everything["ends"] == {"completed": 3}
    one = dshloop("session", "stats", "one", "--json").json
    assert (one["sessions"], one["turns"], one["answers"]) == (1, 1, 1)
    assert one["tokens"]["output"] > 0
    assert "turns                  1" in dshloop("session", "stats", "one").out
    assert dshloop("session", "stats", "nope").code == 3
    narrow = dshloop("session", "stats", "--cwd", str(folders[1]), "--json").json
    assert narrow["sessions"] == 2


def test_the_tools_of_a_log_are_counted() -> None:
    log = Path(__file__).parents[2] / "data" / "sessions" / "v4-tools.session.v4.jsonl"
    found = dshloop("session", "stats", str(log), "--json").json
    assert found["tools"] == [
        {"name": "read", "calls": 3, "failed": 1},
        {"name": "nosuchtool", "calls": 1, "failed": 1},
    ]
    assert found["tokens"]["input"] == 15
