"""The verbs beside add, list and remove, without pnpm and with stand-ins for dsh."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.profiles.packages import contents, package, packed
from tests.running import Ran, dshloop


@pytest.fixture(autouse=True)
def _programs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", os.pathsep.join([str(tmp_path / "bin"), "/usr/bin", "/bin"]))


@pytest.fixture
def home(isolated: Path, tmp_path: Path) -> Path:
    """Give a DSH home whose profile p has the plugins a and b."""
    assert dshloop("profile", "create", "p", "--template", "empty").code == 0
    package(tmp_path / "a", "a", "one", "two", description="First of all")
    package(tmp_path / "b", peerDependencies={"a": "^1", "@deepseek-ai/dsh": "*"})
    assert plugin(tmp_path, "add", "./a", "./b").code == 0
    return isolated / "dsh"


def plugin(cwd: Path, *words: str) -> Ran:
    return dshloop("plugin", "--profile", "p", *words, cwd=cwd)


def test_disable_list_enable(home: Path, tmp_path: Path) -> None:
    off = plugin(tmp_path, "disable", "a", "--reason", "too loud")
    assert off.out == "disabled a 1.0.0 in profile p; it stays installed\n"
    assert "restart" in off.err
    listed = plugin(tmp_path, "list", "--json").json
    assert listed[0]["state"].endswith(": too loud")
    assert listed[0]["disabled"].startswith("disabled by dshloop on ")
    on = plugin(tmp_path, "enable", "a", "--json").json
    assert (on["plugins"][0]["state"], on["plugins"][0]["layer"]) == ("enabled", 1)
    assert on["bundles"] == ["a", "b"]


def test_update_says_what_stays_and_why(home: Path, tmp_path: Path) -> None:
    ran = plugin(tmp_path, "update")
    assert ran.out.splitlines()[0].startswith("unchanged a 1.0.0: linked: ")
    assert ran.err == "all was so already; nothing was changed\n"
    assert plugin(tmp_path, "update", "nobody", "--json").error["code"] == "PLUGIN_NOT_FOUND"


def test_outdated_lists_all_with_reasons(home: Path, tmp_path: Path) -> None:
    package(tmp_path / "a", "a", "one", "two", version="1.2.0")
    rows: Any = plugin(tmp_path, "outdated", "--json").json
    assert [(row["name"], row["current"], row["outdated"]) for row in rows] == [
        ("a", "1.2.0", False),
        ("b", "1.0.0", False),
    ]
    assert "linked" in plugin(tmp_path, "outdated").out


def test_show_tells_rows_and_who_patches_them(home: Path, tmp_path: Path) -> None:
    patch = home / "profiles" / "p" / "cordis.patch.yml"
    patch.write_text("# mine\n- id: two\n  disabled: true\n", encoding="utf-8")
    found = plugin(tmp_path, "show", "a", "--json").json
    assert found["description"] == "First of all"
    one, two = found["rows"]
    assert (one["id"], one["line"], one["patched"]) == ("one", 2, [])
    assert (two["disabled"], two["patched"]) == (
        True,
        [{"row": "two", "key": "disabled", "label": str(patch), "file": str(patch), "line": 3,
          "column": 3}],
    )  # fmt: skip
    assert found["patch_files"] == [str(tmp_path / "a" / "cordis.patch.yml")] or found[
        "patch_files"
    ] == [str(home / "profiles/p/node_modules/a/cordis.patch.yml")]
    text = plugin(tmp_path, "show", "a").out
    assert f"disabled set by {patch}:3" in text
    assert "peers    a ^1, @deepseek-ai/dsh *" in plugin(tmp_path, "show", "b").out


def test_show_of_a_disabled_plugin_still_tells_its_rows(home: Path, tmp_path: Path) -> None:
    plugin(tmp_path, "disable", "a")
    assert [row["id"] for row in plugin(tmp_path, "show", "a", "--json").json["rows"]] == [
        "one",
        "two",
    ]


def test_why_tells_who_asked_and_who_needs_it(home: Path, tmp_path: Path) -> None:
    (home / "profiles" / "p" / "cordis.patch.yml").write_text("- {id: one, disabled: true}\n")
    found = plugin(tmp_path, "why", "a", "--json").json
    assert (found["state"], found["acts"]) == ("active", "layer 1 of 2 of dsh.profile.bundles")
    assert "added: dshloop plugin --profile p add ./a ./b" in found["history"][0]
    assert found["dependents"][0] == "package b (peerDependencies: ^1)"
    assert "changes its row one: disabled" in found["dependents"][1]
    assert "a is active" in plugin(tmp_path, "why", "a").out


def test_why_of_what_does_not_act(home: Path, tmp_path: Path) -> None:
    def state(name: str) -> tuple[str, str]:
        found = plugin(tmp_path, "why", name, "--json").json
        return found["state"], found["acts"]

    package(tmp_path / "plain", dsh=None)
    plugin(tmp_path, "add", "./plain")
    assert state("plain")[0] == "plain"
    plugin(tmp_path, "disable", "a", "--reason", "loud")
    assert state("a")[0] == "disabled"
    manifest = home / "profiles" / "p" / "package.json"
    manifest.write_text(manifest.read_text().replace('"b",', "").replace('"b"\n', "\n"))
    kind, acts = state("b")
    assert (kind, "0.1.2 appends it" in acts) == ("off", True)
    assert plugin(tmp_path, "why", "nobody", "--json").error["code"] == "PLUGIN_NOT_FOUND"


def test_why_of_a_bundle_that_is_skipped(home: Path, tmp_path: Path) -> None:
    (tmp_path / "b" / "cordis.patch.yml").write_text("a: [")
    found = plugin(tmp_path, "why", "b", "--json").json
    assert (found["state"], "failed to parse" in found["acts"]) == ("skipped", True)


def test_check_looks_and_changes_nothing(home: Path, tmp_path: Path) -> None:
    package(tmp_path / "c", "c", "one")
    before = contents(home)
    ran = plugin(tmp_path, "check", "./c", "--json")
    assert ran.code == 1
    assert (ran.json["ok"], ran.json["profile"], ran.json["boot"]) == (False, "p", None)
    assert [finding["code"] for finding in ran.json["findings"]] == ["ROW_ID_DUPLICATE"]
    text = plugin(tmp_path, "check", "./c").out
    assert "c inserts row one, which a inserts already" in text
    assert text.endswith("c 1.0.0 can't be added as it is to profile p as a layer\n")
    good = packed(package(tmp_path / "d"))
    assert (
        plugin(tmp_path, "check", str(good)).out == "d 1.0.0 can be added to profile p as a layer\n"
    )
    assert contents(home) == before


def test_check_needs_no_registry_for_what_lies_here(home: Path, tmp_path: Path) -> None:
    folder = package(tmp_path / "c", dependencies={"koffi": "^2"})
    (folder / "cordis.patch.yml").write_text(
        "- insert: [{id: c, name: koffi}, {id: d, name: nowhere}]\n", encoding="utf-8"
    )
    for spec in ("./c", str(packed(folder))):
        found = plugin(tmp_path, "check", spec, "--json").json["findings"]
        assert [(one["code"], one["row"]) for one in found] == [("ROW_NAME_UNRESOLVED", "d")]


def test_check_without_a_profile_takes_a_new_one(isolated: Path, tmp_path: Path) -> None:
    package(tmp_path / "c")
    found = dshloop("plugin", "check", "./c", "--json", cwd=tmp_path).json
    assert (found["ok"], found["profile"]) == (True, "new")
    assert not (isolated / "dsh").exists()


def test_check_of_what_is_no_package(home: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    ran = plugin(tmp_path, "check", "./empty", "--json")
    assert (ran.code, ran.json["findings"][0]["code"]) == (1, "BUNDLE_BROKEN")
    assert plugin(tmp_path, "check", "./none", "--json").error["code"] == "PACKAGE_NOT_FOUND"
    assert plugin(tmp_path, "check", "--", "-x").code == 2


def test_a_trial_boot_needs_dsh(home: Path, tmp_path: Path) -> None:
    package(tmp_path / "c")
    ran = plugin(tmp_path, "check", "./c", "--boot", "--json")
    assert (ran.code, ran.error["code"]) == (5, "DSH_MISSING")


BOOTING = """\
import json, os, pathlib, sys, time
if "--version" in sys.argv:
    print("0.2.1-rc.2"); sys.exit()
