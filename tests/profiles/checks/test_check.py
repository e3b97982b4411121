from __future__ import annotations

from pathlib import Path

import pytest

from dshloop.profiles.checks.check import check_profile, dialect_of
from dshloop.profiles.checks.kinds import every_kind
from dshloop.profiles.checks.subject import Case
from dshloop.profiles.edits.pins import Pin, fingerprint
from dshloop.profiles.layout import profile_at
from tests.profiles.checks.made import profile, report, write
from tests.profiles.packages import contents, places_in


def test_codes_are_unique_upper_snake_and_explained() -> None:
    kinds = list(every_kind())
    assert len({kind.code for kind in kinds}) == len(kinds) > 40
    for kind in kinds:
        assert kind.code.replace("_", "").isupper()
        assert kind.when.endswith((".", ")"))
        assert kind.fix


def test_findings_come_worst_first_with_all_their_keys(tmp_path: Path) -> None:
    patch = "- insert: [{name: b}]\n- {id: b, remove: true}\n- insert: [{id: b, name: b}]\n"
    answer = report(profile(tmp_path, "b", patch=patch)).as_json()
    assert [one["severity"] for one in answer["findings"]] == ["error", "warning", "info"]
    assert (answer["ok"], answer["errors"], answer["warnings"], answer["infos"]) == (False, 1, 1, 1)
    assert set(answer["findings"][0]) == {
        "code", "severity", "row", "layer", "file", "line", "column", "why", "fix", "mends",
        "details",
    }  # fmt: skip


def test_a_fix_names_the_profile(tmp_path: Path) -> None:
    (finding,) = report(profile(tmp_path, patch="[]\n- {id: x}\n")).findings
    assert finding.fix == "dshloop profile repair p --apply"


def test_a_profile_that_is_not_there_yet_is_sound(tmp_path: Path) -> None:
    made = profile_at(places_in(tmp_path), "web")
    answer = check_profile(Case(made))
    assert {one.code for one in answer.findings} == {"BUNDLE_UNCHECKED"}
    assert contents(tmp_path) == {}


@pytest.mark.parametrize(
    ("version", "dialect"),
    [
        (None, "021"),
        ("0.1.2-rc.1", "012"),
        ("0.1.1", "012"),
        ("0.2.1-rc.2", "021"),
        ("1.0.0", "021"),
    ],
)
def test_the_dialect_follows_the_version(version: str | None, dialect: str) -> None:
    assert dialect_of(version) == dialect


def test_a_repeated_value_whose_origin_moved_on_is_told(tmp_path: Path) -> None:
    made = profile(tmp_path, "b", patch="- id: b\n  config: {keep: 1, mine: 2, own: 3}\n")
    write(
        made.modules / "b" / "cordis.patch.yml",
        "- insert: [{id: b, name: b, config: {keep: 1, mine: 9, own: 8}}]\n",
    )
    values = {"keep": fingerprint(1), "mine": fingerprint(2), "own": fingerprint(8)}
    pin = Pin(str(made.patch), "b", values)
    (finding,) = check_profile(Case(made, pins=[pin])).findings
    assert finding.code == "PIN_OUTDATED"
    assert finding.why == "config.mine repeats 2; the layers below say 9 now"
    assert finding.place is not None
    assert (finding.place.line, finding.place.column) == (2, 21)
