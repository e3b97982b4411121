"""`dshloop memory status`, and the store agentmemory as commands use it."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from dshloop.memory.outbox import Item, Outbox
from tests.cli.memory.steps import memory
from tests.http.server import Said, serving
from tests.memory.agentmemory.daemons import Daemons
from tests.running import dshloop
from tests.stand_ins.patchouli import SCOPE, create, daemon, knowledge

HEALTH = {"status": "healthy", "service": "agentmemory", "version": "0.9.29", "health": None}
SECRET = "a-secret-of-the-daemon"


@pytest.fixture(scope="module")
def daemons() -> Iterator[Daemons]:
    one = Daemons()
    yield one
    one.stop()


@pytest.fixture
def url(daemons: Daemons, tmp_path: Path) -> Iterator[str]:
    with daemons.over(tmp_path / "served") as address:
        yield address


def nobody() -> str:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{free.getsockname()[1]}"


def outbox(name: str) -> Outbox:
    return Outbox(Path(os.environ["DSHLOOP_DATA"]) / "outbox", name)


# status


def test_the_store_in_use_is_told() -> None:
    ran = memory("status", "--json")
    assert ran.code == 0
    assert (ran.json["store"], ran.json["reachable"]) == ("embedded", True)
    assert ran.json["counts"]["memories"] == 0


def test_a_daemon_is_told_with_its_version(url: str) -> None:
    ran = memory("status", "--store", f"agentmemory:{url}", "--json")
    told = ran.json
    assert (ran.code, told["version"], told["where"]) == (0, "0.9.29", url)
    assert (told["auth"], told["health"], told["error"]) == ("none needed", ["healthy"], None)
    text = memory("status", "--store", f"agentmemory:{url}").out
    assert "version      0.9.29 (healthy)" in text


def test_a_daemon_that_is_away_is_5_and_told_on_stdout() -> None:
    address = nobody()
    ran = memory("status", "--json", variables={"AGENTMEMORY_URL": address,
                                                "DSHLOOP_STORE": "agentmemory"})  # fmt: skip
    assert ran.code == 5
    assert (ran.json["reachable"], ran.json["where"]) == (False, address)
    assert ran.json["error"]["code"] == "PEER_DOWN"
    assert ran.json["mend"] == "dshloop memory serve"


@pytest.mark.parametrize(
    ("said", "code"),
    [
        (Said(401, {"error": "unauthorized"}), "PEER_DENIED"),
        (Said(404, b""), "AGENTMEMORY_RESTARTING"),
        (Said(200, {**HEALTH, "version": "0.9.28"}), "AGENTMEMORY_OLD"),
        (Said(200, {**HEALTH, "version": ""}), "AGENTMEMORY_OLD"),
        (Said(200, {**HEALTH, "service": "other"}), "PEER_ANSWER"),
        (Said(200, b"hello"), "PEER_ANSWER"),
        (Said(500, {"error": "x"}), "PEER_FAILED"),
    ],
)
def test_what_is_wrong_with_a_daemon_is_5(said: Said, code: str) -> None:
    livez = Said(200, {"status": "ok", "service": "agentmemory"})
    with serving(lambda asked: livez if asked.path.endswith("livez") else said) as server:
        name = f"agentmemory:{server.url}"
        ran = memory("status", "--store", name, "--json", variables={"AGENTMEMORY_SECRET": SECRET})
    assert (ran.code, ran.json["error"]["code"]) == (5, code)
    assert ran.json["reachable"] is False
    assert SECRET not in ran.out + ran.err
    assert ran.json["mend"] or code == "PEER_FAILED"


def test_what_waits_for_a_daemon_is_its_own(url: str) -> None:
    ours, other = outbox(f"agentmemory:{url}"), outbox("agentmemory:http://elsewhere:3111")
    ours.put("s1", [Item("observe", {"n": 1})])
    other.put("s1", [Item("observe", {"n": 2}), Item("observe", {"n": 3})])
    hooks = outbox("hook:embedded")
    hooks.put("s1", [Item("hook", {"n": 4})])
    assert memory("status", "--json").json["outbox"]["outboxes"] == ["hook:embedded"]
    assert hooks.drop() == 1
    ran = memory("status", "--store", f"agentmemory:{url}", "--json", "--verbose")
    assert ran.json["outbox"]["outboxes"] == [f"agentmemory:{url}"]
    assert (ran.json["outbox"]["pending"], ran.json["mend"]) == (1, "dshloop memory outbox flush")
    assert "2 entries wait for other stores: agentmemory:http://elsewhere:3111" in ran.err
    for one in (ours, other, hooks):
        one.close()


def test_patchouli_is_told_by_socket_and_file(tmp_path: Path) -> None:
    with daemon(tmp_path) as peer:
        with peer.client() as client:
            create(client, knowledge("We deploy on Fridays"), "know-1")
        dshloop("config", "set", "memory.patchouli.workspace", SCOPE["workspace_id"])
        answers = [
            memory("status", "--store", f"patchouli:{place}", "--json")
            for place in (peer.socket, peer.database)
        ]
    for ran in answers:
        assert (ran.code, ran.json["reachable"], ran.json["counts"]["memories"]) == (0, True, 1)
    assert answers[0].json["version"]
    assert answers[1].json["version"] == "schema 12"
    away = memory("status", "--store", f"patchouli:{tmp_path / 'gone.sock'}", "--json")
    assert (away.code, away.json["mend"]) == (5, "patchouli-db serve")


def test_a_password_in_an_address_is_not_shown() -> None:
    url = "http://me:pa55word@localhost:3111"
    for ran in (
        memory("status", "--store", f"agentmemory:{url}", "--json"),
        memory("status", "--store", "agentmemory", variables={"AGENTMEMORY_URL": url}),
        memory("stores", variables={"AGENTMEMORY_URL": url}),
    ):
        assert "localhost:3111" in ran.out
        assert "pa55word" not in ran.out + ran.err


@pytest.mark.parametrize("url", ["http://[x", "nonsense", "http://a b", "ftp://x", "http://h:x"])
def test_an_address_that_is_none_is_told(url: str) -> None:
    ran = memory("status", "--store", "agentmemory", "--json", variables={"AGENTMEMORY_URL": url})
    assert (ran.code, ran.json["error"]["code"]) == (1, "PEER_CONFIG")
    assert ran.json["reachable"] is False
    assert memory("stores", variables={"AGENTMEMORY_URL": url}).code == 0
    assert memory("list", "--store", f"agentmemory:{url}").code == 1


def test_several_stores_are_a_list(url: str) -> None:
    names = ("embedded", f"agentmemory:{url}", f"agentmemory:{nobody()}")
    ran = memory("status", *(word for name in names for word in ("--store", name)), "--json")
    assert ran.code == 5
    assert [(one["store"], one["reachable"]) for one in ran.json] == list(
        zip(names, (True, True, False), strict=True)
    )


def test_a_profile_names_its_stores(url: str) -> None:
    folder = Path(os.environ["DSH_HOME"]) / "profiles" / "web"
    folder.mkdir(parents=True)
    (folder / "package.json").write_text('{"private": true}', encoding="utf-8")
    row = {"id": "mem", "name": "dsh-agentmemory", "config": {"baseUrl": url}}
    (folder / "cordis.patch.yml").write_text(f"- insert: [{json.dumps(row)}]\n", encoding="utf-8")
    ran = dshloop("memory", "status", "--profile", "web", "--json")
    assert (ran.code, ran.json["store"]) == (0, f"agentmemory:{url}"), ran.err
    both = dshloop("memory", "status", "--profile", "web", "--store", "embedded")
    assert both.code == 2


def test_the_boot_checks_are_seven(url: str) -> None:
    words = ("status", "--check", "--timeout", "9", "--json")
    ran = memory(*words, variables={"AGENTMEMORY_URL": url})
    assert ran.code == 0
    assert [check["passed"] for check in ran.json["checks"]] == [True] * 7
    away = memory("status", "--check", "--json", variables={"AGENTMEMORY_URL": nobody()})
    assert away.code == 5
    assert [one["name"] for one in away.json["checks"] if not one["passed"]] == ["livez"]
    other = memory("status", "--check", "--store", "embedded")
    assert (other.code, "STORE_UNSUPPORTED" in other.err) == (1, True)


# the store


def test_verbs_work_on_a_daemon(url: str) -> None:
    def run(*words: str) -> str:
        ran = memory(*words, "--store", "agentmemory", variables={"AGENTMEMORY_URL": url})
        assert ran.code == 0, ran.err
        return ran.out

    said = "we deploy on Fridays at noon"
    id_ = run("remember", said, "--project", "web", "--type", "workflow", "--quiet").strip()
    assert json.loads(run("recall", "when do we deploy", "--json"))[0]["id"] == id_
    new = run("edit", id_, "--content", "we deploy on Mondays", "--quiet").strip()
    assert [row["version"] for row in json.loads(run("history", id_, "--json"))] == [1, 2]
    run("observe", "stop", "--session", "s1", "--project", "web", "--data", '{"reason": "done"}')
    assert [row["id"] for row in json.loads(run("sessions", "--json"))] == ["s1"]
    assert "we deploy on Mondays" in run("context", "--project", "web")
    assert json.loads(run("stats", "--json"))["memories"] == 1
    run("forget", new, "--yes")
    assert json.loads(run("list", "--json")) == []


def test_a_store_is_migrated_to_a_daemon_and_back(url: str, tmp_path: Path) -> None:
    for text in ("we deploy on Fridays", "the docs are in the wiki"):
        assert memory("remember", text, "--project", "p").code == 0
    to = memory("migrate", "embedded", f"agentmemory:{url}", "--json")
    assert (to.code, to.json["added"]["memory"]) == (0, 2), to.err
    back = memory("migrate", f"agentmemory:{url}", f"embedded:{tmp_path / 'new.db'}", "--json")
    assert (back.code, back.json["added"]["memory"]) == (0, 2), back.err


def test_a_daemon_is_read_only_where_that_is_asked_for(url: str) -> None:
    name = f"agentmemory:{url}"
    memory("remember", "deploy on Fridays", "--store", name)
    assert memory("recall", "deploy", "--store", name, "--readonly").code == 0


def test_a_daemon_becomes_the_store_in_use(url: str) -> None:
    assert memory("use", "agentmemory").code == 0
    assert dshloop("config", "set", "memory.agentmemory.url", url).code == 0
    assert memory("remember", "deploy on Fridays").code == 0
    [row] = [one for one in memory("stores", "--json").json if one["in_use"]]
    assert (row["name"], row["where"]) == ("agentmemory", url)
    assert memory("status", "--json").json["counts"]["memories"] == 1


def test_a_secret_from_a_named_variable_is_sent_and_never_shown(
    daemons: Daemons, tmp_path: Path
) -> None:
    with daemons.over(tmp_path / "served", secret=SECRET) as url:
        dshloop("config", "set", "memory.agentmemory.url", url)
        dshloop("config", "set", "memory.agentmemory.secret_variable", "MY_SECRET")
        missing = memory("list", "--store", "agentmemory")
        assert (missing.code, "$MY_SECRET" in missing.err) == (1, True)
        wrong = memory("list", "--store", "agentmemory", variables={"MY_SECRET": "wrong-one"})
        assert (wrong.code, "PEER_DENIED" in wrong.err) == (5, True)
        right = memory("status", "--store", "agentmemory", variables={"MY_SECRET": SECRET})
        assert (right.code, "auth         accepted" in right.out) == (0, True)
        for ran in (missing, wrong, right):
            assert SECRET not in ran.out + ran.err
            assert "wrong-one" not in ran.out + ran.err
