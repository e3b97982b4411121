"""How a store is told to be, whatever is wrong with it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import pytest

from dshloop.errors import (
    AgentmemoryOldError,
    DshloopError,
    ExitCode,
    PeerDeniedError,
    PeerDownError,
    PeerFailedError,
    PeerTimeoutError,
    StoreCorruptError,
)
from dshloop.memory.entries import NewMemory
from dshloop.memory.outbox import Item, Outbox
from dshloop.memory.sqlite.store import SqliteStore
from dshloop.memory.status import FLUSH, Probe, Status, status_of
from dshloop.memory.store import MemoryReader

Opening = Callable[[], MemoryReader]


def failing(error: DshloopError) -> Opening:
    def open_reader() -> NoReturn:
        raise error

    return open_reader


def of(name: str, open_reader: Opening, *outboxes: Outbox, where: str | None = None) -> Status:
    return status_of(name, where, open_reader, outboxes, seconds=1.0)


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return tmp_path / "memory.db"


def test_a_store_that_answers_is_counted(database: Path) -> None:
    store = SqliteStore(database)
    store.remember(NewMemory("deploy on Fridays", "p"))
    store.close()
    found = of("embedded", lambda: SqliteStore(database), where=str(database))
    told = found.as_json()
    assert (told["reachable"], told["error"], told["mend"]) == (True, None, None)
    assert told["counts"] == {
        "memories": 1, "observations": 0, "sessions": 0, "versions": 0, "forgotten": 0,
    }  # fmt: skip
    assert str(told["version"]).startswith("schema ")
    assert int(str(told["version"]).split()[1]) > 0
    assert found.exit_code is ExitCode.DONE


def test_a_store_without_a_file_is_empty_and_well(database: Path) -> None:
    found = of("embedded", lambda: SqliteStore(database), where=str(database))
    assert (found.reachable, found.probe.version, found.exit_code) == (True, None, ExitCode.DONE)
    assert not database.exists()


@pytest.mark.parametrize(
    ("store", "error", "reachable", "mend", "code"),
    [
        ("agentmemory", PeerDownError("x"), False, "dshloop memory serve", ExitCode.PEER),
        ("patchouli", PeerDownError("x"), False, "patchouli-db serve", ExitCode.PEER),
        ("other", PeerDownError("x"), False, None, ExitCode.PEER),
        (
            "agentmemory:http://h:1",
            PeerTimeoutError("x"),
            False,
            "dshloop memory status --store agentmemory:http://h:1",
            ExitCode.PEER,
        ),
        (
            "agentmemory",
            PeerFailedError("x"),
            False,
            "dshloop memory status --store agentmemory",
            ExitCode.PEER,
        ),
        (
            "agentmemory:http://h:1",
            PeerDeniedError("x"),
            False,
            "export AGENTMEMORY_SECRET=SECRET",
            ExitCode.PEER,
        ),
        (
            "agentmemory",
            AgentmemoryOldError("x"),
            False,
            "npm install -g @agentmemory/agentmemory@latest",
            ExitCode.PEER,
        ),
        (
            "embedded",
            StoreCorruptError("x"),
            False,
            "dshloop memory check --salvage NEWFILE",
            ExitCode.FAILED,
        ),
    ],
)
def test_what_is_wrong_is_told_with_what_mends_it(
    store: str, error: DshloopError, reachable: bool, mend: str | None, code: ExitCode
) -> None:
    found = of(store, failing(error))
    assert (found.reachable, found.mend, found.exit_code) == (reachable, mend, code)
    assert found.as_json()["error"]["code"] == error.code
    assert found.as_json()["counts"] is None


def test_a_refused_secret_is_told() -> None:
    assert of("agentmemory", failing(PeerDeniedError("x"))).probe.auth == "refused"


def test_what_waits_is_summed_up_and_mended_by_a_flush(database: Path, tmp_path: Path) -> None:
    clock = [1000.0]
    boxes = [Outbox(tmp_path / "outbox", name, clock=lambda: clock[0]) for name in ("a", "b")]
    first, *_ = boxes[0].put("s1", [Item("observe", {"n": 1}), Item("observe", {"n": 2})])
    clock[0] = 2000.0
    boxes[1].put("s1", [Item("observe", {"n": 3})])
    boxes[0].done(first)
    failed = boxes[1].due(all=True)[0]
    boxes[1].failed(failed, "it hung", final=True)
    found = of("embedded", lambda: SqliteStore(database), *boxes)
    told = found.as_json()
    assert told["outbox"] == {
        "outboxes": ["a", "b"],
        "pending": 1,
        "given_up": 1,
        "dropped": 0,
        "bytes": found.waiting.bytes,
        "oldest": "1970-01-01T00:16:40.000Z",
        "last_success": "1970-01-01T00:33:20.000Z",
        "last_error": "it hung",
    }
    assert (told["last_success"], told["last_error"]) == ("1970-01-01T00:33:20.000Z", "it hung")
    assert found.mend == FLUSH
    for entry in boxes[0].list():
        boxes[0].done(entry)
    assert "replay" in str(of("embedded", lambda: SqliteStore(database), *boxes).mend)
    for box in boxes:
        box.close()


def test_a_store_is_asked_how_it_is_before_it_counts(database: Path) -> None:
    class Asked(SqliteStore):
        def probe(self, seconds: float) -> Probe:
            return Probe("7.1", "accepted", (f"within {seconds:g}",))

    found = of("asked", lambda: Asked(database))
    assert found.probe == Probe("7.1", "accepted", ("within 1",))


def test_an_outbox_that_can_not_be_used_is_part_of_the_answer(
    database: Path, tmp_path: Path
) -> None:
    broken, whole = (Outbox(tmp_path / "outbox", name) for name in ("a", "b"))
    whole.put("s1", [Item("observe", 1)])
    broken.path.write_text("no database at all " * 20)
    found = of("embedded", lambda: SqliteStore(database), broken, whole)
    assert (found.reachable, found.waiting.pending) == (True, 1)
    assert found.error is not None
    assert (found.error.code, found.exit_code) == ("OUTBOX_UNUSABLE", ExitCode.FAILED)
    assert found.as_json()["last_error"] == found.error.message
    for box in (broken, whole):
        box.close()
