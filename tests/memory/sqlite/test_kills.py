"""Writers of every kind, killed at random moments: what was acknowledged is there and is found.

``DSHLOOP_TEST_KILLS`` says how many processes are killed (20 where it is not set). Each writer says
what it is about to do, does it, and says that it is done. So at most one change a writer is in the
dark when it is killed: it is there or not, and nothing else is different from what was said.
"""

from __future__ import annotations

import json
import os
import random
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dshloop.memory.sqlite.care.reindex import reindex
from dshloop.memory.sqlite.database import Database
from dshloop.memory.sqlite.store import SqliteStore
from tests.memory.sqlite.damaged import looked_at

KILLS = int(os.environ.get("DSHLOOP_TEST_KILLS", "20"))
ROUNDS = 8
"""Rounds on one database, then another one is begun."""

WRITER = """
import json, random, sys
from pathlib import Path
from dshloop.errors import MemoryNotFoundError, NothingToUndoError
from dshloop.memory.entries import NewMemory, NewObservation, NewSession
from dshloop.memory.sqlite.store import SqliteStore

path, name = Path(sys.argv[1]), sys.argv[2]
store, chance = SqliteStore(path), random.Random(name)
mine, number, session = [], 0, f"session-{name}"

def say(*words):
    print(json.dumps(words), flush=True)

while True:
    number += 1
    # letters only: one word that is no other's beginning and has no parts
    word = f"{name}{number:05}".translate(str.maketrans("0123456789", "bcfghjkmpq"))
    kind = chance.choices(
        ["remember", "observe", "repeat", "edit", "forget", "undo", "start", "end", "close"],
        [30, 25, 5, 12, 8, 6, 3, 3, 2],
    )[0]
    target = chance.choice(mine) if mine else None
    if kind in ("edit", "forget") and target is None:
        continue
    say("try", kind, target)
    try:
        if kind == "remember":
            made = store.remember(NewMemory(f"{word} was found by a writer", "kills")).memory
            mine.append(made.id)
            say("added", made.id, word, None)
        elif kind in ("observe", "repeat"):
            key = word if kind == "observe" else "the same again"
            text = f"{word} happened to a writer"
            done = store.observe(NewObservation(session, "kills", "note", "note", text, key))
            if not done.duplicate:
                say("added", done.observation.id, word, None)
        elif kind == "edit" and target.startswith("mem_"):
            made = store.edit(target, content=f"{word} was changed by a writer").memory
            if made.previous == target:
                mine.remove(target)
                mine.append(made.id)
                say("added", made.id, word, target)
        elif kind == "forget":
            store.forget([target])
            mine.remove(target)
            say("forgot", target)
        elif kind == "undo":
            done = store.undo()
            say("undid", done.verb, [entry.id for entry in done.entries])
        elif kind == "start":
            store.start_session(NewSession(session, "kills"))
        elif kind == "end":
            store.end_session(session)
        elif kind == "close":
            store.close()
    except (MemoryNotFoundError, NothingToUndoError):
        if target in mine:
            mine.remove(target)  # another writer took it back
    say("done")
"""
REINDEX = """
import sys
from pathlib import Path
from dshloop.memory.sqlite.care import reindex
from dshloop.memory.sqlite.database import Database

reindex.AT_ONCE = 20
database = Database(Path(sys.argv[1]))
while True:
    print("begun", flush=True)
    for _ in reindex.reindex(database):
        pass
"""


class Known:
    """What writers have said: the state of every entry that was acknowledged."""

    def __init__(self) -> None:
        self.words: dict[str, str] = {}
        self.previous: dict[str, str | None] = {}
        self.forgotten: set[str] = set()
        self.back: set[str] = set()
        self.undone: set[str] = set()

    def hear(self, said: list[Any]) -> None:
        """Take in what a writer said."""
        match said:
            case ["added", id_, word, previous]:
                self.words[id_], self.previous[id_] = word, previous
            case ["forgot", id_]:
                self.forgotten.add(id_)
            case ["undid", "forget", ids]:
                self.back |= set(ids)
            case ["undid", _, ids]:
                self.undone |= set(ids)

    def state(self, id_: str) -> str:
        """Tell how an entry should be: ``live``, ``old`` or ``away``."""
        if id_ in self.undone or (id_ in self.forgotten and id_ not in self.back):
            return "away"
        newer = [new for new in self.newer(id_) if new not in self.undone]
        return self.state(newer[0]).replace("live", "old") if newer else "live"

    def newer(self, id_: str) -> list[str]:
        """Give the versions that took an entry's place."""
        return [new for new, old in self.previous.items() if old == id_]

    def all_newer(self, id_: str) -> Iterator[str]:
        """Yield all versions after an entry."""
        for new in self.newer(id_):
            yield new
            yield from self.all_newer(new)

    def first_of(self, id_: str) -> str:
        """Give the first version of an entry."""
        previous = self.previous.get(id_)
        return id_ if previous is None else self.first_of(previous)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
