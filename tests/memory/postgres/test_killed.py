"""A server that is killed under load and started again has lost nothing that was acknowledged."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import pytest

from dshloop.errors import DshloopError
from dshloop.memory.answers import Filters
from dshloop.memory.entries import NewMemory, NewObservation
from dshloop.memory.postgres.pools import Place
from dshloop.memory.postgres.store import PostgresStore
from tests.memory.postgres.server import NoServerError, Server

WRITERS = 6
KILLS = 3
SECONDS = 2.0


@pytest.fixture
def server() -> Iterator[Server]:
    try:
        server = Server("max_connections=40")
    except NoServerError as error:
        pytest.skip(str(error))
    server.start()
    yield server
    server.stop()


class Writer(threading.Thread):
    """Stores one thing after the other, and notes what the store said it has."""

    def __init__(self, place: Place, number: int, stop: threading.Event) -> None:
        super().__init__()
        self._store = PostgresStore(place, patience=30.0)
        self._number, self._stop_asked = number, stop
        self.acknowledged: dict[str, str] = {}
        self.refused = 0

    def run(self) -> None:
        for step in range(1_000_000):
            if self._stop_asked.is_set():
                break
            try:
                self._write(step)
            except DshloopError:
                self.refused += 1
        self._store.close()

    def _write(self, step: int) -> None:
        text = f"writer{self._number} noted fact{self._number}x{step}"
        if step % 3 == 0:
            new = NewObservation(f"s{self._number}", "p", "stop", "stop", text, text)
            entry = self._store.observe(new).observation
            self.acknowledged[entry.id] = text
            return
        memory = self._store.remember(NewMemory(text, "p")).memory
        self.acknowledged[memory.id] = text
        if step % 3 == 2:
            edited = self._store.edit(memory.id, content=f"{text} revised").memory
            self.acknowledged[edited.id] = f"{text} revised"


@pytest.mark.slow
def test_nothing_acknowledged_is_lost(server: Server) -> None:
    place = Place(server.dsn, "dshloop")
    stop = threading.Event()
    writers = [Writer(place, number, stop) for number in range(WRITERS)]
    for writer in writers:
        writer.start()
    for _ in range(KILLS):
        time.sleep(SECONDS)
        server.kill()
        server.start()
    time.sleep(SECONDS)
    stop.set()
    for writer in writers:
        writer.join()
    store = PostgresStore(place)
    for writer in writers:
        assert len(writer.acknowledged) > KILLS
        for id_, text in writer.acknowledged.items():
            assert store.get(id_).content == text
        for id_, text in list(writer.acknowledged.items())[-20:]:
            if getattr(store.get(id_), "latest", True):
                assert id_ in [hit.entry.id for hit in store.recall(text, limit=30, min_score=0.0)]
    assert any(writer.refused for writer in writers), "no writer met a killed server"
    sessions = {one.id: one.observations for one in store.sessions(limit=None)}
    for session, observations in sessions.items():
        assert store.count(_of(session)) == observations
    store.close()


def _of(session: str) -> Filters:
    return Filters(session=session, kinds=("observation",))
