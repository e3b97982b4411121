from __future__ import annotations

import json
from pathlib import Path

from dshloop.profiles.checks.subject import Case
from dshloop.profiles.compose import compose
from dshloop.profiles.layout import Profile
from dshloop.profiles.stack import stack_layers
from tests.profiles.checks.made import codes, found, profile, repaired, write
from tests.profiles.packages import package, places_in, profile_in

ROW = "- insert:\n    - id: a\n      name: b\n      config: {k: 1}\n"


def with_bundle(root: Path, patch: str, bundle: str = ROW) -> Profile:
    made = profile(root, "b", patch=patch)
    write(made.modules / "b" / "cordis.patch.yml", bundle)
    return made


def test_a_second_insert_becomes_a_patch_with_its_id(tmp_path: Path) -> None:
    patch = (
        "# head\n- insert:\n    # why\n    - id: a\n      name: b\n      config: {k: 2}\n# tail\n"
    )
    made = with_bundle(tmp_path, patch)
    (finding,) = found(made, "ROW_ID_DUPLICATE")
    assert (finding.row, finding.severity) == ("a", "error")
    assert finding.details == {"owner": "b", "newcomer": str(made.patch)}
    repaired(made, safe_only=True)
    assert codes(made) == []
    text = made.patch.read_text()
    assert text.startswith("# head\n")
    assert text.endswith("# tail\n")
    rows = compose(stack_layers(made).layers).rows
    assert rows == [{"id": "a", "name": "b", "config": {"k": 2}}]


def test_a_bundle_that_names_its_own_module_by_a_path_is_the_same_plugin(tmp_path: Path) -> None:
    made = profile(tmp_path, "b", patch="- insert: [{id: b, name: b/index.js, disabled: true}]\n")
    repaired(made, safe_only=True)
    assert made.patch.read_text() == "- id: b\n  disabled: true\n"


def test_of_several_rows_only_the_duplicate_leaves_its_insert(tmp_path: Path) -> None:
    patch = (
        "- insert:\n    - {id: n, name: b} # new\n    - {id: a, name: b, disabled: true}\n"
        "    - {id: m, name: b}\n"
    )
    made = with_bundle(tmp_path, patch)
    repaired(made)
    assert made.patch.read_text() == (
        "- insert:\n    - {id: n, name: b} # new\n    - {id: m, name: b}\n"
        "- id: a\n  disabled: true\n"
    )


def test_an_equal_second_insert_is_taken_out(tmp_path: Path) -> None:
    made = with_bundle(tmp_path, "- insert: [{id: a, name: b, config: {k: 1}}]\n- {id: a}\n")
    repaired(made)
    assert made.patch.read_text() == "- {id: a}\n"


def test_another_plugin_under_a_taken_id_is_no_case_for_a_patch(tmp_path: Path) -> None:
    made = with_bundle(
        tmp_path, "- insert: [{id: a, name: cordis:group, group: true, config: []}]\n"
    )
    (finding,) = found(made, "ROW_ID_DUPLICATE")
    assert finding.mend is None


def test_a_row_in_a_group_and_one_at_the_top_are_duplicates(tmp_path: Path) -> None:
    group = "- insert: [{id: g, name: cordis:group, group: true, config: [{id: a, name: b}]}]\n"
    made = with_bundle(tmp_path, "- insert: [{id: a, name: b, config: {k: 2}}]\n", group)
    (finding,) = found(made, "ROW_ID_DUPLICATE")
    assert "in group g" in finding.why
    assert "b" in finding.details["owner"]
    repaired(made)
    assert codes(made) == []
    assert compose(stack_layers(made).layers).rows[0]["config"] == [
        {"id": "a", "name": "b", "config": {"k": 2}}
    ]


