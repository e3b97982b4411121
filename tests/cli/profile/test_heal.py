from __future__ import annotations

from pathlib import Path

import pytest

from dshloop.profiles.layout import Profile
from tests.profiles.checks.made import profile
from tests.profiles.packages import contents
from tests.running import dshloop

DAMAGED = "# mine\n[]\n- insert: [{id: b, name: b}, {id: o, name: gone}]\n"


@pytest.fixture
def made(isolated: Path) -> Profile:
    """Give profile p with the classic damage, a duplicate and an orphan."""
    return profile(isolated, "b", patch=DAMAGED)


def test_check_is_1_with_errors_and_0_without(made: Profile) -> None:
    ran = dshloop("profile", "check", "p", "--json")
    assert (ran.code, ran.json["ok"], ran.json["errors"]) == (1, False, 1)
    (finding,) = ran.json["findings"]
    assert (finding["code"], finding["file"], finding["line"]) == (
        "PATCH_ROOT_APPENDED",
        str(made.patch),
        3,
    )
    made.patch.write_text("[]\n")
    sound = dshloop("profile", "check", "p")
    assert (sound.code, sound.out) == (0, "profile p: nothing is wrong\n")


def test_check_fix_shows_its_mends_in_a_dry_run(isolated: Path, made: Profile) -> None:
    before = contents(isolated)
    ran = dshloop("profile", "check", "p", "--fix", "--dry-run", "--json")
    assert (ran.code, ran.json["dry_run"], len(ran.json["mended"])) == (0, True, 2)
    shown = dshloop("profile", "check", "p", "--fix", "--dry-run")
    assert shown.out == ran.json["diff"]
    assert "would mend PATCH_ROOT_APPENDED" in shown.err
    assert dshloop("profile", "check", "p", "--dry-run").code == 2
    assert contents(isolated) == before


def test_check_fix_mends_what_is_safe_as_one_change(made: Profile) -> None:
    ran = dshloop("profile", "check", "p", "--fix", "--json")
    assert ran.code == 0
    assert [one["code"] for one in ran.json["mended"]] == [
        "PATCH_ROOT_APPENDED",
        "ROW_ID_DUPLICATE",
    ]
    assert [one["code"] for one in ran.json["findings"]] == ["ROW_ORPHANED"]
    assert made.patch.read_text() == "# mine\n- insert: [{id: o, name: gone}]\n"
    assert len(dshloop("history", "--json").json) == 1
    assert dshloop("undo").code == 0
    assert made.patch.read_text() == DAMAGED


def test_repair_shows_a_diff_and_writes_only_with_apply(isolated: Path, made: Profile) -> None:
    before = contents(isolated)
    shown = dshloop("profile", "repair", "p")
    assert shown.out.startswith(f"--- {made.patch}\n")
    assert "-- insert:" in shown.out
    assert "would mend PATCH_ROOT_APPENDED" in shown.err
    assert "profile repair p --apply" in shown.err
    assert contents(isolated) == before
    applied = dshloop("profile", "repair", "p", "--apply", "--json")
    assert (applied.code, applied.json["applied"], applied.json["left"]) == (0, True, [])
    assert made.patch.read_text() == "# mine\n[]\n"
    assert dshloop("profile", "check", "p").code == 0
    again = dshloop("profile", "repair", "p", "--apply")
    assert "nothing to mend" in again.err


def test_what_can_not_be_mended_leaves_repair_at_1(made: Profile) -> None:
    made.patch.write_text("- {id: b\n")
    ran = dshloop("profile", "repair", "p", "--json")
    assert (ran.code, ran.json["ok"], ran.json["diff"]) == (1, False, "")


def test_a_manifest_that_dsh_dies_of_is_checked_all_the_same(made: Profile) -> None:
    made.manifest.write_text("{")
    ran = dshloop("profile", "check", "p", "--json")
    assert (ran.code, ran.out != "") == (1, True)
    assert {one["code"] for one in ran.json["findings"]} == {
        "MANIFEST_INVALID",
        "PATCH_ROOT_APPENDED",
    }
