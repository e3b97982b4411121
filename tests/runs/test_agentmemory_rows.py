"""The row dsh-agentmemory in real runs."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from dshloop.errors import BridgeUnreachableError
from dshloop.host.rows import HostRow, Spot
from dshloop.memory.answers import Filters
from dshloop.memory.outbox_flush import outboxes
from dshloop.memory.stores import open_store
from dshloop.paths import Places
from dshloop.plugins.built_in import ROWS, completed
from dshloop.runs.profile import ProfileRows
from dshloop.runs.talking.conversation import RunOptions
from dshloop.runs.talking.run import Ended, Happened, Record, run_session
from dshloop.sessions.catalog import entries
from tests.plugins.agentmemory.stand_ins import Daemon

WINDOW = '<agentmemory-context project="p">\nThe gate is blue.\n</agentmemory-context>'


@pytest.fixture
def places(tmp_path: Path) -> Places:
    return Places(tmp_path / "dsh", tmp_path / "data", tmp_path / "config")


@pytest.fixture
def daemon() -> Iterator[Daemon]:
    one = Daemon(context=WINDOW)
    yield one
    one.close()


def go(places: Places, cwd: Path, *prompts: str, **config: Any) -> Sequence[Record]:
    def locate(_path: Any) -> Spot:
        return Spot("profile", "p.yml", 3)

    row = HostRow("agentmemory", "dsh-agentmemory", config, locate=locate)
    rows = ProfileRows(completed([row]).rows)
    options = RunOptions(cwd=cwd, command="test", rows=rows, driver="fake")
    return list(run_session(places, options, prompts, time.time))


def recalls(records: Sequence[Record]) -> list[Any]:
    return [
        record.event["data"]
        for record in records
        if isinstance(record, Happened)
        and record.event["type"] == "user/message"
        and record.event["data"]["source"].get("plugin") == "agentmemory"
    ]


def test_a_run_is_recorded_and_told_what_is_known(
    daemon: Daemon, places: Places, tmp_path: Path
) -> None:
    records = go(places, tmp_path, "first", "second", baseUrl=daemon.url)
    assert isinstance(records[-1], Ended)
    assert records[-1].outcome == "completed"
    (window,) = recalls(records)
    assert window["content"][0]["text"] == WINDOW
    paths = [path for path in daemon.paths() if path != "/context"]
    assert paths[0] == "/session/start"
    assert paths[-1] == "/session/end"
    told = [one["data"] for one in daemon.bodies("/observe")]
    assert [one["prompt"] for one in told if "prompt" in one] == ["first", "second"]
    assert sum(one.get("tool_name") == "turn_end" for one in told) == 2
    assert "The gate is blue" not in str(told)
    (session,) = daemon.bodies("/session/start")
    assert session["sessionId"] == next(iter(entries(places))).id
    assert (session["project"], session["cwd"]) == (tmp_path.name, str(tmp_path))


def test_without_a_daemon_nothing_runs_and_the_row_is_named(
    daemon: Daemon, places: Places, tmp_path: Path
) -> None:
    daemon.close()
    with pytest.raises(BridgeUnreachableError) as raised:
        go(places, tmp_path, "first", baseUrl=daemon.url)
    assert raised.value.exit_code == 5
    assert raised.value.message.startswith(
        'p.yml:3: row "agentmemory" (dsh-agentmemory) failed: [agentmemory] daemon unreachable at '
    )
    assert raised.value.details["line"] == 3
    assert list(entries(places)) == []


def test_a_daemon_that_goes_away_later_loses_nothing(
    daemon: Daemon, places: Places, tmp_path: Path
) -> None:
    alive = iter([None])
    daemon.answer = lambda _asked: next(alive, (503, b""))
    records = go(places, tmp_path, "first", baseUrl=daemon.url)
    assert isinstance(records[-1], Ended)
    assert records[-1].outcome == "completed"
    (outbox,) = outboxes(places.outbox)
    kinds = [entry.kind for entry in outbox.list()]
    assert (kinds[0], kinds[-1]) == ("session/start", "session/end")
    daemon.answer = lambda _asked: None
    daemon.asked.clear()
    outbox.replay()
    go(places, tmp_path, "second", baseUrl=daemon.url)
    assert outbox.list() == []
    first = daemon.bodies("/session/start")[0]["sessionId"]
    assert [one["data"].get("prompt") for one in daemon.bodies("/observe")].count("first") == 1
    assert {"sessionId": first} in daemon.bodies("/session/end")


def test_our_own_store_serves_without_a_daemon(places: Places, tmp_path: Path) -> None:
    go(places, tmp_path, "The staging database is called lavender", store="local")
    (window,) = recalls(go(places, tmp_path, "hello", store="local"))
    assert "lavender" in window["content"][0]["text"]
    store = open_store(None, database=places.memory_db, readonly=True)
    try:
        hooks = {one.hook for one in store.list(Filters(), limit=None)}  # type: ignore[union-attr]
    finally:
        store.close()
    assert hooks == {"prompt_submit", "post_tool_use"}


def test_the_row_takes_the_place_of_our_own_memory() -> None:
    rows = completed([HostRow("m", "dsh-agentmemory", {})]).rows
    assert "dshloop/memory" not in {row.name for row in rows}
    assert "dshloop/memory" in {row.name for row in ROWS}
