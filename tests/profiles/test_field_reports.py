"""What users of DSH ran into in 2026, one test for each kind of report (section A1)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dshloop.profiles.compose import compose
from dshloop.profiles.layout import Profile, read_manifest
from dshloop.profiles.stack import stack_layers
from tests.profiles.checks.made import codes, found, profile, repaired, write
from tests.profiles.packages import contents, package, packed
from tests.running import Ran, dshloop

TEMPLATE = (
    "# Your patch layer for this dsh profile, applied after every bundle layer:\n"
    "# a top-level YAML array of loader patch entries (id-targeted config\n"
    "# overrides, disables, and insert lists; `!!js` expressions allowed).\n"
    "[]\n"
)


@pytest.fixture
def made(isolated: Path, monkeypatch: pytest.MonkeyPatch) -> Profile:
    """Give profile p, the one that is meant, with bundle b and the template's patch file."""
    monkeypatch.setenv("DSHLOOP_PROFILE", "p")
    return profile(isolated, "b", patch=TEMPLATE)


def rows_of(made: Profile) -> list[Any]:
    """Compose the profile."""
    return compose(stack_layers(made).layers).rows


def without_pnpm(*words: str) -> Ran:
    """Run a command where neither dsh, node nor pnpm are found."""
    return dshloop(*words, variables={"PATH": ""})


def test_entries_typed_under_the_template_replace_its_empty_root(made: Profile) -> None:
    """Row 1: `- id:` under `[]`, and DSH will not start."""
    write(made.patch, TEMPLATE + "- id: b\n  disabled: true\n")
    assert without_pnpm("profile", "check").code == 1
    assert without_pnpm("profile", "repair", "--apply").code == 0
    assert made.patch.read_text() == TEMPLATE.replace("[]\n", "") + "- id: b\n  disabled: true\n"
    assert rows_of(made)[0]["disabled"] is True


def test_an_edit_of_ours_replaces_the_empty_root_and_puts_it_back(made: Profile) -> None:
    """Rows 1 and 5: never append after `[]`; `[]` comes back with the end of the last entry."""
    assert without_pnpm("profile", "row", "disable", "b").code == 0
    assert "[]" not in made.patch.read_text()
    assert codes(made) == []
    assert without_pnpm("profile", "row", "enable", "b").code == 0
    assert made.patch.read_text() == TEMPLATE


def test_a_managed_block_after_the_root_is_named_with_file_and_line(made: Profile) -> None:
    """Row 2: an installer's block after `[]`; the user is told of a port instead of the YAML."""
    write(made.patch, TEMPLATE + "# >>> skins (managed)\n- id: b\n  disabled: true\n# <<< skins\n")
    ran = without_pnpm("profile", "check", "--json")
    (finding,) = ran.json["findings"]
    assert (finding["code"], finding["file"]) == ("PATCH_ROOT_APPENDED", str(made.patch))
    assert finding["line"] in (4, 5, 6)
    repaired(made)
    assert "# >>> skins (managed)\n" in made.patch.read_text()


def test_repair_works_with_dsh_down_and_node_absent(made: Profile) -> None:
    """Row 3: the user could no longer reach the UI to undo."""
    damaged = TEMPLATE + "- {id: b, config: {mode: one-click}}\n"
    write(made.patch, damaged)
    shown = without_pnpm("profile", "repair")
    assert (shown.code, made.patch.read_text()) == (0, damaged)
    assert without_pnpm("profile", "check", "--fix").code == 0
    assert rows_of(made)[0]["config"] == {"mode": "one-click"}
    assert without_pnpm("undo").code == 0
    assert made.patch.read_text() == damaged


def test_the_hand_fix_leaves_nothing_to_do(made: Profile) -> None:
    """Row 4: the same bug again, and a second user confirms a hand fix."""
    write(made.patch, TEMPLATE.replace("[]\n", "- {id: b, disabled: true}\n"))
    assert without_pnpm("profile", "check").code == 0
    assert not repaired(made).plan.changes


def test_roots_that_are_no_list_stay_untouched(made: Profile) -> None:
    """Row 5: refuse several documents and unknown roots."""
    for text in ("[]\n---\n- {id: b}\n", "id: b\ndisabled: true\n", "text\n", "- {id: b\n"):
        write(made.patch, text)
        assert without_pnpm("profile", "check").code == 1
        assert without_pnpm("profile", "repair", "--apply").code == 1
        assert made.patch.read_text() == text


def test_mends_keep_comments_and_can_be_made_twice(made: Profile) -> None:
    """Row 6: comments stay, a second run changes nothing, `[] # comment` is no obstacle."""
    write(made.patch, "# top\r\n[] # none yet\r\n# mine\r\n- {id: b} # end")
    repaired(made)
    once = made.patch.read_bytes()
    assert once == b"# top\r\n# none yet\r\n# mine\r\n- {id: b} # end"
    repaired(made)
    assert made.patch.read_bytes() == once


