from __future__ import annotations

from pathlib import Path

import pytest

from dshloop.profiles.layout import Profile
from tests.profiles.checks.made import profile, write
from tests.running import dshloop


@pytest.fixture
def made(isolated: Path, monkeypatch: pytest.MonkeyPatch) -> Profile:
    """Give profile p, which is the one that is meant, with a row a of bundle b."""
    monkeypatch.setenv("DSHLOOP_PROFILE", "p")
    found = profile(isolated, "b", patch="# mine\n[]\n")
    write(
        found.modules / "b" / "cordis.patch.yml",
        "- insert:\n    - {id: a, name: b, config: {k: 1, keep: x}}\n",
    )
    return found


def test_set_writes_one_key_and_says_what_that_pins(made: Profile) -> None:
    ran = dshloop("profile", "set", "a.k", "[1, !!js x]", "--json", "--verbose")
    assert ran.code == 0
    assert ran.json["changed"] is True
    assert made.patch.read_text().startswith("# mine\n")
    assert "keep: x" in made.patch.read_text()
    assert "EDIT_PINNED" in ran.err
    assert dshloop("profile", "explain", "a.k", "--json").json["winner"]["after"] == [
        1,
        {"__jsExpr": "x"},
    ]


def test_a_pinned_value_whose_origin_moves_on_is_found_later(made: Profile) -> None:
    assert dshloop("profile", "set", "a.k", "2").code == 0
    assert dshloop("profile", "check", "--json").json["findings"] == []
    write(
        made.modules / "b" / "cordis.patch.yml",
        "- insert:\n    - {id: a, name: b, config: {k: 1, keep: y}}\n",
    )
    (finding,) = dshloop("profile", "check", "--json").json["findings"]
    assert (finding["code"], finding["row"]) == ("PIN_OUTDATED", "a")
    dshloop("undo")
    assert dshloop("profile", "check", "--json").json["findings"] == []


def test_a_dry_run_shows_the_diff_and_writes_nothing(made: Profile) -> None:
    ran = dshloop("profile", "set", "a.k", "no", "--dry-run")
    assert "+" in ran.out
    assert made.patch.read_text() == "# mine\n[]\n"
    assert dshloop("history", "--json").json == []


def test_text_is_taken_as_text_when_asked(made: Profile) -> None:
    dshloop("profile", "set", "a.k", "007", "--string")
    assert dshloop("profile", "explain", "a.k", "--json").json["winner"]["after"] == "007"
    dshloop("profile", "set", "a.k", "007")
    assert dshloop("profile", "explain", "a.k", "--json").json["winner"]["after"] == 7
    assert dshloop("profile", "set", "a.k", "[", "--json").code == 2


def test_unset_and_the_layers(made: Profile) -> None:
    assert dshloop("profile", "set", "a.k", "2", "--layer", "home").code == 0
    assert made.home_patch.is_file()
    assert made.patch.read_text() == "# mine\n[]\n"
    assert dshloop("profile", "unset", "a.k", "--layer", "home").code == 0
    assert dshloop("profile", "row", "show", "a", "--json").json["row"]["config"] == {"keep": "x"}
    for words, code in (
        (("set", "a.k", "1", "--layer", "zzz"), 2),
        (("set", "a.k", "1", "--layer", "preset:none"), 3),
        (("set", "nope.k", "1"), 3),
        (("unset", "a.nope"), 3),
    ):
        assert dshloop("profile", *words, "--json").code == code, words


def test_rows_are_listed_switched_and_dropped(made: Profile) -> None:
    assert dshloop("profile", "row", "disable", "a").code == 0
    (row,) = dshloop("profile", "row", "list", "--json").json
    assert (row["id"], row["name"], row["state"], row["layer"]) == ("a", "b", "off", "b")
    assert dshloop("profile", "row", "enable", "a").code == 0
    assert dshloop("profile", "row", "list", "--json").json[0]["state"] == "on"
    assert dshloop("profile", "row", "drop", "a", "--json").code == 0
    assert dshloop("profile", "row", "list", "--json").json[0]["state"] == "off"
    assert dshloop("profile", "row", "disable", "nope").code == 3


@pytest.mark.parametrize(
    "words",
    [
        ("@me/x", "--id", "n", "--config", "{l: 1}"),
        ("{id: n, name: @me/x, config: {l: 1}}",),
        ("{id: n, name: '@me/x', config: {l: 1}}",),
    ],
)
def test_a_scoped_name_needs_no_quotes(made: Profile, words: tuple[str, ...]) -> None:
    assert dshloop("profile", "row", "insert", *words).code == 0
    assert "'@me/x'" in made.patch.read_text()
    shown = dshloop("profile", "row", "show", "n", "--json").json["row"]
    assert shown == {"id": "n", "name": "@me/x", "config": {"l": 1}}
    assert dshloop("profile", "row", "drop", "n").code == 0
    assert made.patch.read_text() == "# mine\n[]\n"


def test_a_row_without_id_and_what_is_no_row(made: Profile) -> None:
    ran = dshloop("profile", "row", "insert", "b")
    assert (ran.code, "no id" in ran.err) == (0, True)
    assert dshloop("profile", "row", "insert", "[1]").code == 2
    assert dshloop("profile", "row", "insert", "{id: x}").code == 2


def test_row_show_masks_secrets(made: Profile) -> None:
    dshloop("profile", "set", "a.apiKey", "hunter2")
    assert "hunter2" not in dshloop("profile", "row", "show", "a").out
    assert "hunter2" in dshloop("profile", "row", "show", "a", "--reveal").out


def test_every_verb_shows_an_example() -> None:
    for verb in (
        "set", "unset", "explain", "diff", "check", "repair", "copy", "rename", "delete", "export",
        "import", "edit",
    ):  # fmt: skip
        assert f"Example: dshloop profile {verb}" in dshloop("profile", verb, "--help").out
    for verb in ("list", "show", "insert", "disable", "enable", "drop"):
        assert "Example: dshloop profile row" in dshloop("profile", "row", verb, "--help").out
