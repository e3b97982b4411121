from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from dshloop.profiles.layers import Layer, parse_layer
from dshloop.profiles.rows import inserted_rows, left_rows, taken_ids
from tests.profiles.packages import places_in, profile_in


def layer(label: str, text: str) -> Layer:
    return parse_layer(text, label)


def ids(text: str) -> list[object]:
    return [row["id"] for row in inserted_rows(layer("x", text).patches)]


def test_rows_inside_groups_are_found_at_any_depth() -> None:
    assert ids(
        "- insert:\n"
        "    - {id: g, group: true, config: [{id: a}, {id: h, group: 1, config: [{id: b}]}]}\n"
        "- {id: g, insert: [{id: c}]}\n"
    ) == ["g", "a", "h", "b", "c"]


def test_children_of_what_is_no_group_are_configuration() -> None:
    assert ids("- insert: [{id: a, config: [{id: b}]}]") == ["a"]
    assert ids("- insert: [{id: a, name: 'cordis:group', config: [{id: b}]}]") == ["a", "b"]


def test_ids_that_are_none_are_left_out() -> None:
    assert ids("- insert: [{}, {id: ''}, {id: 0}, {id: null}, {id: [a]}, {id: {}}, x]") == []


def test_only_inserts_take_an_id() -> None:
    assert ids("- {id: a, disabled: true}\n- {id: b, insert: null, config: [{id: c}]}") == []


def test_types_are_told_apart_and_equal_numbers_are_not() -> None:
    old = layer("old", "- insert: [{id: 12}, {id: true}]")
    assert taken_ids([old], [layer("n", "- insert: [{id: '12'}, {id: 1}, {id: 'true'}]")]) == []
    (taken,) = taken_ids([old], [layer("n", "- insert: [{id: 12.0}]")])
    assert (taken.row, taken.owner, taken.newcomer) == ("12", "old", "n")


@given(st.lists(st.lists(st.sampled_from("abcdef"), max_size=4), max_size=5))
def test_a_row_is_taken_once_for_each_insert_but_the_first(inserts: list[list[str]]) -> None:
    layers = [
        layer(str(number), f"- insert: [{', '.join(f'{{id: {row}}}' for row in rows)}]")
        for number, rows in enumerate(inserts)
    ]
    total = sum(map(len, inserts))
    distinct = len({row for rows in inserts for row in rows})
    assert len(taken_ids([], layers)) == total - distinct


def test_rows_in_agent_presets_are_left_rows_too(tmp_path: Path) -> None:
    profile = profile_in(places_in(tmp_path), "p")
    preset = profile.dsh_home / ".agent-presets" / "mine" / "agent.cordis.yml"
    preset.parent.mkdir(parents=True)
    preset.write_text("- {id: x, name: gone/tools}\n- {id: y, name: other}\n")
    broken = profile.dsh_home / ".agent-presets" / "broken" / "agent.cordis.yml"
    broken.parent.mkdir()
    broken.write_text("a: [")
    assert [(row.file, row.row) for row in left_rows(profile, ["gone"])] == [(preset, "x")]