def test_a_bundle_that_inserts_a_taken_row_is_refused_before_it_is_installed(
    made: Profile, tmp_path: Path
) -> None:
    """Row 7: `duplicate loader entry id`; both owners are named, in groups too."""
    newcomer = package(tmp_path / "newcomer", "newcomer")
    write(
        newcomer / "cordis.patch.yml",
        "- insert: [{id: g, name: cordis:group, group: true, config: [{id: b, name: newcomer}]}]\n",
    )
    before = contents(made.folder)
    ran = without_pnpm("plugin", "add", str(newcomer), "--json")
    assert (ran.code, ran.error["code"]) == (4, "ROW_ID_TAKEN")
    assert (ran.error["details"]["owner"], ran.error["details"]["newcomer"]) == ("b", "newcomer")
    assert contents(made.folder) == before


def test_two_good_plugins_that_collide_are_found_on_add(made: Profile, tmp_path: Path) -> None:
    """Row 8: each fine alone, together they take one id."""
    one, two = (package(tmp_path / name, name, "browse") for name in ("one", "two"))
    ran = without_pnpm("plugin", "add", str(one), str(two), "--json")
    assert ran.code == 4
    assert {ran.error["details"][key] for key in ("owner", "newcomer")} == {"one", "two"}
    assert without_pnpm("plugin", "add", str(one)).code == 0
    assert without_pnpm("plugin", "add", str(two)).code == 4


def test_a_bundle_off_the_list_is_told_and_can_be_disabled_for_good(made: Profile) -> None:
    """Row 10: hand-removing a bundle is undone by the next `dsh plugin` run."""
    value = json.loads(made.manifest.read_text())
    value["dsh"]["profile"]["bundles"] = []
    made.manifest.write_text(json.dumps(value))
    (finding,) = found(made, dialect="012")
    assert (finding.code, finding.severity) == ("BUNDLE_OFF", "warning")
    value["dsh"]["profile"]["bundles"] = ["b"]
    made.manifest.write_text(json.dumps(value))
    assert without_pnpm("plugin", "disable", "b").code == 0
    after = read_manifest(made)
    assert (after.bundles, "b" in after.dependencies) == ((), False)
    assert "BUNDLE_OFF" not in codes(made, dialect="012")
    assert without_pnpm("plugin", "enable", "b").code == 0
    assert read_manifest(made).bundles == ("b",)


def test_a_manual_insert_of_a_bundles_row_becomes_an_override(made: Profile) -> None:
    """Row 11: the bundle inserts the row already; a market's insert kills the boot."""
    write(made.patch, "- insert:\n    # from the market\n    - {id: b, name: b, config: {k: 1}}\n")
    (finding,) = found(made)
    assert (finding.code, finding.row) == ("ROW_ID_DUPLICATE", "b")
    repaired(made, safe_only=True)
    assert codes(made) == []
    (row,) = rows_of(made)
    assert row["config"] == {"k": 1}
    again = without_pnpm("profile", "row", "insert", "{id: b, name: other}", "--json")
    assert (again.code, again.error["code"]) == (4, "ROW_ID_TAKEN")


def test_entries_in_dshs_own_tree_are_found_and_never_edited(made: Profile) -> None:
    """Row 12: a crashed process leaves the composed tree in `cordis.yml`."""
    tree = made.folder / "cordis.yml"
    write(tree, "- id: b\n  name: b\n")
    assert codes(made) == ["CORDIS_YML_DIRTY"]
    repaired(made)
    assert tree.read_text() == "- id: b\n  name: b\n"


def test_a_listed_package_without_dsh_bundle_is_found_and_never_listed(
    made: Profile, tmp_path: Path
) -> None:
    """Row 13: "declares no dsh.bundle" and a crash loop."""
    plain = package(tmp_path / "plain", "plain", dsh=None)
    assert without_pnpm("plugin", "add", str(plain)).code == 0
    assert "plain" not in read_manifest(made).bundles
    value = json.loads(made.manifest.read_text())
    value["dsh"]["profile"]["bundles"].append("plain")
    made.manifest.write_text(json.dumps(value))
    assert "BUNDLE_UNDECLARED" in codes(made)
    repaired(made, safe_only=True)
    assert read_manifest(made).bundles == ("b",)


def test_an_archive_without_its_patch_or_modules_is_found_before_it_is_installed(
    made: Profile, tmp_path: Path
) -> None:
    """Row 14: the patch is not in the tarball; an entry without its file; a cwd-relative path."""
    bare = package(tmp_path / "bare", "bare")
    (bare / "cordis.patch.yml").unlink()
    ran = without_pnpm("plugin", "add", str(packed(bare)), "--json")
    assert (ran.code, "patch" in ran.error["message"]) == (4, True)
    assert "bare" not in read_manifest(made).recorded
    half = package(tmp_path / "half", "half")
    write(
        half / "cordis.patch.yml",
        "- insert:\n    - {id: half, name: ./gone.js}\n"
        "    - {id: mcp, name: half, config: {args: [./x.js]}}\n",
    )
    ran = without_pnpm("plugin", "add", str(packed(half)), "--json")
    told = ran.json["findings"] if ran.code == 0 else ran.error["details"]["findings"]
    assert {"ROW_NAME_UNRESOLVED", "PATH_CWD_RELATIVE"} <= {one["code"] for one in told}


