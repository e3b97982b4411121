"""What every store must do that can be carried away (`Transferable`).

A store's test module defines ``make_empty``, a fixture that gives a function that makes an empty
store, and imports this.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dshloop.errors import NothingToUndoError
from dshloop.memory.answers import Document, Filters, Record
from dshloop.memory.entries import Memory, NewMemory, NewObservation, Observation, Session
from dshloop.memory.interchange import jsonl
from dshloop.memory.interchange.report import Report
from tests.memory.interchange import rows

MakeStore = Callable[[], Any]
NOW = 2_000_000_000.0


def memory(number: int, content: str = "", **more: Any) -> Memory:
    text = content or f"memory number {number}"
    made = Memory(f"mem_{number}", "fact", text, text, (), (), "p", None, None, {}, 1.0, 1.0)
    return made._replace(**more)


def observation(number: int, session: str = "s1", **more: Any) -> Observation:
    text = f"observation number {number}"
    made = Observation(f"obs_{number}", session, "stop", "other", "stop", "", text, (), (), "p",
                       None, {}, 1.0)  # fmt: skip
    return made._replace(**more)


def session(id_: str = "s1", **more: Any) -> Session:
    return Session(id_, "p", "/p", None, None, None, None, 1.0, 2.0, None)._replace(**more)


def file_of(store: Any, where: Filters | None = None) -> bytes:
    return b"".join(jsonl.write(store.rows(where), Report()))


def put(store: Any, found: list[Record], on_conflict: str = "skip", **more: Any) -> list[str]:
    return [done.outcome for done in store.put(found, on_conflict=on_conflict, **more)]


@given(st.data())
@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
def test_what_is_carried_over_is_byte_equal(make_empty: MakeStore, data: st.DataObject) -> None:
    known = data.draw(st.lists(rows.sessions, max_size=3, unique_by=lambda one: one.id))
    named = st.sampled_from([one.id for one in known]) if known else st.nothing()
    observed = rows.observations.flatmap(
        lambda one: named.map(lambda name: one._replace(session=name))
    )
    entries = st.one_of(rows.memories, observed) if known else rows.memories
    found = data.draw(st.lists(entries, max_size=5, unique_by=lambda one: one.id))
    first, second = make_empty(), make_empty()
    assert put(first, [*known, *found]) == ["added"] * len([*known, *found])
    exported = file_of(first)
    put(second, list(first.rows()))
    assert file_of(second) == exported
    assert put(second, list(first.rows())) == ["same"] * len([*known, *found])
    assert put(second, list(first.rows()), "merge") == ["same"] * len([*known, *found])


def test_what_users_made_is_carried_over_and_found(make_empty: MakeStore) -> None:
    first, second = make_empty(), make_empty()
    old = first.remember(NewMemory("the port is 8080", "p", concepts=["ports"])).memory
    first.remember(NewMemory("the port is 8080", "p"))
    new = first.edit(old.id, content="the port is 9090").memory
    gone = first.remember(NewMemory("to be forgotten", "p")).memory
    first.forget([gone.id])
    first.observe(NewObservation("s1", "p", "stop", "stop", "it stopped", "k", prompt="go"))
    first.end_session("s1")
    first.keep_document("lesson", "l1", {"text": "test first"})
    put(second, list(first.rows()))
    assert file_of(second) == file_of(first)
    assert [one.id for one in second.history(new.id)] == [old.id, new.id]
    assert second.get(old.id).repeats == 2
    assert second.recall("port 9090")[0].entry == first.get(new.id)
    assert [hit.entry.content for hit in second.recall("port 8080")] == ["the port is 9090"]
    assert second.get_session("s1") == first.get_session("s1")
    assert second.document("lesson", "l1") == {"text": "test first"}
    assert b"to be forgotten" not in file_of(first)
    assert second.count() == first.count()


def test_filters_choose_entries_with_their_sessions(make_empty: MakeStore) -> None:
    store = make_empty()
    put(store, [session("s1"), session("s2"), observation(1), observation(2, "s2", project="q"),
                memory(1), memory(2, project="q", latest=False)])  # fmt: skip
    found = list(store.rows(Filters(project="q")))
    assert [one.id for one in found] == ["s2", "obs_2", "mem_2"]
    assert [one.id for one in store.rows(Filters(kinds=("memory",)))] == ["mem_1", "mem_2"]


def test_who_has_the_id_stays_goes_or_is_joined(make_empty: MakeStore) -> None:
    store = make_empty()
    mine = memory(1, concepts=("a",), repeats=3, updated_at=5.0)
    theirs = memory(1, "said anew", concepts=("b",), repeats=2, updated_at=9.0)
    put(store, [mine])
    assert put(store, [theirs]) == ["kept"]
    assert store.get("mem_1") == mine
    assert put(store, [theirs], "merge") == ["merged"]
    both = store.get("mem_1")
    assert (both.content, both.concepts, both.repeats) == ("said anew", ("a", "b"), 3)
    assert put(store, [theirs], "merge") == ["same"]
    assert store.recall("anew")[0].entry.id == "mem_1"
    assert put(store, [mine], "overwrite") == ["replaced"]
    assert store.get("mem_1") == mine
    assert store.recall("anew", min_score=0) == [] or not store.recall("anew")


def test_sessions_are_joined_and_counted(make_empty: MakeStore) -> None:
    store = make_empty()
    put(store, [session(), observation(1), observation(2)])
    assert store.get_session("s1").observations == 2
    later = session(title="T", started_at=0.5, updated_at=9.0, ended_at=9.0, observations=7)
    assert put(store, [later], "merge") == ["merged"]
    known = store.get_session("s1")
    assert (known.title, known.started_at, known.ended_at, known.observations) == ("T", 0.5, 9.0, 2)
    assert put(store, [observation(3, "elsewhere")]) == ["added"]
    assert store.get_session("elsewhere").observations == 1


def test_the_same_text_of_another_id_is_joined_only_by_merge(make_empty: MakeStore) -> None:
    store = make_empty()
    put(store, [memory(1, "same text", repeats=2)])
    assert put(store, [memory(2, "same text", repeats=5)], "merge") == ["merged"]
    assert put(store, [memory(2, "same text", repeats=5)], "merge") == ["same"]
    assert store.count() == 1
    assert store.get("mem_1").repeats == 5
    assert put(store, [memory(3, "same text")]) == ["added"]
    assert store.count() == 2


def test_a_newer_version_takes_the_place_of_the_one_before(make_empty: MakeStore) -> None:
    store = make_empty()
    put(store, [memory(1, "port 8080")])
    put(store, [memory(2, "port 9090", version=2, previous="mem_1")])
    assert [one.id for one in store.list()] == ["mem_2"]
    assert not store.get("mem_1").latest
    other = make_empty()
    put(other, [memory(2, "port 9090", version=2, previous="mem_1"), memory(1, "port 8080")])
    assert [one.id for one in other.list()] == ["mem_2"]


def test_what_was_forgotten_comes_back_only_by_overwriting(make_empty: MakeStore) -> None:
    store = make_empty()
    put(store, [memory(1)])
    store.forget(["mem_1"])
    assert put(store, [memory(1)]) == ["forgotten"]
    assert put(store, [memory(1)], "merge") == ["forgotten"]
    assert put(store, [memory(1)], "overwrite") == ["added"]
    assert store.get("mem_1") == memory(1)
    store.forget(["mem_1"])
    assert store.restore(["mem_1"]) == [memory(1)]


def test_a_dry_run_changes_nothing_and_tells_the_same(make_empty: MakeStore) -> None:
    store = make_empty()
    found: list[Record] = [session(), observation(1), memory(1), memory(1), memory(1, "other")]
    told = put(store, found, dry_run=True)
    assert told == ["added", "added", "added", "same", "kept"]
    assert list(store.rows()) == []
    assert put(store, found) == told


def test_a_whole_import_is_undone_and_can_be_restored(make_empty: MakeStore) -> None:
    store = make_empty()
    kept = store.remember(NewMemory("here before", "p")).memory
    many: list[Record] = [session(), *(memory(number) for number in range(2_500)), observation(1)]
    put(store, many)
    done = store.undo()
    assert (done.verb, len(done.entries)) == ("import", 2_501)
    assert store.list(limit=None) == [kept]
    assert store.get_session("s1") is None
    store.restore(["mem_7", "obs_1"])
    assert store.get_session("s1").observations == 1
    assert store.count() == 3


def test_an_import_that_replaced_entries_is_final(make_empty: MakeStore) -> None:
    store = make_empty()
    put(store, [memory(1)])
    put(store, [memory(1, "other"), memory(2)], "overwrite")
    with pytest.raises(NothingToUndoError):
        store.undo()
    assert store.count() == 2


def test_what_was_stored_stays_when_the_source_fails(make_empty: MakeStore) -> None:
    store = make_empty()
    many = [memory(number) for number in range(5_000)]

    def torn() -> Any:
        yield from many
        raise OSError("gone")

    told: list[Any] = []
    with pytest.raises(OSError, match="gone"):
        told.extend(store.put(torn()))
    stored = store.count()
    assert 0 < stored < len(many)
    again = put(store, list(many))
    assert again.count("same") == stored
    assert store.count() == len(many)


def test_documents_are_kept_replaced_or_joined(make_empty: MakeStore) -> None:
    store = make_empty()
    old, new = Document("lesson", "l", {"a": 1}, 1.0), Document("lesson", "l", {"a": 2}, 2.0)
    assert put(store, [new]) == ["added"]
    assert put(store, [old]) == ["kept"]
    assert put(store, [old], "merge") == ["same"]
    assert put(store, [old], "overwrite") == ["replaced"]
    assert put(store, [new], "merge") == ["merged"]
    assert store.document("lesson", "l") == {"a": 2}


def test_huge_and_odd_texts_are_carried_over(make_empty: MakeStore) -> None:
    first, second = make_empty(), make_empty()
    texts = ["x" * 2_000_000, "\ud800 lone", "nul \0 nul", "数据库" * 1_000, "a b " * 50_000]
    put(first, [memory(number, text) for number, text in enumerate(texts)])
    put(second, list(itertools.islice(first.rows(), 10)))
    assert [one.content for one in second.list(oldest_first=True)] == texts
    assert file_of(first) == file_of(second)
