from __future__ import annotations

import itertools
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dshloop.errors import ProgramFailedError
from dshloop.profiles.compose import compose, dump_text
from dshloop.profiles.inbox.difference import (
    InexpressibleError,
    difference,
    from_plain,
    plain,
    same,
)
from dshloop.profiles.inbox.learn import Remark, learn, learn_bundle
from dshloop.profiles.inbox.learned import Learned, learned_layer, list_key
from dshloop.profiles.layers import Layer, parse_layer
from tests.profiles.stand_in_dsh import Told, answer_of

BASE = """
- insert:
    - {id: timer, name: '@s/timer'}
    - id: tools
      name: '@s/tools'
      disabled: !!js "!ctx.get('x')"
      config: {b: 1, a: [1, 2.5, -0.0, .nan, .inf], text: "one\\ntwo", '7': 7}
    - {id: group, name: cordis:group, group: true, config: [{id: inner, name: '@s/inner'}]}
    - name: '@s/without-id'
- {id: timer, config: {own: true}}
"""
APP = """
- {id: tools, disabled: null, config: !!js "process.env.X", zeta: 1, alpha: 2, '3': 4}
- {id: timer, name: '@s/timer', config: {own: true}}
- {id: timer, name: '@s/other', config: {never: true}}
- {id: nobody, config: 1}
- {id: nobody, disabled: true}
- {id: inner, disabled: true}
- {id: group, insert: [{id: more, name: '@s/more'}, {id: last}]}
- {id: more, config: {set: here}}
- {id: group, insert: [{id: third}]}
- insert: [{id: app, name: '@s/app', config: []}, {id: app-2}]
- {id: app, insert: [{id: x}]}
- {config: nothing}
"""
LATE = """
- {id: app, config: {late: true}}
- {id: group, group: true, config: [{id: alone}]}
- {id: group, insert: [{id: appended}]}
- {id: fresh, group: true}
- {id: fresh, insert: [{id: child}]}
- insert: [{id: 12, name: n}, {id: true}]
- {id: 12, config: twelve}
"""
BUNDLES = {"base": BASE, "app": APP, "late": LATE}


def learned(told: Told, *names: str) -> list[Layer]:
    known = Learned()
    learn(known, names, told)
    return list(map(learned_layer, names, known.patches(names)))


@pytest.mark.parametrize("count", [1, 2, 3])
def test_any_list_of_bundles_gives_dshs_dump_and_warnings(count: int) -> None:
    told = Told(BUNDLES)
    for names in itertools.product(BUNDLES, repeat=count):
        theirs = told(names)
        composition = compose(learned(told, *names))
        assert dump_text(composition) == theirs.text, names
        assert composition.warnings == theirs.warnings, names


def test_a_bundle_is_learned_once_for_every_place() -> None:
    told, known = Told({"base": BASE, "late": LATE}), Learned()
    for names in (["base", "late"], ["late", "base"], ["base", "base"], ["late"]):
        learn(known, names, told)
    assert set(known.lists.values()) == {None}
    between = parse_layer(
        "- insert: [{id: fresh, name: z}, {id: app, config: 1}]\n- {id: timer, x: 1}", "mine"
    )
    mixed = [told.layers["base"], between, told.layers["late"]]
    ours = [
        learned_layer("base", known.patches(["base"])[0]),
        between,
        learned_layer("late", known.patches(["late"])[0]),
    ]
    assert dump_text(compose(ours)) == answer_of(mixed).text
    assert "patched by" in answer_of(mixed).text
    assert compose(ours).warnings == answer_of(mixed).warnings


def test_values_that_change_nothing_name_no_patcher() -> None:
    told = Told({"base": BASE, "app": "- {id: timer, config: {own: true}}"})
    assert "patched by" not in dump_text(compose(learned(told, "base", "app")))


def test_no_place_has_a_line() -> None:
    composition = compose(learned(Told(BUNDLES), "base", "app"))
    (placed,) = composition.find("tools")
    place = composition.origin(placed.row, ("zeta",))
    assert place is not None
    assert place.as_json() == {"label": "app", "file": None, "line": None, "column": None}


def test_what_dsh_lacks_is_known_as_lacking() -> None:
    told, known = Told(BUNDLES), Learned()
    learn(known, ["base", "mine", "app"], told)
    assert known.bundles["mine"] is None
    asked = len(told.asked)
    assert known.knows(["app", "mine"]) is False  # another list
    learn(known, ["mine", "base", "app"], told)
    assert len(told.asked) == asked


def test_a_list_that_patches_alone_do_not_give_is_learned_by_its_prefixes() -> None:
    # a second guard on one row can't be met by the same probe
    guarded = "- {id: a, name: one, config: 1}\n- {id: b, name: two, config: 2}\n"
    odd = "- {id: a, name: two, config: 3}\n- {id: a, name: one, x: 1}\n"
    told = Told(
        {
            "ones": "- insert: [{id: a, name: one}, {id: b, name: two}]",
            "twos": "- insert: [{id: a, name: two}]",
            "odd": odd,
            "guarded": guarded,
        }
    )
    for names in (["ones", "odd"], ["twos", "odd"], ["ones", "guarded"], ["odd"]):
        composition = compose(learned(told, *names))
        assert dump_text(composition) == told(names).text, names
        assert composition.warnings == told(names).warnings
    known = Learned()
    learn(known, ["ones", "odd"], told)
    learn(known, ["twos", "odd"], told)
    assert any(known.lists.values())


