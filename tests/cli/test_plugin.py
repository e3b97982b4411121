from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.profiles.packages import contents, package, packed
from tests.running import Ran, dshloop


@pytest.fixture(autouse=True)
def _no_pnpm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/usr/bin:/bin")


@pytest.fixture
def home(isolated: Path) -> Path:
    """Give the DSH home of the test."""
    return isolated / "dsh"


def add(cwd: Path, *words: str) -> Ran:
    return dshloop("plugin", "add", *words, "--profile", "web", cwd=cwd)


def test_add_list_remove(home: Path, tmp_path: Path) -> None:
    folder = package(tmp_path / "hello")
    ran = add(tmp_path, "./hello")
    assert (ran.code, ran.out) == (
        0,
        f"added hello 1.0.0 to profile web: layer 3 of 3, link:{folder}\n",
    )
    (line,) = dshloop("plugin", "list", "--profile", "web", "--json").json
    assert (line["name"], line["version"], line["layer"]) == ("hello", "1.0.0", 3)
    assert "layer 3" in dshloop("plugin", "list", "--profile", "web").out
    gone = dshloop("plugin", "remove", "hello", "--profile", "web")
    assert gone.out == "removed hello 1.0.0 from profile web\n"
    assert dshloop("plugin", "list", "--profile", "web", "--json").json == []


def test_add_says_where_it_landed_and_how_to_boot(home: Path, tmp_path: Path) -> None:
    package(tmp_path / "hello")
    err = add(tmp_path, "./hello").err
    assert f"initialized profile web at {home}/profiles/web" in err
    assert "dsh.profile.bundles" in err
    assert "restart" in err
    assert "dsh --profile web" in err
    assert add(tmp_path, "./hello").err == "all was so already; nothing was changed\n"


def test_the_profile_may_stand_between_group_and_verb(home: Path, tmp_path: Path) -> None:
    package(tmp_path / "hello")
    ran = dshloop("plugin", "--profile", "web", "add", "./hello", "--json", cwd=tmp_path)
    assert ran.json["profile"] == "web"
    assert ran.json["created"] is True
    assert ran.json["plugins"][0]["state"] == "added"
    assert ran.json["boot"] == "dsh --profile web"
    assert ran.err == ""


def test_an_archive_is_added(home: Path, tmp_path: Path) -> None:
    archive = packed(package(tmp_path / "hello"))
    assert add(tmp_path, archive.name).code == 0
    dump = dshloop("profile", "dump", "web").out
    assert dump.startswith("# == hello\n- id: hello\n")


def test_exit_codes_and_codes(home: Path, tmp_path: Path) -> None:
    package(tmp_path / "a", "a", "row")
    package(tmp_path / "b", "b", "row")
    package(tmp_path / "deps", dependencies={"x": "1"})
    (tmp_path / "bad.tgz").write_bytes(b"bad")
    (package(tmp_path / "broken") / "cordis.patch.yml").write_text("a: [")
    assert add(tmp_path, "./a").code == 0
    before = contents(home)
    expected = {
        ("add", "./b"): (4, "ROW_ID_TAKEN"),
        ("add", "./none"): (3, "PACKAGE_NOT_FOUND"),
        ("add", "bad.tgz"): (1, "ARCHIVE_INVALID"),
        ("add", "./broken"): (4, "BUNDLE_INVALID"),
        ("add", "./deps"): (5, "PNPM_MISSING"),
        ("add", "is-odd"): (5, "PNPM_MISSING"),
        ("add", "--save-dev", "./a"): (2, "USAGE"),
        ("remove", "none"): (3, "PLUGIN_NOT_FOUND"),
        ("add",): (2, "USAGE"),
    }
    for words, (code, name) in expected.items():
        ran = dshloop("plugin", "--profile", "web", *words, "--json", cwd=tmp_path)
        assert (ran.code, ran.error["code"], ran.out) == (code, name, ""), words
    assert contents(home) == before


def test_what_looks_like_an_option_is_refused_after_two_dashes_too(tmp_path: Path) -> None:
    ran = dshloop("plugin", "--profile", "web", "--json", "add", "--", "-D", cwd=tmp_path)
    assert (ran.code, ran.error["code"]) == (2, "SPEC_INVALID")


def test_without_a_profile_the_names_are_listed(home: Path, tmp_path: Path) -> None:
    dshloop("profile", "create", "mine")
    ran = dshloop("plugin", "list", "--json")
    assert (ran.code, ran.error["code"]) == (2, "PROFILE_NOT_NAMED")
    assert ran.error["details"]["profiles"] == ["mine"]
    assert dshloop("plugin", "list", "--profile", "nope").code == 3


def test_a_collision_names_both_and_the_row(home: Path, tmp_path: Path) -> None:
    package(tmp_path / "a", "a", "row")
    package(tmp_path / "b", "b", "row")
    ran = add(tmp_path, "./a", "./b")
    assert ran.code == 4
    assert "b inserts row row, which a inserts already" in ran.err
    assert not home.exists()


def test_dry_run_prints_a_diff_and_changes_nothing(home: Path, tmp_path: Path) -> None:
    package(tmp_path / "hello")
    ran = add(tmp_path, "./hello", "--dry-run")
    assert ran.code == 0
    assert '+        "hello"' in ran.out
    assert f"--- /dev/null\n+++ {home}/profiles/web/package.json\n" in ran.out
    assert "nothing was changed" in ran.err
    assert not home.exists()
    as_json = add(tmp_path, "./hello", "--dry-run", "--json").json
    assert as_json["dry_run"] is True
    assert '"hello"' in as_json["diff"]


def test_remove_tells_the_rows_left_behind(home: Path, tmp_path: Path) -> None:
    package(tmp_path / "hello", "hello", "row")
    add(tmp_path, "./hello")
    patch = home / "profiles" / "web" / "cordis.patch.yml"
    patch.write_text("- {id: row, disabled: true}\n")
    ran = dshloop("plugin", "remove", "hello", "--profile", "web")
    assert f"warning: {patch} still speaks of hello: row row\n" in ran.err
    assert patch.read_text() == "- {id: row, disabled: true}\n"


def test_undo_takes_an_added_plugin_back(home: Path, tmp_path: Path) -> None:
    package(tmp_path / "hello")
    add(tmp_path, "./hello")
    assert dshloop("undo").code == 0
    assert not home.exists()
    assert dshloop("redo").code == 0
    assert json.loads((home / "profiles/web/package.json").read_text())["dependencies"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no named pipes")
def test_a_folder_that_cannot_be_copied_is_named_with_the_reason(tmp_path: Path) -> None:
    folder = package(tmp_path / "piped")
    os.mkfifo(folder / "pipe")
    ran = dshloop("plugin", "add", f"file:{folder}", "--profile", "p")
    assert ran.code == 1
    assert f"can't copy {folder}: " in " ".join(ran.err.split())
    assert "[(" not in ran.err


def test_a_name_given_twice_is_removed_once(tmp_path: Path) -> None:
    folder = package(tmp_path / "twice")
    assert dshloop("plugin", "add", str(folder), "--profile", "p").code == 0
    ran = dshloop("plugin", "remove", folder.name, folder.name, "--profile", "p", "--json")
    assert (ran.code, len(ran.json["plugins"])) == (0, 1)
