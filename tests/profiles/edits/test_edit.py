"""Values set and unset, rows switched on and off: in place, or as an override that says so."""

from __future__ import annotations

from pathlib import Path

import pytest

from dshloop.dsh_yaml import JsExpr
from dshloop.errors import (
    DshYamlInvalidError,
    EditRefusedError,
    PatchInvalidError,
    PresetNotFoundError,
    RowKeyNotFoundError,
    RowNotFoundError,
    SpliceRefusedError,
    UsageError,
)
from dshloop.profiles.create import HOME_PATCH_TEXT, PATCH_TEXT
from dshloop.profiles.edits.edit import disable_row, enable_row, set_config, unset_config
from tests.profiles.desks import Stage, codes, written

HEAD = PATCH_TEXT.removesuffix("[]\n")
OWN = """\
# mine
- insert:
    - id: own   # my row
      name: '@me/own'
      config: {a: 1, b: [x, y]}  # flow
- id: jobs
  config:
    # url of the service
    url: 'http://b'
"""


def test_a_value_of_a_lower_layer_becomes_an_override_that_says_what_it_pins(
    tmp_path: Path,
) -> None:
    stage = Stage(tmp_path)
    desk = stage.desk()
    edit = set_config(desk, desk.parse("jobs.limits.max"), 5)
    assert written(edit) == HEAD + (
        "- id: jobs\n"
        "  config:\n"
        "    url: http://a\n"
        "    limits:\n"
        "      max: 5\n"
        "      tags:\n"
        "        - a\n"
        "        - b\n"
        "    root: !!js dshHomePath('jobs')\n"
    )
    assert stage.row("jobs")["config"] == {
        "url": "http://a",
        "limits": {"max": 5, "tags": ["a", "b"]},
        "root": JsExpr("dshHomePath('jobs')"),
    }
    assert codes(edit) == ["pinned", "created"]
    assert edit.notes[0].keys == ("url", "limits", "root")
    assert edit.notes[0].place is not None
    assert edit.notes[0].place.label == "@x/bundle"


