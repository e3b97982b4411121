"""What every memory store must do. A store's test module defines ``make_store`` and imports this.

``make_store`` is a fixture that gives a function; each call opens the store anew on the same data,
so that what one instance wrote another one reads.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from dshloop.errors import (
    AmbiguousIdError,
    MemoryEmptyError,
    MemoryNotFoundError,
    MemoryTypeError,
)
from dshloop.memory.entries import TYPES, NewMemory
from dshloop.memory.store import Filters, MemoryStore
from tests.memory import questions

StoreFactory = Callable[[], MemoryStore]


def contents(store: MemoryStore, query: str, **more: object) -> list[str]:
    return [hit.entry.content for hit in store.recall(query, **more)]  # type: ignore[arg-type]


def test_what_was_remembered_is_found_by_another_instance(make_store: StoreFactory) -> None:
    done = make_store().remember(
        NewMemory(
            "We deploy on Fridays",
            "web",
            type="workflow",
            title="Deploy day",
            concepts=["release", "release", " "],
            files=["deploy/run.sh"],
            agent="coder",
            source={"kind": "session", "session": "s1", "seq": 4},
        )
    )
    assert not done.merged
    [hit] = make_store().recall("when do we deploy")
    assert hit.entry == done.memory == make_store().get(done.memory.id)
    memory = hit.entry
    assert (memory.type, memory.title, memory.project) == ("workflow", "Deploy day", "web")
    assert (memory.concepts, memory.files) == (("release",), ("deploy/run.sh",))
    assert (memory.agent, memory.version, memory.repeats) == ("coder", 1, 1)
    assert memory.source == {"kind": "session", "session": "s1", "seq": 4}
    assert 0 < hit.score <= 1
    assert hit.why.words == ("deploy",)
    assert set(hit.why.fields) == {"title", "content", "files"}


def test_an_empty_store_has_nothing(make_store: StoreFactory) -> None:
    store = make_store()
    assert list(store.recall("anything")) == []
    assert list(store.list()) == []
    assert store.stats().memories == 0
    with pytest.raises(MemoryNotFoundError):
        store.get("mem_0")
    with pytest.raises(MemoryNotFoundError):
        store.forget(["mem_0"])


def test_the_title_is_the_beginning_of_the_content(make_store: StoreFactory) -> None:
    title = make_store().remember(NewMemory("first line\n" + "😀" * 100, "p")).memory.title
    assert title.startswith("first line 😀")
    assert len(title.encode("utf-16-le")) <= 160


@pytest.mark.parametrize("type_", TYPES)
def test_every_type_is_kept_and_filtered(make_store: StoreFactory, type_: str) -> None:
    store = make_store()
    for each in TYPES:
        store.remember(NewMemory(f"about the cache as {each}", "p", type=each))
    found = store.recall("cache", Filters(type=type_))
    assert [hit.entry.type for hit in found] == [type_]
    assert [memory.type for memory in store.list(Filters(type=type_))] == [type_]


def test_a_memory_without_a_type_is_a_fact(make_store: StoreFactory) -> None:
    assert make_store().remember(NewMemory("x", "p")).memory.type == "fact"


def test_unknown_types_and_blank_texts_are_refused(make_store: StoreFactory) -> None:
    store = make_store()
    with pytest.raises(MemoryTypeError):
        store.remember(NewMemory("x", "p", type="opinion"))
    with pytest.raises(MemoryEmptyError):
        store.remember(NewMemory(" \n", "p"))
    with pytest.raises(MemoryEmptyError):
        store.recall("  ")
    assert store.stats().memories == 0


def test_projects_and_agents_are_kept_apart_only_by_filters(make_store: StoreFactory) -> None:
    store = make_store()
    for project in ("web", "api"):
        for agent in (None, "coder"):
            store.remember(NewMemory("deploy on Fridays", project, agent=agent))
    assert len(store.recall("deploy")) == 4
    assert len(store.recall("deploy", Filters(project="web"))) == 2
    assert len(store.recall("deploy", Filters(project="web", agent="coder"))) == 1
    assert len(store.list(Filters(project="api"))) == 2
    assert list(store.recall("deploy", Filters(project="we"))) == []


def test_an_exact_repeat_is_counted_not_doubled(make_store: StoreFactory) -> None:
    store = make_store()
    first = store.remember(NewMemory("deploy on Fridays", "p", concepts=["release"]))
    again = make_store().remember(
        NewMemory("deploy on Fridays", "p", concepts=["rhythm"], type="workflow")
    )
    assert again.merged
    assert again.memory.id == first.memory.id
    assert again.memory.repeats == 2
    assert again.memory.type == "workflow"
    assert again.memory.concepts == ("release", "rhythm")
    assert again.memory.created_at == first.memory.created_at
    assert len(store.recall("deploy")) == len(store.recall("rhythm")) == 1
    assert store.stats().memories == 1


def test_facts_that_differ_in_a_number_stay_two(make_store: StoreFactory) -> None:
    store = make_store()
    for port in (8080, 9090):
        assert not store.remember(NewMemory(f"the service listens on port {port}", "p")).merged
    assert contents(store, "which service has port 9090")[0].endswith("9090")


def test_lists_are_newest_first_and_paged(make_store: StoreFactory) -> None:
    store = make_store()
    for number in range(5):
        store.remember(NewMemory(f"number {number}", "p"))
    newest = [memory.content for memory in store.list(limit=None)]
    assert newest == [f"number {number}" for number in (4, 3, 2, 1, 0)]
    assert [memory.content for memory in store.list(limit=2, offset=1)] == newest[1:3]


def test_recall_obeys_its_limit_and_the_least_score(make_store: StoreFactory) -> None:
    store = make_store()
    for number in range(30):
        store.remember(NewMemory(f"deploy note {number}", "p"))
    assert len(store.recall("deploy", limit=7)) == 7
    assert len(store.recall("deploy", limit=1000)) == 30
    assert list(store.recall("deploy", min_score=1.0)) == []


def test_better_answers_come_first(make_store: StoreFactory) -> None:
    store = make_store()
    best = "the deploy of the web shop runs on Fridays"
    for text in ("the web shop sells hats", best, "Fridays are for demos"):
        store.remember(NewMemory(text, "p"))
    hits = store.recall("on which day does the web shop deploy")
    assert hits[0].entry.content == best
    scores = [hit.score for hit in hits]
    assert scores == sorted(scores, reverse=True)
    assert [hit.entry.id for hit in hits] == [
        hit.entry.id for hit in make_store().recall("on which day does the web shop deploy")
    ]


@pytest.mark.parametrize("query", questions.NONSENSE)
def test_nonsense_finds_nothing(make_store: StoreFactory, query: str) -> None:
    store = make_store()
    for text in questions.FACTS:
        store.remember(NewMemory(text, "p"))
    assert contents(store, query) == []


@pytest.mark.parametrize(
    "texts", [questions.CJK, questions.IDENTIFIERS], ids=["cjk", "identifiers"]
)
def test_the_right_memory_comes_first(make_store: StoreFactory, texts: questions.Cases) -> None:
    store = make_store()
    for text in dict.fromkeys([*questions.FACTS, *(answer for _, answer in texts)]):
        store.remember(NewMemory(text, "p"))
    wrong = [
        (query, contents(store, query)[:2])
        for query, answer in texts
        if contents(store, query)[:1] != [answer]
    ]
    assert wrong == []


def test_forgetting_verifies_and_reports(make_store: StoreFactory) -> None:
    store = make_store()
    ids = [store.remember(NewMemory(f"secret plan {n}", "p")).memory.id for n in range(3)]
    planned = store.forget(ids[:1], dry_run=True)
    assert [memory.id for memory in planned.entries] == ids[:1]
    assert len(store.recall("secret plan")) == 3
    done = store.forget([ids[0], ids[0], "mem_none", ids[1]])
    assert [memory.id for memory in done.entries] == ids[:2]
    assert done.missing == ("mem_none",)
    assert [hit.entry.id for hit in make_store().recall("secret plan")] == ids[2:]
    with pytest.raises(MemoryNotFoundError):
        store.forget(ids[:2])
    assert not store.remember(NewMemory("secret plan 0", "p")).merged


def test_ids_may_be_shortened_while_they_are_unambiguous(make_store: StoreFactory) -> None:
    store = make_store()
    one, two = (store.remember(NewMemory(text, "p")).memory for text in ("one", "two"))
    shared = next(at for at in range(40) if one.id[at] != two.id[at])
    assert store.get(two.id[: shared + 1]) == two
    assert store.get(two.id.removeprefix("mem_")) == two
    with pytest.raises(AmbiguousIdError) as raised:
        store.get(one.id[:shared])
    assert raised.value.details["candidates"] == sorted([one.id, two.id])
    with pytest.raises(AmbiguousIdError):
        store.forget([one.id, one.id[:shared]])
    assert store.stats().memories == 2


def test_ids_sort_by_time(make_store: StoreFactory) -> None:
    store = make_store()
    ids = [store.remember(NewMemory(f"note {number}", "p")).memory.id for number in range(20)]
    assert [id_[:16] for id_ in ids] == sorted(id_[:16] for id_ in ids)


@pytest.mark.parametrize(
    "text",
    [
        "a \0 nul",
        "lone \ud800 surrogate",
        "\udcff bytes of a name",
        "emoji 🦀🚀 and 𠮷",
        "quotes \" ' ; DROP TABLE memories; --",
        "<b>[bold]markup[/bold]</b>",
        "line\r\nbreaks\u2028and\tmore\n",
        "e\u0301 is not \u00e9",
    ],
)
def test_any_text_comes_back_as_it_was(make_store: StoreFactory, text: str) -> None:
    new = NewMemory(text, f"project {text}", title=text, concepts=[text], agent=text)
    memory = make_store().remember(new).memory
    assert memory.content == text
    assert memory.title == text.strip()
    assert make_store().get(memory.id) == memory
    assert list(make_store().list(Filters(project=memory.project))) == [memory]
    assert make_store().remember(new).merged
    assert memory.project in make_store().stats().projects


@pytest.mark.parametrize(
    "query",
    ['"', "a AND b", "NEAR(a b)", "col:x", "*", "(", "a* OR", "-", "^x", "\0", "\ud800", "{a b}"],
)
def test_any_question_is_only_words(make_store: StoreFactory, query: str) -> None:
    store = make_store()
    store.remember(NewMemory("the column is blue", "p"))
    assert contents(store, query) == []
    assert contents(store, f"column {query}", min_score=0.0) == ["the column is blue"]


def test_long_questions_and_long_texts_work(make_store: StoreFactory) -> None:
    store = make_store()
    text = "needle " + " ".join(f"straw{number}" for number in range(50_000))
    store.remember(NewMemory(text, "p"))
    assert contents(store, "needle") == [text]
    assert contents(store, text, min_score=0.0) == [text]


def test_stats_count_by_project_and_type(make_store: StoreFactory) -> None:
    store = make_store()
    for project, type_ in (("web", "bug"), ("web", None), ("api", None)):
        store.remember(NewMemory(f"{project} {type_}", project, type=type_))
    stats = make_store().stats()
    assert stats.memories == 3
    assert stats.projects == {"web": 2, "api": 1}
    assert stats.types == {"fact": 2, "bug": 1}


def test_a_store_may_be_closed_twice(make_store: StoreFactory) -> None:
    store = make_store()
    store.remember(NewMemory("x", "p"))
    store.close()
    store.close()
