"""Edits as people see them: where new text goes, what stays, and what is refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dshloop.dsh_yaml import JsExpr
from dshloop.errors import SpliceRefusedError
from dshloop.splice import Edit, YamlText

TEMPLATE = """\
# Your patch layer
# (a list)
[]
"""
ROW = {"id": "x", "config": {"a": 1}}


def test_the_empty_root_is_replaced_by_items_and_comes_back() -> None:
    one = YamlText(TEMPLATE).append((), ROW)
    assert one.text == "# Your patch layer\n# (a list)\n- id: x\n  config:\n    a: 1\n"
    assert one.unset((0,)).text == TEMPLATE


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("[]  # none yet\n", "# none yet\n- id: x\n  config:\n    a: 1\n"),
        ("[]", "- id: x\n  config:\n    a: 1"),
        ("--- []\n...\n", "---\n- id: x\n  config:\n    a: 1\n...\n"),
        ("--- [] # c\n", "--- # c\n- id: x\n  config:\n    a: 1\n"),
        ("\ufeff[]\r\n", "\ufeff- id: x\r\n  config:\r\n    a: 1\r\n"),
        ("[ ]  \n# tail\n", "- id: x\n  config:\n    a: 1\n# tail\n"),
        ("[\n  # none\n]\n", "- id: x\n  config:\n    a: 1\n"),
        ("[{id: y}]\n", "[{id: y}, {id: x, config: {a: 1}}]\n"),
        ("", "- id: x\n  config:\n    a: 1\n"),
        ("# only\n", "# only\n- id: x\n  config:\n    a: 1\n"),
    ],
)
def test_every_way_to_write_an_empty_root_takes_an_item(before: str, after: str) -> None:
    assert YamlText(before).append((), ROW).text == after


def test_an_item_follows_the_habits_of_the_file() -> None:
    wide = "- id: a\n  config:\n      list:\n          - 1\n\n- id: b\n"
    added = YamlText(wide).append((), {"id": "c", "config": {"list": ["x"]}})
    assert added.text == wide + "\n- id: c\n  config:\n      list:\n          - x\n"
    flush = "- insert:\n  - id: a\n    tags:\n    - x\n"
    assert YamlText(flush).append((0, "insert"), {"id": "b", "tags": ["z"]}).text == (
        flush + "  - id: b\n    tags:\n    - z\n"
    )


def test_comments_of_the_last_item_stay_with_it() -> None:
    text = "- id: a\n  config:\n    x: 1\n    # y: 2\n\n# about nothing\n"
    assert YamlText(text).append((), {"id": "b"}).text == (
        "- id: a\n  config:\n    x: 1\n    # y: 2\n- id: b\n\n# about nothing\n"
    )


@pytest.mark.parametrize(
    "last",
    [
        "t: |\n    x\n\n    # y",
        "t: |+\n    x\n\n",
        "t: 'a\n\n\n  b'",
        "t: {\n  }",
        "t: |\n\n    ...",
    ],
)
def test_the_end_of_the_last_item_is_not_mistaken(last: str) -> None:
    for tail in ("", "\n", "\n\n# end\n", "\n...\n"):
        text = f"- a: 1\n- {last}{tail}"
        before = YamlText(text).value
        after = YamlText(text).append((), {"id": "b"})
        assert after.value == [*before, {"id": "b"}]
        assert after.text.replace("- id: b", "").split() == text.split()


def test_remove_takes_the_comments_inside_and_keeps_those_above() -> None:
    text = "# all\n- id: a\n# about b\n- id: b # here\n  # inside\n  # too\n\n# about c\n- id: c\n"
    assert YamlText(text).unset((1,)).text == "# all\n- id: a\n# about b\n\n# about c\n- id: c\n"


def test_removing_the_first_key_of_an_item_pulls_up_the_next() -> None:
    text = "- id: a  # the id\n  # about name\n  name: b\n"
    assert YamlText(text).unset((0, "id")).text == "- # about name\n  name: b\n"


def test_set_keeps_the_comment_of_the_line() -> None:
    text = "a: 'x'   # one\nb: |  # two\n  t\n  u\nc:  # three\n  d: 1\ne: {f: 1}  # four\n"
    done = YamlText(text).set(("a",), "z").set(("b",), 1).set(("c",), 2).set(("e", "f"), 3)
    assert done.text == "a: z   # one\nb: 1  # two\nc: 2  # three\ne: {f: 3}  # four\n"
    block = YamlText("a: 5  # c\nb: 6\n").set(("a",), {"x": {"z": []}})
    assert block.text == "a:  # c\n  x:\n    z: []\nb: 6\n"


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ("@a/b", "k: '@a/b'\n"),
        ("1_000", "k: 1_000\n"),
        ("yes", "k: 'yes'\n"),
        ("012", "k: '012'\n"),
        ("x" * 200, "k: " + "x" * 200 + "\n"),
        ("中文 😀", "k: 中文 😀\n"),
        ("one\ntwo", "k: |-\n  one\n  two\n"),
        ("one\n\ntwo\n", "k: |\n  one\n\n  two\n"),
        ("  in\nout\n", "k: |2\n    in\n  out\n"),
        ("one\n\n", 'k: "one\\n\\n"\n'),
        (JsExpr("env.X"), "k: !!js env.X\n"),
        (JsExpr("a ? 'b' : 1"), "k: !!js 'a ? ''b'' : 1'\n"),
        (JsExpr("f()\ng()"), "k: !!js |-\n  f()\n  g()\n"),
        ({"@a/b": [1, {"c": None}]}, "k:\n  '@a/b':\n    - 1\n    - c: null\n"),
        ([], "k: []\n"),
        (-0.0, "k: -0.0\n"),
    ],
)
def test_new_values_are_written_as_dsh_writes_them(value: object, written: str) -> None:
    assert YamlText("k: 0\n").set(("k",), value).text == written


def test_flow_stays_flow() -> None:
    text = "- {id: a, config: {x: [1, 2], y: 3}}  # c\n"
    done = YamlText(text).set((0, "config", "z"), {"l": ["p,q", "r\ns"]})
    assert done.text == ("- {id: a, config: {x: [1, 2], y: 3, z: {l: ['p,q', \"r\\ns\"]}}}  # c\n")
    assert YamlText(text).unset((0, "config", "x", 0)).text == text.replace("[1, 2]", "[2]")
    assert YamlText(text).unset((0, "config", "y")).text == text.replace(", y: 3", "")
    tall = "a: {\n  b: 1, # one\n  c: 2, # two\n}\n"
    assert YamlText(tall).set(("a", "d"), 3).text == tall.replace("two\n", "two\n  d: 3,\n")
    assert YamlText(tall).unset(("a", "c")).text == "a: {\n  b: 1, # one # two\n}\n"
    assert YamlText("a: {b}\n").set(("a", "b"), 1).text == "a: {b: 1}\n"
    assert YamlText("a: [b: 1, c]\n").set(("a", 0), 2).text == "a: [2, c]\n"


SHARED = "base: &b {x: 1}\nuse: *b\nown: &o {y: 1}\n"


def test_only_the_alias_itself_is_edited() -> None:
    assert YamlText(SHARED).set(("use",), 5).text == SHARED.replace("*b", "5")
    assert YamlText(SHARED).unset(("use",)).text == SHARED.replace("use: *b\n", "")
    with pytest.raises(SpliceRefusedError, match=r"line 2 can't be edited.*alias \*b"):
        YamlText(SHARED).set(("use", "x"), 2)


@pytest.mark.parametrize("path", [("base", "x"), ("base",), ("base", "new")])
def test_what_an_alias_shares_is_refused_naming_the_line(path: tuple[str, ...]) -> None:
    with pytest.raises(SpliceRefusedError, match="anchor &b can't be edited: line 2 shares it"):
        YamlText(SHARED).set(path, 2)


def test_an_anchor_that_nobody_shares_stays() -> None:
    assert YamlText(SHARED).set(("own", "y"), 2).text == SHARED.replace("y: 1", "y: 2")
    assert YamlText(SHARED).set(("own",), [1]).text == SHARED.replace("{y: 1}", "").replace(
        "own: &o \n", "own: &o\n  - 1\n"
    )
    with pytest.raises(SpliceRefusedError):
        YamlText(SHARED).unset(("base",))


def test_tags_and_explicit_keys() -> None:
    assert YamlText("a: !!str 12 # c\n").set(("a",), 12).text == "a: 12 # c\n"
    assert YamlText("a: !!js x\nb: 1\n").set(("b",), 2).text == "a: !!js x\nb: 2\n"
    text = "? k\n: v # c\n? l\n: - 1\n"
    assert YamlText(text).set(("k",), 2).text == "? k\n: 2 # c\n? l\n: - 1\n"
    assert YamlText(text).unset(("k",)).text == "? l\n: - 1\n"
    assert YamlText(text).append(("l",), 2).text == text + "  - 2\n"


def test_scalars_of_several_lines_are_replaced_whole() -> None:
    text = "a: one\n  two\n  three  # c\nb: |+\n  x\n\nc: 'p\n  q'\n"
    assert YamlText(text).set(("a",), 1).text == text.replace("one\n  two\n  three", "1")
    assert YamlText(text).set(("c",), 1).text == text.replace("'p\n  q'", "1")
    assert YamlText(text).unset(("b",)).text == text.replace("b: |+\n  x\n\n", "")


def test_where_no_map_or_list_is_nothing_can_be_put() -> None:
    for path in (("a", "b"), ("l", 5), ("l", "x"), ("l", 0, "x")):
        with pytest.raises(SpliceRefusedError):
            YamlText("a: 1\nl: [k: v]\n").set(path, 1)
    with pytest.raises(SpliceRefusedError, match="no list"):
        YamlText("a: 1\n").append(("a",), 1)
    with pytest.raises(KeyError):
        YamlText("a: 1\n").unset(("b",))


def test_a_bare_dash_that_reaches_out_of_its_list_is_refused() -> None:
    """js-yaml reads on with the items of the outer list, so the dash can't go alone."""
    text = "- - 1\n  -\n- 3\n"
    assert YamlText(text).value == [[1, None, 3]]
    with pytest.raises(SpliceRefusedError):
        YamlText(text).unset((0, 1))


