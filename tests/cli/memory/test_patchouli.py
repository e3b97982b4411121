"""`dshloop memory ... --store patchouli`, over the socket and from the file."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dshloop.memory.patchouli_socket.artifacts import upload
from tests.running import dshloop
from tests.stand_ins.patchouli import SCOPE, Daemon, create, daemon, knowledge, metadata

WORKSPACE = "/home/dev/demo"


@pytest.fixture(scope="module")
def peer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    folder = tmp_path_factory.mktemp("patchouli")
    with daemon(folder) as found:
        with found.client() as client:
            create(client, knowledge("We deploy on Fridays after the review"), "know-1")
            create(client, knowledge("The cat sleeps in the server room", "s2"), "know-2")
            upload(client, SCOPE, b"plan", media_type="text/plain", name="plan.txt",
                   metadata=metadata(), id_="art-1")  # fmt: skip
            elsewhere = {**SCOPE, "workspace_id": "/home/dev/other"}
            data = {"type": "knowledge", "value": knowledge("elsewhere"), "id": "know-3"}
            client.call("entity.create", elsewhere, data)
        yield found


@pytest.fixture(params=["socket", "file"])
def store(request: pytest.FixtureRequest, peer: Daemon) -> str:
    configure("workspace", WORKSPACE)
    return f"patchouli:{peer.socket if request.param == 'socket' else peer.database}"


def configure(key: str, value: str) -> None:
    assert dshloop("config", "set", f"memory.patchouli.{key}", value).code == 0


def memory(store: str, *words: str, **more: Any) -> Any:
    return dshloop("memory", *words, "--store", store, **more)


def test_list_shows_entities_of_the_scope_as_entries(store: str) -> None:
    found = memory(store, "list", "--json")
    assert found.code == 0, found.err
    entries = {entry["id"]: entry for entry in found.json}
    assert set(entries) == {"know-1", "know-2", "art-1"}
    first = entries["know-1"]
    assert (first["type"], first["project"], first["session"]) == ("fact", "demo", "s1")
    assert first["content"] == "We deploy on Fridays after the review"
    assert first["created_at"] == "2026-01-31T12:00:00.000Z"
    assert first["source"]["scope"]["workspace_id"] == WORKSPACE
    assert entries["art-1"]["files"] == ["plan.txt"]
    assert "4 bytes" in entries["art-1"]["content"]
    one = memory(store, "list", "--session", "s2", "--json")
    assert [entry["id"] for entry in one.json] == ["know-2"]
    assert memory(store, "list", "--count").out == "3\n"


def test_recall_asks_for_words_and_scores_their_share(store: str) -> None:
    found = memory(store, "recall", "when do we deploy on fridays", "--json")
    assert found.code == 0, found.err
    assert [hit["id"] for hit in found.json] == ["know-1"]
    assert found.json[0]["score"] > 0.9
    nothing = memory(store, "recall", "elephants")
    assert nothing.code == 3
    assert "scope workspace_id /home/dev/demo" in nothing.err
    assert "artifacts only" in nothing.err
    assert memory(store, "recall", "x", "--semantic").code == 1


def test_show_finds_by_the_beginning_of_an_id(store: str) -> None:
    assert memory(store, "show", "art-1", "--json").json["title"] == "plan.txt"
    assert "deploy on Fridays" in memory(store, "show", "know-1").out
    assert memory(store, "show", "know-", "--json").error["code"] == "AMBIGUOUS_ID"
    missing = memory(store, "show", "nothing", "--json")
    assert (missing.code, missing.error["code"]) == (3, "MEMORY_NOT_FOUND")


def test_stats_count_and_name_the_scope(store: str) -> None:
    stats = memory(store, "stats", "--json").json
    assert (stats["store"], stats["memories"]) == ("patchouli", 3)
    assert stats["types"] == {"knowledge": 2, "artifact": 1}
    assert "scope" in stats["where"]


def test_export_carries_the_entries(store: str, tmp_path: Path) -> None:
    done = memory(store, "export", str(tmp_path / "out.jsonl"))
    assert done.code == 0, done.err
    text = (tmp_path / "out.jsonl").read_text()
    assert "We deploy on Fridays" in text
    done = dshloop("memory", "import", str(tmp_path / "out.jsonl"))
    assert done.code == 0, done.err
    assert len(dshloop("memory", "list", "--json").json) == 3


def test_an_artifact_is_written_to_a_new_file(store: str, tmp_path: Path) -> None:
    out = tmp_path / "plan.txt"
    assert memory(store, "artifact", "art-1", "--output", str(out)).code == 0
    assert out.read_bytes() == b"plan"
    again = memory(store, "artifact", "art-1", "--output", str(out), "--json")
    assert again.error["code"] == "WRITE_FAILED"
    wrong = memory(store, "artifact", "know-1", "--output", str(tmp_path / "x"), "--json")
    assert wrong.error["code"] == "MEMORY_NOT_FOUND"


def test_tail_shows_changes_from_a_cursor(store: str) -> None:
    found = memory(store, "tail", "--after", "0", "--once", "--json")
    assert found.code == 0, found.err
    *records, end = found.lines
    assert end["type"] == "end"
    changes = [record["change"] for record in records]
    assert [change["ref"]["id"] for change in changes] == ["know-1", "know-2", "art-1"]
    second = changes[0]["cursor"]
    text = memory(store, "tail", "--after", second, "--limit", "1").out
    assert text.split() == [changes[1]["cursor"], "created", "knowledge", "know-2"]
    wrong = memory(store, "tail", "--after", "soon", "--once", "--json")
    assert wrong.code == 5


@pytest.mark.parametrize(
    "words",
    [
        ("remember", "x"),
        ("edit", "know-1", "x"),
        ("forget", "know-1"),
        ("undo",),
    ],
)
def test_what_writes_is_refused(store: str, words: tuple[str, ...]) -> None:
    done = memory(store, *words, "--json")
    assert (done.code, done.error["code"]) == (4, "STORE_READONLY"), done.err


@pytest.mark.parametrize("words", [("timeline", "know-1"), ("sessions",)])
def test_what_a_peer_does_not_have_is_said(store: str, words: tuple[str, ...]) -> None:
    done = memory(store, *words, "--json")
    assert (done.code, done.error["code"]) == (1, "STORE_UNSUPPORTED"), done.err


def test_tail_of_our_own_store_is_unsupported() -> None:
    done = dshloop("memory", "tail", "--json")
    assert done.code == 1
    assert done.error["code"] == "STORE_UNSUPPORTED"


def test_without_a_scope_a_file_shows_all_of_them(peer: Daemon) -> None:
    found = memory(f"patchouli:{peer.database}", "list", "--json").json
    assert {entry["project"] for entry in found} == {"demo", "other"}
    stats = memory(f"patchouli:{peer.database}", "stats").out
    assert "2 scopes" in stats


def test_the_file_is_read_where_no_daemon_answers(tmp_path: Path, isolated: Path) -> None:
    done = dshloop("memory", "list", "--store", "patchouli", "--json")
    assert (done.code, done.error["code"]) == (5, "PEER_DOWN")
    home = isolated / ".patchouli"
    (home / "data").mkdir(parents=True)
    with daemon(tmp_path) as peer:
        with peer.client() as client:
            create(client, knowledge("kept in the log"), "k")
        os.link(peer.database, home / "data" / "patchouli.db")
        peer.stop()
    done = dshloop("memory", "list", "--store", "patchouli")
    assert done.code == 0, done.err
    assert "kept in the log" in done.out
    assert "is read instead" in done.err
    configure("file", str(tmp_path / "patchouli.db"))
    assert "kept in the log" in dshloop("memory", "list", "--store", "patchouli").out


def test_a_running_daemons_file_is_read_with_its_log_and_not_changed(tmp_path: Path) -> None:
    with daemon(tmp_path) as peer, peer.client() as client:
        create(client, knowledge("only in the write-ahead log"), "k")
        wal = peer.database.with_name("patchouli.db-wal")
        before = (peer.database.read_bytes(), wal.read_bytes())
        assert b"only in the write-ahead log" not in before[0]
        done = memory(f"patchouli:{peer.database}", "show", "k")
        assert "only in the write-ahead log" in done.out
        assert (peer.database.read_bytes(), wal.read_bytes()) == before


@pytest.mark.parametrize(("version", "said"), [(0, "not initialised"), (13, "has schema 13")])
def test_files_of_another_schema_are_refused(tmp_path: Path, version: int, said: str) -> None:
    file = tmp_path / "p.db"
    database = sqlite3.connect(file)
    database.execute(f"PRAGMA user_version = {version}")
    database.execute("CREATE TABLE t (x)")
    database.close()
    done = memory(f"patchouli:{file}", "list", "--json")
    assert (done.code, done.error["code"]) == (4, "PATCHOULI_SCHEMA")
    assert said in done.error["message"]


def test_what_is_no_database_is_said(tmp_path: Path) -> None:
    (tmp_path / "p.db").write_bytes(b"no database at all" * 100)
    done = memory(f"patchouli:{tmp_path / 'p.db'}", "list", "--json")
    assert (done.code, done.error["code"]) == (1, "STORE_CORRUPT")
    missing = memory(f"patchouli:{tmp_path / 'none.db'}", "list", "--json")
    assert (missing.code, missing.error["code"]) == (3, "STORE_UNKNOWN")


def test_stores_name_it() -> None:
    found = {one["name"]: one for one in dshloop("memory", "stores", "--json").json}
    assert found["patchouli"]["where"] == "~/.patchouli/run/patchouli.sock"
    configure("socket", "/run/p.sock")
    found = {one["name"]: one for one in dshloop("memory", "stores", "--json").json}
    assert found["patchouli"]["where"] == "/run/p.sock"


def test_history_shows_published_versions_from_the_file_and_heads_over_the_socket(
    tmp_path: Path,
) -> None:
    configure("workspace", WORKSPACE)
    with daemon(tmp_path) as peer, peer.client() as client:
        first = create(client, knowledge("first words"), "k")
        base = {**SCOPE, "base_versions": [first["version"]], "conflict_strategy": "mvcc"}
        ref = {"type": "knowledge", "id": "k"}
        client.call("entity.update", base, {"ref": ref, "value": knowledge("second words")})
        create(client, knowledge("to be deleted"), "gone")
        versions = client.read(SCOPE, "knowledge", "gone")["variants"]
        base = {**SCOPE, "base_versions": [versions[0]["version"]]}
        client.call("entity.delete", base, {"ref": {"type": "knowledge", "id": "gone"}})
        unit = {**SCOPE, "transaction_id": "open"}
        staged = {"type": "knowledge", "value": knowledge("staged, not published"), "id": "staged"}
        client.call("entity.create", unit, staged)
        for store, contents in (
            (f"patchouli:{peer.socket}", ["second words"]),
            (f"patchouli:{peer.database}", ["first words", "second words"]),
        ):
            found = memory(store, "history", "k", "--json").json
            assert [one["content"] for one in found] == contents
            assert [one["latest"] for one in found][-1] is True
            assert [one["id"] for one in memory(store, "list", "--json").json] == ["k"]
            assert memory(store, "recall", "first", "--json").json == []


def test_several_heads_are_one_entry_that_says_so(tmp_path: Path) -> None:
    configure("workspace", WORKSPACE)
    with daemon(tmp_path) as peer, peer.client() as client:
        first = create(client, knowledge("one"), "k")
        ref = {"type": "knowledge", "id": "k"}
        for text in ("two", "three"):
            meta = {**SCOPE, "base_versions": [first["version"]], "conflict_strategy": "mvcc"}
            client.call("entity.update", meta, {"ref": ref, "value": knowledge(text)})
        for where in (peer.socket, peer.database):
            (entry,) = memory(f"patchouli:{where}", "list", "--json").json
            assert entry["source"]["state"] == "conflicted"
            assert entry["content"] in ("two", "three")
