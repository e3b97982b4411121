from __future__ import annotations

from pathlib import Path

import pytest

from dshloop.profiles.inbox.source import PackageInbox
from tests.profiles.checks.made import found, profile, repaired, write
from tests.profiles.packages import package, places_in, profile_in


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("./gone.mjs", "does not exist"),
        ("/no/such.js", "does not exist"),
        ("cordis:zzz", "no plugin cordis:zzz"),
        ("gone-pkg", "package gone-pkg is not installed"),
        ("@me/gone/sub", "package @me/gone is not installed"),
        ("b/nope.js", "package b has no nope.js"),
    ],
)
def test_names_that_lead_nowhere(tmp_path: Path, name: str, fault: str) -> None:
    made = profile(tmp_path, "b", patch=f"- insert:\n    - id: x\n      name: '{name}'\n")
    (finding,) = found(made)
    assert fault in finding.why
    assert finding.place is not None
    assert (finding.row, finding.place.line) == ("x", 3)
    assert finding.severity == "warning"
    assert [one.severity for one in found(made, dialect="012")] == ["error"]


@pytest.mark.parametrize(
    "name",
    ["./there.mjs", "b", "b/index.js", "cordis:include", "@deepseek-ai/dsh-llm", "e/sub", "e/x/y"],
)
def test_names_that_lead_somewhere(tmp_path: Path, name: str) -> None:
    config = "{path: x}" if name == "cordis:include" else "{}"
    patch = f"- insert:\n    - id: x\n      name: '{name}'\n      config: {config}\n"
    made = profile(tmp_path, "b", patch=patch)
    package(made.modules / "e", "e", exports={".": "./index.js", "./sub": "./s.js", "./x/*": "./*"})
    (made.folder / "there.mjs").write_text("")
    assert found(made) == []


def test_rows_that_are_off_need_no_module(tmp_path: Path) -> None:
    rows = (
        "- insert:\n    - {id: x, name: gone, disabled: true}\n"
        "    - {id: g, name: cordis:group, group: true, disabled: true, "
        "config: [{id: y, name: gone}]}\n"
    )
    assert found(profile(tmp_path, patch=rows)) == []


def test_an_orphan_in_the_profiles_file_is_taken_out_when_asked(tmp_path: Path) -> None:
    rows = "- insert:\n    - {id: x, name: gone/sub}\n    # stays\n    - {id: y, name: b}\n"
    made = profile(tmp_path, "b", patch=rows)
    assert [one.code for one in found(made)] == ["ROW_ORPHANED"]
    assert not repaired(made, safe_only=True).mended
    repaired(made)
    assert made.patch.read_text() == "- insert:\n    # stays\n    - {id: y, name: b}\n"


def test_a_row_of_the_home_stays_while_any_profile_has_its_package(tmp_path: Path) -> None:
    made = profile(tmp_path, "b")
    other = profile_in(places_in(tmp_path), "other")
    package(other.modules / "theirs", "theirs")
    write(made.home_patch, "- insert: [{id: x, name: theirs}, {id: y, name: gone}]\n")
    assert {one.row: one.code for one in found(made)} == {
        "x": "ROW_NAME_UNRESOLVED",
        "y": "ROW_ORPHANED",
    }
    repaired(made)
    assert made.home_patch.read_text() == "- insert: [{id: x, name: theirs}]\n"


def test_a_package_of_the_bundle_or_of_dsh_itself_is_found(tmp_path: Path) -> None:
    made = profile(tmp_path, "b")
    write(
        made.modules / "b" / "cordis.patch.yml",
        "- insert: [{id: x, name: inner}, {id: y, name: hosts}]\n",
    )
    package(made.modules / "b" / "node_modules" / "inner", "inner")
    dsh = package(tmp_path / "lib" / "node_modules" / "dsh", "dsh")
    package(tmp_path / "lib" / "node_modules" / "hosts", "hosts")
    assert found(made, inbox=PackageInbox(dsh)) == []
