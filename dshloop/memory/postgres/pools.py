"""Pools of connections: one for each place in a process, for as long as a store uses it."""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from dshloop.errors import StoreEncodingError

if TYPE_CHECKING:
    from psycopg_pool import ConnectionPool

    from dshloop.memory.postgres.connection import Server

_MOST = 16
_WAIT = 5.0
"""Seconds that one try to get a connection may take."""
# A machine that is gone says nothing any more, and its time-outs are gone with it. Seconds, but
# for tcp_user_timeout, which is milliseconds; what the connection string says counts more.
_WATCHED = {
    "connect_timeout": int(_WAIT),
    "tcp_user_timeout": 15_000,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
}


class Place(NamedTuple):
    """Where a store is: a connection string without a password, and the password apart.

    Seconds: what one statement may take, how long it may wait for a lock, and how long a
    transaction may do nothing before the server ends it.
    """

    dsn: str
    schema: str = "dshloop"
    password: str | None = None
    statement_seconds: float = 30.0
    lock_seconds: float = 20.0
    idle_seconds: float = 60.0

    def __repr__(self) -> str:
        return f"<Place {self.where}>"

    @property
    def where(self) -> str:
        """Say it for people: postgres://user@host:port/database, and the schema."""
        given = self.parts()
        if "service" in given and "host" not in given:
            return f"postgres service {given['service']}, schema {self.schema}"
        user = f"{given['user']}@" if given.get("user") else ""
        host = given.get("host") or given.get("hostaddr") or "local"
        port = f":{given['port']}" if given.get("port") else ""
        return f"postgres://{user}{host}{port}/{given.get('dbname') or ''}, schema {self.schema}"

    def parts(self) -> Mapping[str, Any]:
        """Take the connection string apart."""
        from psycopg.conninfo import conninfo_to_dict

        return conninfo_to_dict(self.dsn)

    def settings(self) -> Mapping[str, str]:
        """Give what is set on every connection."""
        return {
            "search_path": '"' + self.schema.replace('"', '""') + '"',
            "statement_timeout": f"{self.statement_seconds * 1000:.0f}",
            "lock_timeout": f"{self.lock_seconds * 1000:.0f}",
            "idle_in_transaction_session_timeout": f"{self.idle_seconds * 1000:.0f}",
            # One plan for a statement whatever its values: planning would take longer than most.
            "plan_cache_mode": "force_generic_plan",
            "jit": "off",
            # of pgvector, which need not be there
            "hnsw.ef_search": "200",
            "hnsw.iterative_scan": "relaxed_order",
        }


class Pool:
    """A pool that several stores of a process share."""

    def __init__(self, place: Place) -> None:
        from psycopg_pool import ConnectionPool

        logging.getLogger("psycopg").addHandler(logging.NullHandler())  # we say it ourselves
        self._place = place
        self._stores = 0
        self._options: dict[str, Any] = {
            "autocommit": True,
            "application_name": "dshloop",
            **{name: value for name, value in _WATCHED.items() if name not in place.parts()},
            "client_encoding": "UTF8",  # whatever $PGCLIENTENCODING says
            **({} if place.password is None else {"password": place.password}),
        }
        self._first: list[Server] = []
        self._pool: ConnectionPool[Server] = ConnectionPool(
            place.dsn,
            connection_class=_taken_first(self._first),
            kwargs=self._options,
            min_size=0,
            max_size=_MOST,
            configure=self._configure,
            timeout=_WAIT,
            reconnect_timeout=_WAIT,
            open=True,
        )
        self._tried = False

    def begin(self, statement: str | None) -> tuple[Server, Any]:
        """Take a connection and run statements on it; give the row of the last one.

        When it turns out to be broken so may be all that wait in the pool: they are looked at.
        """
        server = self._get()
        try:
            return server, _last_row(server, statement)
        except BaseException:
            broken = server.broken
            self._pool.putconn(server)
            if broken:
                self._pool.check()
            raise

    def give_back(self, server: Server) -> None:
        """Give a connection back; what is not committed is rolled back."""
        import psycopg

        try:
            server.rollback()
        except psycopg.Error:  # it is broken, which ends the transaction too
            pass
        self._pool.putconn(server)

    def _get(self) -> Server:
        from psycopg_pool import PoolTimeout

        if not self._tried:  # the pool would say that it waited, not why
            self._probe()
            self._tried = True
        try:
            return self._pool.getconn()
        except PoolTimeout:
            self._probe()
            raise

    def _probe(self) -> None:
        """Connect by ourselves, for the server's own words where that fails; the pool's next
        connection is this one. Raises STORE_ENCODING."""
        import psycopg

        server = psycopg.connect(self._place.dsn, **self._options)
        encoding = server.info.parameter_status("server_encoding")
        if encoding == "UTF8":
            self._first.append(server)
        else:
            server.close()
            raise StoreEncodingError(
                f"{self._place.where} is a database in {encoding}, which can't hold every text",
                where=self._place.where,
            )

    def _configure(self, server: Server) -> None:
        names = ", ".join("set_config(%s, %s, false)" for _ in self._place.settings())
        values = [value for pair in self._place.settings().items() for value in pair]
        server.execute(f"SELECT {names}", values)

    def join(self) -> None:
        """Count one more store that uses it."""
        self._stores += 1

    def leave(self) -> None:
        """Count one fewer; the last one closes it."""
        with _LOCK:
            self._stores -= 1
            if not self._stores:
                _POOLS.pop(self._place, None)
                self._pool.close(timeout=1)
                while self._first:
                    self._first.pop().close()


def _taken_first(first: list[Server]) -> type[Server]:
    """Give a class of connections whose next ones are those that are there already."""
    import psycopg

    class Taken(psycopg.Connection[tuple[Any, ...]]):
        @classmethod
        def connect(cls, *place: Any, **options: Any) -> Any:
            return first.pop() if first else super().connect(*place, **options)

    return Taken


def _last_row(server: Server, statement: str | None) -> Any:
    if statement is None:
        return None
    cursor = server.execute(statement)
    while cursor.nextset():
        pass
    return cursor.fetchone() if cursor.description else None


_POOLS: dict[Place, Pool] = {}
_LOCK = threading.Lock()


def join(place: Place) -> Pool:
    """Give the pool of a place, making it when this is its first store."""
    with _LOCK:
        pool = _POOLS.get(place)
        if pool is None:
            pool = _POOLS[place] = Pool(place)
        pool.join()
        return pool