@given(st.integers(2, 12), st.data())
def test_many_edits_at_once_are_what_they_are_one_by_one(count: int, data: st.DataObject) -> None:
    items = "".join(f"- id: r{number} # c{number}\n  k: {number}\n" for number in range(count))
    text = YamlText(data.draw(st.sampled_from(["", "# head\n", "---\n"])) + items)
    edits: list[Edit] = []
    for number in reversed(range(count)):
        kind = data.draw(st.sampled_from(["keep", "set", "unset", "drop", "insert", "both"]))
        if kind in ("insert", "both"):
            edits.append(Edit("insert", (), {"id": f"new{number}"}, number + 1))
        if kind in ("drop", "both"):
            edits.append(Edit("unset", (number,)))
        elif kind in ("set", "unset"):
            edits.append(Edit(kind, (number, "k"), "v" if kind == "set" else None))
    one_by_one = text
    for edit in edits:
        one_by_one = YamlText(one_by_one.text).edited([edit])
    assert text.edited(edits).value == one_by_one.value
    kept = [n for n in range(count) if all(edit.path[:1] != (n,) for edit in edits)]
    made = text.edited(edits).text
    assert all(f"- id: r{number} # c{number}\n  k: {number}\n" in made for number in kept)


def test_edits_of_the_same_bytes_are_made_one_after_the_other() -> None:
    text = YamlText("- {a: 1, b: 2}\n- x\n")
    edits = [Edit("unset", (1,)), Edit("set", (0, "a"), 3), Edit("set", (0, "a"), 4)]
    assert text.edited(edits).text == "- {a: 4, b: 2}\n"
    assert text.edited([Edit("unset", (1,)), Edit("unset", (0,))]).text == "[]\n"