def test_a_value_that_the_layer_sets_already_is_changed_in_place(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    desk = stage.desk(text=OWN)
    edit = set_config(desk, desk.parse("jobs.url"), "http://c")
    assert written(edit) == OWN.replace("'http://b'", "http://c")
    assert edit.notes == ()
    desk = stage.desk()
    assert written(set_config(desk, desk.parse("jobs.deep.er"), [1])) == OWN.replace(
        "'http://b'\n", "http://c\n    deep:\n      er:\n        - 1\n"
    )


def test_a_row_of_the_layers_own_is_changed_where_it_stands(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    desk = stage.desk(text=OWN)
    assert written(set_config(desk, desk.parse("own.b[1]"), "z")) == OWN.replace("[x, y]", "[x, z]")
    desk = stage.desk()
    assert written(set_config(desk, desk.parse("own.b.0"), {"k": "v"})) == OWN.replace(
        "[x, y]", "[{k: v}, z]"
    )


def test_the_last_item_that_sets_the_config_is_the_one_that_is_edited(tmp_path: Path) -> None:
    text = "- id: jobs\n  config: {url: 1}\n- id: jobs\n  config: {url: 2}\n"
    desk = Stage(tmp_path).desk(text=text)
    edit = set_config(desk, desk.parse("jobs.url"), 3)
    assert written(edit) == text.replace("url: 2", "url: 3")


def test_a_higher_layer_that_overrides_is_named(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    stage.desk("home", "- id: jobs\n  config: {url: home}\n")
    desk = stage.desk(text=OWN)
    edit = set_config(desk, desk.parse("jobs.url"), "x")
    assert codes(edit) == ["overridden"]
    assert str(stage.profile.home_patch) in edit.notes[0].message
    written(edit)
    assert stage.row("jobs")["config"] == {"url": "home"}


def test_set_in_the_home_layer_makes_its_file(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    desk = stage.desk("home")
    edit = set_config(desk, desk.parse("a\\.b.x"), "@a/b")
    text = HOME_PATCH_TEXT.replace("[]\n", "- id: a.b\n  config:\n    x: '@a/b'\n")
    assert written(edit) == text
    assert stage.row("a.b")["config"] == {"x": "@a/b"}


def test_editing_a_template_creates_the_whole_profile(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    stage.profile.manifest.unlink()
    desk = stage.desk()
    edit = set_config(desk, desk.parse("a.b.x"), 1)
    names = sorted(change.path.name for change in edit.changes)
    assert names == ["cordis.patch.yml", "package.json", "pnpm-workspace.yaml"]


def test_a_row_that_a_higher_layer_inserts_is_refused_naming_the_layer(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    stage.desk("home", "- insert:\n    - {id: late, name: x, config: {a: 1}}\n")
    desk = stage.desk(text="[]\n")
    with pytest.raises(EditRefusedError, match="applies after") as caught:
        set_config(desk, desk.parse("late.a"), 2)
    assert "--layer home" in caught.value.hint


def test_what_is_no_map_or_no_row_is_refused(tmp_path: Path) -> None:
    desk = Stage(tmp_path).desk(text="- id: jobs\n  config: !!js f()\n")
    with pytest.raises(EditRefusedError, match="!!js"):
        set_config(desk, desk.parse("jobs.url"), 1)
    with pytest.raises(EditRefusedError, match="group"):
        set_config(desk, desk.parse("plugins.0"), 1)
    with pytest.raises(RowNotFoundError):
        desk.parse("job.url")
    with pytest.raises(UsageError):
        Stage(tmp_path / "other").desk("nowhere")


def test_unset_in_place_and_by_override(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    desk = stage.desk(text=OWN)
    edit = unset_config(desk, desk.parse("own.b[0]"))
    assert written(edit) == OWN.replace("[x, y]", "[y]")
    desk = stage.desk("home")
    edit = unset_config(desk, desk.parse("child.on"))
    assert written(edit).endswith("- id: child\n  config: {}\n")
    assert stage.row("child")["config"] == {}
    with pytest.raises(RowKeyNotFoundError):
        unset_config(stage.desk(), desk.parse("own.nope"))


def test_unset_of_a_whole_row_gives_it_back_to_the_layers_below(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    desk = stage.desk(text=OWN)
    edit = unset_config(desk, desk.parse("jobs"))
    assert written(edit) == OWN[: OWN.index("- id: jobs")]
    assert stage.row("jobs")["config"]["url"] == "http://a"


def test_disable_and_enable_leave_the_bytes_they_found(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    desk = stage.desk(text=OWN)
    off = written(disable_row(desk, "child"))
    assert off == OWN + "- id: child\n  disabled: true\n"
    assert written(enable_row(stage.desk(), "child")) == OWN
    off = written(disable_row(stage.desk(), "own"))
    assert off == OWN.replace("# flow\n", "# flow\n      disabled: true\n")
    assert written(enable_row(stage.desk(), "own")) == OWN


def test_enable_says_false_where_a_lower_layer_says_true(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    edit = enable_row(stage.desk(text=OWN), "jobs")
    assert written(edit) == OWN + "- id: jobs\n  disabled: false\n"
    assert enable_row(stage.desk(), "jobs").changes == ()
    assert written(disable_row(stage.desk(), "jobs")).endswith("  disabled: true\n")
    assert codes(disable_row(stage.desk(), "jobs")) == ["unchanged"]
    assert written(enable_row(stage.desk(), "jobs")).endswith("  disabled: false\n")


def test_a_preset_of_the_users_is_a_list_of_rows(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    path = tmp_path / ".agent-presets" / "mine" / "agent.cordis.yml"
    path.parent.mkdir(parents=True)
    path.write_text("# rows\n- id: loop\n  name: x\n  config: {a: 1}  # c\n", encoding="utf-8")
    desk = stage.desk("preset:mine")
    edit = set_config(desk, desk.parse("loop.a"), 2)
    assert written(edit) == "# rows\n- id: loop\n  name: x\n  config: {a: 2}  # c\n"
    assert written(disable_row(stage.desk("preset:mine"), "loop")).endswith("  disabled: true\n")
    for missing in ("standard", "../profiles", ""):
        with pytest.raises(PresetNotFoundError):
            stage.desk(f"preset:{missing}")
    path.write_text("a: 1\n", encoding="utf-8")
    with pytest.raises(PatchInvalidError, match="array of entries"):
        stage.desk("preset:mine")


def test_a_config_shared_by_an_alias_is_refused_with_its_line(tmp_path: Path) -> None:
    text = (
        "- insert:\n"
        "    - {id: one, name: x, config: &c {a: 1}}\n"
        "    - {id: two, name: x, config: *c}\n"
    )
    desk = Stage(tmp_path).desk(text=text)
    with pytest.raises(SpliceRefusedError, match="line 3 shares it"):
        set_config(desk, desk.parse("one.a"), 2)
    edit = set_config(desk, desk.parse("two"), {"a": 2})
    assert written(edit) == text.replace("*c", "{a: 2}")


def test_an_edit_with_a_side_effect_is_refused_naming_the_row(tmp_path: Path) -> None:
    """The row is there twice through an alias of its list: a patch would change both."""
    text = "- insert: &rows\n    - {id: one, name: x}\n- insert: *rows\n"
    stage = Stage(tmp_path)
    desk = stage.desk(text=text)
    with pytest.raises(SpliceRefusedError):
        disable_row(desk, "one")


# What public reports on DSH's profiles are about, as far as edits of patch files are concerned.


@pytest.mark.parametrize("empty", ["[]\n", "[]", "[]  # none yet\n", "# head\n[]\n# tail\n"])
def test_the_empty_template_is_replaced_never_appended_to(tmp_path: Path, empty: str) -> None:
    stage = Stage(tmp_path)
    text = written(disable_row(stage.desk(text=empty), "child"))
    assert "[]" not in text
    assert [c for c in ("# none yet", "# head", "# tail") if c in empty] == [
        c for c in ("# none yet", "# head", "# tail") if c in text
    ]
    assert stage.row("child")["disabled"] is True


def test_the_empty_template_comes_back_with_the_last_item(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    written(disable_row(stage.desk(), "child"))
    assert written(enable_row(stage.desk(), "child")) == PATCH_TEXT


@pytest.mark.parametrize("damaged", ["[]\n- id: x\n", "---\n[]\n---\n[]\n"])
def test_a_damaged_file_is_refused_untouched_with_file_and_line(
    tmp_path: Path, damaged: str
) -> None:
    with pytest.raises(DshYamlInvalidError) as caught:
        Stage(tmp_path).desk(text=damaged)
    assert caught.value.details["line"]
    assert (tmp_path / "profiles" / "web" / "cordis.patch.yml").read_text() == damaged


def test_a_repeated_edit_changes_nothing(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    for _ in range(2):
        desk = stage.desk()
        edit = set_config(desk, desk.parse("child.on"), False)
        text = written(edit)
    assert edit.changes == ()
    assert text.count("id: child") == 1
