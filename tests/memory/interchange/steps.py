"""What the tests of importers do over and over."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from dshloop.memory.interchange import sources
from dshloop.memory.interchange.carrying import carry
from dshloop.memory.interchange.report import Item, Report
from dshloop.memory.interchange.untimed import Untimed
from dshloop.memory.sqlite.store import SqliteStore

NOW = 2_000_000_000.0


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    store = SqliteStore(tmp_path / "data" / "memory.db", clock=lambda: NOW)
    yield store
    store.close()


def read(data: bytes | str, form: str = "auto") -> tuple[list[Any], Report]:
    """Give the records of a file, then the report with its faults in it."""
    report = Report()
    raw = data.encode() if isinstance(data, str) else data
    items = list(sources.stream_records(io.BytesIO(raw), form, report, project="p", at=5.0))
    return [*kept(items)], faulty(items, report)


def kept(items: Iterable[Item]) -> Iterator[Any]:
    for item in items:
        if not item.fault:
            yield item.record.memory if isinstance(item.record, Untimed) else item.record


def faulty(items: Iterable[Item], report: Report) -> Report:
    for item in items:
        if item.fault:
            report.lose(item.fault, item.place)
    return report


def carried(store: SqliteStore, items: Iterable[Item], **how: Any) -> Report:
    return carry(store, items, Report(), **{"on_conflict": "skip", **how})
