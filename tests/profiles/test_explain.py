from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dshloop.dsh_yaml import dump
from dshloop.errors import RowKeyNotFoundError, RowNotFoundError
from dshloop.profiles.explain import explain
from dshloop.profiles.explain_text import explanation_text
from dshloop.profiles.patch import UNDEFINED
from dshloop.redact import MARK
from tests.profiles.layers_made import composed

BUNDLE = """\
- insert:
    - id: a
      name: x
      config: {k: {m: 1, n: 2}, list: [1, 2]}
    - id: g
      name: cordis:group
      group: true
      config:
        - id: c
          name: y
          config: {q: 1}
"""


def test_each_contribution_is_told_in_order_with_its_place() -> None:
    composition = composed(
        BUNDLE, "- id: a\n  config: {k: {m: 5}}\n", "- id: a\n  disabled: true\n"
    )
    (instance,) = explain(composition, "a").instances
    told = [
        (one.action, one.key, one.layer, one.place and one.place[1:])
        for one in instance.contributions
    ]
    assert told == [
        ("insert", (), "bundle", ("/bundle.yml", 2, 7)),
        ("set", ("config",), "profile", ("/profile.yml", 2, 3)),
        ("set", ("disabled",), "home", ("/home.yml", 2, 3)),
    ]
    assert instance.contributions[0].after["config"]["list"] == [1, 2]


def test_keys_lost_by_replacing_a_config_are_named_at_every_depth() -> None:
    composition = composed(BUNDLE, "- id: a\n  config: {k: {m: 5}}\n")
    (instance,) = explain(composition, "a").instances
    assert instance.contributions[1].lost == (("config", "k", "n"), ("config", "list"))
    lost = explain(composition, "a.k.n").winner
    assert lost is not None
    assert (lost.before, lost.after, lost.place and lost.place.line) == (2, UNDEFINED, 2)


def test_the_winner_of_a_key_is_the_last_layer_that_had_a_hand_in_it() -> None:
    composition = composed(
        BUNDLE, "- id: a\n  config: {k: {m: 5}}\n", "- id: a\n  disabled: true\n"
    )
    winner = explain(composition, "a.k.m").winner
    assert winner is not None
    assert (winner.layer, winner.before, winner.after) == ("profile", 1, 5)
    assert winner.place is not None
    assert winner.place[1:] == ("/profile.yml", 2, 16)


def test_an_item_of_a_list_is_a_key_too() -> None:
    winner = explain(composed(BUNDLE), "a.list.1").winner
    assert winner is not None
    assert (winner.action, winner.after) == ("insert", 2)


def test_a_row_in_a_group_says_where_and_who_switches_it_off() -> None:
    (instance,) = explain(composed(BUNDLE, "- id: g\n  disabled: true\n"), "c").instances
    assert (instance.groups, instance.disabled_by, instance.in_tree) == (("g",), "g", True)


def test_a_row_whose_group_was_replaced_is_in_no_tree() -> None:
    composition = composed(BUNDLE, "- id: g\n  config: []\n- id: c\n  disabled: true\n")
    found = explain(composition, "c")
    assert [one.in_tree for one in found.instances] == [False]
    assert found.winner is None
    assert [(one.reason, one.place and one.place.line) for one in found.unheard] == [
        ("group-replaced", 2),
        ("detached-row", 4),
    ]


def test_a_replaced_group_is_told_even_when_no_patch_came_after() -> None:
    found = explain(composed(BUNDLE, "- id: g\n  config: []\n"), "c")
    assert [one.reason for one in found.unheard] == ["group-replaced"]


def test_skipped_patches_are_told_with_their_reason() -> None:
    composition = composed(BUNDLE, "- id: a\n  name: z\n  config: {}\n- id: nope\n  config: {}\n")
    (unheard,) = explain(composition, "a").unheard
    assert (unheard.reason, unheard.place and unheard.place.line) == ("name-mismatch", 1)
    missing = explain(composition, "nope")
    assert (missing.instances, missing.unheard[0].reason) == ((), "row-missing")


def test_of_two_rows_with_one_id_the_last_takes_the_patches() -> None:
    second = "- insert:\n    - {id: a, name: other}\n- id: a\n  disabled: true\n"
    instances = explain(composed(BUNDLE, second), "a").instances
    assert [(one.name, one.target, one.disabled) for one in instances] == [
        ("x", False, None),
        ("other", True, True),
    ]


