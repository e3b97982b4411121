"""The daemon does what every store must, but for what is named here; the daemon is our server."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from dshloop.errors import StoreUnsupportedError
from dshloop.memory.agentmemory.store import AgentmemoryStore
from dshloop.memory.answers import Filters
from dshloop.memory.entries import Memory, NewMemory
from dshloop.memory.store import DocumentStore
from tests.memory.agentmemory.daemons import Daemons, store_at
from tests.memory.contract import *  # noqa: F403
from tests.memory.contract import (
    ClockedFactory,
    StoreFactory,
    contents,
    found,
    ids_of,
    observation,
    texts_of,
)

_OTHERWISE = """
    test_what_was_remembered_is_found_by_another_instance
    test_an_exact_repeat_is_counted_not_doubled
    test_documents_are_kept_by_kind_and_key test_any_text_comes_back_as_it_was
    test_what_supersedes_is_found_by_the_same_concepts_and_files
    test_who_remembers_again_does_not_lose_it_early
    test_order_and_versions_hold_when_the_clock_goes_back
    test_an_observation_is_kept_found_and_counted test_a_repeat_is_counted_within_five_minutes
    test_what_was_forgotten_comes_back test_a_purge_is_for_good
    test_a_session_is_forgotten_with_its_observations
    test_a_restored_observation_brings_its_session_back test_undo_of_remember_forgets_it
    test_undo_goes_back_change_by_change test_undo_of_a_repeat_takes_back_what_it_added
    test_undo_makes_the_version_before_found_again test_a_purge_can_not_be_undone
    test_observing_is_no_change_to_undo test_secrets_are_not_stored_unless_it_is_asked_for
    test_any_text_of_a_session_comes_back_as_it_was
