from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.profiles.packages import contents, package
from tests.running import dshloop


@pytest.fixture
def home(isolated: Path) -> Path:
    """Give the DSH home of the test."""
    return isolated / "dsh"


def write_profile(home: Path, name: str, text: str) -> Path:
    folder = home / "profiles" / name
    folder.mkdir(parents=True)
    (folder / "package.json").write_text(text, encoding="utf-8")
    return folder


def test_create_list_and_use(home: Path) -> None:
    created = dshloop("profile", "create", "mine", "--template", "empty", "--json")
    folder = f"{home}/profiles/mine"
    assert created.json == {"name": "mine", "folder": folder, "bundles": [], "dry_run": False}
    assert dshloop("profile", "use", "mine").code == 0
    (line,) = dshloop("profile", "list", "--json").json
    assert (line["name"], line["default"], line["bundles"]) == ("mine", True, [])
    assert "* mine" in dshloop("profile", "list").out
    assert dshloop("profile", "dump").out == "\n"


def test_an_empty_home_lists_nothing(home: Path) -> None:
    ran = dshloop("profile", "list", "--json")
    assert (ran.code, ran.json) == (0, [])
    assert "dshloop profile create" in dshloop("profile", "list").err
    assert not home.exists()


def test_a_broken_manifest_is_listed_with_its_fault(home: Path) -> None:
    write_profile(home, "bad", "{")
    ran = dshloop("profile", "list")
    assert (ran.code, "bad" in ran.out) == (0, True)
    assert "not valid JSON" in ran.err


def test_exit_codes_and_codes(home: Path) -> None:
    write_profile(home, "there", "{}")
    write_profile(home, "broken", "[]")
    expected = {
        ("profile", "show"): (2, "PROFILE_NOT_NAMED"),
        ("profile", "show", "nope"): (3, "PROFILE_NOT_FOUND"),
        ("profile", "dump", "../x"): (2, "PROFILE_NAME_INVALID"),
        ("profile", "create", "there"): (4, "PROFILE_EXISTS"),
        ("profile", "create", "x", "--template", "y"): (2, "USAGE"),
        ("profile", "dump", "broken"): (1, "MANIFEST_INVALID"),
        ("profile", "dump", "there", "--patch", "no.yml"): (1, "PATCH_UNREADABLE"),
        ("profile", "dump", "there", "--default", "--patch", "x"): (2, "USAGE"),
        ("profile", "dump", "there", "--profile", "broken"): (2, "USAGE"),
        ("profile", "use", "nope"): (3, "PROFILE_NOT_FOUND"),
        ("profile", "compose", "no.yml"): (1, "PATCH_UNREADABLE"),
    }
    for words, (code, name) in expected.items():
        ran = dshloop(*words, "--json")
        assert (ran.code, ran.error["code"], ran.out) == (code, name, ""), words


def test_the_profile_is_named_in_any_of_the_ways(home: Path) -> None:
    write_profile(home, "a", "{}")
    for words in (
        ["profile", "show", "a"],
        ["profile", "show", "--profile", "a"],
        ["profile", "--profile", "a", "show"],
    ):
        assert dshloop(*words, "--json").json["name"] == "a"
    variables = {"DSHLOOP_PROFILE": "a"}
    assert dshloop("profile", "show", "--json", variables=variables).json["name"] == "a"


def test_dump_prints_dsh_s_text_and_its_warnings(home: Path) -> None:
    folder = write_profile(home, "p", '{"dsh": {"profile": {"bundles": ["b", "x"]}}}')
    bundle = package(folder / "node_modules" / "b")
    (bundle / "cordis.patch.yml").write_text("- insert: [{id: r}]\n")
    (folder / "cordis.patch.yml").write_text("- {id: r, config: é}\n- {id: none}\n", "utf-8")
    before = contents(home)
    ran = dshloop("profile", "dump", "p")
    assert ran.out == (f"# == b, patched by {folder}/cordis.patch.yml\n- id: r\n  config: é\n")
    assert ran.err.splitlines() == [
        'dsh: skipping profile bundle "x": Error: dsh: cannot resolve profile bundle "x" from the '
        f"dsh installation or {folder}; run 'dsh plugin --profile p install' if its dependency is "
        "not installed",
        f'dsh: [{folder}/cordis.patch.yml] patch: entry "none" not found',
    ]
    assert dshloop("profile", "dump", "p", "--default").out.startswith("# == b\n")
    assert dshloop("profile", "dump", "p", "--strict").code == 1
    assert contents(home) == before


