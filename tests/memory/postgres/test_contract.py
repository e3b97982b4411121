"""The store in PostgreSQL does what every store must."""

from __future__ import annotations

import pytest

from dshloop.memory.postgres.store import PostgresStore
from tests.memory.contract import *  # noqa: F403
from tests.memory.contract import ClockedFactory, StoreFactory
from tests.memory.postgres.conftest import Opener


@pytest.fixture
def make_store(dsn: str, schema: str, opener: Opener) -> StoreFactory:
    return lambda: opener(dsn, schema)


@pytest.fixture
def make_clocked(dsn: str, schema: str, opener: Opener) -> ClockedFactory:
    def make() -> tuple[PostgresStore, list[float]]:
        clock = [2_000_000_000.0]
        return opener(dsn, schema, clock=lambda: clock[0]), clock

    return make