def test_what_was_acknowledged_outlives_a_kill(tmp_path: Path) -> None:
    chance, killed, number = random.Random(11), 0, 0
    while killed < KILLS:
        path, known = tmp_path / f"memory{number}.db", Known()
        for turn in range(ROUNDS):
            if killed < KILLS:
                killed += one_round(path, known, f"{number:03}{turn}", chance)
        finish(path, known)
        number += 1


def one_round(path: Path, known: Known, name: str, chance: random.Random) -> int:
    """Start writers, kill them, compare what is there with what they said."""
    writers = [begin(WRITER, path, f"{name}{at}") for at in range(chance.choice((2, 3)))]
    running = [*writers]
    if chance.random() < 0.3:
        running.append(begin(REINDEX, path, name))
    said = {each: [line_of(each)] for each in running}  # from here on a kill meets their work
    time.sleep(chance.random() * 0.5)
    chance.shuffle(running)
    for each in running:
        each.kill()
        time.sleep(chance.choice((0, 0, 0.01)))
    for each, lines in said.items():
        assert each.stdout is not None
        # Not communicate(): it passes over what readline() has read ahead.
        lines += [line for line in each.stdout if line.endswith("\n")]
        _, err = each.communicate(timeout=60)
        assert err == ""
    heard = [[json.loads(line) for line in said[each]] for each in writers]
    for line in [line for each in heard for line in each]:
        known.hear(line)
    compare(path, known, [dark for each in heard for dark in in_the_dark(each)])
    return len(running)


def begin(code: str, path: Path, name: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", code, str(path), name],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def line_of(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    line = process.stdout.readline()
    assert line, process.communicate()[1]
    return line


def in_the_dark(said: list[list[Any]]) -> Iterator[tuple[str, str | None]]:
    """Give what a writer was doing when it was killed, and with which entry."""
    if said and said[-1][0] == "try":
        yield said[-1][1], said[-1][2]


def compare(path: Path, known: Known, dark: list[tuple[str, str | None]]) -> None:
    """Everything is as it was said, but for what was in the dark; then that is known too."""
    if not known.words and is_empty(path):
        return  # all were killed before the first change
    database = sqlite3.connect(path)
    there = dict(database.execute("SELECT id, latest FROM entries"))
    away = {id_ for (id_,) in database.execute("SELECT id FROM forgotten")}
    unheard = [
        (id_, content.split()[0], previous)
        for id_, content, previous in database.execute(
            "SELECT id, content, previous FROM entries UNION ALL "
            "SELECT id, content, previous FROM forgotten"
        )
        if id_ not in known.words
    ]
    database.close()
    for id_, word, previous in unheard:
        known.hear(["added", id_, word, previous])
    adding = [kind for kind, _ in dark if kind in ("remember", "observe", "repeat", "edit")]
    assert len(unheard) <= len(adding)
    undoing = sum(kind == "undo" for kind, _ in dark)
    for kind, target in dark:
        if kind == "forget" and target in away:
            known.hear(["forgot", target])
    surprises = {}
    for id_ in known.words:
        is_ = "away" if id_ in away else {0: "old", 1: "live", None: "lost"}[there.get(id_)]
        assert is_ != "lost", f"{id_} {known.words[id_]} is lost"
        if is_ != known.state(id_):
            surprises[id_] = f"{is_}, not {known.state(id_)}"
            take_in(known, id_, is_)
    # An undo in the dark is about one memory, with all its versions.
    assert len({known.first_of(id_) for id_ in surprises}) <= undoing, surprises
    found = looked_at(path)
    assert [one.code for one in found.findings if one.severity == "error"] == []


def is_empty(path: Path) -> bool:
    store = SqliteStore(path)
    try:
        return store.count() == store.stats().forgotten == 0
    finally:
        store.close()


def take_in(known: Known, id_: str, is_: str) -> None:
    """Learn what an undo in the dark has done."""
    if is_ == "away":
        known.undone.add(id_)
    elif known.state(id_) == "away":
        known.back.update(known.forgotten.intersection([id_, *known.all_newer(id_)]))
    else:
        known.undone.update(known.newer(id_))
    assert known.state(id_) == is_


def finish(path: Path, known: Known) -> None:
    """Every entry that should be there is found by its word, and no other."""
    database = Database(path)
    for _ in reindex(database):
        pass
    database.close()
    assert looked_at(path).findings == ()
    store = SqliteStore(path)
    live = {entry.id for entry in store.list(limit=None)}
    assert live == {id_ for id_ in known.words if known.state(id_) == "live"}
    for id_ in live:
        assert id_ in [hit.entry.id for hit in store.recall(known.words[id_])], known.words[id_]
    store.close()
