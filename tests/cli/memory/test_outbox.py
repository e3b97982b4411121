"""`dshloop memory outbox`: what is on its way to stores."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from dshloop.errors import PeerDownError
from dshloop.host.rows import HostRow
from dshloop.memory.outbox import Entry, Item, Outbox, Policy
from dshloop.memory.outbox_flush import outboxes
from dshloop.paths import Places, find_places
from dshloop.plugins.built_in import ROWS
from dshloop.runs.profile import ProfileRows
from dshloop.runs.talking.conversation import RunOptions
from dshloop.runs.talking.run import run_session
from tests.cli.memory.steps import memory, typed

OURS = "patchouli:dshloop"


@pytest.fixture
def places() -> Places:
    return find_places(os.environ, Path.cwd())


@pytest.fixture
def waiting(places: Places) -> str:
    """A turn of a session that our store could not take; gives the session's id."""
    places.memory_db.parent.mkdir(parents=True, exist_ok=True)
    places.memory_db.write_bytes(b"this is no database" * 500)
    names = ("dsh-patchouli", "dsh-patchouli-agent-loop")
    rows = ProfileRows((*ROWS, *(HostRow(name, name, {}) for name in names)))
    options = RunOptions(cwd=Path.cwd(), command="test", rows=rows, driver="fake")
    list(run_session(places, options, ["the gate code is blue"], time.time))
    places.memory_db.unlink()
    (outbox,) = outboxes(places.outbox)
    (entry,) = outbox.list()
    outbox.close()
    return entry.session


def put(places: Places, store: str, session: str, count: int = 1, *, given_up: int = 0) -> None:
    """Fill an outbox; the first ``given_up`` entries were tried in vain."""
    outbox = Outbox(places.outbox, store, policy=Policy(attempts=1, age=0.0))
    entries = outbox.put(session, [Item("observe", {"text": "secret words"})] * count)
    for entry in entries[:given_up]:
        assert outbox.failed(entry, "it said no", final=True)
    outbox.close()


def test_nothing_waits_at_first() -> None:
    assert memory("outbox", "list", "--json").json == []
    assert "nothing is on its way" in memory("outbox", "list").err
    flushed = memory("outbox", "flush", "--json")
    assert (flushed.code, flushed.json) == (0, {"delivered": 0, "failed": 0, "stores": []})
    assert memory("outbox", "replay", "s1").code == 3
    assert memory("outbox", "drop", "--all", "--yes").code == 3


def test_list_is_an_array_of_what_waits_without_its_words(places: Places, waiting: str) -> None:
    put(places, "agentmemory", "s1", 2, given_up=1)
    ran = memory("outbox", "list", "--json")
    rows = {(row["store"], row["session"], row["state"]) for row in ran.json}
    assert rows == {
        (OURS, waiting, "pending"),
        ("agentmemory", "s1", "given-up"),
        ("agentmemory", "s1", "pending"),
    }
    assert "secret words" not in ran.out
    assert "body" not in ran.json[0]
    untried = [row for row in ran.json if row["attempts"] == 0]
    assert [row["next_at"] for row in untried] == [None]
    text = memory("outbox", "list", "--store", "agentmemory").out
    assert "it said no" in text
    assert OURS not in text
    assert len(memory("outbox", "list", "--session", waiting, "--json").json) == 1
    assert memory("outbox", "list", "--store", "nobody").code == 3


def test_flush_delivers_a_turn_that_our_store_missed(places: Places, waiting: str) -> None:
    would = memory("outbox", "flush", "--dry-run", "--json").json
    assert would == {"dry_run": True, "entries": 1, "sessions": 1, "stores": {OURS: 1}}
    ran = memory("outbox", "flush", "--json")
    assert ran.code == 0, ran.err
    assert ran.json["delivered"] == 1
    assert ran.json["stores"][0]["pending"] == 0
    assert memory("recall", "gate code").code == 0
    assert memory("outbox", "list", "--json").json == []
    assert "nothing waits" in memory("outbox", "flush").out


