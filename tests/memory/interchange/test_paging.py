"""Stores that only answer questions are carried away too."""

from __future__ import annotations

from typing import Any

import pytest

from dshloop.errors import TransferUnsupportedError
from dshloop.memory.answers import Filters
from dshloop.memory.audit.auditing import audit
from dshloop.memory.interchange import paging
from dshloop.memory.interchange.carrying import carry, migrate, source_of
from dshloop.memory.interchange.paging import Paged
from dshloop.memory.interchange.report import Report
from dshloop.memory.sqlite.store import SqliteStore
from tests.memory.interchange.steps import NOW, store  # noqa: F401
from tests.memory.transfer import memory, observation, put, session


class Plain:
    """A store that has no more than sessions and entries to ask for."""

    name = "plain"

    def __init__(self, inner: SqliteStore) -> None:
        self.sessions = inner.sessions
        self.list = inner.list
        self.get = inner.get


@pytest.fixture
def plain(store: SqliteStore, monkeypatch: pytest.MonkeyPatch) -> Any:  # noqa: F811
    monkeypatch.setattr(paging, "_PAGE", 2)
    put(store, [session("s1"), session("s2"), session("s3"),
                *(observation(number, f"s{number % 2 + 1}") for number in range(5)),
                memory(1, latest=False), memory(2, version=2, previous="mem_1"),
                memory(3, project="web")])  # fmt: skip
    return Plain(store)


def test_pages_give_what_the_store_gives(store: SqliteStore, plain: Any) -> None:  # noqa: F811
    assert isinstance(source_of(plain), Paged)
    assert sorted(map(str, Paged(plain).rows())) == sorted(map(str, store.rows()))
    where = Filters(project="p", kinds=("observation",))
    assert list(Paged(plain).rows(where)) == list(store.rows(where))


def test_such_a_store_is_migrated_and_audited_but_takes_nothing(plain: Any, tmp_path: Any) -> None:
    other = SqliteStore(tmp_path / "other.db", clock=lambda: NOW)
    try:
        report = migrate(plain, other, Report(), None, on_conflict="skip")
        assert report.total("added") == 11
    finally:
        other.close()
    found = audit(plain, None, NOW)
    assert found.entries == 8
    assert "EXPIRED" in found.unmeasurable
    with pytest.raises(TransferUnsupportedError):
        carry(plain, iter(()), Report(), on_conflict="skip")
