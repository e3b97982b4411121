"""What was put into the outbox goes out in order, once, and is never lost by a crash."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from dshloop.errors import (
    AgentmemoryRefusedError,
    AgentmemoryTooLargeError,
    OutboxUnusableError,
    PeerDeniedError,
    PeerFailedError,
    PeerTimeoutError,
)
from dshloop.memory.outbox import GIVEN_UP, Entry, Item, Outbox, Policy
from dshloop.memory.outbox_entries import HopelessEntryError
from dshloop.memory.outbox_flush import flush, outboxes


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def put(outbox: Outbox, session: str, *bodies: object) -> None:
    for body in bodies:
        outbox.put(session, [Item("call", body)])


def test_nothing_is_created_by_looking(tmp_path: Path) -> None:
    outbox = Outbox(tmp_path / "outbox", "a")
    assert (outbox.list(), outbox.due(), outbox.mark("s"), outbox.next_at()) == ([], [], None, None)
    assert outbox.drop() == outbox.replay() == outbox.state().pending == 0
    assert not (tmp_path / "outbox").exists()


def test_entries_of_a_session_go_out_in_order(tmp_path: Path) -> None:
    outbox = Outbox(tmp_path, "a")
    put(outbox, "s", 1, 2)
    put(outbox, "t", 3)
    put(outbox, "s", 4)
    out: list[object] = []
    assert flush(outbox, lambda entry: out.append((entry.session, entry.body)))[0] == 4
    assert [body for session, body in out if session == "s"] == [1, 2, 4]  # type: ignore[misc]
    assert outbox.list() == []
    assert outbox.state().last_success is not None


def test_a_peer_that_is_away_is_tried_once_and_not_for_each_session(tmp_path: Path) -> None:
    outbox = Outbox(tmp_path, "a")
    for number in range(3):
        for url in ("down", "up"):
            outbox.put(f"{url} {number}", [Item("call", number)], target={"url": url})
    tried: list[str] = []

    def deliver(entry: Entry) -> None:
        tried.append(entry.session)
        if entry.target == {"url": "down"}:
            raise PeerTimeoutError("it says nothing")

    assert flush(outbox, deliver) == (3, 1, 0)
    assert tried == ["down 0", "up 0", "up 1", "up 2"]
    put(outbox, "other", 1)

    def refuse(entry: Entry) -> None:
        raise PeerFailedError(f"no: {entry.session}")

    assert flush(outbox, refuse) == (0, 4, 0)


def test_a_failure_holds_back_its_session_only(tmp_path: Path) -> None:
    clock = Clock()
    outbox = Outbox(tmp_path, "a", clock=clock)
    put(outbox, "s", 1, 2)
    put(outbox, "t", 3)

    def deliver(entry: Entry) -> None:
        if entry.session == "s":
            raise ConnectionError("it is down")

    assert flush(outbox, deliver) == (1, 1, 0)
    (first, second) = outbox.list()
    assert (first.body, first.attempts, first.error) == (1, 1, "it is down")
    assert second.attempts == 0
    assert outbox.due() == []
    assert outbox.next_at() == 1001.0
    clock.now = 1001.0
    assert [entry.body for entry in outbox.due()] == [1]


def test_pauses_double_up_to_the_longest() -> None:
    policy = Policy(pause=1, longest_pause=10)
    assert [policy.pause_after(number) for number in (1, 2, 3, 4, 5, 900)] == [1, 2, 4, 8, 10, 10]


def test_an_entry_is_given_up_after_attempts_and_age_and_stays_visible(tmp_path: Path) -> None:
    clock = Clock()
    outbox = Outbox(tmp_path, "a", clock=clock, policy=Policy(attempts=2, age=50))
    put(outbox, "s", 1, 2)
    assert not outbox.failed(outbox.due()[0], "no")
    assert not outbox.failed(outbox.list()[0], "no")  # attempts are used up, the age is not
    clock.now = 1050.0
    assert outbox.failed(outbox.list()[0], "no")
    assert [entry.state for entry in outbox.list()] == [GIVEN_UP, "pending"]
    assert [entry.body for entry in outbox.due()] == [2]
    assert outbox.state()[1:3] == (1, 1)
    assert outbox.replay("s") == 2
    assert [entry.body for entry in outbox.due()] == [1]


def test_the_same_mark_is_put_in_once(tmp_path: Path) -> None:
    outbox = Outbox(tmp_path, "a")
    assert len(outbox.put("s", [Item("call", 1), Item("call", 2)], mark=7)) == 2
    assert outbox.put("s", [Item("call", 1)], mark=7) == []
    assert outbox.put("s", [Item("call", 0)], mark=3) == []
    outbox.drop()
    outbox.close()
    again = Outbox(tmp_path, "a")
    assert again.put("s", [Item("call", 1)], mark=7) == []
    assert (again.mark("s"), again.mark("t")) == (7, None)


def test_a_claim_is_no_mark(tmp_path: Path) -> None:
    outbox = Outbox(tmp_path, "a")
    assert outbox.claim("s")
    assert outbox.mark("s") is None
    assert len(outbox.put("s", [Item("call", 1)], mark=0)) == 1


def test_a_full_outbox_drops_the_oldest_and_says_so(tmp_path: Path) -> None:
    outbox = Outbox(tmp_path, "a", policy=Policy(entries=3))
    put(outbox, "s", 1, 2)
    outbox.failed(outbox.list()[1], "no", final=True)
    put(outbox, "s", 3, 4)
    assert [entry.body for entry in outbox.list()] == [1, 3, 4]
    put(outbox, "s", 5)
    assert [entry.body for entry in outbox.list()] == [3, 4, 5]
    assert outbox.state().dropped == 2
    small = Outbox(tmp_path, "b", policy=Policy(bytes=10))
    put(small, "s", "x" * 50)
    put(small, "s", "y" * 50)
    assert [entry.body[0] for entry in small.list()] == ["y"]


def test_only_one_delivers_a_session(tmp_path: Path) -> None:
    clock = Clock()
    one, other = (Outbox(tmp_path, "a", clock=clock) for _ in range(2))
    put(one, "s", 1)
    assert one.claim("s")
    assert one.claim("s")
    assert not other.claim("s")
    assert flush(other, lambda _: None) == (0, 0, 1)
    clock.now += 121  # its owner is gone
    assert other.claim("s")
    assert not one.claim("s")
    one.release("s")
    assert not one.claim("s")
    other.release("s")
    assert one.claim("s")


def test_no_password_of_an_address_is_kept(tmp_path: Path) -> None:
    outbox = Outbox(tmp_path, "a")
    target = {"url": "http://me:hush@host:1/x", "secret": {"variable": "A_SECRET"}}
    outbox.put("s", [Item("call", 1)], target=target)
    (entry,) = outbox.list()
    assert entry.target == {"url": "http://host:1/x", "secret": {"variable": "A_SECRET"}}
    assert b"hush" not in b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert "body" not in entry.as_json()


def test_outboxes_are_named_by_their_stores_and_private(tmp_path: Path) -> None:
    for name in ("b", "a/../x", "http://h:1"):
        put(Outbox(tmp_path / "o", name), "s", 1)
    assert [each.store for each in outboxes(tmp_path / "o")] == ["a/../x", "b", "http://h:1"]
    assert all(path.stat().st_mode & 0o077 == 0 for path in (tmp_path / "o").iterdir())


def test_a_part_that_has_arrived_is_left_out_next_time(tmp_path: Path) -> None:
    outbox = Outbox(tmp_path, "a")
    put(outbox, "s", {"plugins": ["p", "q"]})
    outbox.changed(outbox.due()[0], {"plugins": ["q"]})
    assert outbox.due()[0].body == {"plugins": ["q"]}


def test_a_damaged_outbox_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "a.db").write_bytes(b"no database" * 100)
    with pytest.raises(OutboxUnusableError, match="can't be used"):
        put(Outbox(tmp_path, "a"), "s", 1)


def test_a_claim_ends_with_its_process(tmp_path: Path) -> None:
    outbox = Outbox(tmp_path, "a")
    put(outbox, "s", 1)
    code = (
        "import sys; from pathlib import Path; from dshloop.memory.outbox import Outbox; "
        "assert Outbox(Path(sys.argv[1]), 'a').claim('s')"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=True)
    assert outbox.claim("s")


WRITER = """
import sys
from pathlib import Path
from dshloop.memory.outbox import Item, Outbox
outbox = Outbox(Path(sys.argv[1]), "a")
for number in range(100_000):
    outbox.put("s", [Item("call", number)], mark=number)
    print(number, flush=True)
