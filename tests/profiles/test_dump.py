"""The dump: headers by origin and patchers, bodies as js-yaml writes them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dshloop.dsh_yaml import JsExpr, dump, stringify
from dshloop.profiles.compose import compose, dump_text
from dshloop.profiles.dump import Attribution, attribute, json_form
from dshloop.profiles.layers import Layer, parse_layer
from tests.profiles.test_patch import FILES


def layers(*texts: str) -> list[Layer]:
    return [parse_layer(text, f"L{number}") for number, text in enumerate(texts, start=1)]


def dumped(*texts: str) -> str:
    return dump_text(compose(layers(*texts)))


def test_nothing_is_one_newline() -> None:
    assert dumped("[]") == "\n"
    assert dump_text(compose([])) == "\n"


def test_runs_of_rows_share_a_header() -> None:
    text = dumped("- insert: [{id: a}, {id: b}]\n", "- {id: b, x: 1}\n- insert: [{id: c}]\n")
    assert text == "# == L1\n- id: a\n# == L1, patched by L2\n- id: b\n  x: 1\n# == L2\n- id: c\n"


def test_a_layer_that_changes_nothing_is_not_named() -> None:
    base = "- insert: [{id: a, x: 1, n: .nan}]\n"
    for patch in ("- {id: a, x: 1}\n", "- {id: a, n: .inf}\n", "- {id: z}\n", "[]\n"):
        assert dumped(base, patch).startswith("# == L1\n")


def test_a_new_key_order_is_a_change() -> None:
    assert "patched by L2" in dumped(
        "- insert: [{id: a, config: {x: 1, y: 2}}]\n", "- {id: a, config: {y: 2, x: 1}}\n"
    )


def test_a_change_in_a_group_marks_its_top_row() -> None:
    text = dumped(
        "- insert: [{id: g, group: true, config: [{id: c}]}]\n",
        "- {id: c, x: 1}\n",
        "- {id: g, insert: [{id: d}]}\n",
    )
    assert text.startswith("# == L1, patched by L2, L3\n")


def test_a_run_loses_the_blanks_at_its_end() -> None:
    assert dumped('- insert: [{id: a, config: "x\\n\\n\\n"}]\n', "- insert: [{id: b}]\n") == (
        "# == L1\n- id: a\n  config: |+\n    x\n# == L2\n- id: b\n"
    )
    assert dumped('- insert: [{id: a, config: "x\\u2003\\u3000"}]\n').endswith("config: x\n")


def naive(all_layers: list[Layer]) -> list[Attribution]:
    """Attribute as dsh-profiles 9 defines it: compose every prefix, compare JSON texts."""
    found: list[Attribution] = []
    before: list[str] = []
    for count in range(1, len(all_layers) + 1):
        label = all_layers[count - 1].label
        after = [stringify(row) for row in compose(all_layers[:count]).rows]
        for number, (old, new) in enumerate(zip(before, after, strict=False)):
            if old != new:
                patchers = (*found[number].patchers, label)
                found[number] = found[number]._replace(patchers=patchers)
        found += [Attribution(label, ()) for _ in after[len(before) :]]
        before = after
    return found


@given(FILES)
def test_one_pass_attributes_as_all_prefixes_do(files: list[str]) -> None:
    assert attribute(layers(*files)) == naive(layers(*files))


ALIASES = [
    "- insert: &l [{id: a, config: &c {x: 1}}, {id: b, config: *c}]\n- insert: *l\n",
    "- {id: a, y: 2}\n",
    "- {id: b, config: {x: 1}}\n",
    "- insert: [&r {id: r, n: 1}, {id: s, config: [*r]}]\n",
    "- {id: r, n: 2}\n",
]


@given(st.lists(st.sampled_from(ALIASES), max_size=6))
def test_shared_rows_are_attributed_as_all_prefixes_do(files: list[str]) -> None:
    assert attribute(layers(*files)) == naive(layers(*files))


NUMBERS = st.sampled_from([0, -0.0, float("nan"), float("inf"), None, 1, 1.5, 1e21, 2.0**60])
VALUES = st.recursive(
    NUMBERS | st.text(max_size=3) | st.sampled_from([JsExpr("x"), {"__jsExpr": "x"}, "NaN"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text("ab"), inner, max_size=2),
    max_leaves=5,
)


@given(VALUES, VALUES)
def test_the_compared_form_is_equal_when_the_json_is(left: Any, right: Any) -> None:
    assert (json_form(left) == json_form(right)) is (stringify(left) == stringify(right))


@pytest.mark.parametrize("value", ["x", {"a": [1]}, [], "long " * 40 + "end"])
def test_the_body_is_the_yaml_of_the_rows(value: Any) -> None:
    row = {"id": "a", "config": value}
    assert dumped(dump([{"insert": [row]}])) == "# == L1\n" + dump([row])


@pytest.mark.parametrize(
    ("prototype", "shown"),
    [
        ("!!js x", "!!js x"),
        ("{__jsExpr: x, z: 1}", "!!js x"),
        ("{z: 1}", "id: a\n  k: 1"),
        ("[1]", "id: a\n  k: 1"),
    ],
)
def test_a_row_that_inherits_an_expression_is_printed_as_that(prototype: str, shown: str) -> None:
    base = "- insert: [{id: g, group: true, config: [{id: a, k: 1}]}, {id: a, k: 1}]\n"
    text = dumped(base, f"- {{id: a, __proto__: {prototype}}}\n")
    assert text == (
        f"# == L1\n- id: g\n  group: true\n  config:\n    - id: a\n      k: 1\n- {shown}\n"
    )
    gone = dumped(base, f"- {{id: a, __proto__: {prototype}}}\n- {{id: a, __proto__: null}}\n")
    assert gone.endswith("- id: a\n  k: 1\n")
