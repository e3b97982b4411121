from __future__ import annotations

import json
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from typing import Any

import pytest

from dshloop.errors import (
    EmbeddingInvalidError,
    ExitCode,
    PeerAnswerError,
    PeerDeniedError,
    PeerDownError,
    PeerFailedError,
)
from dshloop.memory.embedding import Choice, Embedder, open_embedder
from dshloop.memory.embedding.embedder import LONGEST_TEXT
from dshloop.memory.embedding.servers import batches, openai_base
from tests.http.server import Asked, Said, in_turn, serving

pytest.importorskip("numpy", reason="the extra semantic (numpy) is not installed")

KEY = "sk-abcdefghijklmnopqrstuvwxyz"


Opening = Callable[..., Embedder]


@pytest.fixture
def embedder() -> Iterator[Opening]:
    """Open embedders that are closed when the test is over."""
    with ExitStack() as opened:

        def start(url: str, provider: str = "openai", **more: Any) -> Embedder:
            choice = Choice(provider, "some-model", url, key_variable="MY_KEY", **more)
            return opened.enter_context(closing(open_embedder(choice, {"MY_KEY": KEY})))

        yield start


def openai(asked: Asked) -> Said:
    """Answer with the length of each text, in another order than asked."""
    rows = [
        {"object": "embedding", "index": number, "embedding": [float(len(text)), 1.0, 0.0]}
        for number, text in enumerate(asked.json["input"])
    ]
    return Said(body={"object": "list", "data": rows[::-1], "model": asked.json["model"]})


def ollama(asked: Asked) -> Said:
    rows = [[float(len(text)), 1.0] for text in asked.json["input"]]
    return Said(body={"model": asked.json["model"], "embeddings": rows})


def test_openai_rows_come_back_in_order_with_length_one(embedder: Opening) -> None:
    with serving(openai) as server:
        rows = embedder(f"{server.url}/v1").embed_texts(["aaa", "b"])
        asked = server.asked[0]
    assert rows.dtype == "float32"
    assert rows[0].tolist() == pytest.approx([0.9486833, 0.3162278, 0])
    assert rows[1].tolist() == pytest.approx([0.7071068, 0.7071068, 0])
    assert (asked.method, asked.path) == ("POST", "/v1/embeddings")
    assert asked.headers["authorization"] == f"Bearer {KEY}"
    assert asked.json == {"model": "some-model", "input": ["aaa", "b"], "encoding_format": "float"}


def test_ollama_is_asked_its_own_way(embedder: Opening) -> None:
    with serving(ollama) as server:
        row = embedder(server.url, "ollama").embed_query("abc")
        asked = server.asked[0]
    assert row.tolist() == pytest.approx([0.9486833, 0.3162278])
    assert asked.path == "/api/embed"
    assert asked.json == {"model": "some-model", "input": ["abc"], "truncate": True}


def test_questions_and_texts_have_their_prefixes(embedder: Opening) -> None:
    with serving(openai) as server:
        model = embedder(server.url, query_prefix="query: ", text_prefix="passage: ")
        model.embed_query("a")
        model.embed_texts(["b"])
        assert [asked.json["input"] for asked in server.asked] == [["query: a"], ["passage: b"]]


def test_texts_are_sent_in_batches_that_a_server_can_take(embedder: Opening) -> None:
    with serving(openai) as server:
        rows = embedder(server.url).embed_texts(["x" * (number % 7 + 1) for number in range(150)])
        sizes = [len(asked.json["input"]) for asked in server.asked]
    assert rows.shape == (150, 3)
    assert sizes == [64, 64, 22]
    assert [len(batch) for batch in batches(["x" * 2000] * 70)] == [30, 30, 10]
    assert list(batches([])) == []


def test_no_texts_ask_nothing(embedder: Opening) -> None:
    with serving(openai) as server:
        assert len(embedder(server.url).embed_texts([])) == 0
        assert server.asked == []


def test_texts_are_made_readable_before_they_go(embedder: Opening) -> None:
    with serving(openai) as server:
        embedder(server.url).embed_texts(["a\0b", "\ud800x", "\0", "y" * 10_000])
        sent = server.asked[0].json["input"]
    assert sent[:3] == ["a b", "?x", "-"]
    assert len(sent[3]) == LONGEST_TEXT


@pytest.mark.parametrize(
    ("url", "base"),
    [
        ("http://localhost:8000", "http://localhost:8000/v1"),
        ("http://localhost:8000/", "http://localhost:8000/v1"),
        ("http://localhost:8000/v1", "http://localhost:8000/v1"),
        ("https://api.example.com/v1/embeddings", "https://api.example.com/v1"),
        ("https://api.example.com/openai/v1/", "https://api.example.com/openai/v1"),
    ],
)
def test_the_address_is_taken_with_and_without_its_path(url: str, base: str) -> None:
    assert openai_base(url) == base


@pytest.mark.parametrize(
    "body",
    [{}, [], None, {"data": 7}, {"data": [{"index": 0}]}, {"data": []}, {"data": [3]}, "text"],
)
def test_an_answer_without_embeddings_is_the_servers_fault(embedder: Opening, body: Any) -> None:
    with serving(in_turn(Said(body=body))) as server, pytest.raises(PeerAnswerError) as caught:
        embedder(server.url).embed_query("x")
    assert caught.value.exit_code == ExitCode.PEER


@pytest.mark.parametrize(
    "row", [[], [0.0, 0.0], [float("nan"), 1.0], [float("inf")], ["x"], [None], [1e300], 5]
)
def test_a_vector_that_is_none_is_refused(embedder: Opening, row: Any) -> None:
    body = json.dumps({"data": [{"index": 0, "embedding": row}]}).encode()
    with (
        serving(in_turn(Said(body=body))) as server,
        pytest.raises(EmbeddingInvalidError, match="openai/some-model"),
    ):
        embedder(server.url).embed_query("x")


def test_vectors_of_different_lengths_are_refused(embedder: Opening) -> None:
    data = [{"index": 0, "embedding": [1.0]}, {"index": 1, "embedding": [1.0, 2.0]}]
    with serving(in_turn(Said(body={"data": data}))) as server:
        model = embedder(server.url)
        with pytest.raises(EmbeddingInvalidError, match="different lengths"):
            model.embed_texts(["a", "b"])


def test_a_key_that_is_refused_is_not_shown(embedder: Opening) -> None:
    with serving(in_turn(Said(401, {"error": {"message": f"no such key: {KEY}"}}))) as server:
        with pytest.raises(PeerDeniedError, match="the embeddings endpoint") as caught:
            embedder(server.url).embed_query("x")
        assert len(server.asked) == 1
    assert KEY not in str(caught.value.as_json())


def test_a_server_that_is_busy_is_asked_again(embedder: Opening) -> None:
    with serving(lambda asked: Said(503) if len(server.asked) == 1 else openai(asked)) as server:
        assert embedder(server.url).embed_query("x").shape == (3,)
        assert len(server.asked) == 2


def test_who_waits_for_one_text_is_told_soon(embedder: Opening) -> None:
    with serving(lambda _: Said(503)) as server:
        with pytest.raises(PeerFailedError):
            embedder(server.url).embed_texts(["one"])
        assert len(server.asked) == 2


def test_a_server_that_is_down_is_named(embedder: Opening) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(PeerDownError, match=url):
            embedder(url).embed_query("x")
