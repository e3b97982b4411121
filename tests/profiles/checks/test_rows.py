from __future__ import annotations

from pathlib import Path

import pytest

from tests.profiles.checks.made import codes, found, profile, repaired


@pytest.mark.parametrize(
    ("key", "advice"),
    [
        ("remove: true", "disabled: true"),
        ("before: b", "order"),
        ("disable: true", "disabled"),
        ("zzz: 1", "Take `zzz` out"),
    ],
)
def test_keys_that_do_nothing_are_told_with_advice(tmp_path: Path, key: str, advice: str) -> None:
    made = profile(tmp_path, "b", patch=f"- id: b\n  {key}\n")
    (finding,) = found(made)
    assert (finding.code, finding.severity) == ("ROW_KEY_UNKNOWN", "warning")
    assert advice in finding.fix
    assert finding.place is not None
    assert (finding.row, finding.place.line, finding.place.column) == ("b", 2, 3)


@pytest.mark.parametrize(
    ("value", "effect"),
    [
        ("disabled: 'no'", "the row is off"),
        ("disabled: no", "the row is off"),
        ("disabled: 0", "the row is on"),
        ("group: 'false'", "counts as a group"),
        ("inject: llm", "a list or a mapping"),
        ("isolate: true", "a mapping"),
        ("group: !!js x", "does not evaluate"),
    ],
)
def test_values_of_a_suspicious_type(tmp_path: Path, value: str, effect: str) -> None:
    made = profile(tmp_path, "b", patch=f"- id: b\n  {value}\n")
    (finding,) = found(made, "ROW_VALUE_SUSPICIOUS")
    assert effect in finding.why


@pytest.mark.parametrize(
    "value",
    ["disabled: true", "disabled: !!js x", "disabled: null", "group: false", "inject: [a]"],
)
def test_values_that_dsh_takes_as_they_are(tmp_path: Path, value: str) -> None:
    assert codes(profile(tmp_path, "b", patch=f"- id: b\n  {value}\n")) == []


def test_keys_beside_insert_are_ignored_by_dsh(tmp_path: Path) -> None:
    made = profile(tmp_path, "b", patch="- insert: [{id: n, name: b}]\n  disabled: true\n")
    (finding,) = found(made)
    assert finding.code == "PATCH_KEY_IGNORED"
    assert finding.place is not None
    assert finding.place.line == 2


def test_rows_inside_groups_are_looked_at_too(tmp_path: Path) -> None:
    made = profile(
        tmp_path,
        "b",
        patch="- insert:\n    - id: g\n      name: cordis:group\n      group: true\n"
        "      config:\n        - {id: n, name: b, remove: true}\n",
    )
    (finding,) = found(made)
    assert (finding.code, finding.row) == ("ROW_KEY_UNKNOWN", "n")


def test_rows_without_name_or_id(tmp_path: Path) -> None:
    made = profile(tmp_path, "b", patch="- insert:\n    - {id: n}\n    - {name: b}\n")
    assert {one.code: one.severity for one in found(made)} == {
        "ROW_NAME_MISSING": "error",
        "ROW_ID_MISSING": "info",
    }


def test_a_group_that_is_not_marked_gets_its_mark(tmp_path: Path) -> None:
    made = profile(
        tmp_path,
        "b",
        patch="- insert:\n    - id: g # mine\n      name: cordis:group\n      config: []\n",
    )
    assert codes(made) == ["GROUP_UNMARKED"]
    repaired(made)
    assert codes(made) == []
    assert "- id: g # mine\n" in made.patch.read_text()


def test_a_group_whose_config_is_no_list(tmp_path: Path) -> None:
    made = profile(tmp_path, patch="- insert: [{id: g, name: cordis:group, group: true}]\n")
    assert [(one.code, one.severity) for one in found(made)] == [("GROUP_CONFIG_INVALID", "error")]