if "--dump-default-config" in sys.argv:
    print(); sys.exit()
assert os.environ["DEEPSEEK_BASE_URL"].startswith("http://127.0.0.1")
folder = pathlib.Path(os.environ["DSH_HOME"], "profiles", sys.argv[2])
bundles = json.loads((folder / "package.json").read_text())["dsh"]["profile"]["bundles"]
for name in bundles:
    entry = (folder / "node_modules" / name / "index.js").read_text()
    if "throw" in entry:
        print(f"dsh: warning: 1 entry did not activate\\n{name} (file:///x): Error: kaboom\\n"
              "    at new apply (x)", file=sys.stderr)
        sys.exit(1 if "throw hard" in entry else 0)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="scripts with #! need POSIX")
@pytest.mark.parametrize(
    ("entry", "code", "outcome", "complaints"),
    [
        ("export function apply() {}", 0, "ended", []),
        ("throw soft", 1, "ended", 2),
        ("throw hard", 1, "failed", 2),
    ],
)
def test_a_trial_boot_tells_what_dsh_complains_of(
    home: Path, tmp_path: Path, entry: str, code: int, outcome: str, complaints: Any
) -> None:
    program = tmp_path / "bin" / "dsh"
    program.write_text(f"#!{sys.executable}\n{BOOTING}")
    program.chmod(0o755)
    (package(tmp_path / "c") / "index.js").write_text(entry)
    before = contents(home)
    ran = plugin(tmp_path, "check", "./c", "--boot", "--json")
    boot = ran.json["boot"]
    assert (ran.code, boot["outcome"]) == (code, outcome)
    if complaints:
        assert boot["complaints"] == [
            "dsh: warning: 1 entry did not activate",
            "c (file:///x): Error: kaboom",
        ]
        assert ran.json["boot_without"]["complaints"] == []
        assert "kaboom" in plugin(tmp_path, "check", "./c", "--boot").out
    else:
        assert boot["complaints"] == []
    assert contents(home) == before


def test_dry_runs_change_nothing(home: Path, tmp_path: Path) -> None:
    before = contents(home)
    for words in (["disable", "a"], ["update"], ["remove", "a"], ["enable", "a"]):
        ran = plugin(tmp_path, *words, "--dry-run")
        assert (ran.code, "dry run" in ran.err) == (0, True), words
    assert contents(home) == before