def test_what_only_a_run_can_deliver_stays_and_the_others_are_sent(
    places: Places, waiting: str
) -> None:
    put(places, "patchouli:other", "s9")
    ran = memory("outbox", "flush")
    assert ran.code == 1
    assert f"{OURS}: 1 sent, 0 waiting" in ran.out
    assert "patchouli:other: 0 sent, 1 waiting" in ran.out
    assert "by a run of its profile" in ran.err
    put(places, "unheard-of", "s9")
    unknown = memory("outbox", "flush", "--store", "unheard-of", "--json")
    assert unknown.code == 1
    assert "nothing here delivers" in unknown.json["stores"][0]["error"]


def test_a_store_that_is_away_is_5_and_its_entries_wait_on(
    places: Places, waiting: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dshloop.plugins.patchouli import flushing

    def away(_entry: Entry) -> None:
        raise PeerDownError("nobody is there")

    monkeypatch.setattr(flushing, "delivery_to_store", lambda *_: away)
    before = memory("outbox", "list", "--json").json[0]["attempts"]
    ran = memory("outbox", "flush", "--json")
    assert ran.code == 5
    assert ran.json["stores"] == [
        {
            "store": OURS,
            "delivered": 0,
            "failed": 1,
            "busy": 0,
            "pending": 1,
            "given_up": 0,
            "error": "nobody is there",
            "unreachable": True,
        }
    ]
    row = memory("outbox", "list", "--json").json[0]
    assert (row["attempts"], row["error"]) == (before + 1, "nobody is there")


def test_replay_sends_what_was_given_up(places: Places, waiting: str) -> None:
    outbox = Outbox(places.outbox, OURS)
    (entry,) = outbox.list()
    outbox.failed(entry, "it said no", final=True)
    outbox.close()
    assert memory("outbox", "flush", "--json").json["delivered"] == 0
    assert memory("outbox", "replay", waiting, "--dry-run", "--json").json["entries"] == 1
    ran = memory("outbox", "replay", waiting, "--json")
    assert (ran.code, ran.json["delivered"]) == (0, 1)
    assert memory("recall", "gate code").code == 0
    assert memory("outbox", "replay", waiting).code == 3


def test_drop_wants_a_condition_and_a_yes(places: Places) -> None:
    put(places, "agentmemory", "s1", 3, given_up=1)
    put(places, "agentmemory", "s2", 1)
    assert memory("outbox", "drop").code == 2
    refused = memory("outbox", "drop", "s1")
    assert refused.code == 4
    assert "3 entries of 1 session would be dropped" in refused.err
    would = memory("outbox", "drop", "--given-up", "--dry-run")
    assert would.out == "would drop 1 entry of 1 session\n"
    assert len(memory("outbox", "list", "--json").json) == 4
    done = memory("outbox", "drop", "--given-up", "--yes", "--json")
    assert done.json == {"dropped": 1, "sessions": 1, "stores": {"agentmemory": 1}}
    assert memory("outbox", "drop", "s1", "--yes").out == "dropped 2 entries of 1 session\n"
    assert [row["session"] for row in memory("outbox", "list", "--json").json] == ["s2"]
    assert memory("outbox", "drop", "--store", "agentmemory", "--yes").code == 0
    assert memory("outbox", "list", "--json").json == []


@pytest.mark.parametrize(("keys", "code", "left"), [("y\n", 0, 0), ("n\n", 4, 2)])
def test_drop_asks_on_a_terminal(places: Places, keys: str, code: int, left: int) -> None:
    put(places, "agentmemory", "s1", 2)
    ran = typed("outbox", "drop", "s1", keys=keys)
    assert ran.code == code
    assert "Drop 2 entries of 1 session?" in ran.err
    assert len(memory("outbox", "list", "--json").json) == left


def test_what_a_full_outbox_dropped_is_told(places: Places) -> None:
    outbox = Outbox(places.outbox, "agentmemory", policy=Policy(entries=2))
    outbox.put("s1", [Item("observe", {})] * 5)
    outbox.close()
    assert "3 entries for agentmemory were dropped" in memory("outbox", "list").err


def test_a_damaged_outbox_does_not_hide_the_others(places: Places, waiting: str) -> None:
    (places.outbox / "broken.db").write_bytes(b"this is no database" * 500)
    ran = memory("outbox", "list", "--json", "--verbose")
    assert [row["store"] for row in ran.json] == [OURS]
    assert "OUTBOX_UNUSABLE" in ran.err
    assert memory("outbox", "flush", "--json").json["delivered"] == 1
    assert memory("outbox", "list", "--store", "broken").code == 1
