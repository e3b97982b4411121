"""Several stores asked by one command: --store more than once, --all-stores, --timeout."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.memory.steps import memory, remember
from tests.memory.agentmemory.daemons import Daemons
from tests.running import dshloop


@pytest.fixture
def other(tmp_path: Path) -> str:
    store = f"embedded:{tmp_path / 'other.db'}"
    remember("We deploy on Fridays", "--project", "p")
    remember("we deploy  on fridays", "--project", "p", "--store", store)
    remember("Deploy only what two have read", "--project", "p", "--store", store)
    return store


@pytest.fixture
def mute(tmp_path: Path) -> Iterator[str]:
    """A socket that takes connections and says nothing."""
    path = tmp_path / "mute.sock"
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(path))
        listening.listen()
        yield f"patchouli:{path}"


def test_recall_asks_every_store_and_says_where_a_hit_is_from(other: str) -> None:
    ran = memory("recall", "when do we deploy", "--store", "embedded", "--store", other, "--json")
    assert ran.code == 0, ran.err
    first, second = ran.json
    assert (first["store"], second["store"]) == ("embedded", other)
    assert [place["store"] for place in first["also_in"]] == [other]
    assert first["ranks"] == {"embedded": 1, other: 2} or first["ranks"] == {
        "embedded": 1,
        other: 1,
    }
    assert second["also_in"] == []
    text = memory("recall", "when do we deploy", "--store", "embedded", "--store", other).out
    assert text.splitlines()[0].split()[1] == "embedded+1"
    why = memory("recall", "when do we deploy", "--store", "embedded", "--store", other, "--why")
    assert "number:             1 of embedded, " in why.out
    assert other in text


def test_one_store_is_answered_as_ever(other: str) -> None:
    alone = memory("recall", "deploy", "--store", "embedded", "--json").json
    assert alone == memory("recall", "deploy", "--json").json
    assert "store" not in alone[0]
    twice = memory("recall", "deploy", "--store", "embedded", "--store", "embedded", "--json")
    assert twice.json == alone


def test_a_store_under_two_names_is_asked_once(
    other: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual = os.environ["DSHLOOP_DATA"]
    (tmp_path / "link.db").symlink_to(tmp_path / "other.db")
    again = f"embedded:{tmp_path / 'link.db'}"
    names = ("embedded", "", f"embedded:{usual}/memory.db", f"embedded:{usual}", other, again)
    words = [word for name in names for word in ("--store", name)]
    (first, second) = memory("recall", "deploy", *words, "--json").json
    assert (first["store"], first["also_in"][0]["store"]) == ("embedded", other)
    assert len(first["also_in"]) == 1
    assert second["also_in"] == []
    assert memory("list", *words, "--count").out == "3\n"
    monkeypatch.setenv("DSHLOOP_STORE", f"embedded:{usual}/memory.db")
    (entry,) = memory("list", "--all-stores", "--json").json
    assert (entry["store"], entry["also_in"]) == ("embedded", [])


@pytest.mark.parametrize("verb", ["list", "search"])
def test_listing_shows_the_store_of_each(other: str, verb: str) -> None:
    words = (verb, "--store", "embedded", "--store", other)
    rows = memory(*words, "--json").json
    assert sorted(row["store"] for row in rows) == sorted(["embedded", other])
    assert memory(*words).out.split()[0] == "STORE"
    assert [set(row) >= {"store", "id"} for row in memory(*words, "--brief", "--json").json]
    assert memory(*words, "--count").out == "3\n"
    markdown = memory(*words, "--format", "md").out
    assert "embedded+1" in markdown
    assert memory(*words, "--full").out.count("store ") == 2
    lines = memory(*words, "--format", "jsonl").out.splitlines()
    assert [json.loads(line)["store"] for line in lines] == [row["store"] for row in rows]


def test_show_history_and_stats_look_into_every_store(other: str) -> None:
    several = ("--store", "embedded", "--store", other)
    only_there = remember("Redis holds the cache", "--store", other)
    shown = memory("show", only_there, *several, "--json")
    assert shown.json["store"] == other
    assert f"store     {other}" in memory("show", only_there, *several).out
    assert memory("history", only_there, *several, "--json").json[0]["store"] == other
    assert memory("show", "mem_ffffffffffff", *several).code == 3
    counted = memory("stats", *several, "--json").json
    assert counted["memories"] == 4
    assert {name: found["memories"] for name, found in counted["stores"].items()} == {
        "embedded": 1,
        other: 3,
    }
    assert memory("stats", *several).out.count(" memories in ") == 2


def test_timeline_and_context_are_made_of_every_store(other: str) -> None:
    several = ("--store", "embedded", "--store", other)
    placed = memory("timeline", "two have read", *several, "--json").json
    assert {row["store"] for row in placed} == {other}
    window = memory("context", "--project", "p", "--query", "deploy", *several)
    assert "Fridays" in window.out
    assert "two have read" in window.out


def test_all_stores_are_the_embedded_one_and_those_set_up(other: str) -> None:
    alone = memory("recall", "deploy", "--all-stores", "--json", "--verbose")
    assert {hit["store"] for hit in alone.json} == {"embedded"}
    assert "STORE_SKIPPED" not in alone.err
    with_other = memory(
        "recall", "deploy", "--all-stores", "--json", variables={"DSHLOOP_STORE": other}
    )
    assert {hit["store"] for hit in with_other.json} == {"embedded", other}
    socket_ = Path.cwd() / "no.sock"
    assert dshloop("config", "set", "memory.patchouli.socket", str(socket_)).code == 0
    missing = memory("recall", "deploy", "--all-stores", "--json", "--verbose")
    assert missing.code == 0
    warning = json.loads(missing.err.splitlines()[-1])["warning"]
    assert warning["code"] == "STORE_SKIPPED"
    assert warning["details"] == {"store": "patchouli", "code": "PEER_DOWN"}


def test_a_store_that_is_down_is_named_and_the_others_answer(other: str, tmp_path: Path) -> None:
    gone = f"patchouli:{tmp_path / 'gone.sock'}"
    ran = memory("recall", "deploy", "--store", gone, "--store", other)
    assert ran.code == 0
    assert "two have read" in ran.out
    assert f"{gone} gave no answer: " in ran.err
    nothing = memory("recall", "elephants", "--store", gone, "--store", other)
    assert nothing.code == 3
    assert gone in nothing.err


def test_a_store_that_says_nothing_is_given_up_after_the_timeout(other: str, mute: str) -> None:
    ran = memory("recall", "deploy", "--store", other, "--store", mute, "--timeout", "0.4")
    assert ran.code == 0
    assert f"{mute} gave no answer: did not answer within 0.4 s" in ran.err
    assert dshloop("config", "set", "memory.timeout", "1").code == 0
    configured = memory("recall", "deploy", "--store", other, "--store", mute)
    assert "within 1 s" in configured.err


def test_when_no_store_answers_it_is_5(mute: str, tmp_path: Path) -> None:
    gone = f"patchouli:{tmp_path / 'gone.sock'}"
    words = ("recall", "deploy", "--store", mute, "--store", gone, "--timeout", "0.3")
    ran = memory(*words)
    assert ran.code == 5
    assert mute in ran.err
    assert gone in ran.err
    error = json.loads(memory(*words, "--json").err)["error"]
    assert (error["code"], set(error["details"]["stores"])) == (
        "STORES_UNREACHABLE",
        {mute, gone},
    )
    assert memory("list", "--store", mute, "--timeout", "0.3").code == 5


def test_what_excludes_each_other_and_what_is_unknown_is_refused(other: str) -> None:
    assert memory("recall", "x", "--all-stores", "--store", other).code == 2
    assert memory("recall", "x", "--store", other, "--store", "nowhere").code == 3
    assert memory("recall", " ", "--store", other, "--store", "embedded").code == 2
    for wrong in ("0", "-1", "nan", "inf", "soon"):
        assert memory("recall", "x", "--timeout", wrong).code == 2, wrong


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[str]:
    """An agentmemory daemon: our own server over a store of its own."""
    daemons = Daemons()
    try:
        with daemons.over(tmp_path / "daemon") as url:
            yield f"agentmemory:{url}"
    finally:
        daemons.stop()


def test_an_agentmemory_daemon_is_one_of_several(other: str, daemon: str) -> None:
    remember("Deploys are announced in the channel", "--project", "p", "--store", daemon)
    remember("Deploy only what two have read", "--project", "p", "--store", daemon)
    several = ("--store", "embedded", "--store", other, "--store", daemon)
    found = memory("recall", "what do we deploy", *several, "--json")
    assert found.code == 0, found.err
    places = {
        hit["content"]: {hit["store"], *(place["store"] for place in hit["also_in"])}
        for hit in found.json
    }
    assert places["Deploy only what two have read"] == {other, daemon}
    assert places["We deploy on Fridays"] == {"embedded", other}
    listed = memory("list", *several, "--json").json
    assert len(listed) == 3
    assert {row["store"] for row in listed} == {"embedded", other, daemon}
    announced = next(row for row in listed if "announced" in row["content"])
    assert memory("show", announced["id"], *several, "--json").json["store"] == daemon
    assert memory("stats", *several, "--json").json["stores"][daemon]["memories"] == 2
