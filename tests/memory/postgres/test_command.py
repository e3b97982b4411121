"""The `memory` commands on the store postgres."""

from __future__ import annotations

import json
import os
from pathlib import Path
from urllib.parse import urlencode

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from dshloop.errors import StorePasswordError, StoreUnknownError, StoreUnreachableError
from dshloop.memory.postgres.opening import place_of
from tests.cli.memory.steps import memory
from tests.running import dshloop


@pytest.fixture
def place(dsn: str, schema: str) -> str:
    """Make it the store in use, in a schema of its own."""
    config = Path(os.environ["DSHLOOP_CONFIG"])
    config.mkdir(parents=True, exist_ok=True)
    (config / "config.yml").write_text(f"memory:\n  postgres:\n    schema: {schema}\n")
    assert memory("use", "postgres", "--dsn", dsn).code == 0
    return dsn


def config_text() -> str:
    return (Path(os.environ["DSHLOOP_CONFIG"]) / "config.yml").read_text()


def test_a_server_is_used_like_the_file(place: str) -> None:
    assert place in config_text()
    assert memory("remember", "We deploy on Fridays", "--project", "shop").code == 0
    assert "We deploy on Fridays" in memory("recall", "when do we deploy").out
    stats = memory("stats", "--json").json
    assert (stats["store"], stats["memories"]) == ("postgres", 1)
    [row] = [row for row in memory("stores", "--json").json if row["in_use"]]
    assert (row["name"], row["where"]) == ("postgres", place)
    assert memory("undo").code == 0
    assert memory("list", "--count", "--json").json == {"count": 0}


def test_a_store_is_named_by_its_connection_string(place: str) -> None:
    memory("remember", "We deploy on Fridays")
    assert memory("use", "embedded").code == 0
    named = f"postgres:{place}"
    assert memory("list", "--count", "--json", "--store", named).json == {"count": 1}


def test_what_is_migrated_there_and_back_is_byte_equal(place: str, tmp_path: Path) -> None:
    for text in ("We deploy on Fridays", "the port is 8080", "an emoji 🦀 and 数据库"):
        memory("remember", text, "--project", "shop", "--store", "embedded")
    [id_] = [
        row["id"]
        for row in memory("list", "--json", "--store", "embedded").json
        if "port" in row["content"]
    ]
    memory("edit", id_, "--content", "the port is 9090", "--store", "embedded")
    there = memory("migrate", "embedded", "postgres", "--json").json
    assert sum(there["added"].values()) == 4
    back = memory("migrate", "postgres", f"embedded:{tmp_path / 'copy.db'}", "--json").json
    assert back["added"] == there["added"]
    stores = ("embedded", "postgres", f"embedded:{tmp_path / 'copy.db'}")
    first, second, third = (memory("export", "--store", store).out for store in stores)
    assert first == second == third
    assert "9090" in first
    again = memory("migrate", "embedded", "postgres", "--json").json
    assert sum(again["added"].values()) == 0
    assert again["same"] == there["added"]


@pytest.mark.parametrize(
    "dsn", ["postgresql://me:s3cret@db/x", "host=db user=me password=s3cret dbname=x"]
)
def test_a_password_in_a_connection_string_is_refused(dsn: str) -> None:
    for run in (memory("use", "postgres", "--dsn", dsn, "--json"),
                memory("list", "--store", f"postgres:{dsn}", "--json")):  # fmt: skip
        assert (run.code, run.error["code"]) == (2, "STORE_PASSWORD")
        assert "pgpass" in run.error["hint"]
        assert "s3cret" not in run.out + run.err
    assert not (Path(os.environ["DSHLOOP_CONFIG"]) / "config.yml").exists()


