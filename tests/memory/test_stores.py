"""Opening a store by name."""

from __future__ import annotations

from pathlib import Path

import pytest

from dshloop.errors import StoreUnknownError
from dshloop.memory.stores import open_store


@pytest.mark.parametrize("name", [None, "", "embedded"])
def test_the_embedded_store_is_the_default(tmp_path: Path, name: str | None) -> None:
    store = open_store(name, database=tmp_path / "memory.db")
    assert store.name == "embedded"
    assert store.stats().where == str(tmp_path / "memory.db")
    store.close()


def test_another_name_is_not_found(tmp_path: Path) -> None:
    with pytest.raises(StoreUnknownError) as raised:
        open_store("nowhere", database=tmp_path / "memory.db")
    assert raised.value.exit_code == 3
    assert raised.value.hint == "Stores: embedded, postgres, agentmemory, patchouli."
