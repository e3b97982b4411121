"""The patch language, and the record of who set what."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dshloop.dsh_yaml import dump
from dshloop.errors import DshYamlUnwritableError, PatchInvalidError
from dshloop.profiles.compose import Composition, compose, compose_json, dump_text
from dshloop.profiles.layers import Layer, Place, parse_layer


def layers(*texts: str) -> list[Layer]:
    return [
        parse_layer(text, f"L{number}", path=Path(f"/x/L{number}.yml"))
        for number, text in enumerate(texts, start=1)
    ]


def composed(*texts: str) -> Composition:
    return compose(layers(*texts))


def messages(composition: Composition) -> list[str]:
    return [warned.message for warned in composition.warnings]


BASE = """\
- insert:
    - {id: a, name: pa, config: {x: 1, y: {p: 1}}}
    - id: g
      name: cordis:group
      group: true
      config:
        - {id: g1, name: pg1}
"""


def test_config_is_replaced_whole_and_the_lost_keys_are_known() -> None:
    composition = composed(BASE, "- id: a\n  config: {x: 2}\n")
    (row,) = [placed.row for placed in composition.find("a")]
    assert row["config"] == {"x": 2}
    (change,) = composition.history(row, "config")
    assert change.before == {"x": 1, "y": {"p": 1}}
    assert change.lost == ("y",)
    assert change.place == Place("L2", "/x/L2.yml", 2, 3)


def test_origins_are_where_the_value_is_written() -> None:
    composition = composed(BASE, "- id: a\n  config:\n    x: 2\n    z: [1, {k: 3}]\n")
    row = composition.find("a")[0].row
    assert composition.inserted(row) == Place("L1", "/x/L1.yml", 2, 7)
    assert composition.origin(row, ["name"]) == Place("L1", "/x/L1.yml", 2, 15)
    assert composition.origin(row, ["config"]) == Place("L2", "/x/L2.yml", 2, 3)
    assert composition.origin(row, ["config", "x"]) == Place("L2", "/x/L2.yml", 3, 5)
    assert composition.origin(row, ["config", "z", 1, "k"]) == Place("L2", "/x/L2.yml", 4, 13)
    assert composition.origin(row, ["config", "y"]) is None
    child = composition.find("g1")[0]
    assert composition.origin(child.row, ["name"]) == Place("L1", "/x/L1.yml", 7, 20)
    assert [group["id"] for group in child.groups] == ["g"]


def test_skipped_patches_keep_their_reason_and_place() -> None:
    composition = composed(
        BASE,
        "- id: zz\n  x: 1\n- x: 1\n- {id: a, name: other, x: 1}\n- {id: a, insert: []}\n"
        "- {id: q, insert: []}\n",
    )
    assert [skip.reason for skip in composition.skips] == [
        "row-missing",
        "id-missing",
        "name-mismatch",
        "not-a-group",
        "row-missing",
    ]
    assert [skip.patch.place.line for skip in composition.skips] == [1, 3, 4, 5, 6]
    assert messages(composition)[2] == (
        'patch: name mismatch for "a" (expected "pa", got "other"), skipping'
    )
    assert composition.warnings[0].layer == "L2"


def test_ids_match_by_type_and_value() -> None:
    composition = composed(
        "- insert: [{id: 1}, {id: '1'}, {id: true}, {id: .inf}]\n",
        "- {id: 1.0, x: a}\n- {id: '1', x: b}\n- {id: true, x: c}\n- {id: .inf, x: d}\n",
    )
    assert [row["x"] for row in composition.rows] == ["a", "b", "c", "d"]


def test_a_patch_hits_the_last_of_equal_ids() -> None:
    composition = composed("- insert: [{id: a, n: 1}, {id: a, n: 2}]\n", "- {id: a, x: 1}\n")
    assert composition.rows == [{"id": "a", "n": 1}, {"id": "a", "n": 2, "x": 1}]
    assert composition.target("a") is composition.rows[1]
    assert list(composition.duplicates()) == ['"a"']


def test_detached_children_still_take_patches_that_nobody_sees() -> None:
    composition = composed(
        BASE, "- {id: g, config: [{id: new}]}\n", "- {id: g1, x: 1}\n- {id: new, x: 1}\n"
    )
    assert messages(composition) == ['patch: entry "new" not found']
    (hidden,) = composition.detached()
    assert hidden.row["id"] == "g1"
    assert hidden.place == Place("L3", "/x/L3.yml", 1, 12)


def test_shared_rows_change_in_both_places() -> None:
    composition = composed("- insert: &l [{id: a}]\n- insert: *l\n- {id: a, x: 1}\n")
    assert composition.rows == [{"id": "a", "x": 1}] * 2
    assert composition.duplicates() == {}


def test_a_list_inserted_into_itself_ends() -> None:
    composition = composed(
        "- insert: [{id: g, group: true, config: &c [{id: x}]}]\n- {id: g, insert: *c}\n"
    )
    assert composition.rows[0]["config"] == [{"id": "x"}] * 2


def test_layers_are_not_changed_by_composing() -> None:
    given_layers = layers(BASE, "- {id: a, config: 1}\n- {id: g, insert: [{id: g2}]}\n")
    before = [dump(layer.patches) for layer in given_layers]
    first = compose(given_layers)
    assert compose(given_layers).rows == first.rows
    assert [dump(layer.patches) for layer in given_layers] == before


def test_proto_is_seen_but_not_kept() -> None:
    composition = composed(
        "- insert: [{id: a}]\n- {id: a, __proto__: {group: 1, name: n}}\n"
        "- {id: a, insert: [{id: b}]}\n- {id: a, name: m, x: 1}\n"
    )
    assert composition.rows == [{"id": "a", "config": [{"id": "b"}]}]
    assert messages(composition) == [
        'patch: name mismatch for "a" (expected "n", got "m"), skipping'
    ]


def test_relative_names_of_inserted_rows_are_resolved_beside_the_file() -> None:
    text = """\