def test_what_no_patch_does_is_an_error() -> None:
    shared = "- insert: [&x {name: shared}, {id: y, config: {}}]\n"
    told = Told({"base": shared})

    def lying(bundles: Any, probe: Any = ()) -> Any:
        answer = told(["base"])
        if len(bundles) < 2:
            return answer
        text = answer.text.replace("shared", "changed")
        return type(answer)(text, [{"name": "changed"}, *answer.rows[1:]], [], {})

    with pytest.raises(ProgramFailedError, match="can't be told"):
        learn(Learned(), ["base", "base"], lying)


ROW_IDS = st.sampled_from(["a", "b", "c", "d", 1, True])
VALUES = st.recursive(
    st.sampled_from([None, True, 0, -0.0, 1.5, "x", "1", "", "two\nlines \n"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(
        st.sampled_from(["k", "2", "10", "z"]), inner, max_size=3),
    max_leaves=4,
)  # fmt: skip
KEYS = st.dictionaries(st.sampled_from(["config", "disabled", "x", "5"]), VALUES, max_size=3)


@st.composite
def bundles(draw: st.DrawFn) -> dict[str, str]:
    """Make bundles that insert rows of their own and change those of all."""
    found = {}
    free = ["a", "b", "c", "d", "e", "f", "g", "h", 1]
    for name in ("one", "two", "three"):
        rows = []
        for row_id in free[: draw(st.integers(0, 3))]:
            row = {"id": row_id, **draw(KEYS)}
            if draw(st.booleans()):
                row.update(group=True, config=[{"id": f"{row_id}-child", "name": "n"}])
            rows.append(row)
        free = free[len(rows) :]
        items: list[Any] = [{"insert": rows}] if rows else []
        for row_id in draw(st.lists(st.sampled_from(["a", "b", "c", "a-child", 1]), max_size=4,
                                    unique=True)):  # fmt: skip
            items.append({"id": row_id, **draw(KEYS)})
        if draw(st.booleans()):
            items.append({"id": draw(st.sampled_from(["a", "b"])), "insert": [{"id": f"{name}-i"}]})
        found[name] = json.dumps(draw(st.permutations(items)))
    return found


@settings(max_examples=60, deadline=None)
@given(bundles(), st.lists(st.sampled_from(["one", "two", "three"]), min_size=1, max_size=4))
def test_learning_is_exact_for_random_bundles(texts: dict[str, str], names: list[str]) -> None:
    told = Told(texts)
    theirs = told(names)
    try:
        layers = learned(told, *names)
    except ProgramFailedError:
        # only where an id is there twice can a change hit another row than the one it names
        assert len(set(names)) < len(names)
        return
    composition = compose(layers)
    assert dump_text(composition) == theirs.text
    assert composition.warnings == theirs.warnings


@given(st.lists(st.builds(lambda i, more: {"id": i, **more}, ROW_IDS, KEYS), max_size=4))
def test_plain_text_keeps_values(rows: list[Any]) -> None:
    assert same(from_plain(plain(rows)), rows)


def test_values_that_only_look_alike_differ() -> None:
    pairs = [(1, True), (0, -0.0), (None, float("nan")), ({"a": 1, "b": 2}, {"b": 2, "a": 1})]
    assert not any(same(*pair) for pair in pairs)
    assert same(float("nan"), float("nan"))


def test_a_change_inside_a_group_names_the_child() -> None:
    before = [{"id": "g", "group": True, "config": [{"id": "c"}, {"id": "d"}]}]
    after = [{"id": "g", "group": True, "config": [{"id": "c", "x": 1}, {"id": "d"}, {"id": "e"}]}]
    assert difference(before, after) == [
        {"id": "c", "x": 1},
        {"id": "g", "insert": [{"id": "e"}]},
    ]
    replaced = [{"id": "g", "group": True, "config": [{"id": "new"}]}]
    assert difference(before, replaced) == [{"id": "g", "config": [{"id": "new"}]}]


@pytest.mark.parametrize(
    ("before", "after"),
    [([{"id": "a"}], []), ([{"name": "x"}], [{"name": "y"}]),
     ([{"id": "a", "x": 1}], [{"id": "a"}]), ([{"id": "a"}], [{"id": "b"}]), (["text"], ["other"])],
)  # fmt: skip
def test_what_patches_cannot_do_is_refused(before: list[Any], after: list[Any]) -> None:
    with pytest.raises(InexpressibleError):
        difference(before, after)


def test_an_unknown_warning_is_not_guessed_at() -> None:
    for message in ("patch: something new", "patch: entry {broken not found"):
        with pytest.raises(InexpressibleError):
            Remark.read(message)


def test_a_bundle_without_foreign_rows_needs_one_dump() -> None:
    told = Told(BUNDLES)
    learn_bundle("base", told)
    assert told.asked == [["base"]]
    assert list_key(["a"]) == '["a"]'
