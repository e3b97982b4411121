from __future__ import annotations

import json
import shutil
from pathlib import Path

from tests.profiles.checks.made import codes, found, profile, repaired
from tests.profiles.packages import package

LOCK = """\
lockfileVersion: '9.0'

importers:

  .:
    dependencies:
      b:
        specifier: 1.0.0
        version: {version}

packages:

  b@{version}:
    resolution: {{integrity: sha512-x}}
"""


def test_a_dependency_that_is_not_installed(tmp_path: Path) -> None:
    made = profile(tmp_path, "b", dependencies={"plain": "1.0.0"})
    shutil.rmtree(made.modules / "b")
    severities = {one.why.split()[0]: one.severity for one in found(made, "DEPENDENCY_MISSING")}
    assert severities == {"b": "error", "plain": "warning"}


def test_versions_that_differ_from_lock_and_manifest(tmp_path: Path) -> None:
    made = profile(tmp_path, "b")
    lock = made.folder / "pnpm-lock.yaml"
    lock.write_text(LOCK.format(version="1.0.0"))
    assert codes(made) == []
    lock.write_text(LOCK.format(version="0.9.0"))
    (finding,) = found(made)
    assert (finding.code, finding.why) == (
        "VERSION_DRIFT",
        "b 1.0.0 is installed, pnpm-lock.yaml says 0.9.0",
    )
    lock.unlink()
    package(made.modules / "b", "b", version="2.0.0")
    (finding,) = found(made)
    assert finding.why == "b 2.0.0 is installed, package.json says 1.0.0"


def test_a_lock_that_names_other_dependencies(tmp_path: Path) -> None:
    made = profile(tmp_path, "b")
    value = json.loads(made.manifest.read_text())
    value["dependencies"] = {"b": "^1.0.0", "new": "1.0.0"}
    made.manifest.write_text(json.dumps(value))
    package(made.modules / "new", "new", dsh=None)
    (made.folder / "pnpm-lock.yaml").write_text(LOCK.format(version="1.0.0"))
    assert [one.why for one in found(made, "LOCK_DRIFT")] == [
        "b: package.json says ^1.0.0, the lock 1.0.0",
        "new is in package.json but not in the lock",
    ]
    value["dependencies"] = {}
    made.manifest.write_text(json.dumps(value))
    assert "b is in the lock but not in package.json" in [one.why for one in found(made)]


def test_a_lock_that_can_not_be_read(tmp_path: Path) -> None:
    made = profile(tmp_path, "b")
    for text in ("[\n", "x\n"):
        (made.folder / "pnpm-lock.yaml").write_text(text)
        assert codes(made) == ["LOCK_INVALID"]


def test_a_link_whose_folder_is_gone(tmp_path: Path) -> None:
    target = package(tmp_path / "mine", "mine")
    made = profile(tmp_path, dependencies={"mine": f"link:{target}"})
    made.modules.mkdir(parents=True)
    (made.modules / "mine").symlink_to(target)
    assert codes(made) == ["BUNDLE_OFF"]
    shutil.rmtree(target)
    (finding,) = found(made)
    assert (finding.code, finding.severity, finding.mend) == ("LINK_STALE", "warning", None)
    value = json.loads(made.manifest.read_text())
    value["dsh"]["profile"]["bundles"] = ["mine"]
    made.manifest.write_text(json.dumps(value))
    assert [one.severity for one in found(made, "LINK_STALE")] == ["error"]


def test_a_link_that_leads_elsewhere_is_made_anew(tmp_path: Path) -> None:
    target, old = package(tmp_path / "mine", "mine"), package(tmp_path / "old", "mine")
    made = profile(tmp_path, dependencies={"mine": f"link:{target}"})
    made.modules.mkdir(parents=True)
    (made.modules / "mine").symlink_to(old)
    assert "LINK_ELSEWHERE" in codes(made)
    repaired(made)
    assert (made.modules / "mine").readlink() == target
    assert "LINK_ELSEWHERE" not in codes(made)


def test_a_link_of_no_dependency_is_taken_out(tmp_path: Path) -> None:
    made = profile(tmp_path, "b")
    left = package(tmp_path / "left", "@me/left")
    (made.modules / "@me").mkdir()
    (made.modules / "@me" / "left").symlink_to(left)
    (finding,) = found(made)
    assert (finding.code, finding.severity) == ("MODULE_LEFT", "warning")
    repaired(made)
    assert not (made.modules / "@me" / "left").is_symlink()
    assert left.is_dir()


def test_links_that_pnpm_makes_inside_node_modules_are_its_own(tmp_path: Path) -> None:
    made = profile(tmp_path, "b")
    inner = package(made.modules / ".pnpm" / "x@1" / "node_modules" / "x", "x", dsh=None)
    (made.modules / "x").symlink_to(inner)
    assert codes(made) == []


def test_entries_in_dshs_own_cordis_yml_are_told_and_left(tmp_path: Path) -> None:
    made = profile(tmp_path, "b")
    tree = made.folder / "cordis.yml"
    tree.write_text("# dsh profile root\n[]\n")
    assert codes(made) == []
    for text in ("- id: a\n  name: x\n", "", "[\n"):
        tree.write_text(text)
        assert codes(made) == ["CORDIS_YML_DIRTY"]
        repaired(made)
        assert tree.read_text() == text
