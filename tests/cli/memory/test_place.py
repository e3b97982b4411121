"""`dshloop memory stores` and `use`."""

from __future__ import annotations

import os
from pathlib import Path

from tests.cli.memory.steps import memory
from tests.running import dshloop


def in_use(**variables: str) -> tuple[str, str]:
    rows = memory("stores", "--json", variables=variables).json
    [row] = [row for row in rows if row["in_use"]]
    return row["name"], row["why"]


def test_the_store_in_use_and_why() -> None:
    config = Path(os.environ["DSHLOOP_CONFIG"]) / "config.yml"
    assert in_use() == ("embedded", "default")
    assert memory("use", "embedded").code == 0
    assert config.read_text() == "memory:\n  store: embedded\n"
    assert in_use() == ("embedded", f"memory.store in {config}")
    assert in_use(DSHLOOP_STORE="elsewhere") == ("elsewhere", "$DSHLOOP_STORE")
    assert "elsewhere (unknown)" in memory("stores", variables={"DSHLOOP_STORE": "elsewhere"}).out


def test_use_is_a_change_like_any_other() -> None:
    ran = memory("use", "embedded", "--dry-run", "--json")
    assert "+  store: embedded" in ran.json["diff"]
    assert not (Path(os.environ["DSHLOOP_CONFIG"]) / "config.yml").exists()
    assert memory("use", "embedded", "--json").json["changed"] is True
    assert memory("use", "embedded", "--json").json["changed"] is False
    assert dshloop("undo").code == 0
    assert in_use() == ("embedded", "default")


def test_use_tells_what_counts_more() -> None:
    ran = memory("use", "embedded", variables={"DSHLOOP_STORE": "elsewhere"})
    assert "$DSHLOOP_STORE is elsewhere" in ran.err


def test_an_unknown_store_cant_be_used() -> None:
    ran = memory("use", "nothing", "--json")
    assert (ran.code, ran.error["code"]) == (3, "STORE_UNKNOWN")
    assert not (Path(os.environ["DSHLOOP_CONFIG"]) / "config.yml").exists()
