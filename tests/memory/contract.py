"""What every memory store must do. A store's test module defines ``make_store`` and imports this.

``make_store`` is a fixture that gives a function; each call opens the store anew on the same data,
so that what one instance wrote another one reads. ``make_clocked`` gives a function that makes a
store and its clock: a list of one number, the seconds that it shows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pytest

from dshloop.errors import (
    AmbiguousIdError,
    MemoryEmptyError,
    MemoryNotFoundError,
    MemoryTypeError,
    NothingToUndoError,
)
from dshloop.memory.answers import Filters
from dshloop.memory.entries import TYPES, Entry, NewMemory, NewObservation, NewSession
from dshloop.memory.store import DocumentStore, MemoryStore
from tests.memory import questions

StoreFactory = Callable[[], MemoryStore]
ClockedFactory = Callable[[], tuple[MemoryStore, list[float]]]

SENTENCE = "We decided on shared tables with row level security for tenant isolation"


def found(store: MemoryStore, query: str) -> list[str]:
    """Give the ids of entries that have words of the question themselves, not by neighbours."""
    return [hit.entry.id for hit in store.recall(query) if hit.why.words]


def ids_of(entries: Iterable[Entry]) -> list[str]:
    return [entry.id for entry in entries]


def texts_of(entries: Iterable[Entry]) -> list[str]:
    return [entry.content for entry in entries]


def observation(
    session: str,
    text: str,
    *,
    key: str | None = None,
    at: float | None = None,
    prompt: str | None = None,
) -> NewObservation:
    return NewObservation(
        session,
        "p",
        "prompt_submit",
        "prompt_submit",
        text,
        text if key is None else key,
        type="conversation",
        at=at,
        prompt=prompt,
    )


def store_a_mixture(store: MemoryStore, clock: list[float]) -> None:
    """Entries named by letters in the order they are stored: memories a to d, observations e and
    f, and z, an old version of d."""
    clock[0] = 1_000.0
    z = store.remember(NewMemory("letter z", "web", session="s1")).memory
    store.remember(
        NewMemory("letter a", "api", concepts=["Release"], files=["src/auth.ts"], agent="coder")
    )
    store.remember(NewMemory("letter b", "", concepts=["Straße"]))
    clock[0] = 2_000.0
    files = ["b.md", "C:\\w\\src\\auth.ts"]
    store.remember(NewMemory("letter c", "web", type="bug", files=files, agent="coder"))
    clock[0] = 3_000.0
    store.edit(z.id, content="letter d")
    clock[0] = 4_000.0
    store.observe(observation("s1", "letter e")._replace(project="web"))
    store.observe(observation("s2", "letter f")._replace(project="web"))


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


def test_an_exact_repeat_becomes_a_version_where_that_is_asked_for(
    make_store: StoreFactory,
) -> None:
    store = make_store()
    first = store.remember(NewMemory("deploy on Fridays", "p"))
    again = store.remember(NewMemory("deploy on Fridays", "p", type="workflow"), renew=True)
    assert not again.merged
    assert again.superseded is not None
    assert again.superseded.id == again.memory.previous == first.memory.id
    assert (again.memory.version, again.memory.type) == (2, "workflow")
    assert not store.get(first.memory.id).latest  # type: ignore[union-attr]
    assert [hit.entry.id for hit in store.recall("deploy")] == [again.memory.id]
    assert [one.id for one in store.history(first.memory.id)] == [first.memory.id, again.memory.id]


def test_documents_are_kept_by_kind_and_key(make_store: StoreFactory) -> None:
    store = make_store()
    assert isinstance(store, DocumentStore)
    assert store.documents("lesson") == {}
    assert store.document("lesson", "a") is None
    assert not store.drop_document("lesson", "a")
    store.keep_document("lesson", "b", {"n": 1})
    store.keep_document("lesson", "a\ud800", ["x"])
    store.keep_document("commit", "b", "other")
    store.keep_document("lesson", "b", {"n": 2})
    other = make_store()
    assert list(other.documents("lesson").items()) == [("b", {"n": 2}), ("a\ud800", ["x"])]
    assert other.document("commit", "b") == "other"
    assert other.drop_document("lesson", "b")
    assert list(store.documents("lesson")) == ["a\ud800"]


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


# Several versions


def test_a_near_equal_text_supersedes(make_store: StoreFactory) -> None:
    store = make_store()
    first = store.remember(NewMemory(SENTENCE, "p", type="architecture")).memory
    done = make_store().remember(NewMemory(f"{SENTENCE}!", "p"))
    assert done.superseded == first._replace(latest=False)
    assert not done.merged
    assert (done.memory.version, done.memory.previous) == (2, first.id)
    assert done.memory.type == "fact"
    assert found(store, "row level security") == [done.memory.id]
    assert store.get(first.id) == first._replace(latest=False)
    assert store.stats().memories == 1
    assert store.stats().versions == 1
    assert ids_of(store.list()) == [done.memory.id]
    assert ids_of(store.list(Filters(old=True))) == [done.memory.id, first.id]


def test_what_supersedes_is_found_by_the_same_concepts_and_files(make_store: StoreFactory) -> None:
    store = make_store()
    store.remember(NewMemory(SENTENCE, "p", concepts=["tenants"], files=["src/rows.py"]))
    new = store.remember(NewMemory(f"{SENTENCE}!", "p", concepts=["rows"])).memory
    assert (new.concepts, new.files) == (("rows", "tenants"), ("src/rows.py",))
    for where in (Filters(concept="tenants"), Filters(file="rows.py")):
        assert ids_of(store.list(where)) == [new.id]
    assert found(store, "tenants") == [new.id]
    store.undo()
    assert [memory.concepts for memory in store.list()] == [("tenants",)]


def test_another_project_or_agent_is_not_superseded(make_store: StoreFactory) -> None:
    store = make_store()
    for project, agent in (("p", None), ("q", None), ("", None), ("p", "a"), ("p", "b")):
        done = store.remember(NewMemory(f"{SENTENCE} {agent}", project, agent=agent))
        assert (done.superseded, done.memory.version) == (None, 1)
    assert store.stats().memories == 5


@pytest.mark.parametrize(("one", "other"), questions.APART)
def test_facts_that_differ_in_what_matters_stay_two(
    make_store: StoreFactory, one: str, other: str
) -> None:
    store = make_store()
    store.remember(NewMemory(one, "p"))
    done = store.remember(NewMemory(other, "p"))
    assert not done.merged
    assert done.superseded is None
    assert store.stats().memories == 2


@pytest.mark.parametrize(("one", "other"), questions.SAME)
def test_the_same_fact_in_other_words_is_superseded(
    make_store: StoreFactory, one: str, other: str
) -> None:
    store = make_store()
    first = store.remember(NewMemory(one, "p")).memory
    assert store.remember(NewMemory(other, "p")).memory.previous == first.id


def test_what_is_only_alike_is_reported_and_left(make_store: StoreFactory) -> None:
    store = make_store()
    first = store.remember(NewMemory(SENTENCE, "p")).memory
    done = store.remember(NewMemory(f"{SENTENCE[:54]} billing shards and invoices", "p"))
    assert done.superseded is None
    assert done.similar is not None
    assert done.similar.memory == first
    assert 0.4 <= done.similar.similarity < 0.7
    assert store.remember(NewMemory("nothing of the sort", "p")).similar is None


def test_an_edit_makes_a_version(make_store: StoreFactory) -> None:
    store = make_store()
    new = NewMemory("deploy on Fridays", "p", type="workflow", concepts=["release"], agent="a")
    first = store.remember(new).memory
    done = make_store().edit(first.id, content="deploy on Mondays")
    assert done.superseded == first._replace(latest=False)
    second = done.memory
    assert (second.version, second.previous, second.title) == (2, first.id, "deploy on Mondays")
    assert (second.type, second.concepts, second.agent) == ("workflow", ("release",), "a")
    assert found(store, "Mondays") == [second.id]
    assert found(store, "Fridays") == []
    third = store.edit(second.id, title="Day", type="fact", concepts=[], files=["a.py"]).memory
    assert (third.content, third.title, third.type) == ("deploy on Mondays", "Day", "fact")
    assert (third.concepts, third.files) == ((), ("a.py",))
    for id_ in (first.id, second.id, third.id):
        assert [one.version for one in store.history(id_)] == [1, 2, 3]
    assert store.history(first.id)[-1] == third


def test_an_old_id_edits_the_newest_version(make_store: StoreFactory) -> None:
    store = make_store()
    first = store.remember(NewMemory("deploy on Fridays", "p")).memory
    second = store.edit(first.id, content="deploy on Mondays").memory
    third = store.edit(first.id, strength=9).memory
    assert (third.content, third.previous, third.strength) == ("deploy on Mondays", second.id, 9)


def test_an_edit_that_changes_nothing_makes_no_version(make_store: StoreFactory) -> None:
    store = make_store()
    first = store.remember(NewMemory("deploy on Fridays", "p")).memory
    done = store.edit(first.id, content="deploy on Fridays", type="fact")
    assert (done.memory, done.superseded) == (first, None)
    assert list(store.history(first.id)) == [first]


def test_edits_are_checked(make_store: StoreFactory) -> None:
    store = make_store()
    first = store.remember(NewMemory("deploy on Fridays", "p")).memory
    with pytest.raises(MemoryEmptyError):
        store.edit(first.id, content=" ")
    with pytest.raises(MemoryTypeError):
        store.edit(first.id, type="opinion")
    with pytest.raises(MemoryNotFoundError):
        store.edit("mem_none", content="x")
    seen = store.observe(observation("s1", "hello")).observation
    for refused in (lambda: store.edit(seen.id, content="x"), lambda: store.history(seen.id)):
        with pytest.raises(MemoryNotFoundError):
            refused()


# Time


def test_expired_memories_are_never_seen(make_clocked: ClockedFactory) -> None:
    store, clock = make_clocked()
    brief = store.remember(NewMemory("deploy freeze today", "p", ttl=60)).memory
    store.remember(NewMemory("deploy on Fridays", "p"))
    assert brief.expires_at == clock[0] + 60
    assert len(store.recall("deploy")) == 2
    clock[0] += 61
    assert len(store.recall("deploy")) == len(store.list()) == store.count() == 1
    assert store.stats().memories == 1
    for look in (store.get, store.history, lambda id_: store.forget([id_])):
        with pytest.raises(MemoryNotFoundError):
            look(brief.id)
    again = store.remember(NewMemory("deploy freeze today", "p"))
    assert not again.merged
    assert again.memory.expires_at is None


def test_who_remembers_again_does_not_lose_it_early(make_clocked: ClockedFactory) -> None:
    store, clock = make_clocked()
    start = clock[0]
    store.remember(NewMemory("deploy freeze", "p", ttl=60))
    assert store.remember(NewMemory("deploy freeze", "p", ttl=10)).memory.expires_at == start + 60
    assert store.remember(NewMemory("deploy freeze", "p", ttl=90)).memory.expires_at == start + 90
    assert store.remember(NewMemory("deploy freeze", "p")).memory.expires_at is None
    assert store.remember(NewMemory("deploy freeze", "p", ttl=90)).memory.expires_at is None


def test_order_and_versions_hold_when_the_clock_goes_back(make_clocked: ClockedFactory) -> None:
    store, clock = make_clocked()
    first = store.remember(NewMemory("one", "p")).memory
    clock[0] -= 1_000_000
    assert store.remember(NewMemory("one", "p")).memory.updated_at == first.updated_at
    second = store.edit(first.id, content="two").memory
    store.remember(NewMemory("three", "p"))
    assert texts_of(store.list()) == ["three", "two"]
    assert texts_of(store.list(oldest_first=True)) == ["two", "three"]
    assert [one.id for one in store.history(first.id)] == [first.id, second.id]
    assert texts_of(store.around(second.id, before=5, after=5)) == ["two", "three"]


# Observations and sessions


def test_an_observation_is_kept_found_and_counted(make_store: StoreFactory) -> None:
    new = observation("s1", "we chose PostgreSQL for the shop", prompt="we   chose\nPostgreSQL")
    new = new._replace(agent="coder", cwd="/w", source={"kind": "hook"}, files=("a.py",))
    done = make_store().observe(new)
    assert (done.duplicate, done.redacted) == (False, 0)
    seen = done.observation
    assert make_store().get(seen.id) == seen
    assert (seen.session, seen.hook, seen.content) == ("s1", "prompt_submit", new.content)
    assert (seen.agent, seen.project, seen.files) == ("coder", "p", ("a.py",))
    assert (seen.importance, seen.repeats, seen.source) == (5.0, 1, {"kind": "hook"})
    assert found(make_store(), "PostgreSQL") == [seen.id]
    session = make_store().get_session("s1")
    assert session is not None
    assert (session.project, session.cwd, session.agent) == ("p", "/w", "coder")
    assert (session.observations, session.first_prompt) == (1, "we chose PostgreSQL")
    assert session.active
    stats = make_store().stats()
    assert (stats.memories, stats.observations, stats.sessions) == (0, 1, 1)


def test_a_repeat_is_counted_within_five_minutes(make_clocked: ClockedFactory) -> None:
    store, clock = make_clocked()
    first = store.observe(observation("s1", "hello", at=1.0))
    clock[0] += 299
    again = store.observe(observation("s1", "hello", at=999_999.0))
    assert again.duplicate
    assert (again.observation.id, again.observation.repeats) == (first.observation.id, 2)
    assert not store.observe(observation("s2", "hello")).duplicate
    assert not store.observe(observation("s1", "hello", key="other")).duplicate
    assert store.get(first.observation.id).repeats == 2
    clock[0] += 300
    assert not store.observe(observation("s1", "hello")).duplicate
    session = store.get_session("s1")
    assert session is not None
    assert session.observations == 3


def test_repeats_are_known_to_the_next_instance(make_store: StoreFactory) -> None:
    make_store().observe(observation("s1", "hello"))
    assert make_store().observe(observation("s1", "hello")).duplicate


def test_without_a_key_nothing_is_a_repeat(make_store: StoreFactory) -> None:
    store = make_store()
    for _ in range(3):
        assert not store.observe(observation("s1", "hello", key="")).duplicate


def test_the_agent_is_the_sessions_unless_it_is_said(make_store: StoreFactory) -> None:
    store = make_store()
    store.start_session(NewSession("s1", "p", agent="dsh"))
    assert store.observe(observation("s1", "one")).observation.agent == "dsh"
    other = observation("s1", "two")._replace(agent="x")
    assert store.observe(other).observation.agent == "x"
    assert store.observe(observation("s2", "one")).observation.agent is None


def test_a_session_resumes(make_clocked: ClockedFactory) -> None:
    store, clock = make_clocked()
    started = store.start_session(NewSession("s1", "p", cwd="/w", agent="dsh", title="Work"))
    assert (started.started_at, started.active, started.observations) == (clock[0], True, 0)
    store.observe(observation("s1", "keep me", prompt="keep me"))
    clock[0] += 100
    ended = store.end_session("s1")
    assert ended is not None
    assert (ended.ended_at, ended.active) == (clock[0], False)
    clock[0] += 100
    again = store.start_session(NewSession("s1", "q", cwd="/elsewhere"))
    assert (again.project, again.cwd, again.agent, again.title) == ("p", "/w", "dsh", "Work")
    assert (again.observations, again.first_prompt) == (1, "keep me")
    assert again.active
    assert (again.started_at, again.updated_at) == (started.started_at, clock[0])
    assert store.get_session("s1") == again


def test_the_end_of_an_unknown_session_changes_nothing(make_store: StoreFactory) -> None:
    store = make_store()
    assert store.end_session("ghost") is None
    assert list(store.sessions()) == []
    assert store.get_session("ghost") is None


def test_sessions_are_listed_the_last_started_first(make_clocked: ClockedFactory) -> None:
    store, clock = make_clocked()
    for name, project, agent in (("a", "p", "x"), ("b", "q", "x"), ("c", "p", "y")):
        clock[0] += 1
        store.start_session(NewSession(name, project, agent=agent))

    def ids(**more: object) -> list[str]:
        return [one.id for one in store.sessions(**more)]  # type: ignore[arg-type]

    assert ids() == ["c", "b", "a"]
    assert ids(project="p") == ["c", "a"]
    assert ids(agent="x") == ["b", "a"]
    assert ids(limit=1, offset=1) == ["b"]
    second = store.sessions(agent="x")[0].started_at
    assert ids(since=second) == ["c", "b"]
    assert ids(until=second) == ["a"]
    assert ids(since=second, until=second, project="p") == []
    assert ids(oldest_first=True, limit=None) == ["a", "b", "c"]


def test_neighbours_are_those_of_the_session(make_store: StoreFactory) -> None:
    store = make_store()
    seen = []
    for number in range(6):
        seen.append(store.observe(observation("s1", f"turn {number}")).observation)
        store.observe(observation("s2", f"other {number}"))
    around = store.around(seen[3].id, before=2, after=1)
    assert texts_of(around) == ["turn 1", "turn 2", "turn 3", "turn 4"]
    assert texts_of(store.around(seen[0].id, before=9, after=0)) == ["turn 0"]


def test_neighbours_without_a_session_are_of_the_project_and_agent(
    make_store: StoreFactory,
) -> None:
    store = make_store()
    for number in range(4):
        store.remember(NewMemory(f"note {number}", "p", agent="a"))
        store.remember(NewMemory(f"else {number}", "q", agent="a"))
        store.remember(NewMemory(f"whose {number}", "p"))
    id_ = store.list(Filters(project="p", agent="a"))[1].id
    assert texts_of(store.around(id_, before=1, after=1)) == ["note 1", "note 2", "note 3"]


# Filters


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        (Filters(), "fedcba"),
        (Filters(kinds=("memory",)), "dcba"),
        (Filters(kinds=("observation",)), "fe"),
        (Filters(kinds=()), ""),
        (Filters(project="web"), "fedcb"),
        (Filters(project="api"), "ba"),
        (Filters(project=""), "b"),
        (Filters(agent="coder"), "ca"),
        (Filters(type="bug"), "c"),
        (Filters(type="conversation"), "fe"),
        (Filters(session="s1"), "ed"),
        (Filters(concept="RELEASE"), "a"),
        (Filters(concept="straße"), "b"),
        (Filters(concept="lease"), ""),
        (Filters(file="auth.ts"), "ca"),
        (Filters(file="src/auth.ts"), "ca"),
        (Filters(file="uth.ts"), ""),
        (Filters(since=2_000.0), "fedc"),
        (Filters(until=2_000.0), "ba"),
        (Filters(since=2_000.0, until=3_001.0), "dc"),
        (Filters(old=True), "fedcbaz"),
        (Filters(old=True, kinds=("memory",), project="web"), "dcbz"),
        (Filters(project="web", agent="coder", type="bug", file="auth.ts"), "c"),
    ],
)
def test_every_filter(make_clocked: ClockedFactory, filters: Filters, expected: str) -> None:
    store, clock = make_clocked()
    store_a_mixture(store, clock)
    listed = store.list(filters, limit=None)
    assert "".join(one.content[-1] for one in listed) == expected
    assert store.count(filters) == len(expected)
    backwards = store.list(filters, limit=None, oldest_first=True)
    assert list(backwards) == list(reversed(listed))
    assert list(store.list(filters, limit=2, offset=1)) == list(listed[1:3])
    recalled = store.recall("letter", filters._replace(old=False), limit=50, min_score=0.0)
    assert sorted(hit.entry.content[-1] for hit in recalled) == sorted(expected.replace("z", ""))


# Forgetting


def test_what_was_forgotten_comes_back(make_store: StoreFactory) -> None:
    store = make_store()
    first = store.remember(NewMemory("deploy on Fridays", "p", concepts=["x"])).memory
    second = store.edit(first.id, content="deploy on Mondays").memory
    store.remember(NewMemory("deploy the docs", "p"))
    before = list(store.list(Filters(old=True)))
    assert ids_of(store.forget([second.id]).entries) == [second.id]
    assert texts_of(store.list(Filters(old=True))) == ["deploy the docs"]
    assert store.stats().forgotten == 2
    assert ids_of(make_store().restore([second.id[:30]])) == [second.id]
    assert list(store.list(Filters(old=True))) == before
    assert found(store, "Mondays") == [second.id]
    assert [one.version for one in store.history(first.id)] == [1, 2]
    for ids in ([second.id], ["mem_none"], []):
        with pytest.raises(MemoryNotFoundError):
            store.restore(ids)


def test_an_old_version_can_be_forgotten_alone(make_store: StoreFactory) -> None:
    store = make_store()
    first = store.remember(NewMemory("the old wording", "p")).memory
    second = store.edit(first.id, content="the new wording").memory
    store.forget([first.id])
    assert list(store.history(second.id)) == [second]
    assert found(store, "wording") == [second.id]


def test_forgetting_by_filters(make_clocked: ClockedFactory) -> None:
    store, clock = make_clocked()
    store_a_mixture(store, clock)
    where = Filters(project="web", kinds=("memory",))
    planned = store.forget(where=where, dry_run=True)
    assert texts_of(planned.entries) == ["letter b", "letter c", "letter d"]
    assert store.count() == 6
    assert store.forget(where=where).entries == planned.entries
    assert texts_of(store.list()) == ["letter f", "letter e", "letter a"]
    assert store.forget(where=where).entries == ()
    assert store.forget().entries == ()


def test_ids_and_filters_go_together(make_store: StoreFactory) -> None:
    store = make_store()
    one, two, three = (
        store.remember(NewMemory(text, text)).memory for text in ("one", "two", "three")
    )
    done = store.forget([one.id, "mem_none", two.id], where=Filters(project="two"))
    assert ids_of(done.entries) == [one.id, two.id]
    assert done.missing == ("mem_none",)
    assert ids_of(store.list()) == [three.id]
    with pytest.raises(MemoryNotFoundError):
        store.forget(["mem_none"], where=Filters())
    assert ids_of(store.list()) == [three.id]


def test_a_purge_is_for_good(make_store: StoreFactory) -> None:
    store = make_store()
    ids = [store.remember(NewMemory(f"plan {name}", "p")).memory.id for name in "abcd"]
    store.forget(ids[:2])
    store.forget(ids[1:3], purge=True)
    assert store.stats().forgotten == 1
    for id_ in ids[1:3]:
        with pytest.raises(MemoryNotFoundError):
            store.restore([id_])
    store.restore(ids[:1])
    assert sorted(ids_of(store.list())) == sorted([ids[0], ids[3]])
    store.forget(ids[:1])
    store.forget(where=Filters(project="p"), purge=True)
    assert (store.count(), store.stats().forgotten) == (0, 0)


def test_a_session_is_forgotten_with_its_observations(make_store: StoreFactory) -> None:
    store = make_store()
    for number in range(3):
        store.observe(observation("s1", f"turn {number}", prompt="hello"))
    store.observe(observation("s2", "another turn"))
    before = store.get_session("s1")
    done = store.forget_session("s1")
    assert texts_of(done.entries) == ["turn 0", "turn 1", "turn 2"]
    assert store.get_session("s1") is None
    assert texts_of(store.list()) == ["another turn"]
    assert store.forget_session("s1").missing == ("s1",)
    assert store.forget_session("never").entries == ()
    undone = store.undo()
    assert (undone.verb, texts_of(undone.entries)) == ("forget", ["turn 0", "turn 1", "turn 2"])
    assert store.get_session("s1") == before
    assert len(store.recall("turn", min_score=0.0)) == 4


def test_a_restored_observation_brings_its_session_back(make_store: StoreFactory) -> None:
    store = make_store()
    one = store.observe(observation("s1", "one")).observation
    store.observe(observation("s1", "two"))
    store.forget_session("s1")
    assert list(store.restore([one.id])) == [one]
    session = store.get_session("s1")
    assert session is not None
    assert session.observations == 1
    store.forget([one.id])
    session = store.get_session("s1")
    assert session is not None
    assert session.observations == 0


# Undo


def test_undo_of_remember_forgets_it(make_store: StoreFactory) -> None:
    store = make_store()
    first = store.remember(NewMemory("deploy on Fridays", "p")).memory
    undone = make_store().undo()
    assert (undone.verb, undone.entries) == ("remember", (first,))
    assert store.count() == 0
    assert found(store, "deploy") == []
    with pytest.raises(NothingToUndoError):
        store.undo()
    store.restore([first.id])
    assert found(store, "deploy") == [first.id]


def test_undo_goes_back_change_by_change(make_store: StoreFactory) -> None:
    store = make_store()
    first = store.remember(NewMemory(SENTENCE, "p", concepts=["one"])).memory
    store.remember(NewMemory(SENTENCE, "p", concepts=["two"], type="bug"))
    store.remember(NewMemory(f"{SENTENCE}!", "p"))
    third = store.edit(first.id, content="something else").memory
    store.forget([third.id])
    store.restore([third.id])
    states = []
    for _ in range(6):
        states.append([(one.content, one.latest) for one in store.list(Filters(old=True))])
        store.undo()
    assert (
        states[0]
        == states[2]
        == [
            ("something else", True),
            (f"{SENTENCE}!", False),
            (SENTENCE, False),
        ]
    )
    assert states[1] == []
    assert states[3] == [(f"{SENTENCE}!", True), (SENTENCE, False)]
    assert states[4] == states[5] == [(SENTENCE, True)]
    assert store.count() == 0
    with pytest.raises(NothingToUndoError):
        store.undo()


def test_undo_of_a_repeat_takes_back_what_it_added(make_store: StoreFactory) -> None:
    store = make_store()
    first = store.remember(NewMemory("deploy on Fridays", "p", concepts=["one"])).memory
    store.remember(NewMemory("deploy on Fridays", "p", concepts=["two"], type="bug", title="T"))
    store.undo()
    assert store.get(first.id) == first
    assert found(store, "two") == []


def test_undo_makes_the_version_before_found_again(make_store: StoreFactory) -> None:
    store = make_store()
    first = store.remember(NewMemory("deploy on Fridays", "p")).memory
    second = store.edit(first.id, content="deploy on Mondays").memory
    assert store.undo().entries == (second,)
    assert store.get(first.id) == first
    assert found(store, "Fridays") == [first.id]
    assert found(store, "Mondays") == []
    store.restore([second.id])
    assert found(store, "deploy") == [second.id]
    assert list(store.history(first.id)) == [first._replace(latest=False), second]


def test_a_purge_can_not_be_undone(make_store: StoreFactory) -> None:
    store = make_store()
    ids = [store.remember(NewMemory(text, "p")).memory.id for text in ("one", "two")]
    store.forget(ids[:1], purge=True)
    with pytest.raises(NothingToUndoError, match="purge"):
        store.undo()
    assert ids_of(store.list()) == ids[1:]
    store.remember(NewMemory("three", "p"))
    store.undo()
    assert ids_of(store.list()) == ids[1:]


def test_observing_is_no_change_to_undo(make_store: StoreFactory) -> None:
    store = make_store()
    store.observe(observation("s1", "hello"))
    with pytest.raises(NothingToUndoError):
        store.undo()


# Secrets


def test_secrets_are_not_stored_unless_it_is_asked_for(make_store: StoreFactory) -> None:
    store = make_store()
    key = "sk-" + "a1B2" * 8
    text = f"the key is {key} <private>and more</private>"
    done = store.remember(
        NewMemory(text, "p", title=key, concepts=[key], source={"token": "x" * 30})
    )
    assert done.redacted == 5
    assert done.memory.content == "the key is [REDACTED_SECRET] [REDACTED]"
    assert key not in repr(store.get(done.memory.id))
    assert store.remember(NewMemory(f"the key is {key} [REDACTED]", "p")).merged
    edited = store.edit(done.memory.id, content=f"now {key}")
    assert (edited.redacted, edited.memory.content) == (1, "now [REDACTED_SECRET]")
    seen = store.observe(observation("s1", f"said {key}", prompt=f"said {key}"))
    assert seen.redacted == 1
    assert seen.observation.content == "said [REDACTED_SECRET]"
    session = store.get_session("s1")
    assert session is not None
    assert session.first_prompt == "said [REDACTED_SECRET]"
    assert store.start_session(NewSession("s3", "p", title=f"with {key}")).title == (
        "with [REDACTED_SECRET]"
    )
    kept = store.remember(NewMemory(text, "p"), allow_secrets=True)
    assert (kept.redacted, kept.memory.content) == (0, text)
    kept = store.edit(kept.memory.id, content=f"{key} again", allow_secrets=True)
    assert kept.memory.content == f"{key} again"
    seen = store.observe(observation("s1", key), allow_secrets=True)
    assert (seen.redacted, seen.observation.content) == (0, key)


@pytest.mark.parametrize("text", ["a \0 nul", "lone \ud800 surrogate", "😀 𠮷", "line\r\nbreak"])
def test_any_text_of_a_session_comes_back_as_it_was(make_store: StoreFactory, text: str) -> None:
    new = NewObservation(
        text, text, text, text, text, text, text, text, [text], [text], text, text, {"a": text}
    )
    seen = make_store().observe(new._replace(prompt=text)).observation
    assert make_store().get(seen.id) == seen
    assert (seen.content, seen.session, seen.hook, seen.subtitle) == (text, text, text, text)
    assert make_store().observe(new).duplicate
    session = make_store().get_session(text)
    assert session is not None
    assert (session.id, session.cwd, session.agent) == (text, text, text)
    assert list(make_store().list(Filters(session=text, agent=text, file=text))) == [
        seen._replace(repeats=2)
    ]
    ended = make_store().end_session(text)
    assert ended is not None
    memory = make_store().remember(NewMemory("x", "p", session=text)).memory
    assert make_store().get(memory.id) == memory
