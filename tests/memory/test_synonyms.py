"""Synonyms: ours and a user's."""

from __future__ import annotations

from pathlib import Path

from dshloop.memory.entries import NewMemory
from dshloop.memory.sqlite.store import SqliteStore
from dshloop.memory.synonyms import synonyms


def test_each_word_of_a_group_has_the_others_by_their_stems() -> None:
    found = synonyms()
    assert found["db"] == ("databas", "datastor")
    assert "db" in found["databas"]
    assert "ci" not in found


def test_a_file_adds_groups(tmp_path: Path) -> None:
    file = tmp_path / "synonyms.txt"
    assert synonyms(file) == synonyms()
    file.write_text("# ours\nprod production live  # the site\ndb ledger\n\n?\n", encoding="utf-8")
    found = synonyms(file)
    assert found["prod"] == ("product", "live")
    assert set(found["db"]) == {"databas", "datastor", "ledger"}


def test_recall_uses_a_file(tmp_path: Path) -> None:
    file = tmp_path / "synonyms.txt"
    file.write_text("prod live\n", encoding="utf-8")
    store = SqliteStore(tmp_path / "memory.db", synonyms=file)
    store.remember(NewMemory("the live servers are in Oslo", "p"))
    [hit] = store.recall("prod servers")
    assert hit.why.prefixes == ("prod",)
    store.close()
