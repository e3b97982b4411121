"""A purge leaves no trace in the file."""

from __future__ import annotations

from pathlib import Path

from dshloop.memory.answers import Filters
from dshloop.memory.entries import NewMemory, NewObservation
from dshloop.memory.sqlite.store import SqliteStore
from tests.memory.sqlite.damaged import looked_at


def test_nothing_of_a_purged_entry_is_left_in_the_file(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    store = SqliteStore(path)
    for number in range(100):
        if number == 50:
            word = "xyzzyplugh"
            memory = store.remember(NewMemory(f"{word} is it", "p", concepts=(word,))).memory
            store.remember(NewMemory(f"{word} is it", "p", title=f"about {word}"))
            edited = store.edit(memory.id, content=f"{word} was it").memory
            away = store.remember(NewMemory(f"more of {word}", "p", files=(word,))).memory
            store.forget([away.id])
            happened = NewObservation("s", "p", "note", word, f"{word} happened", word, prompt=word)
            store.observe(happened._replace(subtitle=word, source={"of": word}))
            asked = store.observe(happened._replace(content=f"{word} asked", key="k", session="t"))
            store.observe(NewObservation("t", "p", "note", "n", "else", "m"))
        store.remember(NewMemory(f"finding number {number} on the deploy", "p"))
    assert b"xyzzy" in path.read_bytes() + path.with_name("memory.db-wal").read_bytes()
    store.forget([edited.id, away.id, asked.observation.id], purge=True)
    store.forget(where=Filters(session="s"), purge=True)
    for file in path.parent.iterdir():
        assert b"xyzzy" not in file.read_bytes(), file.name
    assert store.count() == 101
    assert len(store.recall("deploy", limit=200)) > 50
    store.close()
    assert b"xyzzy" not in path.read_bytes()
    assert looked_at(path).findings == ()
