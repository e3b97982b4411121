"""What the bridge does better than the original: nothing lost, nothing told, nothing held up."""

from __future__ import annotations

import asyncio
import itertools
import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from dshloop.errors import (
    BridgeUnreachableError,
    InsecureHttpError,
    OutboxTargetError,
    StoreBusyError,
)
from dshloop.host.abort import AbortSignal
from dshloop.host.mount import Mount
from dshloop.host.rows import HostRow
from dshloop.memory.answers import Filters
from dshloop.memory.entries import Observation
from dshloop.memory.outbox import GIVEN_UP, Outbox
from dshloop.memory.outbox_flush import flush, outboxes
from dshloop.memory.sqlite.store import SqliteStore
from dshloop.plugins.agentmemory import delivery
from dshloop.plugins.deliveries import Surroundings
from dshloop.plugins.deliveries import delivery as delivering
from dshloop.plugins.memory_place import MemoryPlace
from dshloop.sessions.log import SessionLog
from dshloop.sessions.session import MemoryLog
from tests.plugins.agentmemory.checks import refusing, until
from tests.plugins.agentmemory.stand_ins import (
    Answerer,
    Asked,
    Bridged,
    Daemon,
    Played,
    message,
    run,
)

KEY = "sk-abcdefghij0123456789ABCDEFGHIJ"
SECRET = "a-secret-of-the-tests"


@pytest.fixture
def daemon() -> Iterator[Daemon]:
    one = Daemon()
    yield one
    one.close()


def prompts(daemon: Daemon) -> list[str]:
    told = [one["data"] for one in daemon.bodies("/observe")]
    return [data["prompt"] for data in told if "prompt" in data]


def waiting(data: Path) -> list[Any]:
    return [entry for outbox in outboxes(data / "outbox") for entry in outbox.list()]


# --- the outbox ----------------------------------------------------------------------------------


def test_what_was_left_goes_with_the_next_run_in_order(daemon: Daemon, tmp_path: Path) -> None:
    async def first() -> None:
        async with Bridged(daemon.url, tmp_path) as bridged:
            played = bridged.session("s1")
            await played.flush()
            daemon.close()
            for number in range(25):
                played.prompt(f"number {number}")
            await played.flush()
            played.dispose()
        assert bridged.said[-1] == (
            "[agentmemory] 26 calls wait in the outbox and go with the next session, or now: "
            "dshloop memory outbox flush"
        )

    async def second() -> None:
        async with Bridged(daemon.url, tmp_path):
            await until(lambda: "/session/end" in daemon.paths())

    run(first)
    assert len(waiting(tmp_path)) == 26
    daemon.reopen()
    run(second)
    assert prompts(daemon) == [f"number {number}" for number in range(25)]
    assert daemon.paths()[-1] == "/session/end"
    assert waiting(tmp_path) == []


CRASH = """
import asyncio, os, sys
from pathlib import Path
from tests.plugins.agentmemory.stand_ins import Bridged

async def body():
    async with Bridged(sys.argv[1], Path(sys.argv[2])) as bridged:
        played = bridged.session("s1")
        await played.flush()
        for number in range(10):
            played.prompt(f"number {number}")
        await asyncio.sleep(1)
        print("ready", flush=True)
        await asyncio.sleep(60)

asyncio.run(body())
"""


def test_what_a_killed_process_left_is_replayed_once(daemon: Daemon, tmp_path: Path) -> None:
    killed = subprocess.Popen(
        [sys.executable, "-c", CRASH, daemon.url, str(tmp_path)], stdout=subprocess.PIPE, text=True
    )
    assert killed.stdout is not None
    assert killed.stdout.readline() == "ready\n"
    killed.kill()
    killed.communicate()
    assert prompts(daemon) == []

    async def again() -> None:
        async with Bridged(daemon.url, tmp_path):
            await until(lambda: len(prompts(daemon)) == 10)

    run(again)
    assert prompts(daemon) == [f"number {number}" for number in range(10)]


