from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from dshloop.profiles.diff import Item, compare, items_of_composition, items_of_layer
from tests.profiles.layers_made import composed, layer

ONE = """\
- insert:
    - {id: a, name: x, config: {k: 1, apiKey: abc, same: [1, 2]}}
    - {id: b, name: y}
    - {id: c, name: z}
    - {id: g, name: cordis:group, group: true, config: [{id: h, name: q}]}
"""
OTHER = """\
- insert:
    - {id: c, name: z}
    - {id: a, name: x, config: {k: 2, apiKey: abd, same: [1, 3]}}
    - {id: h, name: q}
    - {id: g, name: cordis:group, group: true, config: []}
    - {id: new, name: w}
"""


def sides(one: str, other: str) -> tuple[tuple[str, list[Item]], tuple[str, list[Item]]]:
    first, second = composed(one), composed(other)
    return ("A", items_of_composition(first)), ("B", items_of_composition(second))


def test_rows_are_added_removed_moved_and_changed_by_key() -> None:
    found = compare(*sides(ONE, OTHER), reveal=True)
    states = {row.row: row.state for row in found.rows}
    assert states == {"c": "moved", "a": "changed", "h": "moved", "new": "added", "b": "removed"}
    (changed,) = [row for row in found.rows if row.row == "a"]
    assert [(one.path, one.before, one.after) for one in changed.changes] == [
        (("config", "k"), 1, 2),
        (("config", "apiKey"), "abc", "abd"),
        (("config", "same", 1), 2, 3),
    ]
    (inner,) = [row for row in found.rows if row.row == "h"]
    assert (inner.before_groups, inner.groups) == (("g",), ())


def test_equal_sides_differ_in_nothing() -> None:
    found = compare(*sides(ONE, ONE))
    assert (found.rows, found.as_text(), found.as_json()["equal"]) == ((), "", True)


def test_secrets_that_differ_are_told_to_differ_and_not_shown() -> None:
    hidden = compare(*sides(ONE, OTHER))
    assert "abd" not in json.dumps(hidden.as_json()) + hidden.as_text()
    assert "apiKey" in hidden.as_text()


def test_two_layer_files_are_compared_by_what_they_say() -> None:
    one = layer("one", "- id: a\n  config: {k: 1}\n- insert:\n    - {id: n, name: x}\n")
    other = layer("other", "- id: a\n  config: {k: 2}\n- id: n\n  disabled: true\n")
    found = compare(("one", items_of_layer(one)), ("other", items_of_layer(other)))
    assert {row.row: row.state for row in found.rows} == {
        "patch of a": "changed",
        "patch of n": "added",
        "n": "removed",
    }


@given(st.permutations([f"r{n}" for n in range(8)]))
def test_the_fewest_rows_are_told_to_have_moved(order: list[str]) -> None:
    def items(keys: list[str]) -> list[Item]:
        return [Item(key, {"id": key}, (), None) for key in keys]

    moved = {row.row for row in compare(("A", items(sorted(order))), ("B", items(order))).rows}
    stayed = [key for key in order if key not in moved]
    assert stayed == sorted(stayed)
    for row in moved:
        kept = [key for key in order if key in stayed or key == row]
        assert kept != sorted(kept)
