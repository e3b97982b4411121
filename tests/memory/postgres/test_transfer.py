"""The store in PostgreSQL can be carried away."""

from __future__ import annotations

import itertools

import pytest

from dshloop.memory.postgres.store import PostgresStore
from tests.memory.postgres.conftest import Opener
from tests.memory.transfer import *  # noqa: F403
from tests.memory.transfer import NOW, MakeStore


@pytest.fixture
def make_empty(dsn: str, schema: str, opener: Opener) -> MakeStore:
    numbers = itertools.count()

    def make() -> PostgresStore:
        return opener(dsn, f"{schema}_{next(numbers)}", clock=lambda: NOW)

    return make
