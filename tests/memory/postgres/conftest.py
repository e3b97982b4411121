"""A server for the tests of this folder, and stores on it, each in a schema of its own."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator
from typing import Any

import pytest

psycopg = pytest.importorskip("psycopg", reason="the extra postgres is not installed")
pytest.importorskip("psycopg_pool", reason="the extra postgres is not installed")

from dshloop.memory.postgres.pools import Place  # noqa: E402
from dshloop.memory.postgres.store import PostgresStore  # noqa: E402
from tests.memory.postgres.server import VARIABLE, NoServerError, Server  # noqa: E402

_NUMBERS = itertools.count()
_GIVEN = os.environ.get(VARIABLE)  # before a fixture takes our variables away

Opener = Callable[..., PostgresStore]


@pytest.fixture(scope="session")
def dsn() -> Iterator[str]:
    """Say how to connect to a server as somebody who may do everything there."""
    if _GIVEN:
        yield _GIVEN
        return
    try:
        server = Server("fsync=off", "autovacuum=off", "max_connections=60")
    except NoServerError as error:
        pytest.skip(str(error))
    server.start()
    yield server.dsn
    server.stop()


@pytest.fixture
def schema() -> str:
    """Name a schema that no other test has."""
    return f"dshloop_{os.getpid()}_{next(_NUMBERS)}"


@pytest.fixture
def opener() -> Iterator[Opener]:
    """Open stores, which are closed at the end."""
    stores: list[PostgresStore] = []

    def opened(dsn: str, schema: str, **more: Any) -> PostgresStore:
        stores.append(PostgresStore(Place(dsn, schema), **more))
        return stores[-1]

    yield opened
    for store in stores:
        store.close()