- insert:
    - {id: a, name: ./m m%é.mjs}
    - {id: g, group: true, config: [{id: b, name: ../x/../y.mjs}]}
    - {id: c, config: [{id: d, name: ./d.mjs}]}
    - {id: e, name: ..}
- {id: a, name: './m m%é.mjs', x: 1}
"""
    composition = composed(text)
    rows: list[Any] = composition.rows
    assert rows[0] == {"id": "a", "name": "file:///x/m%20m%25%C3%A9.mjs"}
    assert rows[1]["config"][0]["name"] == "file:///y.mjs"
    assert rows[2]["config"][0]["name"] == "./d.mjs"
    assert rows[3]["name"] == ".."
    assert composition.skips[0].reason == "name-mismatch"
    assert compose([parse_layer(text, "L")]).rows[0]["name"] == "./m m%é.mjs"


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("- insert: {}\n", 1),
        ("- id: a\n  insert: false\n", 2),
        ("- insert: abc\n", 1),
        ("- insert: [null]\n", 1),
        ("- insert: !!js x\n", 1),
        ("- id: a\n- insert:\n  - {group: true, config: [~]}\n", 2),
    ],
)
def test_an_insert_that_is_no_list_of_rows_is_refused(text: str, line: int) -> None:
    with pytest.raises(PatchInvalidError) as raised:
        composed(text)
    assert raised.value.details["file"] == "/x/L1.yml"
    assert raised.value.details["line"] == line


def test_a_group_within_itself_is_refused() -> None:
    with pytest.raises(PatchInvalidError, match="contains itself"):
        composed("- insert: &i [{id: g, group: true, config: *i}]\n")


def test_a_cyclic_value_composes_but_has_no_dump() -> None:
    composition = composed("- insert: [{id: a, config: &c [*c]}]\n")
    assert len(composition.rows) == 1
    for view in (dump_text, compose_json):
        with pytest.raises(DshYamlUnwritableError):
            view(composition)


IDS = st.sampled_from(["a", "b", "g", "h", 1, "1", True])
ROWS: st.SearchStrategy[Any] = st.recursive(
    st.fixed_dictionaries({"id": IDS}, optional={"name": st.sampled_from("mn"), "config": IDS}),
    lambda rows: st.fixed_dictionaries(
        {"id": IDS, "group": st.booleans(), "config": st.lists(rows, max_size=3)}
    ),
    max_leaves=6,
)
PATCHES = st.one_of(
    st.fixed_dictionaries({"insert": st.lists(ROWS, max_size=3)}, optional={"id": IDS}),
    st.fixed_dictionaries(
        {"id": IDS},
        optional={
            "name": st.sampled_from("mn"),
            "config": IDS | st.lists(ROWS, max_size=2),
            "disabled": st.booleans(),
            "group": st.booleans(),
        },
    ),
)
FILES = st.lists(st.lists(PATCHES, max_size=4).map(dump), min_size=1, max_size=4)


@given(FILES)
def test_every_patch_is_applied_or_skipped(files: list[str]) -> None:
    composition = composed(*files)
    for skip in composition.skips:
        assert skip.patch.place.line is not None
    done = {id(change.patch) for change in composition.assignments}
    done |= {id(insertion.patch) for insertion in composition.insertions}
    assert done.isdisjoint(id(skip.patch) for skip in composition.skips)


@given(FILES)
def test_every_value_of_every_row_has_an_origin(files: list[str]) -> None:
    composition = composed(*files)
    for placed in composition.walk():
        assert composition.inserted(placed.row) is not None
        for key in placed.row:
            place = composition.origin(placed.row, [key])
            assert place is not None
            assert place.line is not None


@given(FILES)
def test_what_is_composed_does_not_depend_on_file_borders(files: list[str]) -> None:
    joined = "\n".join(text for text in files if text != "[]\n") or "[]\n"
    assert compose_json(composed(*files))["entries"] == compose_json(composed(joined))["entries"]