def test_what_a_log_has_and_the_outbox_never_got_is_caught_up_on_resume(
    daemon: Daemon, tmp_path: Path
) -> None:
    log = SessionLog.create(tmp_path / "logs", "s1", cwd="/nowhere/x", clock=time.time, command="t")

    async def first() -> None:
        async with Bridged(daemon.url, tmp_path) as bridged:
            played = Played(bridged, log)  # type: ignore[arg-type]
            bridged.host.hooks.emit("session/created", log)
            for number in range(3):
                played.prompt(f"number {number}")
            await played.flush()
        for number in range(3, 6):  # the process ended before these were handed over
            log.append("user/message", message(f"number {number}"))
        log.flush()
        log.close()

    async def second() -> None:
        again = SessionLog.open(log.path, clock=time.time, command="t")
        async with Bridged(daemon.url, tmp_path) as bridged:
            played = Played(bridged, again)  # type: ignore[arg-type]
            bridged.host.hooks.emit("session/created", again)
            played.prompt("number 6")
            await played.flush()
        again.close()

    run(first)
    assert len(prompts(daemon)) == 3
    run(second)
    assert prompts(daemon) == [f"number {number}" for number in range(7)]


def test_a_new_session_of_an_old_id_is_recorded_from_its_beginning(
    daemon: Daemon, tmp_path: Path
) -> None:
    async def body() -> None:
        for said in ("first", "second"):
            async with Bridged(daemon.url, tmp_path) as bridged:
                played = bridged.session("s1")
                played.prompt(said)
                await played.flush()

    run(body)
    assert prompts(daemon) == ["first", "second"]


@pytest.mark.parametrize(
    ("status", "value"),
    [(400, {"error": "bad"}), (201, {"success": False, "error": "limit"}), (413, b"")],
)
def test_what_is_refused_is_given_up_and_stays_to_be_seen(
    status: int, value: Any, daemon: Daemon, tmp_path: Path
) -> None:
    def answer(asked: Asked) -> tuple[int, Any] | None:
        bad = asked.path == "/observe" and asked.body["data"].get("prompt") == "bad"
        return (status, value) if bad else None

    daemon.answer = answer

    async def body() -> None:
        async with Bridged(daemon.url, tmp_path) as bridged:
            played = bridged.session()
            for said in ("one", "bad", "two"):
                played.prompt(said)
            await played.flush()
            await asyncio.sleep(0.05)
            (line,) = [line for line in bridged.said if "given up" in line]
            assert line.startswith("[agentmemory] observe given up for session s1: ")

    run(body)
    assert prompts(daemon) == ["one", "bad", "two"]
    (left,) = waiting(tmp_path)
    assert (left.state, left.body["data"]["prompt"]) == (GIVEN_UP, "bad")


def test_a_wrong_secret_loses_nothing(daemon: Daemon, tmp_path: Path) -> None:
    denied = ("/observe", "/session/start", "/context")
    daemon.answer = refusing(401, {"error": "unauthorized"}, *denied)

    async def body() -> None:
        async with Bridged(daemon.url, tmp_path) as bridged:
            played = bridged.session()
            for number in range(3):
                played.prompt(f"number {number}")
                await played.flush()
            await asyncio.sleep(0.05)
            told = [line for line in bridged.said if "secret" in line]
            assert len(told) == 1
            assert "the row's secret has to be the daemon's AGENTMEMORY_SECRET" in told[0]
            daemon.answer = lambda _asked: None
            await played.flush()

    run(body)
    assert prompts(daemon)[-3:] == ["number 0", "number 1", "number 2"]
    assert waiting(tmp_path) == []


def test_a_row_that_the_daemon_always_stumbles_over_ends_one_day(
    daemon: Daemon, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delivery, "_HOUR", 0.0)
    daemon.answer = lambda asked: (
        (500, {"error": "[object Object]"})
        if asked.path == "/observe" and asked.body["data"]["prompt"] == "bad"
        else None
    )

    async def body() -> None:
        async with Bridged(daemon.url, tmp_path) as bridged:
            played = bridged.session()
            played.prompt("bad")
            played.prompt("good")
            for _ in range(12):
                await played.flush()

    run(body)
    assert prompts(daemon) == ["bad"] * 12 + ["good"]


def test_an_outbox_that_can_not_be_written_is_told_and_tried_again(
    daemon: Daemon, tmp_path: Path
) -> None:
    (tmp_path / "outbox").write_text("in the way")

    async def body() -> None:
        async with Bridged(daemon.url, tmp_path) as bridged:
            played = bridged.session()
            played.prompt("kept")
            await played.flush()
            await asyncio.sleep(0.05)
            assert any("can't be used" in line for line in bridged.said)
            (tmp_path / "outbox").unlink()
            played.prompt("more")
            await played.flush()

    run(body)
    assert prompts(daemon) == ["kept", "more"]


