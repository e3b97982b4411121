"""The server killed at random moments under load: what was answered with 2xx is there and found.

``DSHLOOP_TEST_KILLS`` says how often (3 where it is not set). Each client says what it is about to
send and what was answered, so one write a client is in the dark when the server is killed.
"""

from __future__ import annotations

import http.client
import os
import random
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.memory.server.serving import Client, Served, found, observation, start

KILLS = int(os.environ.get("DSHLOOP_TEST_KILLS", "3"))
ROUNDS = 20
"""Kills of servers on one store, then another one is begun."""

CLIENTS = 4
LETTERS = str.maketrans("0123456789", "bcfghjkmpq")


@dataclass
class Kept:
    """What was answered: words with the id that each must find, ids that are gone."""

    found: dict[str, str] = field(default_factory=dict)
    gone: set[str] = field(default_factory=set)
    in_doubt: set[str] = field(default_factory=set)
    lock: threading.Lock = field(default_factory=threading.Lock)


def work(server: Served, name: str, kept: Kept, chance: random.Random) -> None:
    """Write until the server is gone."""
    number = 0
    with server.client() as client:
        while True:
            number += 1
            word = f"{name}{number:05}".translate(LETTERS)
            try:
                write(client, name, word, kept, chance)
            except (OSError, http.client.HTTPException):
                return


def write(client: Client, name: str, word: str, kept: Kept, chance: random.Random) -> None:
    """Make one change, and note what was answered."""
    kind = chance.choices(["observe", "remember", "evolve", "forget"], [50, 30, 10, 10])[0]
    mine = [one for one in kept.found if one.startswith(name.translate(LETTERS))]
    memories = [one for one in mine if kept.found[one].startswith("mem_")]
    if kind == "observe":
        got = client.post("/observe", **observation(f"session-{name}", f"{word} was seen"))
        assert got.status == 201
        kept.found[word] = got.json["observationId"]
    elif kind == "remember":
        got = client.post("/remember", content=f"{word} is remembered", project=word)
        assert got.status == 201
        kept.found[word] = got.json["memory"]["id"]
    elif memories and kind == "evolve":
        old = chance.choice(memories)
        kept.in_doubt.add(old)
        got = client.post("/evolve", memoryId=kept.found[old], newContent=f"{word} is newer")
        assert got.json["success"]
        kept.found[word] = got.json["memory"]["id"]
        del kept.found[old]
    elif mine:
        old = chance.choice(mine)
        kept.in_doubt.add(old)
        id_ = kept.found[old]
        part = (
            {"memoryId": id_}
            if id_.startswith("mem_")
            else {"sessionId": f"session-{name}", "observationIds": [id_]}
        )
        got = client.post("/forget", **part)
        assert got.json == {"success": True, "deleted": 1}
        del kept.found[old]
        kept.gone.add(id_)


def killed_under_load(data: Path, round_: int, kepts: dict[str, Kept], seed: int) -> None:
    """Let clients write to a server and kill it at a random moment."""
    server = start(data, MAX_OBS_PER_SESSION="1000000")
    faults: list[BaseException] = []

    def run(name: str) -> None:
        try:
            work(server, name, kepts[name], random.Random(f"{seed}{name}"))
        except BaseException as fault:
            faults.append(fault)

    for at in range(CLIENTS):
        kepts[f"client{round_:03}x{at}y"] = Kept()
    names = list(kepts)[-CLIENTS:]
    threads = [threading.Thread(target=run, args=(name,)) for name in names]
    for thread in threads:
        thread.start()
    time.sleep(random.Random(seed).uniform(0.05, 1.0))
    server.kill()
    for thread in threads:
        thread.join(60)
    assert not faults, faults


def check(data: Path, kepts: dict[str, Kept]) -> int:
    """Start again and look for all that was answered; give how much that is."""
    server = start(data)
    looked = 0
    with server.client() as client:
        for kept in kepts.values():
            for word, id_ in kept.found.items():
                if word in kept.in_doubt:
                    continue
                looked += 1
                assert id_ in found(client, word), f"{word} {id_} is lost"
            for id_ in kept.gone:
                assert client.post("/smart-search", expandIds=[id_]).json["results"] == []
    code, _, err = server.stop()
    assert code == 0
    assert " 500 " not in err
    return looked


@pytest.mark.slow
def test_what_was_answered_survives_kills(tmp_path: Path) -> None:
    seed, looked = random.SystemRandom().randrange(1 << 30), 0
    print(f"seed {seed}")
    for first in range(0, KILLS, ROUNDS):
        data = tmp_path / f"store-{first}"
        for round_ in range(first, min(first + ROUNDS, KILLS)):
            kepts: dict[str, Kept] = {}
            killed_under_load(data, round_, kepts, seed + round_)
            looked += check(data, kepts)
    print(f"{KILLS} kills, {looked} writes found")
    assert looked