def test_rows_left_by_a_removed_plugin_are_found_in_profile_and_home(made: Profile) -> None:
    """Row 15: `plugin remove` leaves rows in the home's patch file."""
    write(made.patch, "# mine\n- {id: b, disabled: true}\n")
    write(made.home_patch, "- insert:\n    - {id: more, name: b/extra.js}\n# rest\n")
    (made.modules / "b" / "extra.js").write_text("")
    ran = without_pnpm("plugin", "remove", "b", "--json")
    assert {(Path(one["file"]).parent.name, one["row"]) for one in ran.json["left_rows"]} == {
        ("p", "b"),
        ("dsh", "more"),
    }
    assert set(codes(made)) == {"PATCH_TARGET_MISSING", "ROW_ORPHANED"}
    repaired(made)
    assert codes(made) == []
    assert made.patch.read_text() == "# mine\n[]\n"
    assert made.home_patch.read_text().endswith("# rest\n")


def test_one_audit_lists_what_is_off_orphaned_and_left(made: Profile) -> None:
    """Row 16: no disabled state, no audit, orphan patch rows."""
    package(made.modules / "off", "off")
    value = json.loads(made.manifest.read_text())
    value["dependencies"]["off"] = "1.0.0"
    made.manifest.write_text(json.dumps(value))
    write(made.patch, "- insert: [{id: x, name: gone}]\n- {id: nowhere, disabled: true}\n")
    ran = without_pnpm("profile", "check", "--json")
    assert {one["code"] for one in ran.json["findings"]} == {
        "BUNDLE_OFF",
        "ROW_ORPHANED",
        "PATCH_TARGET_MISSING",
    }


def test_manifest_lock_and_installed_packages_must_agree(made: Profile) -> None:
    """Row 22: an updater swaps node_modules behind the lock; pnpm rolls it back."""
    write(
        made.folder / "pnpm-lock.yaml",
        "lockfileVersion: '9.0'\n\nimporters:\n\n  .:\n    dependencies:\n      b:\n"
        "        specifier: 1.0.0\n        version: 1.0.0\n",
    )
    assert codes(made) == []
    package(made.modules / "b", "b", version="1.1.0")
    (finding,) = found(made)
    assert (finding.code, finding.severity) == ("VERSION_DRIFT", "warning")
    assert "1.1.0" in finding.why
    assert "1.0.0" in finding.why


def test_explain_says_which_of_two_patches_wins_and_what_they_drop(made: Profile) -> None:
    """Row 29: users can't tell which patch wins, nor whether a key of theirs is dropped."""
    write(
        made.modules / "b" / "cordis.patch.yml",
        "- insert: [{id: b, name: b, config: {mine: 1, other: 2}}]\n",
    )
    write(made.patch, "- id: b\n  config: {mine: 3}\n")
    write(made.home_patch, "- id: b\n  config: {mine: 4, other: 2}\n")
    answer = without_pnpm("profile", "explain", "b.mine", "--json").json
    assert (answer["winner"]["file"], answer["winner"]["after"]) == (str(made.home_patch), 4)
    steps = answer["instances"][0]["contributions"]
    assert [(one.get("before"), one["after"]) for one in steps] == [(None, 1), (1, 3), (3, 4)]
    assert "lost config.other" in without_pnpm("profile", "explain", "b").out
    assert [one.details["lost"] for one in found(made, "CONFIG_KEYS_LOST")] == [["other"]]


def test_a_plugin_that_brings_packages_of_dsh_is_warned_of(made: Profile, tmp_path: Path) -> None:
    """Row 30: two copies of dsh-tools, and every tool call fails."""
    package(made.modules / "b", "b", dependencies={"@deepseek-ai/dsh-tools": "^0.2.0"})
    (finding,) = found(made, "HOST_PACKAGE_BUNDLED")
    assert (finding.severity, "@deepseek-ai/dsh-tools" in finding.why) == ("warning", True)


def test_an_add_says_where_its_effect_landed(made: Profile, tmp_path: Path) -> None:
    """Row 31: the author expected `cordis.patch.yml` to gain a row; it stays `[]` by design."""
    ran = without_pnpm("plugin", "add", str(package(tmp_path / "new", "new")))
    assert ran.code == 0
    assert "dsh.profile.bundles" in ran.err
    assert "cordis.patch.yml stays yours" in ran.err
    assert made.patch.read_text() == TEMPLATE