@pytest.mark.parametrize(
    "named",
    [
        "postgres:postgresql://me:s3cret@db/x",
        "postgres:host=db password=s3cret",
        "postgres://me:s3cret@db/x",
        "postgresql://me:s3cret@db/x",
    ],
)
def test_a_password_in_a_stores_name_is_not_shown(
    named: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = [memory(*words) for words in (
        ("use", named), ("status", "--store", named), ("outbox", "list", "--store", named),
        ("list", "--store", named, "--store", "embedded"))]  # fmt: skip
    assert all(run.code for run in runs)
    runs.append(dshloop("config", "set", "memory.store", named))
    monkeypatch.setenv("DSHLOOP_STORE", named)
    asked = (("stores",), ("use", "embedded"), ("status",), ("recall", "x", "--all-stores"))
    runs += [memory(*words) for words in asked]
    assert not any("s3cret" in run.out + run.err for run in runs)


@pytest.mark.parametrize(
    "dsn", ["postgresql://me:s3cret@db/x", "host=db passwrod=s3cret", "db.example.com"]
)
def test_config_set_stores_no_password(dsn: str) -> None:
    run = dshloop("config", "set", "memory.postgres.dsn", dsn, "--json")
    assert run.error["code"] in ("STORE_PASSWORD", "STORE_UNREACHABLE")
    assert "s3cret" not in run.out + run.err
    assert not (Path(os.environ["DSHLOOP_CONFIG"]) / "config.yml").exists()


def test_a_connection_string_is_a_stores_name(dsn: str, place: str) -> None:
    memory("remember", "We deploy on Fridays")
    parts = conninfo_to_dict(dsn)
    url = "postgresql:///?" + urlencode(parts)
    assert memory("list", "--count", "--json", "--store", url).json == {"count": 1}
    status = memory("status", "--json", "--store", url).json
    assert status["where"] == url
    assert status["reachable"]
    both = memory("list", "--count", "--json", "--store", url, "--store", "postgres")
    assert both.json == {"count": 1}


def test_a_database_that_cannot_hold_every_text_is_refused(dsn: str, schema: str) -> None:
    with psycopg.connect(dsn, autocommit=True) as server:
        server.execute(f"CREATE DATABASE {schema} ENCODING LATIN1 TEMPLATE template0 LOCALE 'C'")
    run = memory("remember", "ok", "--json", "--store", f"postgres:{dsn} dbname={schema}")
    assert run.error["code"] == "STORE_ENCODING"


def test_what_the_environment_says_of_encodings_does_not_count(
    place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGCLIENTENCODING", "LATIN1")
    assert memory("remember", "a crab 🦀").code == 0
    assert "🦀" in memory("list").out


def test_options_of_a_server_go_with_it_only() -> None:
    run = memory("use", "embedded", "--dsn", "host=db", "--json")
    assert run.code == 2


def test_the_password_comes_from_the_variable_that_is_named() -> None:
    settings = {"memory.postgres.password_variable": "SHOP_PASSWORD"}
    place = place_of("host=db", settings.get, {"SHOP_PASSWORD": "s3cret", "PGPASSWORD": "other"})
    assert place.password == "s3cret"
    assert "s3cret" not in place.where + repr(place)
    with pytest.raises(StoreUnreachableError, match="SHOP_PASSWORD"):
        place_of("host=db", settings.get, {})
    assert place_of("host=db", {}.get, {"PGPASSWORD": "other"}).password == "other"


def test_where_it_is_must_be_said_somewhere() -> None:
    with pytest.raises(StoreUnknownError):
        place_of("", {}.get, {})
    assert place_of("", {}.get, {"PGSERVICE": "shop"}).dsn == ""
    with pytest.raises(StorePasswordError):
        place_of("postgresql://me:s3cret@db/x", {}.get, {})
    with pytest.raises(StoreUnreachableError, match="can't be read"):
        place_of("no such thing", {}.get, {})


def test_a_server_keeps_its_index_itself(place: str) -> None:
    memory("remember", "We deploy on Fridays")
    for verb in (["check"], ["reindex"], ["backup", "copy.db"]):
        run = memory(*verb, "--json")
        assert run.code == 2
        assert run.error["message"] == "the store postgres has no file to look after"


def test_rows_that_keep_memory_here_mean_the_server_that_is_used(place: str) -> None:
    folder = Path(os.environ["DSH_HOME"]) / "profiles" / "web"
    folder.mkdir(parents=True)
    (folder / "package.json").write_text('{"private": true}', encoding="utf-8")
    row = {"id": "mem", "name": "dsh-agentmemory", "config": {"store": "local"}}
    (folder / "cordis.patch.yml").write_text(f"- insert: [{json.dumps(row)}]\n", encoding="utf-8")
    memory("remember", "We deploy on Fridays")
    status = dshloop("memory", "status", "--profile", "web", "--json").json
    assert (status["store"], status["where"]) == ("postgres", place)
    assert status["counts"]["memories"] == 1
