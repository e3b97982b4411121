from __future__ import annotations

import json
from pathlib import Path

import pytest

from dshloop.profiles.layout import read_manifest
from dshloop.profiles.plugins.compatibility import Engines
from tests.profiles.checks.made import codes, found, profile, repaired
from tests.profiles.packages import package


def test_a_sound_profile_has_no_findings(tmp_path: Path) -> None:
    made = profile(tmp_path, "b", "c", patch="- {id: b, disabled: true}\n")
    assert codes(made) == []


def test_a_bundle_listed_twice_is_listed_once_again(tmp_path: Path) -> None:
    made = profile(tmp_path, "b", "c")
    value = json.loads(made.manifest.read_text())
    value["dsh"]["profile"]["bundles"] = ["b", "c", "b"]
    made.manifest.write_text(json.dumps(value, indent=2) + "\n")
    assert codes(made) == ["BUNDLE_LISTED_TWICE"]
    repaired(made, safe_only=True)
    assert read_manifest(made).bundles == ("b", "c")


def test_a_listed_package_without_dsh_bundle_leaves_the_list(tmp_path: Path) -> None:
    made = profile(tmp_path, "b")
    package(made.modules / "b", "b", dsh=None)
    (finding,) = found(made)
    assert (finding.code, finding.severity) == ("BUNDLE_UNDECLARED", "error")
    repaired(made, safe_only=True)
    assert read_manifest(made).bundles == ()
    assert "b" in read_manifest(made).dependencies


def test_a_listed_bundle_that_is_installed_nowhere(tmp_path: Path) -> None:
    made = profile(tmp_path)
    made.manifest.write_text('{\n  "dsh": {"profile": {"bundles": ["gone"]}}\n}\n')
    (finding,) = found(made)
    assert finding.code == "BUNDLE_UNRESOLVED"
    assert finding.place is not None
    assert finding.place.line == 2
    assert "no dependency either" in finding.why


def test_dshs_own_bundles_are_no_fault_where_no_dsh_is(tmp_path: Path) -> None:
    made = profile(tmp_path)
    made.manifest.write_text('{"dsh": {"profile": {"bundles": ["@deepseek-ai/dsh-base"]}}}')
    assert [(one.code, one.severity) for one in found(made)] == [("BUNDLE_UNCHECKED", "info")]


@pytest.mark.parametrize("text", [None, "- id: [\n", "{}\n", "- insert: 5\n"])
def test_a_missing_or_broken_patch_file_of_a_bundle_is_named(
    tmp_path: Path, text: str | None
) -> None:
    made = profile(tmp_path, "b")
    patch = made.modules / "b" / "cordis.patch.yml"
    patch.unlink()
    if text is not None:
        patch.write_text(text)
    (finding,) = found(made, "BUNDLE_BROKEN")
    assert finding.place is not None
    assert str(finding.place.file).endswith("cordis.patch.yml")
    assert "plugin disable b" in finding.fix


def test_a_bundle_that_is_listed_but_no_dependency_and_the_reverse(tmp_path: Path) -> None:
    made = profile(tmp_path, "b", "c")
    made.manifest.write_text(
        '{"dependencies": {"c": "1.0.0"}, "dsh": {"profile": {"bundles": ["b"]}}}'
    )
    assert {one.code: one.severity for one in found(made)} == {
        "BUNDLE_NOT_A_DEPENDENCY": "warning",
        "BUNDLE_OFF": "info",
    }
    severities = {one.code: one.severity for one in found(made, dialect="012")}
    assert severities["BUNDLE_OFF"] == "warning"


def test_a_byte_order_mark_in_the_manifest_is_an_error_and_mended(tmp_path: Path) -> None:
    made = profile(tmp_path, "b")
    plain = made.manifest.read_bytes()
    made.manifest.write_bytes(b"\xef\xbb\xbf" + plain)
    assert codes(made) == ["MANIFEST_BOM"]
    repaired(made, safe_only=True)
    assert made.manifest.read_bytes() == plain


def test_a_manifest_that_is_no_json_is_named_with_its_line(tmp_path: Path) -> None:
    made = profile(tmp_path, patch="[]\n- {id: x}\n")
    made.manifest.write_text('{\n  "dsh": {,}\n}\n')
    places = {one.code: one.place and one.place.line for one in found(made)}
    assert places["MANIFEST_INVALID"] == 2
    assert "PATCH_ROOT_APPENDED" in places


def test_packages_of_dsh_among_a_plugins_dependencies(tmp_path: Path) -> None:
    made = profile(tmp_path, "b")
    package(made.modules / "b", "b", dependencies={"@deepseek-ai/dsh-tools": "1", "other": "1"})
    (finding,) = found(made)
    assert finding.code == "HOST_PACKAGE_BUNDLED"
    assert "@deepseek-ai/dsh-tools" in finding.why


def test_ranges_of_dsh_and_node_that_are_not_met(tmp_path: Path) -> None:
    made = profile(tmp_path, "b")
    package(made.modules / "b", "b", engines={"dsh": ">=9", "node": ">=99"})
    engines = Engines()
    engines.__dict__.update(dsh_version="0.2.1-rc.2", node_version="22.0.0")
    assert [one.why for one in found(made, "ENGINE_UNMET", engines=engines)] == [
        "b asks for dsh >=9 (engines.dsh); here is 0.2.1-rc.2",
        "b asks for node >=99 (engines.node); here is 22.0.0",
    ]


def test_a_bundle_list_that_is_none_has_its_line(tmp_path: Path) -> None:
    made = profile(tmp_path)
    made.manifest.write_text('{\n  "dsh": {"profile": {"bundles": "x"}}\n}\n')
    (finding,) = found(made)
    assert finding.code == "MANIFEST_INVALID"
    assert finding.place is not None
    assert finding.place.line == 2