"""


@pytest.mark.slow
def test_what_was_put_in_outlives_a_kill(tmp_path: Path) -> None:
    last = -1
    for _ in range(3):
        child = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(tmp_path)], stdout=subprocess.PIPE, text=True
        )
        assert child.stdout is not None
        for line in child.stdout:
            if int(line) >= last + 20:
                break
        last = int(line)
        os.kill(child.pid, signal.SIGKILL)
        child.communicate()
    bodies = [entry.body for entry in Outbox(tmp_path, "a").list()]
    assert bodies == list(range(len(bodies)))
    assert len(bodies) > last


def test_a_damaged_entry_is_told_as_damage_of_the_outbox(tmp_path: Path) -> None:
    outbox = Outbox(tmp_path, "a")
    put(outbox, "s", 1)
    outbox.close()
    with closing(sqlite3.connect(outbox.path)) as connection, connection:
        connection.execute("UPDATE entries SET body = '{'")
    for look in (outbox.list, outbox.due):
        with pytest.raises(OutboxUnusableError, match="its entry 1 is damaged"):
            look()
    assert outbox.drop() == 1
    outbox.close()


def test_what_is_refused_for_good_is_given_up_by_a_flush_and_holds_nothing_back(
    tmp_path: Path,
) -> None:
    outbox = Outbox(tmp_path, "a")
    put(outbox, "s", "refused", "too large", "gone", "fine")
    put(outbox, "busy", "busy", "behind it")
    faults = {
        "refused": AgentmemoryRefusedError("no", status=400),
        "too large": AgentmemoryTooLargeError("no"),
        "gone": HopelessEntryError("no"),
        "busy": AgentmemoryRefusedError("later", status=429),
    }

    def deliver(entry: Entry) -> None:
        if entry.body in faults:
            raise faults[entry.body]

    assert flush(outbox, deliver) == (1, 4, 0)
    assert [(entry.body, entry.state) for entry in outbox.list()] == [
        ("refused", GIVEN_UP),
        ("too large", GIVEN_UP),
        ("gone", GIVEN_UP),
        ("busy", "pending"),
        ("behind it", "pending"),
    ]


def test_a_peer_that_refuses_us_is_asked_once_and_not_for_each_session(tmp_path: Path) -> None:
    outbox = Outbox(tmp_path, "a")
    for number in range(3):
        put(outbox, f"s{number}", number)

    def refuse(_: Entry) -> None:
        raise PeerDeniedError("who are you?")

    assert flush(outbox, refuse) == (0, 1, 0)