def test_two_bundles_that_collide_are_both_named(tmp_path: Path) -> None:
    made = profile(tmp_path, "b", "c")
    for name in ("b", "c"):
        write(made.modules / name / "cordis.patch.yml", "- insert: [{id: same, name: b}]\n")
    (finding,) = found(made, "ROW_ID_DUPLICATE")
    assert finding.details == {"owner": "b", "newcomer": "c"}
    assert "plugin disable c" in finding.fix
    assert finding.mend is None


def test_a_patch_without_its_row_is_taken_out_when_asked(tmp_path: Path) -> None:
    made = with_bundle(tmp_path, "- {id: gone, disabled: true}\n- {id: a, disabled: true}\n")
    (finding,) = found(made, "PATCH_TARGET_MISSING")
    assert (finding.row, finding.severity) == ("gone", "warning")
    assert not repaired(made, safe_only=True).mended
    repaired(made)
    assert made.patch.read_text() == "- {id: a, disabled: true}\n"


def test_a_patch_for_a_plugin_that_is_switched_off_stays(tmp_path: Path) -> None:
    made = with_bundle(tmp_path, "- {id: a, disabled: true}\n")
    value = json.loads(made.manifest.read_text())
    value["dsh"]["profile"]["bundles"] = []
    made.manifest.write_text(json.dumps(value))
    (finding,) = found(made, "PATCH_TARGET_MISSING")
    assert (finding.severity, finding.mend) == ("info", None)
    assert "b, which is switched off" in finding.fix


def test_a_patch_of_the_home_may_be_meant_for_another_profile(tmp_path: Path) -> None:
    made = with_bundle(tmp_path, "[]\n")
    other = profile_in(places_in(tmp_path), "other", bundles=("o",), dependencies={"o": "1.0.0"})
    package(other.modules / "o", "o")
    write(made.home_patch, "- {id: o, disabled: true}\n- {id: nobodys, disabled: true}\n")
    severities = {one.row: one.severity for one in found(made, "PATCH_TARGET_MISSING")}
    assert severities == {"o": "info", "nobodys": "warning"}


def test_a_patch_may_be_meant_for_a_bundle_that_can_not_be_read(tmp_path: Path) -> None:
    made = profile(tmp_path, patch="- {id: llm, disabled: true}\n")
    made.manifest.write_text('{"dsh": {"profile": {"bundles": ["@deepseek-ai/dsh-base"]}}}')
    (finding,) = found(made, "PATCH_TARGET_MISSING")
    assert (finding.severity, finding.mend) == ("info", None)


def test_skips_of_each_kind_are_told_apart(tmp_path: Path) -> None:
    made = with_bundle(
        tmp_path, "- {id: a, name: x}\n- {id: a, insert: [{id: n, name: b}]}\n- {disabled: true}\n"
    )
    assert set(codes(made)) == {"PATCH_NAME_MISMATCH", "PATCH_NOT_A_GROUP", "PATCH_ID_MISSING"}


def test_a_replaced_group_and_the_patches_after_it_are_told(tmp_path: Path) -> None:
    group = "- insert: [{id: g, name: cordis:group, group: true, config: [{id: a, name: b}]}]\n"
    made = with_bundle(tmp_path, "- id: g\n  config: []\n- id: a\n  disabled: true\n", group)
    (replaced,) = found(made, "GROUP_REPLACED")
    assert replaced.details == {"rows": ["a"]}
    (detached,) = found(made, "PATCH_DETACHED")
    assert detached.place is not None
    assert (detached.row, detached.place.line) == ("a", 4)


def test_keys_lost_by_a_replaced_config_are_named(tmp_path: Path) -> None:
    made = with_bundle(tmp_path, "- id: a\n  config: {other: 1}\n")
    (finding,) = found(made, "CONFIG_KEYS_LOST")
    assert finding.details == {"lost": ["k"]}


def test_reading_a_case_changes_nothing(tmp_path: Path) -> None:
    made = with_bundle(tmp_path, "[]\n")
    before = sorted(str(path) for path in tmp_path.rglob("*"))
    assert Case(made).composition.rows
    assert codes(made) == []
    assert sorted(str(path) for path in tmp_path.rglob("*")) == before
