"""`dshloop memory serve` as a command: what it prints, refuses and needs."""

from __future__ import annotations

import os
import signal
import socket
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from tests.memory.server.serving import Client, served
from tests.running import dshloop


def test_only_the_address_is_printed_and_the_log_goes_to_its_file(tmp_path: Path) -> None:
    log = tmp_path / "serve.log"
    command = [sys.executable, "-m", "dshloop", "memory", "serve", "--port", "0"]
    process = subprocess.Popen(
        [*command, "--stdio-log", "serve.log"],
        cwd=tmp_path,
        env={**os.environ, "DSHLOOP_DATA": str(tmp_path / "data")},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    url = process.stdout.readline().strip()
    assert url.startswith("http://127.0.0.1:")
    with Client(url) as client:
        assert client.post("/remember").status == 400
        assert client.post("/remember", content="a secret place").status == 201
    process.send_signal(signal.SIGTERM)
    assert process.communicate(timeout=60) == ("", "")
    assert process.returncode == 0
    text = log.read_text(encoding="utf-8")
    assert "400 POST /remember" in text
    assert "secret place" not in text
    assert stat.S_IMODE(log.stat().st_mode) == 0o600


def test_what_was_served_is_there_for_the_other_verbs(tmp_path: Path) -> None:
    with served(tmp_path) as server, server.client() as client:
        client.post("/remember", content="walruses sleep on ice", project="p")
        ran = dshloop("--data-dir", str(tmp_path), "memory", "recall", "walruses", "--json")
        assert [hit["content"] for hit in ran.json] == ["walruses sleep on ice"]
        ran = dshloop("--data-dir", str(tmp_path), "memory", "remember", "seals dive deep")
        assert ran.code == 0
        [found] = client.post("/search", query="seals").json["results"]
        assert found["observation"]["narrative"] == "seals dive deep"


def test_without_its_packages_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [one for one in sys.modules if one.startswith("dshloop.memory.server")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    ran = dshloop("memory", "serve", "--port", "0", "--json")
    assert (ran.code, ran.out) == (1, "")
    assert ran.error["code"] == "SERVE_UNAVAILABLE"
    assert "pip install 'dshloop[serve]'" in ran.error["hint"]


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "example.com"])
def test_a_host_that_others_reach_needs_a_secret(host: str) -> None:
    ran = dshloop("memory", "serve", "--host", host, "--json")
    assert (ran.code, ran.out, ran.error["code"]) == (4, "", "SERVER_OPEN")


def test_a_host_that_is_none_is_refused() -> None:
    secret = {"AGENTMEMORY_SECRET": "x"}
    ran = dshloop("memory", "serve", "--host", "no.such.host.invalid", "--json", variables=secret)
    assert (ran.code, ran.out, ran.error["code"]) == (2, "", "SERVER_SETTING")


def test_a_port_that_is_taken_is_said() -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        ran = dshloop("memory", "serve", "--port", str(port), "--json")
    assert (ran.code, ran.out, ran.error["code"]) == (4, "", "PORT_TAKEN")
    assert ran.error["details"] == {"host": "127.0.0.1", "port": port}


def test_an_unknown_store_is_refused_before_anything_listens() -> None:
    ran = dshloop("memory", "serve", "--store", "nowhere", "--port", "0", "--json")
    assert (ran.code, ran.out, ran.error["code"]) == (3, "", "STORE_UNKNOWN")
