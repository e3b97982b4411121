"""`--semantic`, the setting memory.semantic, and a server that makes the vectors."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from contextlib import closing

import pytest

from tests.http.server import Asked, LoopbackServer, Said, serving
from tests.memory.embedding.stand_in import StandIn
from tests.running import dshloop

pytest.importorskip("numpy", reason="the extra semantic (numpy) is not installed")

KEY = "sk-abcdefghijklmnopqrstuvwxyz"
TEXTS = (
    "We deploy on Fridays",
    "The cat sleeps all day",
    "Customer data lives in postgres",
    "Lunch is served at noon",
)


@pytest.fixture
def server() -> Iterator[LoopbackServer]:
    model = StandIn()

    def answer(asked: Asked) -> Said:
        rows = model.embed_texts(asked.json["input"]).tolist()
        data = [{"index": number, "embedding": row} for number, row in enumerate(rows)]
        return Said(body={"data": data})

    with serving(answer) as running:
        configure("url", running.url)
        configure("model", "some-model")
        yield running


def configure(key: str, value: str) -> None:
    assert dshloop("config", "set", f"memory.embeddings.{key}", value).code == 0


def usual() -> None:
    assert dshloop("config", "set", "memory.semantic", "true").code == 0


def remember() -> None:
    for text in TEXTS:
        assert dshloop("memory", "remember", text).code == 0


def free_port() -> Iterator[str]:
    with closing(socket.socket()) as taken:
        taken.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{taken.getsockname()[1]}"


nowhere = pytest.fixture(free_port, name="nowhere")


def test_nothing_is_embedded_unless_it_is_asked_for(server: LoopbackServer) -> None:
    remember()
    assert dshloop("memory", "recall", "deploy").code == 0
    assert dshloop("memory", "recall", "kitten").code == 3
    assert server.asked == []


def test_with_the_setting_recall_finds_by_meaning(server: LoopbackServer) -> None:
    usual()
    remember()
    found = dshloop("memory", "recall", "kitten", "--json")
    assert found.code == 0
    assert [hit["content"] for hit in json.loads(found.out)] == ["The cat sleeps all day"]
    assert "vector" in json.loads(found.out)[0]["why"]["parts"]
    assert dshloop("memory", "recall", "kitten", "--lexical").code == 3


def test_asked_for_without_stored_vectors_it_says_so(server: LoopbackServer) -> None:
    remember()
    found = dshloop("memory", "recall", "deploy", "--semantic")
    assert found.code == 0
    assert "4 entries have no vector" in found.err
    assert "We deploy on Fridays" in found.out


def test_a_server_that_is_down_fails_who_asked_for_meaning(
    server: LoopbackServer, nowhere: str
) -> None:
    remember()
    configure("url", nowhere)
    asked = dshloop("memory", "recall", "deploy", "--semantic", "--json")
    assert (asked.code, asked.out) == (5, "")
    error = json.loads(asked.err)["error"]
    assert error["code"] == "PEER_DOWN"
    assert nowhere in error["message"]


def test_a_server_that_is_down_costs_a_warning_where_meaning_is_usual(
    server: LoopbackServer, nowhere: str
) -> None:
    usual()
    remember()
    configure("url", nowhere)
    found = dshloop("memory", "recall", "deploy")
    assert found.code == 0
    assert "We deploy on Fridays" in found.out
    assert (
        f"found by words only: the embeddings endpoint can't be reached at {nowhere}" in found.err
    )
    kept = dshloop("memory", "remember", "Nobody is there")
    assert kept.code == 0
    assert "stored without a vector" in kept.err


def test_a_key_comes_from_the_variable_that_is_named_and_is_never_shown(
    server: LoopbackServer,
) -> None:
    configure("key_variable", "MY_KEY")
    missing = dshloop("memory", "recall", "deploy", "--semantic")
    assert missing.code == 1
    assert "MY_KEY" in missing.err
    remember()
    shown = dshloop(
        "memory", "recall", "deploy", "--semantic", "--verbose", variables={"MY_KEY": KEY}
    )
    assert shown.code == 0
    assert server.asked[-1].headers["authorization"] == f"Bearer {KEY}"
    assert KEY not in shown.out + shown.err


def test_a_key_does_not_go_unencrypted_to_another_machine(server: LoopbackServer) -> None:
    configure("key_variable", "MY_KEY")
    configure("url", "http://example.invalid")
    remember()
    refused = dshloop("memory", "recall", "deploy", "--semantic", variables={"MY_KEY": KEY})
    assert refused.code == 4
    assert "INSECURE_HTTP" in refused.err
    assert KEY not in refused.err
