from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dshloop.profiles.checks.repair import plan_repair
from dshloop.profiles.checks.subject import Case
from tests.profiles.checks.made import codes, profile, repaired, report, write
from tests.profiles.packages import contents, package

DAMAGE = """\
# mine
[]
# >>> tool
- insert:
    - {id: b, name: b, config: {k: 1}}   # again
    - {id: o, name: gone}
- {id: nowhere, disabled: true}
- id: b
  disabled: true
# <<< tool
"""


def test_several_mends_of_one_file_come_together(tmp_path: Path) -> None:
    made = profile(tmp_path, "b", patch=DAMAGE)
    repair = repaired(made)
    assert {one.code for one in repair.mended} == {
        "PATCH_ROOT_APPENDED",
        "ROW_ID_DUPLICATE",
        "ROW_ORPHANED",
        "PATCH_TARGET_MISSING",
    }
    assert made.patch.read_text().startswith("# mine\n# >>> tool\n")
    assert "# <<< tool" in made.patch.read_text()
    assert "gone" not in made.patch.read_text()
    assert repair.left.ok


def test_a_plan_writes_nothing(tmp_path: Path) -> None:
    made = profile(tmp_path, "b", patch=DAMAGE)
    before = contents(tmp_path)
    repair = plan_repair(Case(made))
    assert repair.plan.diff().startswith("---")
    assert contents(tmp_path) == before


def test_only_what_is_safe_is_mended_unasked(tmp_path: Path) -> None:
    made = profile(tmp_path, "b", patch="[]\n- insert: [{id: o, name: gone}]\n")
    repair = repaired(made, safe_only=True)
    assert [one.code for one in repair.mended] == ["PATCH_ROOT_APPENDED"]
    assert [one.code for one in repair.left.findings] == ["ROW_ORPHANED"]


def test_nothing_to_mend_gives_no_changes(tmp_path: Path) -> None:
    repair = plan_repair(Case(profile(tmp_path, "b")))
    assert (repair.plan.changes, repair.mended, repair.as_json()["diff"]) == ((), (), "")


def test_what_can_not_be_edited_byte_for_byte_is_left(tmp_path: Path) -> None:
    patch = "- insert: &rows [{id: x, name: gone}]\n- insert: *rows\n"
    made = profile(tmp_path, patch=patch)
    repaired(made)
    left = made.patch.read_text()
    assert left == patch or "&rows" not in left


def test_manifest_patches_and_links_are_one_plan(tmp_path: Path) -> None:
    made = profile(tmp_path, "b", patch="[]\n- {id: b}\n")
    made.manifest.write_bytes(b"\xef\xbb\xbf" + made.manifest.read_bytes())
    write(made.home_patch, "")
    (made.modules / "left").symlink_to(package(tmp_path / "left", "left"))
    repair = repaired(made)
    assert {change.path for change in repair.plan.changes} == {
        made.manifest,
        made.patch,
        made.home_patch,
        made.modules / "left",
    }
    assert report(made).findings == ()


PIECES = [
    "[]\n",
    "# c\n",
    "- {id: b, disabled: true}\n",
    "- insert: [{id: b, name: b, config: {k: 1}}]\n",
    "- insert:\n    - id: o\n      name: gone\n",
    "- id: gone\n  config: {}\n",
    "- insert:\n    - {id: n, name: b}\n    - {id: n, name: b, disabled: true}\n",
]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=6))
def test_after_a_repair_another_finds_nothing_to_mend(pieces: list[str]) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as root:
        made = profile(Path(root), "b", patch="".join(pieces))
        repaired(made)
        assert plan_repair(Case(made)).plan.changes == ()
        assert {"PATCH_ROOT_APPENDED", "PATCH_EMPTY", "ROW_ID_DUPLICATE"}.isdisjoint(codes(made))
        assert made.patch.read_text().count("# c") == "".join(pieces).count("# c")


def test_many_mends_of_one_entry_are_made_in_one_round(tmp_path: Path) -> None:
    rows = "".join(f"    - {{id: r{number}, name: b}}\n" for number in range(12))
    made = profile(tmp_path, "b", patch="- insert:\n" + rows)
    doubles = "".join(f"    - {{id: r{n}, name: b, disabled: true}}\n" for n in range(0, 12, 2))
    write(made.home_patch, "- insert:\n    - {id: n, name: b}\n" + doubles)
    repair = repaired(made, safe_only=True)
    assert len(repair.mended) == 6
    patches = "".join(f"- id: r{number}\n  disabled: true\n" for number in range(0, 12, 2))
    assert made.home_patch.read_text() == "- insert:\n    - {id: n, name: b}\n" + patches
    assert codes(made) == []


def test_nothing_of_the_users_goes_because_something_else_can_not_be_read(tmp_path: Path) -> None:
    patch = "- {id: b, disabled: true}\n- insert: [{id: x, name: b}, {id: y, name: later}]\n"
    made = profile(tmp_path, "b", patch=patch, dependencies={"later": "1.0.0"})
    shutil.rmtree(made.modules)
    assert not repaired(made).plan.changes
    package(made.modules / "b", "b")
    made.manifest.write_text("{")
    assert not repaired(made).plan.changes
    assert made.patch.read_text() == patch


def test_rows_for_a_group_that_is_gone_are_not_thrown_away(tmp_path: Path) -> None:
    made = profile(tmp_path, "b", patch="- {id: gone, insert: [{id: x, name: b}]}\n")
    assert codes(made) == ["PATCH_TARGET_MISSING"]
    assert not repaired(made).plan.changes


def test_many_mends_of_one_file_read_it_a_few_times(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import dshloop.splice.document as document

    def patches(count: int) -> str:
        return "".join(
            f"- insert: # {number}\n    - {{id: r{number // 2}, name: b, config: [{number}]}}\n"
            for number in range(count)
        ) + "".join(f"- {{id: gone{number}}} # {number}\n" for number in range(count))

    def reads(count: int) -> int:
        read = 0
        real = document.load_document

        def counted(text: str, **options: Any) -> Any:
            nonlocal read
            read += 1
            return real(text, **options)

        made = profile(tmp_path / str(count), "b", patch=patches(count))
        with monkeypatch.context() as patch:
            patch.setattr(document, "load_document", counted)
            assert len(repaired(made).mended) == count + count // 2
        assert codes(made) == []
        return read

    assert reads(200) <= reads(20) + 4
