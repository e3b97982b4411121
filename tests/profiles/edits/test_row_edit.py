"""Rows put in and taken out."""

from __future__ import annotations

from pathlib import Path

import pytest

from dshloop.errors import EditRefusedError, RowIdTakenError, RowInvalidError
from dshloop.profiles.create import PATCH_TEXT
from dshloop.profiles.edits.row_edit import drop_row, insert_row
from tests.profiles.desks import Stage, codes, written

HEAD = PATCH_TEXT.removesuffix("[]\n")


def test_rows_go_into_one_insert_and_out_again(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    one = written(insert_row(stage.desk(), {"id": "one", "name": "@me/one"}))
    assert one == HEAD + "- insert:\n    - id: one\n      name: '@me/one'\n"
    two = written(insert_row(stage.desk(), {"name": "./two.mjs", "config": {"text": "a\nb\n"}}))
    assert two == one + (
        "    - name: ./two.mjs\n      config:\n        text: |\n          a\n          b\n"
    )
    names = [row["name"] for row in stage.composition().rows]
    assert names[-2:] == ["@me/one", (stage.profile.folder / "two.mjs").as_uri()]
    assert written(drop_row(stage.desk(), "one")) == two.replace(
        "    - id: one\n      name: '@me/one'\n", ""
    )


def test_the_last_row_takes_its_item_and_what_is_said_of_it_along(tmp_path: Path) -> None:
    text = (
        "# top\n- insert:\n    - id: one\n      name: x\n"
        "- id: child\n  disabled: true\n- id: one\n  config: {}\n"
    )
    stage = Stage(tmp_path)
    assert written(drop_row(stage.desk(text=text), "one")) == (
        "# top\n- id: child\n  disabled: true\n"
    )


def test_a_row_of_another_layer_is_disabled_instead(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    edit = drop_row(stage.desk(), "child")
    assert codes(edit)[0] == "disabled-instead"
    assert written(edit) == HEAD + "- id: child\n  disabled: true\n"


def test_what_a_higher_layer_says_of_a_dropped_row_is_noted(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    stage.desk("home", "# h\n- id: one\n  disabled: true\n")
    edit = drop_row(stage.desk(text="- insert: [{id: one, name: x}]\n"), "one")
    assert codes(edit) == ["left-behind"]
    assert f"{stage.profile.home_patch}:2" in edit.notes[0].message
    assert written(edit) == "[]\n"


def test_a_row_goes_into_a_group(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    text = written(insert_row(stage.desk(), {"id": "new", "name": "x"}, group="plugins"))
    assert text == HEAD + "- id: plugins\n  insert:\n    - id: new\n      name: x\n"
    assert [row["id"] for row in stage.row("plugins")["config"]] == ["child", "new"]
    assert written(drop_row(stage.desk(), "new")) == PATCH_TEXT
    with pytest.raises(EditRefusedError, match="no group"):
        insert_row(stage.desk(), {"id": "new", "name": "x"}, group="jobs")


def test_rows_keep_their_places_below_those_of_higher_layers(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    stage.desk(
        "home", "- insert: [{id: h, name: x}]\n- {id: plugins, insert: [{id: hg, name: x}]}\n"
    )
    written(insert_row(stage.desk(), {"id": "p", "name": "x"}))
    written(insert_row(stage.desk(), {"id": "pg", "name": "x"}, group="plugins"))
    assert [row["id"] for row in stage.composition().rows][-2:] == ["p", "h"]
    assert [row["id"] for row in stage.row("plugins")["config"]] == ["child", "pg", "hg"]


def test_inserting_a_row_that_a_bundle_has_becomes_an_override(tmp_path: Path) -> None:
    """A second row with the id would end dsh 0.1.2, and take the first one's place in 0.2.1."""
    stage = Stage(tmp_path)
    row = {"id": "child", "name": "@x/child", "config": {"o": False}}
    edit = insert_row(stage.desk(), row)
    assert codes(edit) == ["override-instead", "created"]
    assert written(edit) == HEAD + "- id: child\n  config:\n    o: false\n"
    assert len(stage.composition().find("child")) == 1
    with pytest.raises(RowIdTakenError):
        insert_row(stage.desk(), {"id": "child", "name": "@other/child"})


def test_what_is_no_row_is_refused(tmp_path: Path) -> None:
    for row in (None, [], {"id": "x"}, {"id": "x", "name": 1}):
        with pytest.raises(RowInvalidError):
            insert_row(Stage(tmp_path / str(row)).desk(), row)


def test_a_preset_takes_rows_at_its_end_and_in_its_groups(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    path = tmp_path / ".agent-presets" / "mine" / "agent.cordis.yml"
    path.parent.mkdir(parents=True)
    path.write_text("- id: g\n  name: cordis:group\n  group: true\n  config: []\n")
    written(insert_row(stage.desk("preset:mine"), {"id": "a", "name": "@x/a"}, group="g"))
    text = written(insert_row(stage.desk("preset:mine"), {"id": "b", "name": "x"}))
    assert text == (
        "- id: g\n  name: cordis:group\n  group: true\n  config:\n    - id: a\n      name: '@x/a'\n"
        "- id: b\n  name: x\n"
    )
    assert written(drop_row(stage.desk("preset:mine"), "a")) == (
        "- id: g\n  name: cordis:group\n  group: true\n  config: []\n- id: b\n  name: x\n"
    )
