"""The store over the real daemon: what every store must do, as far as the daemon can, and what is
made good of its known faults (agentmemory 13)."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from dshloop.errors import AgentmemoryRestartingError, AgentmemoryTooLargeError, PeerDeniedError
from dshloop.http import connect
from dshloop.memory.agentmemory.store import AgentmemoryStore
from dshloop.memory.agentmemory_client import calls
from dshloop.memory.answers import MERGE, OVERWRITE, SKIP, Filters
from dshloop.memory.entries import Memory, NewMemory, NewSession, Observation
from dshloop.memory.interchange.carrying import migrate
from dshloop.memory.interchange.report import Report
from dshloop.memory.sqlite.store import SqliteStore
from tests.cli.memory.steps import memory
from tests.conformance.test_agentmemory import SECRET
from tests.memory.agentmemory.daemons import store_at
from tests.memory.contract import (  # noqa: F401 - each is a test here
    StoreFactory,
    found,
    ids_of,
    observation,
    test_a_memory_without_a_type_is_a_fact,
    test_a_near_equal_text_supersedes,
    test_a_store_may_be_closed_twice,
    test_an_edit_makes_a_version,
    test_an_edit_that_changes_nothing_makes_no_version,
    test_an_empty_store_has_nothing,
    test_an_exact_repeat_becomes_a_version_where_that_is_asked_for,
    test_an_old_id_edits_the_newest_version,
    test_an_old_version_can_be_forgotten_alone,
    test_any_question_is_only_words,
    test_better_answers_come_first,
    test_edits_are_checked,
    test_every_type_is_kept_and_filtered,
    test_ids_and_filters_go_together,
    test_ids_may_be_shortened_while_they_are_unambiguous,
    test_ids_sort_by_time,
    test_long_questions_and_long_texts_work,
    test_neighbours_are_those_of_the_session,
    test_nonsense_finds_nothing,
    test_repeats_are_known_to_the_next_instance,
    test_stats_count_by_project_and_type,
    test_the_end_of_an_unknown_session_changes_nothing,
    test_the_title_is_the_beginning_of_the_content,
    test_unknown_types_and_blank_texts_are_refused,
    test_what_is_only_alike_is_reported_and_left,
    test_what_was_remembered_is_found_by_another_instance,
    test_without_a_key_nothing_is_a_repeat,
    texts_of,
)
from tests.peers.agentmemory import Worker

pytestmark = [pytest.mark.peer, pytest.mark.slow]

Workers = Callable[[str], Worker]


@pytest.fixture
def stores() -> Iterator[list[AgentmemoryStore]]:
    """Collect the stores of a test, and close them."""
    opened: list[AgentmemoryStore] = []
    yield opened
    for store in opened:
        store.close()


@pytest.fixture
def make_store(agentmemory: Workers, stores: list[AgentmemoryStore]) -> StoreFactory:
    url = agentmemory("open").url

    def make() -> AgentmemoryStore:
        stores.append(store_at(url, time.time))
        return stores[-1]

    empty(make())
    return make


@pytest.fixture
def store(make_store: StoreFactory) -> AgentmemoryStore:
    made = make_store()
    assert isinstance(made, AgentmemoryStore)
    return made


def empty(store: AgentmemoryStore) -> None:
    """Take all away that another test has left."""
    for session in store.sessions(limit=None):
        store.forget_session(session.id)
    for one in list(store.daemon.memories()):
        store.daemon.ask(calls.forget(memory=one.id))
    assert store.count(Filters(old=True)) == 0


def count_for_ever(store: AgentmemoryStore) -> None:
    while True:
        store.count()


def tool(session: str, output: str, at: float | None = None) -> object:
    return observation(session, f"ls | {output}", at=at)._replace(
        hook="post_tool_use", title="bash", subtitle="ls", type="command_run"
    )


def test_the_secret_is_wanted_and_named(
    agentmemory: Workers, stores: list[AgentmemoryStore]
) -> None:
    url = agentmemory("secret").url
    stores += [store_at(url, time.time, secret=secret) for secret in ("", "wrong", SECRET)]
    with pytest.raises(PeerDeniedError, match="wants a secret"):
        stores[0].count()
    with pytest.raises(PeerDeniedError, match="refused our secret"):
        stores[1].count()
    assert stores[2].remember(NewMemory("deploy on Fridays", "p")).memory.project == "p"


def test_its_status_is_told(agentmemory: Workers) -> None:
    open_, secret = agentmemory("open").url, agentmemory("secret").url
    told = memory("status", "--store", f"agentmemory:{open_}", "--check", "--json")
    assert (told.code, told.json["version"], told.json["auth"]) == (0, "0.9.29", "none needed")
    assert [check["passed"] for check in told.json["checks"]] == [True] * 7
    for variables, code, said in (
        ({}, 5, "refused"),
        ({"AGENTMEMORY_SECRET": "wrong"}, 5, "refused"),
        ({"AGENTMEMORY_SECRET": SECRET}, 0, "accepted"),
    ):
        told = memory("status", "--store", f"agentmemory:{secret}", "--json", variables=variables)
        assert (told.code, told.json["auth"]) == (code, said)
        assert SECRET not in told.out + told.err


def test_an_isolated_daemon_shows_another_agent_when_it_is_named(
    agentmemory: Workers, stores: list[AgentmemoryStore]
) -> None:
    store = store_at(agentmemory("isolated").url, time.time)
    stores.append(store)
    for agent in ("agentA", "agentB"):
        store.start_session(NewSession(f"s-{agent}", "p", "/w", agent=agent))
        store.observe(observation(f"s-{agent}", f"the hat of {agent}")._replace(agent=agent))
        store.remember(NewMemory(f"{agent} likes hats", "p", agent=agent))
    for agent, where in (("agentA", Filters()), ("agentB", Filters(agent="agentB"))):
        expected = {f"the hat of {agent}", f"{agent} likes hats"}
        assert set(texts_of(store.list(where))) == expected
        assert {hit.entry.content for hit in store.recall("hat", where)} == expected
    assert [one.id for one in store.sessions(agent="agentB")] == ["s-agentB"]


def test_what_was_remembered_keeps_its_source_title_and_session(store: AgentmemoryStore) -> None:
    source = {"kind": "session", "session": "s9", "seq": 4}
    new = NewMemory("deploy on Fridays", "p", title="Day", session="s9", strength=9, source=source)
    memory = store.remember(new).memory
    assert (memory.title, memory.session, memory.strength) == ("Day", "s9", 9.0)
    assert memory.source == source
    [hit] = store.recall("deploy")
    assert hit.entry == memory


def test_an_edited_memory_is_found_by_its_new_text_alone(store: AgentmemoryStore) -> None:
    first = store.remember(NewMemory("deploy on Fridays", "p")).memory
    second = store.edit(first.id, content="release on Mondays", type="workflow").memory
    assert (second.type, second.previous) == ("workflow", first.id)
    assert found(store, "Mondays") == [second.id]
    assert found(store, "Fridays") == []
    assert store.get(first.id) == first._replace(latest=False)


def test_filters_hold_that_the_daemon_does_not_look_at(store: AgentmemoryStore) -> None:
    for project in ("web", "api", ""):
        store.remember(NewMemory(f"the {project} hats of project {project * 3}", project))
    store.observe(observation("s1", "hats in the shop")._replace(project="web"))
    store.observe(observation("s2", "hats in the cellar")._replace(project="api"))
    entries = store.list(Filters(project="web"))
    assert {entry.project for entry in entries} == {"web", ""}
    assert {hit.entry.project for hit in store.recall("hats", Filters(project="web"))} <= {
        "web",
        "",
    }
    assert texts_of(store.list(Filters(project="api", kinds=("observation",)))) == [
        "hats in the cellar"
    ]
    assert ids_of(store.sessions(project="web")) == ["s1"]  # type: ignore[arg-type]


def test_another_output_of_the_same_call_is_kept(store: AgentmemoryStore) -> None:
    outputs = ["a.py", "a.py", "a.py b.py"]
    done = [store.observe(tool("s1", output)) for output in outputs]  # type: ignore[arg-type]
    assert [one.duplicate for one in done] == [False, True, False]
    assert texts_of(store.list(Filters(session="s1"))) == ["ls | a.py b.py", "ls | a.py"]


def test_what_other_hooks_say_is_found(store: AgentmemoryStore) -> None:
    new = observation("s1", "the zebra is done")._replace(hook="stop", title="stop", type="other")
    seen = store.observe(new).observation
    assert (seen.title, seen.content) == ("stop", "the zebra is done")
    assert found(store, "zebra") == [seen.id]


def test_files_of_a_json_input_are_found(store: AgentmemoryStore) -> None:
    new = observation("s1", '{"path":"src/a.py"} | done')._replace(
        hook="post_tool_use", title="edit", subtitle='{"path":"src/a.py"}', files=("src/a.py",)
    )
    seen = store.observe(new).observation
    assert (seen.files, seen.content) == (("src/a.py",), new.content)
    assert ids_of(store.list(Filters(file="a.py"))) == [seen.id]


def test_a_session_that_is_known_goes_on(store: AgentmemoryStore) -> None:
    begun = store.start_session(NewSession("s1", "p", "/w", agent="dsh", title="Work"))
    store.observe(observation("s1", "keep me"))
    ended = store.end_session("s1")
    assert ended is not None
    assert not ended.active
    again = store.start_session(NewSession("s1", "q", "/elsewhere"))
    assert (again.project, again.cwd, again.agent, again.title) == ("p", "/w", "dsh", "Work")
    assert (again.started_at, again.observations, again.active) == (begun.started_at, 1, True)
    assert store.get_session("s1") == again


def test_memories_beyond_a_page_of_the_daemon_are_read_in_smaller_ones(
    store: AgentmemoryStore,
) -> None:
    words = ["alpha", "bravo", "charlie", "delta", "echo", "foxtrot", "golf", "hotel", "india"]
    texts = [f"{word} {word * 400_000}" for word in words]
    for text in texts:
        store.remember(NewMemory(text, "p"))
    assert sum(map(len, texts)) > 16 * 1024 * 1024
    assert texts_of(store.list(oldest_first=True, limit=None)) == texts
    assert texts_of(store.list(Filters(kinds=("memory",)), limit=2)) == texts[:-3:-1]
    assert texts_of(store.list(Filters(kinds=("memory",)), limit=None)) == texts[::-1]


def test_what_would_take_it_down_is_not_sent(store: AgentmemoryStore) -> None:
    with pytest.raises(AgentmemoryTooLargeError):
        store.remember(NewMemory("x" * 17_000_000, "p"))
    assert store.remember(NewMemory("still there", "p")).memory.version == 1


def test_a_restart_is_waited_out_and_what_was_cut_off_is_told(store: AgentmemoryStore) -> None:
    """Another client takes the daemon down while this one asks."""

    def take_down() -> None:
        with connect(store.daemon.client.peer, {}) as client:
            body = {"content": "x" * 17_000_000}
            client.request("POST", "/agentmemory/remember", json=body, accept=(500,))

    store.remember(NewMemory("deploy on Fridays", "p"))
    other = threading.Thread(target=take_down)
    other.start()
    other.join()
    assert store.count() == 1  # the daemon answers 404 to everything for a second
    impatient = store_at(store.daemon.where, time.time)
    impatient.daemon.client._patience = 0.0
    other = threading.Thread(target=take_down)
    other.start()
    with pytest.raises(AgentmemoryRestartingError, match="restarting"):
        count_for_ever(impatient)
    other.join()
    impatient.close()
    assert store.count() == 1


def test_a_store_is_carried_there_and_back_whole(store: AgentmemoryStore, tmp_path: Path) -> None:
    with_all = SqliteStore(tmp_path / "one.db")
    first = with_all.remember(NewMemory("deploy on Fridays", "p", concepts=["x"], title="T")).memory
    with_all.edit(first.id, content="deploy on Mondays")
    with_all.remember(NewMemory("the docs are in the wiki", "q", agent="a", ttl=1e7))
    for number in range(3):
        with_all.observe(observation("s1", f"turn {number} " + "long " * 100, prompt="hello"))
    with_all.end_session("s1")
    before = list(with_all.rows())
    report = migrate(with_all, store, Report(), None, on_conflict=SKIP)
    assert report.total("added") == len(before) == 7
    assert not report.lost
    again = migrate(with_all, store, Report(), None, on_conflict=SKIP)
    assert again.total("same") == 7
    assert found(store, "Mondays") == [store.history(first.id)[-1].id]
    back = SqliteStore(tmp_path / "two.db")
    migrate(store, back, Report(), None, on_conflict=SKIP)
    for one in before:
        if isinstance(one, (Memory, Observation)):
            assert back.get(one.id)._replace(source={}) == one._replace(source={})
    assert back.get_session("s1") == with_all.get_session("s1")


@pytest.mark.parametrize(
    ("how", "outcome", "text", "concepts"),
    [
        (SKIP, "kept", "theirs", ("old",)),
        (OVERWRITE, "replaced", "ours", ("new",)),
        (MERGE, "merged", "ours", ("old", "new")),
    ],
)
def test_records_with_a_taken_id(
    store: AgentmemoryStore, how: str, outcome: str, text: str, concepts: tuple[str, ...]
) -> None:
    known = store.remember(NewMemory("theirs", "p", concepts=["old"])).memory
    ours = known._replace(content="ours", concepts=("new",), updated_at=known.updated_at + 60)
    [planned] = store.put([ours], on_conflict=how, dry_run=True)
    assert (planned.outcome, store.get(known.id)) == (outcome, known)
    [done] = store.put([ours], on_conflict=how)
    stored = store.get(known.id)
    assert isinstance(stored, Memory)
    assert (done.outcome, stored.content, stored.concepts) == (outcome, text, concepts)
