"""A role sees and changes only what it was given, whatever it asks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest

from dshloop.errors import MemoryNotFoundError, NothingToUndoError, StoreForbiddenError
from dshloop.memory.answers import Filters
from dshloop.memory.entries import NewMemory, NewObservation, NewSession
from dshloop.memory.postgres.store import PostgresStore
from tests.memory.postgres.conftest import Opener

As = Callable[[str], PostgresStore]


@pytest.fixture
def server(dsn: str) -> Iterator[Any]:
    with psycopg.connect(dsn, autocommit=True) as connection:
        yield connection


@pytest.fixture
def owner(dsn: str, schema: str, opener: Opener) -> PostgresStore:
    store = opener(dsn, schema)
    store.remember(NewMemory("the shop deploys on Fridays", "shop", agent="coder"))
    store.remember(NewMemory("the shop deploys with care", "shop", agent="tester"))
    store.remember(NewMemory("the bank deploys on Mondays", "bank"))
    store.remember(NewMemory("everybody deploys by tags", ""))
    store.observe(NewObservation("s-bank", "bank", "stop", "stop", "the bank deploys", "k"))
    store.keep_document("lesson", "l", {"text": "of the bank"})
    return store


@pytest.fixture
def as_role(
    dsn: str, schema: str, owner: PostgresStore, server: Any, opener: Opener
) -> Iterator[As]:
    roles: list[str] = []

    def opened(name: str) -> PostgresStore:
        role = f"{schema}_{name}"
        if role not in roles:
            roles.append(role)
            server.execute(f"CREATE ROLE \"{role}\" LOGIN PASSWORD 'secret'")
        return opener(psycopg.conninfo.make_conninfo(dsn, user=role, password="secret"), schema)

    yield opened
    for role in roles:
        server.execute(f'DROP OWNED BY "{role}"')
        server.execute(f'DROP ROLE "{role}"')


def allow(server: Any, schema: str, name: str, project: str, agent: str = "*") -> None:
    server.execute(f'SELECT "{schema}".allow(%s, %s, %s)', (f"{schema}_{name}", project, agent))


def seen(store: PostgresStore) -> list[str]:
    return [entry.content for entry in store.list(limit=None)]


def test_a_role_without_access_is_refused(as_role: As) -> None:
    stranger = as_role("stranger")
    with pytest.raises(StoreForbiddenError):
        stranger.recall("deploys")
    with pytest.raises(StoreForbiddenError):
        stranger.remember(NewMemory("let me in", "shop"))


def test_a_role_sees_its_project_and_what_is_everybodys(
    as_role: As, server: Any, schema: str, owner: PostgresStore
) -> None:
    shop = as_role("shop")
    allow(server, schema, "shop", "shop")
    expected = {
        "the shop deploys on Fridays",
        "the shop deploys with care",
        "everybody deploys by tags",
    }
    assert set(seen(shop)) == expected
    assert {hit.entry.content for hit in shop.recall("who deploys", min_score=0.0)} == expected
    assert shop.count() == 3
    assert shop.count(Filters(project="bank")) == 1  # everybody's
    assert shop.sessions() == []
    assert shop.stats().projects == {"shop": 2, "": 1}
    assert list(shop.rows()) == shop.list(oldest_first=True)
    assert shop.documents("lesson") == {}
    [bank] = [one for one in owner.list(Filters(kinds=("memory",))) if one.project == "bank"]
    for look in (shop.get, shop.history):
        with pytest.raises(MemoryNotFoundError):
            look(bank.id)
    with pytest.raises(MemoryNotFoundError):
        shop.forget([bank.id])
    assert shop.get_session("s-bank") is None


def test_a_role_sees_its_agent(as_role: As, server: Any, schema: str) -> None:
    coder = as_role("coder")
    allow(server, schema, "coder", "shop", "coder")
    assert set(seen(coder)) == {"the shop deploys on Fridays", "everybody deploys by tags"}
    hits = coder.recall("deploys with care", Filters(project="shop"), min_score=0.0)
    assert {hit.entry.content for hit in hits} == set(seen(coder))


def test_a_role_writes_where_it_may(
    as_role: As, server: Any, schema: str, owner: PostgresStore
) -> None:
    coder = as_role("coder")
    allow(server, schema, "coder", "shop", "coder")
    new = coder.remember(NewMemory("the shop has a cache", "shop", agent="coder")).memory
    coder.observe(NewObservation("s1", "shop", "stop", "stop", "it stopped", "k", agent="coder"))
    assert coder.edit(new.id, content="the shop has two caches").memory.version == 2
    assert coder.recall("two caches")[0].entry.content == "the shop has two caches"
    assert owner.recall("two caches")[0].entry.agent == "coder"
    for project, agent in (("bank", "coder"), ("", None), ("shop", "tester")):
        with pytest.raises(StoreForbiddenError):
            coder.remember(NewMemory("not mine to say", project, agent=agent))
    with pytest.raises(StoreForbiddenError):
        coder.start_session(NewSession("s-new", "bank"))
    with pytest.raises(StoreForbiddenError):
        coder.keep_document("lesson", "mine", 1)
    assert owner.count(Filters(project="bank")) == 3


def test_undo_is_of_ones_own_changes(
    as_role: As, server: Any, schema: str, owner: PostgresStore
) -> None:
    coder = as_role("coder")
    allow(server, schema, "coder", "shop")
    with pytest.raises(NothingToUndoError):
        coder.undo()
    coder.remember(NewMemory("a mistake", "shop"))
    assert [entry.content for entry in coder.undo().entries] == ["a mistake"]


def test_access_can_be_taken_back_and_not_taken(as_role: As, server: Any, schema: str) -> None:
    shop = as_role("shop")
    allow(server, schema, "shop", "shop")
    assert len(seen(shop)) == 3
    with (
        psycopg.connect(shop.place.dsn, autocommit=True) as connection,
        pytest.raises(psycopg.errors.InsufficientPrivilege),
    ):
        connection.execute(f"INSERT INTO \"{schema}\".access VALUES (current_user, 'bank')")
    server.execute(f'SELECT "{schema}".disallow(%s, %s)', (f"{schema}_shop", "shop"))
    assert seen(shop) == ["everybody deploys by tags"]


def test_an_agent_is_allowed_in_the_project_it_was_given_for(
    as_role: As, server: Any, schema: str, owner: PostgresStore
) -> None:
    both = as_role("both")
    allow(server, schema, "both", "shop", "coder")
    allow(server, schema, "both", "bank")
    expected = {
        "the shop deploys on Fridays",
        "the bank deploys on Mondays",
        "the bank deploys",
        "everybody deploys by tags",
    }
    assert set(seen(both)) == expected
    assert {hit.entry.content for hit in both.recall("deploys", min_score=0)} == expected
    with pytest.raises(StoreForbiddenError):
        both.remember(NewMemory("as somebody else", "shop", agent="tester"))
    assert both.remember(NewMemory("as another one", "bank", agent="tester")).memory.agent


def test_an_id_that_is_hidden_is_no_damage(
    as_role: As, server: Any, schema: str, owner: PostgresStore
) -> None:
    shop = as_role("shop")
    allow(server, schema, "shop", "shop")
    with pytest.raises(StoreForbiddenError, match="same id"):
        shop.observe(NewObservation("s-bank", "shop", "stop", "stop", "x", "k"))


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT setval('entry_numbers', 1)",
        "SELECT setval('operation_numbers', 1)",
        "UPDATE embedding_models SET dimensions = 1",
        "DELETE FROM embedding_models",
        "TRUNCATE entries",
        "INSERT INTO access VALUES (current_user, 'bank', '*')",
        "SELECT allow(current_user, 'bank')",
        "SELECT disallow('lead', 'shop')",
        "UPDATE migrations SET number = 2",
    ],
)
def test_a_role_can_spoil_nothing_of_others(
    as_role: As, server: Any, schema: str, statement: str
) -> None:
    shop = as_role("shop")
    allow(server, schema, "shop", "shop")
    shop.remember(NewMemory("so much it may do", "shop"))
    options = f"-csearch_path={schema}"
    with (
        psycopg.connect(shop.place.dsn, options=options) as connection,
        pytest.raises(psycopg.errors.InsufficientPrivilege),
    ):
        connection.execute(statement)


def test_a_role_imports_what_is_its_own(as_role: As, server: Any, schema: str) -> None:
    shop = as_role("shop")
    allow(server, schema, "shop", "shop")
    first = shop.remember(NewMemory("the shop has shelves", "shop")).memory
    records = [
        first._replace(id=f"mem_{number:032x}", content=f"the shop has shelf {number}")
        for number in range(50)
    ]
    assert {put.outcome for put in shop.put(records)} == {"added"}
    assert {record.content for record in records} < set(seen(shop))