""".split()  # noqa: SIM905
for _name in _OTHERWISE:  # what the daemon does there instead is said below
    del globals()[_name]


@pytest.fixture
def stores() -> Iterator[list[AgentmemoryStore]]:
    """Collect the stores of a test, and close them."""
    found: list[AgentmemoryStore] = []
    yield found
    for store in found:
        store.close()


@pytest.fixture
def make_store(
    daemons: Daemons, tmp_path: Path, stores: list[AgentmemoryStore]
) -> Iterator[StoreFactory]:
    with daemons.over(tmp_path) as url:

        def make() -> AgentmemoryStore:
            stores.append(store_at(url, time.time))
            return stores[-1]

        yield make


@pytest.fixture
def make_clocked(
    daemons: Daemons, tmp_path: Path, stores: list[AgentmemoryStore]
) -> Iterator[ClockedFactory]:
    clock = [2_000_000_000.0]
    with daemons.over(tmp_path, lambda: clock[0]) as url:

        def make() -> tuple[AgentmemoryStore, list[float]]:
            stores.append(store_at(url, lambda: clock[0]))
            return stores[-1], clock

        yield make


# What the daemon does otherwise


def test_sources_and_sessions_are_kept_where_the_daemon_shows_them(
    make_store: StoreFactory,
) -> None:
    new = NewMemory(
        "We deploy on Fridays",
        "web",
        type="workflow",
        title="Deploy day",
        concepts=["release", "release", " "],
        files=["deploy/run.sh"],
        agent="coder",
        session="s1",
        strength=9,
        source={"kind": "session", "session": "s1", "seq": 4},
    )
    done = make_store().remember(new)
    [hit] = make_store().recall("when do we deploy")
    assert hit.entry == done.memory == make_store().get(done.memory.id)
    memory = done.memory
    assert (memory.type, memory.title, memory.project) == ("workflow", "Deploy day", "web")
    assert (memory.concepts, memory.files) == (("release",), ("deploy/run.sh",))
    assert (memory.agent, memory.session, memory.strength) == ("coder", "s1", 9.0)
    assert hit.why.words == ("deploy",)
    assert set(hit.why.fields) == {"title", "content", "files"}
    assert memory.source["kind"] == "agentmemory"  # our server shows the source in exports only


def test_an_exact_repeat_is_a_version(make_store: StoreFactory) -> None:
    store = make_store()
    first = store.remember(NewMemory("deploy on Fridays", "p", concepts=["release"])).memory
    again = make_store().remember(NewMemory("deploy on Fridays", "p", type="workflow"))
    assert not again.merged
    assert again.superseded == first._replace(latest=False)
    assert (again.memory.version, again.memory.type) == (2, "workflow")
    assert store.stats().memories == 1
    assert ids_of(store.history(first.id)) == [first.id, again.memory.id]


def test_it_keeps_no_documents(make_store: StoreFactory) -> None:
    assert not isinstance(make_store(), DocumentStore)


@pytest.mark.parametrize(
    "text",
    [
        "a \0 nul",
        "emoji 🦀🚀 and 𠮷",
        "quotes \" ' ; DROP TABLE memories; --",
        "<b>[bold]markup[/bold]</b>",
        "line\r\nbreaks\u2028and\tmore\n",
        "e\u0301 is not \u00e9",
    ],
)
def test_any_unicode_text_comes_back_as_it_was(make_store: StoreFactory, text: str) -> None:
    new = NewMemory(text, f"project {text}", title=text, concepts=[text], agent=text)
    memory = make_store().remember(new).memory
    assert (memory.content, memory.title, memory.agent) == (text, text.strip(), text.strip())
    assert memory.concepts == (text.strip(),)
    assert make_store().get(memory.id) == memory
    assert list(make_store().list(Filters(project=memory.project))) == [memory]
    assert memory.project in make_store().stats().projects


@pytest.mark.parametrize("text", ["lone \ud800 surrogate", "\udcff bytes of a name"])
def test_lone_surrogates_are_replaced_and_nothing_is_lost(
    make_store: StoreFactory, text: str
) -> None:
    memory = make_store().remember(NewMemory(text, "p")).memory
    assert memory.content == text.encode("utf-16-le", "surrogatepass").decode(
        "utf-16-le", "replace"
    )
    store = make_store()
    assert store.observe(observation("s1", text)).observation.content == memory.content


def test_an_observation_is_kept_found_and_counted_by_its_session(make_store: StoreFactory) -> None:
    new = observation("s1", "we chose PostgreSQL for the shop", prompt="we   chose\nPostgreSQL")
    done = make_store().observe(new._replace(agent="coder", cwd="/w"))
    assert (done.duplicate, done.redacted) == (False, 0)
    seen = done.observation
    assert make_store().get(seen.id) == seen
    assert (seen.session, seen.hook, seen.content) == ("s1", "prompt_submit", new.content)
    assert (seen.agent, seen.project, seen.type) == ("coder", "p", "conversation")
    assert found(make_store(), "PostgreSQL") == [seen.id]
    session = make_store().get_session("s1")
    assert session is not None
    assert (session.project, session.cwd, session.agent) == ("p", "/w", "coder")
    assert (session.observations, session.active) == (1, True)
    stats = make_store().stats()
    assert (stats.memories, stats.observations, stats.sessions) == (0, 1, 1)


def test_a_repeat_is_known_and_another_output_is_none(make_store: StoreFactory) -> None:
    store = make_store()
    new = observation("s1", "ls | a.py", key="k")._replace(
        hook="post_tool_use", title="bash", subtitle="ls", type="command_run"
    )
    first = store.observe(new)
    again = store.observe(new)
    assert (again.duplicate, again.observation.id) == (True, first.observation.id)
    other = store.observe(new._replace(content="ls | a.py b.py"))
    assert not other.duplicate
    assert other.observation.content == "ls | a.py b.py"
    assert texts_of(store.list(Filters(session="s1"))) == ["ls | a.py b.py", "ls | a.py"]


@pytest.mark.parametrize(
    ("content", "subtitle", "files"),
    [
        ('{"file_path":"src/a.py"} | done', '{"file_path":"src/a.py"}', ("src/a.py",)),
        ('{"path":"' + "x" * 300 + '"} | done', '{"path":"xxx…', ("x" * 300,)),
        ('{"path":"a.py"}', '{"path":"a.py"}', ("a.py",)),
        ("{not json | done", "{not json", ()),
    ],
)
def test_the_files_of_an_input_are_found(
    make_store: StoreFactory, content: str, subtitle: str, files: tuple[str, ...]
) -> None:
    new = observation("s1", content)._replace(
        hook="post_tool_use", title="edit", subtitle=subtitle, files=files
    )
    seen = make_store().observe(new).observation
    assert (seen.files, seen.content) == (files, content)


def test_what_other_hooks_say_is_kept_too(make_store: StoreFactory) -> None:
    new = observation("s1", "the work is done")._replace(hook="stop", title="stop", type="other")
    seen = make_store().observe(new).observation
    assert (seen.title, seen.content) == ("stop", "the work is done")
    assert contents(make_store(), "work done") == ["the work is done"]


def test_what_is_forgotten_is_gone(make_store: StoreFactory) -> None:
    store = make_store()
    first = store.remember(NewMemory("deploy on Fridays", "p", concepts=["x"])).memory
    second = store.edit(first.id, content="deploy on Mondays").memory
    other = store.remember(NewMemory("the docs", "p")).memory
    assert ids_of(store.forget([second.id]).entries) == [second.id]
    assert ids_of(store.list(Filters(old=True))) == [other.id]
    assert store.stats().forgotten == 0
    with pytest.raises(StoreUnsupportedError):
        store.restore([second.id])


def test_a_session_goes_with_its_observations(make_store: StoreFactory) -> None:
    store = make_store()
    for number in range(3):
        store.observe(observation("s1", f"turn {number}"))
    store.observe(observation("s2", "another turn"))
    assert texts_of(store.forget_session("s1").entries) == ["turn 0", "turn 1", "turn 2"]
    assert store.get_session("s1") is None
    assert texts_of(store.list()) == ["another turn"]
    assert store.forget_session("s1").missing == ("s1",)


def test_nothing_is_undone(make_store: StoreFactory) -> None:
    store = make_store()
    store.remember(NewMemory("deploy on Fridays", "p"))
    with pytest.raises(StoreUnsupportedError, match="has no undo"):
        store.undo()
    assert store.count() == 1


def test_secrets_are_taken_out_before_anything_is_sent(make_store: StoreFactory) -> None:
    store = make_store()
    key = "sk-" + "a1B2" * 8
    text = f"the key is {key} <private>and more</private>"
    done = store.remember(NewMemory(text, "p", title=key, concepts=[key]))
    assert done.redacted == 4
    assert done.memory.content == "the key is [REDACTED_SECRET] [REDACTED]"
    assert key not in repr(store.get(done.memory.id))
    edited = store.edit(done.memory.id, content=f"now {key}")
    assert (edited.redacted, edited.memory.content) == (1, "now [REDACTED_SECRET]")
    seen = store.observe(observation("s1", f"said {key}"))
    assert (seen.redacted, seen.observation.content) == (1, "said [REDACTED_SECRET]")


def test_expired_memories_are_not_seen_though_the_daemon_gives_them(
    make_clocked: ClockedFactory,
) -> None:
    store, clock = make_clocked()
    brief = store.remember(NewMemory("deploy freeze", "p", ttl=3 * 86_400.0)).memory
    assert brief.expires_at == clock[0] + 3 * 86_400.0
    assert isinstance(store.get(brief.id), Memory)
    clock[0] += 3 * 86_400.0 + 1
    assert store.count() == 0
