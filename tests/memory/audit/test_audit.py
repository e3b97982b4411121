"""An audit finds what makes recall worse, and can put it right."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dshloop.memory.audit.auditing import audit, fix
from dshloop.memory.audit.findings import Audit
from dshloop.memory.audit.pairs import differing
from dshloop.memory.audit.single import without_recalled
from dshloop.memory.audit.sketches import Sketches
from dshloop.memory.entries import NewMemory, NewObservation
from dshloop.memory.sqlite.similar import NEAR, similarity, word_set
from dshloop.memory.sqlite.store import SqliteStore
from tests.memory.sqlite.test_bulk import index_agrees
from tests.memory.transfer import memory, observation, put, session

NOW = 2_000_000_000.0
KEY = "ghp_" + "a" * 36
DAY = 86_400.0


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    store = SqliteStore(tmp_path / "memory.db", clock=lambda: NOW)
    yield store
    store.close()


def look(store: SqliteStore) -> Audit:
    return audit(store, None, NOW)


def observed(store: SqliteStore) -> int:
    known = store.get_session("s1")
    return 0 if known is None else known.observations


def told(found: Audit) -> list[tuple[str, tuple[str, ...]]]:
    return [(one.code, one.ids) for one in found.findings]


def new(number: int, text: str = "", **more: Any) -> Any:
    return memory(number, text, created_at=NOW, updated_at=NOW, **more)


def seen(number: int, text: str, session: str = "s1", **more: Any) -> Any:
    return observation(number, session, content=text, created_at=NOW - 1_000 + number, **more)


def test_a_clean_store_has_no_findings(store: SqliteStore) -> None:
    assert told(look(store)) == []
    put(store, [new(1, "we deploy on fridays"), new(2, "rows are keyed by id")])
    found = look(store)
    assert told(found) == []
    assert not found.failed
    assert found.unmeasurable["NEVER_RECALLED"] == "recalls are not counted"
    assert "FEEDBACK_LOOP" in found.unmeasurable


def test_secrets_are_errors_and_are_taken_out(store: SqliteStore) -> None:
    put(store, [new(1, f"the key is {KEY}"), new(2, f"old {KEY}", latest=False),
                seen(1, f"token: {KEY}"), new(3, "no secret")])  # fmt: skip
    found = look(store)
    assert [one.code for one in found.findings] == ["SECRET"] * 3
    assert found.failed
    assert KEY not in str(found.as_json())
    assert len(fix(store, found)) == 3
    assert look(store).failed is False
    assert KEY not in str([store.get(id_) for id_ in ("mem_1", "mem_2", "obs_1")])
    assert told(look(store)) == []
    assert index_agrees(store)
    assert observed(store) == 1
    assert store.undo().verb == "audit"
    assert KEY in store.get("mem_2").content
    assert index_agrees(store)
    assert observed(store) == 1


def test_equal_texts_of_one_owner_are_folded(store: SqliteStore) -> None:
    put(store, [new(1, "We deploy on Fridays", concepts=("a",)),
                new(2, "we  deploy on fridays", concepts=("b",)),
                new(3, "we deploy on fridays", project="other"),
                new(4, "we deploy on fridays", agent="coder")])  # fmt: skip
    found = look(store)
    assert told(found) == [("DUPLICATE", ("mem_1", "mem_2"))]
    assert not found.failed
    assert found.as_json()["duplicate_rate"] == 0.25
    fix(store, found)
    kept = store.get("mem_1")
    assert kept.concepts == ("a", "b")
    assert kept.repeats == 2
    assert store.count() == 3
    store.undo()
    assert (store.count(), store.get("mem_1").concepts) == (4, ("a",))


def test_doubles_of_one_moment_are_no_history(store: SqliteStore) -> None:
    put(store, [session(), seen(1, "ls | a"), seen(2, "ls | a"),
                seen(3, "ls | a")._replace(created_at=NOW + DAY)])  # fmt: skip
    assert told(look(store)) == [("DUPLICATE", ("obs_1", "obs_2"))]


def test_nearly_equal_texts_are_told(store: SqliteStore) -> None:
    put(store, [new(1, "the deploy of the shop happens every week after the review"),
                new(2, "the deploy of the shop happens each week after the review"),
                new(3, "the deploy of the shop happens every week after the review",
                    project="other")])  # fmt: skip
    found = look(store)
    assert told(found) == [("NEAR_DUPLICATE", ("mem_1", "mem_2"))]
    assert fix(store, found) == []
    assert not found.failed


@pytest.mark.parametrize(
    ("one", "other"),
    [("the server of the shop listens on port 8080 today", "the server of the shop listens on "
      "port 9090 today"),
     ("we always deploy the shop on friday after lunch", "we never always deploy the shop on "
      "friday after lunch"),
     ("the owner of the billing service is Alice today", "the owner of the billing service is "
      "Robert today")],
)  # fmt: skip
def test_texts_that_differ_in_what_counts_contradict(
    store: SqliteStore, one: str, other: str
) -> None:
    put(store, [new(1, one), new(2, other)])
    found = look(store)
    assert told(found) == [("CONTRADICTION", ("mem_1", "mem_2"))]
    assert not found.failed


def test_what_differs_is_said() -> None:
    assert differing("port 8080", "port 9090") == "8080 / 9090"
    assert differing("2 of 3", "3 of 2") == "the same numbers, elsewhere"
    assert differing("it is on", "it isn't on") == "one of them denies it"
    assert differing("same words", "same words") is None


def test_recalled_text_that_was_stored_again_is_an_error(store: SqliteStore) -> None:
    wrapped = '<memory-context project="p">\nwe deploy on fridays\n</memory-context>'
    put(store, [session(), seen(1, f"{wrapped}\nfix the tax"), seen(2, wrapped),
                seen(3, "found: we deploy", source={"detail": "memory_recall"}),
                new(4, "talk about <memory> tags")])  # fmt: skip
    found = look(store)
    assert [code for code, _ in told(found)] == ["FEEDBACK_LOOP"] * 3
    assert found.failed
    fix(store, found)
    assert store.get("obs_1").content == "fix the tax"
    assert store.count() == 2
    assert told(look(store)) == []
    store.undo()
    assert store.count() == 4


def test_an_echo_behind_a_recall_is_found(store: SqliteStore) -> None:
    text = "rows of the billing table are keyed by tenant and month"
    put(store, [session("s1"), session("s2"), new(1, text), seen(1, f"{text} now", "s2"),
                seen(2, "hits", title="memory_recall"), seen(3, f"{text}!")])  # fmt: skip
    found = look(store)
    loops = [one for one in found.findings if one.code == "FEEDBACK_LOOP"]
    assert [one.ids[0] for one in loops] == ["obs_2", "obs_3"]
    assert "FEEDBACK_LOOP" not in found.unmeasurable


def test_what_is_old_or_expired_is_noted(store: SqliteStore) -> None:
    old = NOW - 200 * DAY
    put(store, [memory(1, created_at=old, updated_at=old, strength=1.0),
                memory(2, "other words", created_at=old, updated_at=old),
                observation(1, created_at=old, importance=2.0)])  # fmt: skip
    store.remember(NewMemory("gone soon", "p", ttl=5.0))
    later = SqliteStore(store.path, clock=lambda: NOW + 10)
    try:
        found = audit(later, None, NOW + 10)
        assert {code: count for code, count in found.counts.items() if count} == {
            "STALE": 2, "EXPIRED": 1,
        }  # fmt: skip
        assert not found.failed
    finally:
        later.close()


def test_filters_choose_what_is_looked_at(store: SqliteStore) -> None:
    from dshloop.memory.answers import Filters

    put(store, [new(1, f"the key is {KEY}"), new(2, f"a key {KEY}", project="q")])
    assert told(audit(store, Filters(project="q"), NOW)) == [("SECRET", ("mem_2",))]


def test_several_faults_of_one_entry_are_put_right_together(store: SqliteStore) -> None:
    text = f"<memory-context>x</memory-context> the key is {KEY}"
    put(store, [new(1, text, concepts=("a",)), new(2, text, concepts=("b",))])
    fix(store, look(store))
    kept = store.list()
    assert [one.id for one in kept] == ["mem_1"]
    assert KEY not in kept[0].content
    assert "memory-context" not in kept[0].content
    assert kept[0].concepts == ("a", "b")
    assert told(look(store)) == []


def test_what_was_amended_can_be_forgotten_and_restored(store: SqliteStore) -> None:
    put(store, [new(1, f"the key is {KEY}")])
    fix(store, look(store))
    store.forget(["mem_1"])
    store.restore(["mem_1"])
    assert KEY not in store.get("mem_1").content
    assert index_agrees(store)


@pytest.mark.parametrize(
    ("text", "rest"),
    [("a <memory-context x='1'>b</memory-context> c", "a  c"), ("a <memory-context>b", "a "),
     ("a </memory-context> b", "a  b"), ("<agentmemory-context>x</agentmemory-context>", ""),
     ("<memory> stays", "<memory> stays")],
)  # fmt: skip
def test_recalled_text_is_cut_out(text: str, rest: str) -> None:
    assert without_recalled(text) == rest


@given(st.lists(st.lists(st.sampled_from("abcdefghij"), min_size=1, max_size=10), max_size=12))
def test_no_pair_is_missed(texts: list[list[str]]) -> None:
    said = [" ".join(3 * word for word in words) for words in texts]
    sketches = Sketches()
    for text in said:
        sketches.add(text)
    found = {(first, second) for first, second, _ in sketches.pairs(NEAR)}
    sets = [word_set(text) for text in said]
    expected = {
        (first, second)
        for second in range(len(sets))
        for first in range(second)
        if similarity(sets[first], sets[second]) >= NEAR
    }
    assert found == expected


def test_observing_users_is_no_finding(store: SqliteStore) -> None:
    for number in range(3):
        store.observe(
            NewObservation("s", "p", "prompt_submit", "prompt", f"question {number}", str(number))
        )
    assert told(look(store)) == []


def test_a_purge_leaves_nothing_of_what_was_taken_out(store: SqliteStore) -> None:
    put(store, [new(1, f"the key is {KEY}"), seen(1, f"the token {KEY}")])
    fix(store, look(store))
    store.forget(["mem_1", "obs_1"], purge=True)
    store.close()
    files = [one for one in store.path.parent.iterdir() if one.is_file()]
    assert not [one.name for one in files if KEY.encode() in one.read_bytes()]


@pytest.mark.slow
def test_many_entries_are_looked_at_in_little_memory(store: SqliteStore) -> None:
    import tracemalloc

    count = 30_000
    words = [
        f"word{number % 5_003} and key{number % 4_999} of row{number}" for number in range(count)
    ]
    for _ in store.put(new(number, words[number]) for number in range(count)):
        pass
    tracemalloc.start()
    found = look(store)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert found.entries == count
    assert peak < 60_000_000
