"""`memory check`: what is wrong is found and named, what is whole is left alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from dshloop.memory.sqlite.care.reindex import reindex
from dshloop.memory.sqlite.database import Database
from tests.memory.sqlite.damaged import change, codes, filled, looked_at, overwrite, page_of

DAMAGE = {
    "INDEX_MISSING": "DELETE FROM memory_index WHERE rowid IN (1, 3)",
    "INDEX_STALE": "UPDATE memory_index SET content = 'other words' WHERE rowid = 1",
    "INDEX_ORPHAN": "INSERT INTO memory_index (rowid, content) VALUES (4000, 'nobody')",
    "INDEX_DAMAGED": "DELETE FROM memory_index_data WHERE id > 10",
    "COUNT_WRONG": "UPDATE tally SET words = words + 1",
    "DIGEST_WRONG": "UPDATE entries SET digest = x'00' WHERE kind = 'memory' AND seq < 4",
    "SESSION_COUNT": "UPDATE sessions SET observations = 7 WHERE id = 's1'",
    "SESSION_MISSING": "DELETE FROM sessions WHERE id = 's1'",
    "VECTOR_ORPHAN": "INSERT INTO vectors (seq, model, vector) VALUES (9000, 1, x'00')",
    "VERSION_HIDDEN": "DELETE FROM entries WHERE version = 2",
    "VERSION_TWICE": "UPDATE entries SET latest = 1 WHERE latest = 0",
    "FORGOTTEN_TWICE": "UPDATE forgotten SET id = (SELECT id FROM entries LIMIT 1)",
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "memory.db"


def test_a_store_of_everything_is_sound(path: Path) -> None:
    filled(path).close()
    before = path.read_bytes()
    found = looked_at(path)
    assert found.findings == ()
    assert found.sound
    assert found[1:7] == (62, 1, 1, 2, 0, True)
    assert found.as_json()["findings"] == []
    assert path.read_bytes() == before


def test_without_a_database_nothing_is_wrong(path: Path) -> None:
    found = looked_at(path)
    assert found.sound
    assert found.entries == 0
    assert not path.exists()


@pytest.mark.parametrize("code", DAMAGE)
def test_each_damage_is_found_and_reindex_mends_it(path: Path, code: str) -> None:
    filled(path).close()
    change(path, DAMAGE[code])
    assert code in codes(path)
    database = Database(path)
    assert list(reindex(database))
    database.close()
    found = looked_at(path)
    assert found.findings == ()


def test_a_finding_counts_and_names_examples(path: Path) -> None:
    store = filled(path)
    memory = store.list(limit=None, oldest_first=True)[0]
    store.close()
    change(path, DAMAGE["INDEX_MISSING"])
    [finding] = looked_at(path).findings
    assert (finding.cases, finding.severity) == (2, "error")
    assert finding.examples[0] == memory.id
    assert finding.as_json()["mend"] == "dshloop memory reindex"


def test_a_damaged_page_is_a_finding(path: Path) -> None:
    filled(path, 300).close()
    overwrite(path, page_of(path, "entries", 3), b"\xff" * 4096)
    found = looked_at(path)
    assert not found.sound
    assert found.findings[0].code == "DATABASE_DAMAGED"
    assert "--salvage" in found.findings[0].as_json()["mend"]


def test_a_row_that_cannot_be_read_is_a_finding(path: Path) -> None:
    filled(path).close()
    change(path, "UPDATE entries SET source = '{' WHERE seq = 1")
    found = codes(path)
    assert found["ROW_UNREADABLE"] == 1


def test_reading_only_leaves_the_index_unasked(path: Path) -> None:
    filled(path).close()
    found = looked_at(path, verify=False)
    assert found.sound
    assert not found.index_verified
