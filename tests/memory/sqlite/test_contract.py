"""The embedded store does what every store must."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from dshloop.memory.sqlite.store import SqliteStore
from tests.memory.contract import *  # noqa: F403
from tests.memory.contract import ClockedFactory, StoreFactory


@pytest.fixture
def opened() -> Iterator[list[SqliteStore]]:
    """Collect the stores of a test, and close them."""
    stores: list[SqliteStore] = []
    yield stores
    for store in stores:
        store.close()


@pytest.fixture
def make_store(tmp_path: Path, opened: list[SqliteStore]) -> StoreFactory:
    def make() -> SqliteStore:
        opened.append(SqliteStore(tmp_path / "data" / "memory.db"))
        return opened[-1]

    return make


@pytest.fixture
def make_clocked(tmp_path: Path, opened: list[SqliteStore]) -> ClockedFactory:
    def make() -> tuple[SqliteStore, list[float]]:
        clock = [2_000_000_000.0]
        opened.append(SqliteStore(tmp_path / "data" / "memory.db", clock=lambda: clock[0]))
        return opened[-1], clock

    return make