def test_dump_as_json_has_entries_text_and_what_was_skipped(home: Path) -> None:
    write_profile(home, "p", '{"dsh": {"profile": {"bundles": ["x"]}}}')
    ran = dshloop("profile", "dump", "p", "--json")
    assert ran.err == ""
    assert ran.json["entries"] == []
    assert ran.json["text"] == "\n"
    assert ran.json["skipped"][0]["bundle"] == "x"
    verbose = dshloop("profile", "dump", "p", "--json", "--verbose")
    assert json.loads(verbose.err)["warning"]["code"] == "BUNDLE_SKIPPED"


def test_dump_takes_further_patches_in_order(home: Path, tmp_path: Path) -> None:
    write_profile(home, "p", "{}")
    (tmp_path / "one.yml").write_text("- insert: [{id: a}]")
    (tmp_path / "two 2.yml").write_text("- {id: a, config: 1}")
    words = ["profile", "dump", "p", "--patch", "one.yml", "--patch", "./two 2.yml"]
    assert dshloop(*words, cwd=tmp_path).out == (
        f"# == {tmp_path}/one.yml, patched by {tmp_path}/two 2.yml\n- id: a\n  config: 1\n"
    )


def test_a_template_is_dumped_without_being_created(home: Path) -> None:
    ran = dshloop("profile", "dump", "web")
    assert (ran.code, ran.out) == (0, "\n")
    assert ran.err.count("dsh: skipping profile bundle") == 2
    assert not home.exists()


def test_compose_names_layers_as_given(tmp_path: Path) -> None:
    (tmp_path / "L1.yml").write_text("- insert: [{id: a, v: .nan}]")
    (tmp_path / "L2.yml").write_text("- {id: nope}")
    ran = dshloop("profile", "compose", "L1.yml", "./L2.yml", "--json", cwd=tmp_path)
    assert ran.json == {
        "entries": [{"id": "a", "v": {"$num": "NaN"}}],
        "warnings": [{"layer": "./L2.yml", "message": 'patch: entry "nope" not found'}],
    }
    text = dshloop("profile", "compose", "L1.yml", "./L2.yml", cwd=tmp_path)
    assert text.out == "# == L1.yml\n- id: a\n  v: .nan\n"
    assert text.err == 'dsh: [./L2.yml] patch: entry "nope" not found\n'


@pytest.mark.parametrize("text", ["a: [", "a: 1", "- x", "- insert: 3", ""])
def test_a_layer_that_can_not_be_read_is_an_error_with_its_place(tmp_path: Path, text: str) -> None:
    (tmp_path / "bad.yml").write_text(text)
    ran = dshloop("profile", "compose", "bad.yml", "--json", cwd=tmp_path)
    assert (ran.code, ran.out) == (1, "")
    details = ran.error["details"]
    assert Path(details["file"]).name == "bad.yml"
    assert details["line"] >= 1
    assert details["column"] >= 1


def test_show_tells_layers_and_rows(home: Path) -> None:
    folder = write_profile(home, "p", '{"dsh": {"profile": {"bundles": ["b", "x"]}}}')
    package(folder / "node_modules" / "b", "b", "r", "s")
    value = dshloop("profile", "show", "p", "--json").json
    assert (value["rows"], value["exists"]) == (2, True)
    assert value["layers"] == [{"label": "b", "kind": "bundle", "patches": 1}]
    assert [one["bundle"] for one in value["skipped"]] == ["x"]
    text = dshloop("profile", "show", "p").out
    assert "1. b  (1 patch)" in text
    assert "x: Error: dsh: cannot resolve" in text


@pytest.mark.slow
def test_many_dumps_at_once_all_succeed(home: Path) -> None:
    from tests.running import process

    folder = write_profile(home, "p", '{"dsh": {"profile": {"bundles": ["b"]}}}')
    package(folder / "node_modules" / "b")
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        ran = list(pool.map(lambda _: process("profile", "dump", "p"), range(40)))
    assert {one.returncode for one in ran} == {0}
    assert len({one.stdout for one in ran}) == 1


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("- insert:\n  - {id: ok}\n  - &a {id: b, config: [*a]}\n", 3),
        ("- insert: [{id: b}]\n- id: b\n  config: &a [*a]\n", 3),
    ],
)
@pytest.mark.parametrize("options", [(), ("--json",)])
def test_a_row_that_contains_itself_is_named_with_its_place(
    tmp_path: Path, text: str, line: int, options: tuple[str, ...]
) -> None:
    file = tmp_path / "L1.yml"
    file.write_text(text, encoding="utf-8")
    ran = dshloop("profile", "compose", str(file), *options)
    assert (ran.code, ran.out) == (1, "")
    assert f"{file}:{line}:" in ran.err


def test_members_of_a_bundle_list_that_are_no_text_are_shown_as_json(home: Path) -> None:
    write_profile(home, "odd", '{"dsh": {"profile": {"bundles": [null, {"a": true}, "b"]}}}')
    assert 'null, {"a":true}, b' in dshloop("profile", "list").out
