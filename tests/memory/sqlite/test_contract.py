"""The embedded store does what every store must."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from dshloop.memory.sqlite import SqliteStore
from tests.memory.contract import *  # noqa: F403
from tests.memory.contract import StoreFactory


@pytest.fixture
def make_store(tmp_path: Path) -> Iterator[StoreFactory]:
    opened: list[SqliteStore] = []

    def make() -> SqliteStore:
        opened.append(SqliteStore(tmp_path / "data" / "memory.db"))
        return opened[-1]

    yield make
    for store in opened:
        store.close()