def test_what_could_be_written_nowhere_is_told_as_lost(daemon: Daemon, tmp_path: Path) -> None:
    (tmp_path / "outbox").write_text("in the way")

    async def body() -> None:
        async with Bridged(daemon.url, tmp_path) as bridged:
            for id_ in ("s1", "s2"):
                played = bridged.session(id_)
                played.prompt("lost")
                await played.flush()
            played.dispose()
        assert bridged.said[-1] == ("[agentmemory] 5 calls are lost: the outbox can't be written")

    run(body)


def test_a_full_outbox_drops_its_oldest_and_says_so(
    daemon: Daemon, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy = Outbox(tmp_path, "x").policy._replace(entries=5)
    monkeypatch.setattr("dshloop.plugins.agentmemory.row.POLICY", policy)

    async def body() -> None:
        async with Bridged(daemon.url, tmp_path) as bridged:
            played = bridged.session()
            await played.flush()
            daemon.close()
            for number in range(9):
                played.prompt(f"number {number}")
            await played.flush()
            await asyncio.sleep(0.05)
            assert "[agentmemory] the outbox is full: 4 of its oldest entries were dropped" in (
                bridged.said
            )

    run(body)
    assert [one.body["data"]["prompt"][-1] for one in waiting(tmp_path)] == list("45678")
    daemon.reopen()


def test_no_secret_is_written_down(daemon: Daemon, tmp_path: Path) -> None:
    async def body() -> None:
        async with Bridged(daemon.url, tmp_path, {"TOKEN": SECRET}, secret="${TOKEN}") as bridged:
            played = bridged.session()
            await played.flush()
            daemon.close()
            played.prompt(f"the key is {KEY}, what stands in the profile is {SECRET}")
            played.called("cat", json.dumps({"file": SECRET}), f"the file says {SECRET}")
            played.called("bash", json.dumps({"key": KEY}), f"API_KEY={KEY}")
            await played.flush()
            told = await bridged.tool("memory_remember", played, content=KEY)
            assert told["ok"] is False
            assert SECRET not in repr(bridged.config)
        assert KEY not in "".join(bridged.said)
        assert SECRET not in "".join(bridged.said)

    run(body)
    for entry in waiting(tmp_path):
        assert entry.target == {"url": daemon.url, "secret": {"variable": "TOKEN"}}
    for file in (tmp_path / "outbox").iterdir():
        assert KEY.encode() not in file.read_bytes()
        assert SECRET.encode() not in file.read_bytes()
    daemon.reopen()


def test_no_tool_sends_the_secret_of_its_row(daemon: Daemon, tmp_path: Path) -> None:
    async def body() -> None:
        async with Bridged(daemon.url, tmp_path, secret=SECRET, injectSemantic=True) as bridged:
            played = bridged.session()
            await bridged.tool("memory_remember", played, content=f"it is {SECRET}")
            await bridged.tool("memory_recall", played, query=f"what is {SECRET}")
            await played.step(message(f"is it {SECRET}?", "m1"))

    run(body)
    assert {"/remember", "/search", "/smart-search"} <= set(daemon.paths())
    assert SECRET not in json.dumps([one.body for one in daemon.asked])


def test_what_waits_can_be_sent_without_a_run(daemon: Daemon, tmp_path: Path) -> None:
    async def body() -> None:
        daemon.answer = lambda asked: (500, {}) if asked.path == "/observe" else None
        for secret in ("${TOKEN}", SECRET):
            async with Bridged(daemon.url, tmp_path, {"TOKEN": SECRET}, secret=secret) as bridged:
                played = bridged.session(f"s-{len(secret)}")
                played.prompt("left")
                await played.flush()

    run(body)
    daemon.answer = lambda _asked: None
    daemon.asked.clear()
    (outbox,) = outboxes(tmp_path / "outbox")
    row = HostRow("m", "dsh-agentmemory", {"secret": SECRET})
    place = MemoryPlace(tmp_path, tmp_path / "outbox", None, {})
    with delivering(outbox.store, Surroundings(place)) as deliver:
        for entry in outbox.due(all=True):
            with pytest.raises(OutboxTargetError, match=r"TOKEN|row of a profile"):
                deliver(entry)
    place = MemoryPlace(tmp_path, tmp_path / "outbox", None, {"TOKEN": SECRET})
    with delivering(outbox.store, Surroundings(place, lambda: [row])) as deliver:
        assert flush(outbox, deliver).delivered == 2
    assert prompts(daemon) == ["left", "left"]
    assert {one.headers["Authorization"] for one in daemon.asked} == {f"Bearer {SECRET}"}


def hanging(until: threading.Event) -> Answerer:
    def answer(_asked: Asked) -> None:
        until.wait()

    return answer


def test_twenty_sessions_at_once_keep_their_order(daemon: Daemon, tmp_path: Path) -> None:
    fails = itertools.cycle([None, None, (500, {"error": "now and then"}), None])
    daemon.answer = lambda asked: next(fails) if asked.path == "/observe" else None
    taken: dict[str, list[str]] = {}

    def note(asked: Asked, status: int) -> None:
        if asked.path == "/observe" and status == 201:
            taken.setdefault(asked.body["sessionId"], []).append(asked.body["data"]["prompt"])

    daemon.after = note

    async def talk(played: Played) -> None:
        for number in range(8):
            played.prompt(f"number {number}")
            await asyncio.sleep(0)
            if number % 3 == 2:
                await played.flush()

    async def body() -> None:
        async with Bridged(daemon.url, tmp_path) as bridged:
            sessions = [bridged.session(f"s{number}") for number in range(20)]
            await asyncio.gather(*map(talk, sessions))
            while waiting(tmp_path):
                await asyncio.gather(*(one.flush() for one in sessions))

    run(body)
    assert len(taken) == 20
    assert all(one == [f"number {number}" for number in range(8)] for one in taken.values())


def test_an_event_like_no_other_holds_nothing_up(daemon: Daemon, tmp_path: Path) -> None:
    async def body() -> None:
        async with Bridged(daemon.url, tmp_path) as bridged:
            played = bridged.session()
            for data in (None, [], "x", {"content": 5, "source": 7}, {"message": {"content": {}}}):
                for kind in ("user/message", "tool/call", "tool/result", "assistant/message"):
                    played.append(kind, data)
                for kind in ("turn/end", "approval/asked", "compaction/summary"):
                    played.append(kind, data)
            played.prompt("after all that")
            await played.flush()
            assert not [line for line in bridged.said if "left out" in line]

    run(body)
    assert prompts(daemon)[-1] == "after all that"


def test_a_row_of_one_agent_tells_of_its_sessions_end(daemon: Daemon, tmp_path: Path) -> None:
    async def body() -> None:
        bridged = Bridged(daemon.url, tmp_path)
        log = MemoryLog({"version": 0, "id": "s1", "createdAt": 0, "cwd": "/w"}, [], time.time)
        agent: Any = SimpleNamespace(
            session=log, hooks=bridged.host.hooks.scope(), tools=bridged.host.tools.scope(), id="s1"
        )
        bridged.mount = Mount(bridged.host, agent)
        async with bridged:
            agent.hooks.emit("session/created", log)
            assert [tool.name for tool in agent.tools.offered][:1] == ["memory_recall"]
            assert bridged.host.tools.offered == []

    run(body)
    assert daemon.paths() == ["/session/start", "/session/end"]


# --- waiting -------------------------------------------------------------------------------------


def test_a_daemon_that_hangs_holds_a_turn_up_no_longer_than_its_limit(
    daemon: Daemon, tmp_path: Path
) -> None:
    hangs = threading.Event()

    async def body() -> None:
        async with Bridged(daemon.url, tmp_path, curlTimeoutMs=300, injectSemantic=True) as bridged:
            daemon.answer = hanging(hangs)
            played = bridged.session()
            for _ in range(2):
                played.append("turn/start", {"turn": 1})
                assert await played.injected(message("x", "m1")) == []
                played.prompt("x")
                assert await played.injected() == []
                await played.flush()
            hangs.set()  # all that came to its end while no request had

    run(body)


def test_a_bridge_that_breaks_does_not_break_the_turn(
    daemon: Daemon, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def body() -> None:
        async with Bridged(daemon.url, tmp_path) as bridged:
            played = bridged.session()
            monkeypatch.setattr("dshloop.plugins.agentmemory.desk.Desk.flush", broken)
            monkeypatch.setattr("dshloop.plugins.agentmemory.desk.Desk.ready", broken)
            assert await played.injected(message("x")) == []
            await played.flush()
            await asyncio.sleep(0)
            assert "[agentmemory] memory failed session s1: KeyError('broken')" in bridged.said

    async def broken(*_: Any) -> None:
        raise KeyError("broken")

    run(body)


def test_a_call_of_a_tool_ends_with_its_turn(daemon: Daemon, tmp_path: Path) -> None:
    hangs = threading.Event()

    async def body() -> None:
        async with Bridged(daemon.url, tmp_path, curlTimeoutMs=30_000) as bridged:
            daemon.answer = hanging(hangs)
            signal = AbortSignal()
            calling = asyncio.ensure_future(bridged.tool("memory_recall", signal=signal, query="x"))
            await until(lambda: "/search" in daemon.paths())
            signal.abort({"kind": "user"})
            assert await calling == {"ok": False, "error": "agentmemory request cancelled"}
            hangs.set()

    run(body)


# --- ways of using it ----------------------------------------------------------------------------


def test_a_bridge_that_only_reads_writes_nothing(daemon: Daemon, tmp_path: Path) -> None:
    daemon.context = '<agentmemory-context project="x">\na\n</agentmemory-context>'

    async def body() -> None:
        async with Bridged(daemon.url, tmp_path, readOnly=True, injectSemantic=True) as bridged:
            assert [tool.name for tool in bridged.host.tools.offered] == ["memory_recall"]
            played = bridged.session()
            assert len(await played.injected(message("x", "m"))) == 1
            played.prompt("x")
            played.append("compaction/summary", {"summary": "s"})
            await played.flush()
            await bridged.tool("memory_recall", played, query="x")
            played.dispose()

    run(body)
    assert set(daemon.paths()) == {"/context", "/smart-search", "/search"}
    assert not (tmp_path / "outbox").exists()


def test_an_isolated_agent_reads_its_own(daemon: Daemon, tmp_path: Path) -> None:
    async def body() -> None:
        on = {"isolateAgent": True, "agentId": "mine", "injectSemantic": True}
        async with Bridged(daemon.url, tmp_path, **on) as bridged:
            played = bridged.session()
            played.prompt("x")
            await played.injected()
            await bridged.tool("memory_recall", played, query="x")
            offered = bridged.host.tools.get("memory_recall")
            assert offered is not None
            assert "agentId" not in json.dumps(offered.parameters)
            for theirs in ("theirs", "*"):
                await bridged.tool("memory_recall", played, query="x", agentId=theirs)

    run(body)
    for path in ("/context", "/smart-search"):
        assert {one["agentId"] for one in daemon.bodies(path)} == {"mine"}
    assert [one["agentId"] for one in daemon.bodies("/search")] == ["mine"] * 3


def test_tools_and_bridge_agree_on_the_project(daemon: Daemon, tmp_path: Path) -> None:
    below = tmp_path / "shop" / "src"
    below.mkdir(parents=True)
    (tmp_path / "shop" / ".git").mkdir()

    async def body() -> None:
        async with Bridged(daemon.url, tmp_path) as bridged:
            played = bridged.session("s1", str(below))
            played.prompt("x")
            await played.flush()
            await bridged.tool("memory_recall", played, query="x")
            await bridged.tool("memory_remember", played, content="x")
            await bridged.tool("memory_recall", played, query="x", project="other")

    run(body)
    for path in ("/session/start", "/observe", "/context", "/remember"):
        assert {one["project"] for one in daemon.bodies(path)} == {"shop"}
    assert [one["project"] for one in daemon.bodies("/search")] == ["shop", "other"]


def test_the_memory_tools_own_calls_are_not_recorded(daemon: Daemon, tmp_path: Path) -> None:
    daemon.context = "w"

    async def body() -> None:
        async with Bridged(daemon.url, tmp_path) as bridged:
            played = bridged.session()
            (window,) = (await played.step())["messages"]
            played.append("user/message", window)
            played.called("memory_recall", '{"query":"x"}', "results")
            await played.flush()

    run(body)
    assert daemon.bodies("/observe") == []
    assert daemon.bodies("/context") == []


def test_a_failure_of_the_daemon_is_an_answer_of_the_tool(daemon: Daemon, tmp_path: Path) -> None:
    answers = iter([(403, {"error": "forbidden host"}), (200, b"plain words"), (200, [1])])
    daemon.answer = lambda asked: next(answers) if asked.path == "/search" else None

    async def body() -> None:
        async with Bridged(daemon.url, tmp_path) as bridged:
            told = [await bridged.tool("memory_recall", query="x") for _ in range(3)]
            assert told == [
                {"ok": False, "error": "forbidden host (HTTP 403)"},
                {"raw": "plain words"},
                [1],
            ]
            daemon.close()
            told = [await bridged.tool("memory_recall", query="x")]
            assert told[0]["ok"] is False
            assert "agentmemory" in told[0]["error"]
        daemon.reopen()

    run(body)


@pytest.mark.parametrize(
    ("given", "sent"), [(None, 8), (0, 1), (-3, 1), (7.9, 7), (999, 50), ("5", 8), (True, 8)]
)
def test_the_limit_of_a_recall_is_a_whole_number_within_its_range(
    given: Any, sent: int, daemon: Daemon, tmp_path: Path
) -> None:
    async def body() -> None:
        async with Bridged(daemon.url, tmp_path) as bridged:
            await bridged.tool("memory_recall", query=" x ", limit=given)

    run(body)
    assert daemon.bodies("/search") == [{"query": "x", "limit": sent, "project": "DSH"}]


def test_a_secret_goes_to_another_machine_only_when_that_is_allowed(tmp_path: Path) -> None:
    async def body() -> None:
        with pytest.raises(InsecureHttpError):
            async with Bridged("http://192.0.2.1:9", tmp_path, secret=SECRET):
                pass
        with pytest.raises(BridgeUnreachableError):
            async with Bridged(
                "http://192.0.2.1:9", tmp_path, secret=SECRET, allowInsecureHttp=True,
                curlTimeoutMs=50,
            ):  # fmt: skip
                pass

    run(body)


# --- our own store -------------------------------------------------------------------------------


def test_our_own_store_takes_the_place_of_a_daemon(tmp_path: Path) -> None:
    def open_store() -> SqliteStore:
        return SqliteStore(tmp_path / "memory.db")

    async def body() -> None:
        on: dict[str, Any] = {"store": "local", "open_store": open_store, "curlTimeoutMs": 60_000}
        async with Bridged("http://127.0.0.1:9", tmp_path, **on) as bridged:
            played = bridged.session("s1")
            played.prompt("The windmill grinds rye.")
            for number in range(40):
                played.called("bash", '{"command":"date"}', f"it is {number}")
            await asyncio.sleep(0)
            await played.flush()
            kept = await bridged.tool("memory_remember", played, content="The quay is long.")
            assert kept["success"] is True
            found = await bridged.tool("memory_recall", played, query="quay")
            assert "The quay is long." in json.dumps(found)
            played.dispose()
            ((form, window),) = await bridged.session("s2").injected()
            assert form == "recall"
            assert "quay" in window

    run(body)
    store = open_store()
    try:
        session = store.get_session("s1")
        assert session is not None
        assert session.agent == "dsh"
        assert store.count(Filters(session="s1", kinds=("observation",))) == 41
    finally:
        store.close()


def test_a_store_of_ours_that_is_busy_gets_it_later(tmp_path: Path) -> None:
    def busy() -> SqliteStore:
        raise StoreBusyError("another program has the database")

    async def body() -> None:
        on: dict[str, Any] = {"store": "local", "open_store": busy}
        async with Bridged("http://127.0.0.1:9", tmp_path, **on) as bridged:
            played = bridged.session("s1")
            played.prompt("The quay is long.")
            await played.flush()
            told = await bridged.tool("memory_recall", played, query="quay")
            assert told == {"ok": False, "error": "another program has the database"}

    run(body)
    (outbox,) = outboxes(tmp_path / "outbox")
    assert (outbox.store, outbox.state().pending) == ("agentmemory:local", 2)
    place = MemoryPlace(
        tmp_path, tmp_path / "outbox", lambda: SqliteStore(tmp_path / "memory.db"), {}
    )
    with delivering(outbox.store, Surroundings(place)) as deliver:
        assert flush(outbox, deliver).delivered == 2
    store = SqliteStore(tmp_path / "memory.db")
    (kept,) = store.list(Filters(session="s1"))
    store.close()
    assert isinstance(kept, Observation)
    assert (kept.content, kept.agent) == ("The quay is long.", "dsh")


def test_without_a_place_of_its_own_the_outbox_goes_with_the_row(daemon: Daemon) -> None:
    async def body() -> None:
        from dshloop.host.host import Host
        from dshloop.plugins.agentmemory.row import Agentmemory

        host = Host(SimpleNamespace())  # type: ignore[arg-type]
        mount = Mount(host)
        await Agentmemory().apply(mount, Agentmemory.Config({"baseUrl": daemon.url}))
        await mount.unwind()
        assert host.tools.offered == []

    run(body)
