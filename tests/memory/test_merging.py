"""Answers of several stores made one."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from dshloop.memory.answers import Hit
from dshloop.memory.entries import Memory
from dshloop.memory.merging import Origin, merged_entries, merged_hits, same_text, worth


def memory(id_: str, content: str, at: float = 0.0) -> Memory:
    return Memory(id_, "fact", content, content, (), (), "p", None, None, {}, at, at)


def hits(*texts: str, store: str = "a", best: float = 0.9) -> list[Hit]:
    return [Hit(memory(f"{store}{at}", text), best - at / 10) for at, text in enumerate(texts)]


def test_scores_of_stores_are_not_compared() -> None:
    merged = merged_hits(
        {
            "a": hits("first", "second", best=0.2),
            "b": hits("other", "last", store="b"),
        }
    )
    assert [hit.entry.content for hit, _ in merged] == ["first", "other", "second", "last"]
    assert [round(hit.score, 1) for hit, _ in merged] == [0.2, 0.9, 0.1, 0.8]


def test_what_two_stores_found_comes_before_what_one_found() -> None:
    merged = merged_hits({"a": hits("x", "both"), "b": hits("y", "BOTH ", store="b")})
    assert [hit.entry.content for hit, _ in merged] == ["both", "x", "y"]
    assert merged[0][1] == Origin("a", (("b", "b1"),), {"a": 2, "b": 2})
    assert merged[0][1].as_json() == {
        "store": "a",
        "also_in": [{"store": "b", "id": "b1"}],
        "ranks": {"a": 2, "b": 2},
    }


def test_of_the_same_text_the_better_placed_entry_is_shown() -> None:
    ((hit, origin), _) = merged_hits({"a": hits("x", "same"), "b": hits("same", store="b")})
    assert (hit.entry.id, origin.store, origin.also) == ("b0", "b", (("a", "a1"),))


def test_blanks_case_and_width_do_not_tell_texts_apart() -> None:
    assert same_text(" We  Deploy\nＯＮ Fridays") == same_text("we deploy on fridays")
    assert same_text("port 8080") != same_text("port 8081")


def test_two_entries_of_one_store_are_not_folded_into_each_other() -> None:
    merged = merged_entries({"a": [memory("a0", "x", 2), memory("a1", "x", 1)]})
    assert [entry.id for entry, _ in merged] == ["a0", "a1"]
    pairs = merged_entries(
        {
            "a": [memory("a0", "x", 2), memory("a1", "x", 1)],
            "b": [memory("b0", "x", 3), memory("b1", "x", 0)],
        }
    )
    assert [(entry.id, origin.also) for entry, origin in pairs] == [
        ("a0", (("b", "b0"),)),
        ("a1", (("b", "b1"),)),
    ]


def test_entries_come_in_order_of_creation() -> None:
    answers = {"a": [memory("a", "x", 3), memory("c", "z", 1)], "b": [memory("b", "y", 2)]}
    assert [entry.id for entry, _ in merged_entries(answers)] == ["a", "b", "c"]
    turned = {store: entries[::-1] for store, entries in answers.items()}
    oldest = merged_entries(turned, oldest_first=True)
    assert [entry.id for entry, _ in oldest] == ["c", "b", "a"]


TEXTS = st.lists(st.sampled_from("abcdefgh"), max_size=8, unique=True)


@given(st.dictionaries(st.sampled_from(["one", "two", "three"]), TEXTS))
def test_every_text_is_there_once_and_nothing_is_lost(answers: dict[str, list[str]]) -> None:
    found = {store: hits(*texts, store=store) for store, texts in answers.items()}
    merged = merged_hits(found)
    texts = [hit.entry.content for hit, _ in merged]
    assert sorted(texts) == sorted({text for each in answers.values() for text in each})
    places = [
        place for hit, origin in merged for place in ((origin.store, hit.entry.id), *origin.also)
    ]
    assert sorted(places) == sorted(
        (store, hit.entry.id) for store, each in found.items() for hit in each
    )
    values = [worth(origin.ranks) for _, origin in merged]
    assert values == sorted(values, reverse=True)
    for store, each in answers.items():
        alone = [hit.entry.content for hit, origin in merged if list(origin.ranks) == [store]]
        assert alone == [text for text in each if text in alone]
