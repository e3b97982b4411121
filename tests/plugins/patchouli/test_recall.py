"""Recall messages: what is new in a turn, and how a long one is cut."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from dshloop.plugins.patchouli.recall import Injected, capped, recall_text, results_of

POINT = "agent/pre-step"
values = st.recursive(
    st.none() | st.integers(-99, 99) | st.text(max_size=30),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=8,
)
answers = st.lists(st.tuples(st.sampled_from("abc"), values), max_size=4)


def results(pairs: Any) -> list[dict[str, Any]]:
    return results_of([{"pluginId": name, "ok": True, "value": value} for name, value in pairs])


@given(answers)
def test_what_was_never_injected_stays_as_it_is(pairs: Any) -> None:
    assert Injected().news(results(pairs)) == results(pairs)


@given(answers)
def test_what_was_injected_never_comes_again_in_the_turn(pairs: Any) -> None:
    known = Injected()
    known.turn(1)
    known.keep(results(pairs))
    assert known.news(results(pairs)) == []
    known.turn(2)
    assert known.news(results(pairs)) == results(pairs)


def test_only_new_members_of_an_answer_come_again() -> None:
    known = Injected()
    known.keep(results([("p", {"items": [{"t": 1}], "total": 1})]))
    (fresh,) = known.news(results([("p", {"items": [{"t": 1}, {"t": 2}], "total": 2})]))
    assert fresh["data"] == {"items": [{"t": 2}], "total": 2}
    assert known.news(results([("p", {"items": [{"t": 1}], "total": 5})])) == []
    assert known.news(results([("q", {"items": [{"t": 1}]})])) != []
    noted = results([("p", {"items": [], "note": "none"})])
    assert known.news(noted) == noted


def test_what_came_before_the_first_turn_belongs_to_it() -> None:
    known = Injected()
    known.keep(results([("p", "x")]))
    known.turn(1)
    assert known.news(results([("p", "x")])) == []


@given(answers, st.integers(1, 400))
def test_a_cut_message_is_never_longer_than_it_may_be(pairs: Any, limit: int) -> None:
    kept = capped(POINT, results(pairs), limit)
    assert not kept or len(recall_text(POINT, kept)) <= limit
    assert capped(POINT, results(pairs), 0) == results(pairs)
    for whole, cut in zip(results(pairs), kept, strict=False):
        assert cut == whole or cut["cut"] > 0
    json.loads(recall_text(POINT, kept))