def test_the_longest_id_wins_and_a_dot_can_be_escaped() -> None:
    composition = composed(
        "- insert: [{id: a, name: x, config: {b: {c: 1}}}, {id: a.b, name: y, config: {c: 2}}]\n"
    )
    long, escaped = explain(composition, "a.b.c").winner, explain(composition, r"a\.b.c").winner
    assert long is not None
    assert escaped is not None
    assert (long.after, escaped.after) == (2, 2)


def test_an_unknown_row_or_key_is_refused_with_near_ones() -> None:
    with pytest.raises(RowNotFoundError) as unknown:
        explain(composed("- insert:\n    - {id: agent-loop, name: x}\n"), "agent-lop")
    assert "agent-loop" in str(unknown.value.hint)
    with pytest.raises(RowKeyNotFoundError) as key:
        explain(composed(BUNDLE), "a.lst")
    assert "list" in str(key.value.hint)


def test_secrets_are_masked_unless_revealed() -> None:
    composition = composed(
        "- insert:\n    - {id: a, name: x, config: {apiKey: hunter2, secret: '${X}'}}\n",
        "- id: a\n  config: {apiKey: hunter3}\n",
    )
    hidden = json.dumps(explain(composition, "a").as_json())
    assert "hunter" not in hidden
    assert hidden.count("${X}") > 0
    assert MARK in explanation_text(explain(composition, "a.apiKey"))
    assert "hunter" not in explanation_text(explain(composition, "a"))
    assert "hunter2" in json.dumps(explain(composition, "a", reveal=True).as_json())


def test_the_text_marks_the_winner_and_names_what_was_lost() -> None:
    composition = composed(BUNDLE, "- id: a\n  config: {k: {m: 5}}\n")
    assert explanation_text(explain(composition, "a")).splitlines() == [
        'a  "x"',
        "   bundle (/bundle.yml:2:7)  inserted the row",
        ' * profile (/profile.yml:2:3)  set config to {"k":{"m":5}}',
        '       replaced {"k":{"m":1,"n":2},"list":[1,2]}',
        "       lost config.k.n, config.list",
    ]


KEYS = st.sampled_from(["k", "m", "n"])
CONFIGS = st.recursive(
    st.integers(0, 3), lambda inner: st.dictionaries(KEYS, inner, max_size=3), max_leaves=6
)
PATCHES = st.lists(
    st.fixed_dictionaries(
        {"id": st.sampled_from(["a", "g", "c", "none"])},
        optional={
            "config": st.one_of(CONFIGS, st.just([])),
            "disabled": st.booleans(),
            "name": st.sampled_from(["x", "y"]),
        },
    ),
    max_size=4,
)


@given(PATCHES, PATCHES)
def test_the_winner_has_the_value_that_is_composed(one: list[Any], other: list[Any]) -> None:
    composition = composed(BUNDLE, dump(one), dump(other))
    for placed in composition.walk():
        name = str(placed.row["id"])
        found = explain(composition, name, reveal=True)
        assert found.instances[0].value == placed.row
        config = placed.row.get("config")
        for key in config if isinstance(config, dict) else ():
            winner = explain(composition, f"{name}.{key}", reveal=True).winner
            assert winner is not None
            assert winner.after == config[key]
            assert winner.place == composition.origin(placed.row, ("config", key))
            explanation_text(explain(composition, f"{name}.{key}"))


def test_a_replaced_group_is_told_as_it_was_then() -> None:
    composition = composed(
        BUNDLE,
        "- {id: c, config: {q: 2}}\n- {id: g, insert: [{id: d, name: z}]}\n"
        "- {id: g, config: [{id: e, name: e, config: {v: 1}}]}\n",
        "- {id: c, disabled: true}\n- {id: g, insert: [{id: f, name: f}]}\n",
    )
    (instance,) = explain(composition, "g").instances
    inserted, replaced = instance.contributions
    first = [{"id": "c", "name": "y", "config": {"q": 1}}]
    assert inserted.after["config"] == first
    assert replaced.before == [
        {"id": "c", "name": "y", "config": {"q": 2}},
        {"id": "d", "name": "z"},
    ]
    assert replaced.after == [{"id": "e", "name": "e", "config": {"v": 1}}]
    assert [row["id"] for row in instance.value["config"]] == ["e", "f"]
    said = explain(composition, "g.0.config.q").instances[0].contributions
    assert [(one.action, one.before, one.after) for one in said] == [
        ("insert", UNDEFINED, 1),
        ("set", 2, UNDEFINED),
    ]
