"""What a server makes different: schemas, time-outs, connections that break, many at once."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import psycopg
import pytest

from dshloop.errors import (
    StoreBusyError,
    StoreCorruptError,
    StoreNewerError,
    StoreOlderError,
    StoreReadOnlyError,
    StoreUnreachableError,
)
from dshloop.memory.answers import Filters
from dshloop.memory.entries import Memory, NewMemory, NewObservation
from dshloop.memory.postgres.pools import Place, join
from dshloop.memory.postgres.schema import MIGRATIONS
from dshloop.memory.postgres.store import PostgresStore
from tests.memory.postgres.conftest import Opener


def at_once(work: Callable[[int], object], size: int = 8) -> None:
    """Do it in several threads, and raise what one of them raised."""
    faults: list[BaseException] = []
    ready = threading.Barrier(size)

    def one(number: int) -> None:
        try:
            ready.wait()
            work(number)
        except BaseException as error:
            faults.append(error)

    threads = [threading.Thread(target=one, args=(number,)) for number in range(size)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if faults:
        raise faults[0]


def test_readers_make_no_schema(dsn: str, schema: str, opener: Opener) -> None:
    store = opener(dsn, schema)
    assert list(store.recall("anything")) == []
    assert list(store.rows()) == []
    with psycopg.connect(dsn) as server:
        row = server.execute("SELECT to_regnamespace(%s)", (schema,)).fetchone()
    assert row == (None,)


def test_a_schema_is_made_once_when_many_begin(dsn: str, schema: str, opener: Opener) -> None:
    stores = [opener(dsn, schema) for _ in range(8)]
    at_once(lambda number: stores[number].remember(NewMemory(f"note {number}", "p")))
    assert stores[0].count() == 8
    assert stores[0].stats().semantic is None


def test_a_schema_of_a_later_version_is_refused(dsn: str, schema: str, opener: Opener) -> None:
    opener(dsn, schema).remember(NewMemory("x", "p"))
    with psycopg.connect(dsn, autocommit=True) as server:
        server.execute(f'INSERT INTO "{schema}".migrations VALUES (%s)', (len(MIGRATIONS) + 1,))
    store = opener(dsn, schema)
    with pytest.raises(StoreNewerError):
        store.recall("x")
    with pytest.raises(StoreNewerError):
        store.remember(NewMemory("y", "p"))


def test_a_store_for_reading_only_refuses_writes(dsn: str, schema: str, opener: Opener) -> None:
    store = opener(dsn, schema, readonly=True)
    assert store.count() == 0
    with pytest.raises(StoreReadOnlyError):
        store.remember(NewMemory("x", "p"))


def test_an_older_schema_is_not_brought_forward_by_a_reader(
    dsn: str, schema: str, opener: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    opener(dsn, schema).remember(NewMemory("x", "p"))
    longer = (*MIGRATIONS, ("CREATE TABLE more (a integer)",))
    for module in ("migrate", "database"):
        monkeypatch.setattr(f"dshloop.memory.postgres.{module}.MIGRATIONS", longer)
    with pytest.raises(StoreOlderError):
        opener(dsn, schema, readonly=True).count()
    assert opener(dsn, schema).count() == 1
    with psycopg.connect(dsn) as server:
        row = server.execute(f'SELECT count(*) FROM "{schema}".more').fetchone()
    assert row == (0,)


def test_who_waits_too_long_for_a_lock_is_told(dsn: str, schema: str, opener: Opener) -> None:
    opener(dsn, schema).remember(NewMemory("x", "p"))
    store = PostgresStore(Place(dsn, schema, lock_seconds=0.2))
    try:
        with psycopg.connect(dsn) as server:
            server.execute(f'LOCK TABLE "{schema}".entries')
            with pytest.raises(StoreBusyError):
                store.remember(NewMemory("y", "p"))
        store.remember(NewMemory("y", "p"))
    finally:
        store.close()


def test_a_statement_that_takes_too_long_is_ended(dsn: str, schema: str, opener: Opener) -> None:
    opener(dsn, schema).remember(NewMemory("x", "p"))
    store = PostgresStore(Place(dsn, schema, statement_seconds=0.2))
    try:
        with psycopg.connect(dsn) as server:
            server.execute(f'LOCK TABLE "{schema}".entries')
            with pytest.raises(StoreBusyError, match="longer"):
                store.list()
    finally:
        store.close()


def test_broken_connections_are_replaced(dsn: str, schema: str, opener: Opener) -> None:
    store = opener(dsn, schema)
    store.remember(NewMemory("before", "p"))
    with psycopg.connect(dsn, autocommit=True) as server:
        for number in range(3):
            server.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE application_name = 'dshloop'"
            )
            store.remember(NewMemory(f"after {number}", "p"))
            assert store.recall("before")
    assert store.count() == 4


def test_a_server_that_is_not_there_is_told(opener: Opener) -> None:
    store = opener("host=127.0.0.1 port=1 user=u dbname=d", "s", patience=0.1)
    with pytest.raises(StoreUnreachableError, match=r"127\.0\.0\.1"):
        store.recall("x")


def test_a_refused_user_is_told_at_once(dsn: str, opener: Opener) -> None:
    store = opener(psycopg.conninfo.make_conninfo(dsn, user="nobody_here"), "s")
    with pytest.raises(StoreUnreachableError, match="nobody_here"):
        store.recall("x")


def test_the_same_text_of_many_is_counted(dsn: str, schema: str, opener: Opener) -> None:
    stores = [opener(dsn, schema) for _ in range(8)]
    stores[0].count()
    at_once(lambda number: stores[number].remember(NewMemory("deploy on Fridays", "p")))
    [memory] = stores[0].list()
    assert memory.repeats == 8


def test_versions_of_many_make_one_chain(dsn: str, schema: str, opener: Opener) -> None:
    stores = [opener(dsn, schema) for _ in range(8)]
    first = stores[0].remember(NewMemory("the plan", "p")).memory
    at_once(lambda number: stores[number].edit(first.id, content=f"the plan number {number}"))
    versions = stores[0].history(first.id)
    assert [one.version for one in versions] == list(range(1, 10))
    assert [one.latest for one in versions] == [False] * 8 + [True]
    assert len(stores[0].list()) == 1


def test_near_equal_texts_of_many_supersede_one_another(
    dsn: str, schema: str, opener: Opener
) -> None:
    stores = [opener(dsn, schema) for _ in range(6)]
    text = "We decided on shared tables with row level security for tenant isolation"
    stores[0].remember(NewMemory(text, "p"))
    at_once(lambda number: stores[number].remember(NewMemory(text + "!" * (number + 1), "p")), 6)
    [latest] = stores[0].list()
    assert isinstance(latest, Memory)
    assert latest.version == 7
    assert len(stores[0].list(Filters(old=True))) == 7


def test_a_session_that_many_observe_is_counted(dsn: str, schema: str, opener: Opener) -> None:
    stores = [opener(dsn, schema) for _ in range(8)]

    def observe(number: int) -> None:
        for step in range(5):
            new = NewObservation("s", "p", "stop", "stop", f"{number} {step}", f"{number} {step}")
            stores[number].observe(new)

    at_once(observe)
    session = stores[0].get_session("s")
    assert session is not None
    assert session.observations == 40


def test_a_batch_is_all_or_nothing(dsn: str, schema: str, opener: Opener) -> None:
    store = opener(dsn, schema)

    def torn() -> None:
        with store.batch():
            store.remember(NewMemory("one", "p"))
            raise KeyError

    with pytest.raises(KeyError):
        torn()
    assert store.count() == 0
    with store.together():
        store.remember(NewMemory("one", "p"))
        assert store.recall("one")
    assert store.count() == 1


@pytest.mark.parametrize(
    "more", ["sslmode=require", "port=99999", "options=-cno.such=1 dbname=none", "service=none"]
)
def test_what_will_not_change_is_not_waited_for(
    dsn: str, schema: str, more: str, opener: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    def waited(seconds: float) -> None:
        raise AssertionError(f"it waited {seconds} s")

    monkeypatch.setattr(time, "sleep", waited)
    with pytest.raises(StoreUnreachableError):
        opener(f"{dsn} host=127.0.0.1 {more}", schema).count()


@pytest.mark.parametrize(
    "table",
    ["entries (x integer)", "migrations (number integer)", "migrations AS SELECT 1 AS id"],
    ids=["entries", "begun", "of something else"],
)
def test_a_schema_that_holds_something_else_is_left_alone(
    dsn: str, schema: str, table: str, opener: Opener
) -> None:
    with psycopg.connect(dsn, autocommit=True) as server:
        server.execute(f"CREATE SCHEMA {schema}")
        server.execute(f"CREATE TABLE {schema}.{table}")
        with pytest.raises(StoreCorruptError) as raised:
            opener(dsn, schema).remember(NewMemory("x", "p"))
        assert "memory.postgres.schema" in (raised.value.hint or "")
        tables = server.execute("SELECT 1 FROM pg_tables WHERE schemaname = %s", (schema,))
        assert tables.rowcount == 1


def test_a_table_that_is_gone_is_no_server_that_is_away(
    dsn: str, schema: str, opener: Opener
) -> None:
    store = opener(dsn, schema)
    store.remember(NewMemory("x", "p"))
    with psycopg.connect(dsn, autocommit=True) as server:
        server.execute(f"DROP TABLE {schema}.memory_index")
    with pytest.raises(StoreCorruptError):
        store.recall("x")


def test_a_schema_may_be_called_anything(dsn: str, schema: str, opener: Opener) -> None:
    store = opener(dsn, f'{schema} "100%" %s {{schema}} Ü')
    store.remember(NewMemory("a strange name", "p"))
    assert [hit.entry.content for hit in store.recall("strange name")] == ["a strange name"]


def test_a_process_connects_once_for_one_question(
    dsn: str, schema: str, opener: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    opener(dsn, schema).remember(NewMemory("We deploy on Fridays", "p"))
    made: list[object] = []
    connect = psycopg.Connection.connect.__func__

    def counted(kind: type[psycopg.Connection], *place: object, **options: object) -> object:
        made.append(place)
        return connect(kind, *place, **options)

    monkeypatch.setattr(psycopg.Connection, "connect", classmethod(counted))
    monkeypatch.setattr(psycopg, "connect", psycopg.Connection.connect)
    store = opener(f"{dsn} application_name=another", schema)
    assert len(store.recall("when do we deploy")) == 1
    assert len(made) == 1


def test_a_server_that_says_nothing_any_more_is_noticed(dsn: str, schema: str) -> None:
    pool = join(Place(f"{dsn} keepalives_idle=77", schema))
    try:
        server, _ = pool.begin(None)
        given = server.info.get_parameters()
        pool.give_back(server)
    finally:
        pool.leave()
    assert given["tcp_user_timeout"] != "0"
    assert given["keepalives_idle"] == "77"
