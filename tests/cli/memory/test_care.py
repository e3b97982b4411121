"""`dshloop memory check`, `reindex` and `backup`."""

from __future__ import annotations

from pathlib import Path

import pytest

from dshloop.memory.entries import NewMemory
from dshloop.memory.sqlite.store import SqliteStore
from tests.cli.memory.steps import memory, remember
from tests.memory.sqlite.damaged import change, overwrite, page_of
from tests.running import dshloop


@pytest.fixture
def path(isolated: Path) -> Path:
    """Give the store's file, with two memories in it."""
    remember("We deploy on Fridays")
    remember("Rows are keyed by id")
    return Path(memory("stores", "--json").json[0]["where"])


def test_a_sound_store_is_told_so(path: Path) -> None:
    ran = memory("check")
    assert (ran.code, ran.out, ran.err) == (0, "sound: 2 entries\n", "")
    found = memory("check", "--json").json
    assert found["sound"]
    assert found["index_verified"]
    assert (found["entries"], found["findings"]) == (2, [])
    ran = memory("check", "--readonly")
    assert ran.code == 0
    assert "not asked to check itself" in ran.out


def test_what_is_wrong_has_a_code_a_count_and_what_mends_it(path: Path) -> None:
    change(path, "DELETE FROM memory_index")
    ran = memory("check")
    assert ran.code == 1
    assert "error   INDEX_MISSING (2): entries are not in the index" in ran.out
    assert "mend: dshloop memory reindex" in ran.out
    [finding] = memory("check", "--json").json["findings"]
    assert (finding["code"], finding["count"]) == ("INDEX_MISSING", 2)
    assert memory("recall", "deploy").code == 3
    assert memory("reindex").out == "indexed 2 entries\n"
    assert memory("check").code == 0
    assert memory("recall", "deploy").code == 0


def test_reindex_makes_missing_vectors(path: Path) -> None:
    dshloop("config", "set", "memory.embeddings.url", "http://127.0.0.1:9/v1")
    dshloop("config", "set", "memory.embeddings.model", "none")
    ran = memory("reindex", "--semantic")
    assert ran.code != 0
    assert memory("reindex", "--json").json == {"entries": 2, "vectors": None}


def test_a_copy_is_made_and_brought_back(path: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.db"
    ran = memory("backup", str(copy), "--json")
    assert ran.json == {"path": str(copy), "bytes": copy.stat().st_size, "entries": 2}
    ran = memory("backup", str(copy))
    assert (ran.code, "OUTPUT_EXISTS" in ran.err) == (4, True)
    assert memory("backup", str(copy), "--force").code == 0
    remember("Written after the copy")
    assert memory("backup", str(copy), "--restore", "--readonly").code == 4
    assert memory("backup", "--restore", str(copy)).code == 0
    assert memory("list", "--count").out == "2\n"
    kept = SqliteStore(path.with_name("memory.db.before-restore"))
    assert kept.count() == 3
    kept.close()


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["backup", ""], 2, "needs a path"),
        (["backup", "none/copy.db"], 1, "can't open"),
        (["backup", "--restore", "none.db"], 1, "there is no file"),
        (["check", "--salvage", ""], 2, "needs a path"),
        (["check", "--store", "nowhere"], 3, "STORE_UNKNOWN"),
        (["reindex", "--store", "nowhere"], 3, "STORE_UNKNOWN"),
        (["backup", "x.db", "--store", "nowhere"], 3, "STORE_UNKNOWN"),
    ],
)
def test_what_cannot_be_done_is_told(path: Path, words: list[str], code: int, said: str) -> None:
    ran = memory(*words)
    assert (ran.code, ran.out) == (code, "")
    assert said in ran.err


def test_a_damaged_store_is_salvaged_and_replaced(path: Path, tmp_path: Path) -> None:
    store = SqliteStore(path)
    with store.batch():
        for number in range(400):
            remember_more(store, number)
    store.close()
    overwrite(path, page_of(path, "entries", 4), b"\xff" * 4096)
    assert memory("check").code == 1
    ran = memory("list", "--limit", "1000")
    assert (ran.code, "check --salvage" in ran.err) == (1, True)
    saved = tmp_path / "saved.db"
    ran = memory("check", "--salvage", str(saved), "--json")
    assert ran.code == 1
    lost = ran.json["lost"]["entries"]
    assert 0 < lost < 60
    assert ran.json["saved"]["entries"] == 402 - lost
    assert memory("check", "--salvage", str(saved)).code == 4
    assert memory("backup", "--restore", str(saved)).code == 0
    assert memory("check").code == 0
    assert memory("list", "--count").out == f"{402 - lost}\n"


def remember_more(store: SqliteStore, number: int) -> None:
    store.remember(NewMemory(f"finding n{number} on the deploy", "p"))


def test_without_a_store_nothing_is_made(isolated: Path) -> None:
    where = Path(memory("stores", "--json").json[0]["where"])
    assert memory("check").out == "sound: 0 entries\n"
    assert memory("reindex").out == "indexed 0 entries\n"
    ran = memory("backup", "copy.db")
    assert (ran.code, "nothing to copy" in ran.err) == (1, True)
    assert not where.exists()


def test_another_file_is_looked_after_by_its_path(path: Path, tmp_path: Path) -> None:
    other = f"embedded:{tmp_path / 'other.db'}"
    remember("Kept elsewhere", "--store", other)
    assert memory("check", "--store", other, "--json").json["entries"] == 1
    copy = str(tmp_path / "copy.db")
    assert memory("backup", copy, "--store", other, "--json").json["entries"] == 1
    assert memory("reindex", "--store", other).out == "indexed 1 entries\n"
    assert memory("check", "--json").json["entries"] == 2
