from __future__ import annotations

from pathlib import Path

import pytest

from tests.profiles.checks.made import profile, write
from tests.running import dshloop


@pytest.fixture
def home(isolated: Path) -> Path:
    """Give a home with profile p, whose bundle b has a row a."""
    made = profile(isolated, "b", patch="- id: a\n  config: {k: 2}\n")
    write(
        made.modules / "b" / "cordis.patch.yml",
        "- insert:\n    - {id: a, name: b, config: {k: 1, lost: 1, apiKey: hunter2}}\n",
    )
    return isolated / "dsh"


def test_explain_names_file_line_and_column_of_every_contribution(home: Path) -> None:
    ran = dshloop("profile", "explain", "a.k", "--profile", "p", "--json")
    (instance,) = ran.json["instances"]
    assert [
        (one["action"], one["layer"].rpartition("/")[2], one["line"], one["column"], one["wins"])
        for one in instance["contributions"]
    ] == [("insert", "b", 2, 33, False), ("set", "cordis.patch.yml", 2, 12, True)]
    assert ran.json["winner"]["after"] == 2


def test_explain_tells_lost_keys_and_masks_secrets(home: Path) -> None:
    ran = dshloop("profile", "explain", "a", "--profile", "p")
    assert ran.code == 0
    assert "lost config.lost, config.apiKey" in ran.out
    assert "hunter2" not in ran.out
    assert "hunter2" in dshloop("profile", "explain", "a", "--profile", "p", "--reveal").out


def test_explain_of_an_unknown_row_or_key_is_3(home: Path) -> None:
    for row, code in (("nope", "ROW_NOT_FOUND"), ("a.nope", "ROW_KEY_NOT_FOUND")):
        ran = dshloop("profile", "explain", row, "--profile", "p", "--json")
        assert (ran.code, ran.error["code"]) == (3, code)


def test_diff_of_two_profiles_and_of_two_files(home: Path) -> None:
    assert dshloop("profile", "copy", "p", "q").code == 0
    same = dshloop("profile", "diff", "p", "q")
    assert (same.code, same.out) == (0, "")
    patch = home / "profiles" / "q" / "cordis.patch.yml"
    patch.write_text("- id: a\n  config: {k: 3}\n")
    ran = dshloop("profile", "diff", "p", "q")
    assert (ran.code, ran.out) == (0, "~ a\n    config.k: 2 -> 3\n")
    files = dshloop(
        "profile", "diff", str(home / "profiles/p/cordis.patch.yml"), str(patch), "--json"
    )
    (row,) = files.json["rows"]
    assert (row["row"], row["state"]) == ("patch of a", "changed")
    assert row["changes"] == [{"key": ["config", "k"], "before": 2, "after": 3}]


def test_modules_of_a_copy_are_the_same_modules(home: Path) -> None:
    patch = home / "profiles" / "p" / "node_modules" / "b" / "cordis.patch.yml"
    patch.write_text("- insert: [{id: a, name: ./index.js}]\n")
    assert dshloop("profile", "copy", "p", "q").code == 0
    assert dshloop("profile", "diff", "p", "q").out == ""


def test_diff_of_what_is_not_there_is_3_or_1(home: Path) -> None:
    assert dshloop("profile", "diff", "p", "nope").code == 3
    assert dshloop("profile", "diff", "p", "./nope.yml").code == 1
