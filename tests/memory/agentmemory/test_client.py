"""What the daemon's answers mean to the clients: values, or errors that say what to do."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from dshloop.errors import (
    AgentmemoryRefusedError,
    AgentmemoryRestartingError,
    AgentmemoryTooLargeError,
    DshloopError,
    ExitCode,
    InsecureHttpError,
    PeerAnswerError,
    PeerConfigError,
    PeerDeniedError,
    PeerDownError,
    PeerFailedError,
    PeerTimeoutError,
)
from dshloop.memory.agentmemory_client import calls, outcome
from dshloop.memory.agentmemory_client.address import (
    DEFAULT_URL,
    configured_secret,
    configured_url,
    peer_of,
)
from dshloop.memory.agentmemory_client.async_client import AgentmemoryAsync
from dshloop.memory.agentmemory_client.calls import Call
from dshloop.memory.agentmemory_client.client import Agentmemory
from tests.http.server import LoopbackServer, Said, in_turn, serving
from tests.memory.agentmemory.daemons import Daemons

SECRET = "a-secret-of-the-daemon"
PLAIN = {"success": True}


def ask(url: str, call: Call[Any], *, secret: str = "", seconds: float = 5.0) -> Any:
    with Agentmemory(peer_of(url, secret, seconds=seconds), {}, patience=0.0) as client:
        return client.ask(call)


def ask_async(url: str, call: Call[Any], *, secret: str = "", deadline: float = 5.0) -> Any:
    async def asked() -> Any:
        async with AgentmemoryAsync(peer_of(url, secret), {}, deadline) as client:
            return await client.ask(call)

    return asyncio.run(asked())


both = pytest.mark.parametrize("asking", [ask, ask_async])
Asking = Callable[..., Any]


def failing(asking: Asking, said: Said, call: Call[Any] | None = None) -> DshloopError:
    """Give the error for an answer."""
    with serving(lambda _asked: said) as server, pytest.raises(DshloopError) as raised:
        asking(server.url, call or calls.session_end("s1"))
    return raised.value


# Answers


@both
@pytest.mark.parametrize(
    ("said", "kind", "words"),
    [
        (Said(401, {"error": "unauthorized"}), PeerDeniedError, "wants a secret"),
        (Said(400, {"error": "sessionId is required"}), AgentmemoryRefusedError, "is required"),
        (Said(404, {"error": "memory not found: x"}), AgentmemoryRefusedError, "not found"),
        (Said(404, b""), AgentmemoryRestartingError, "starting or restarting"),
        (Said(500, {"error": "Invocation stopped"}), AgentmemoryRestartingError, "restarting"),
        (
            Said(500, {"error": "Function api::x not found"}),
            AgentmemoryRestartingError,
            "restarting",
        ),
        (Said(500, {"error": "[object Object]", "error_id": "1f"}), PeerFailedError, "status 500"),
        (Said(503, {"error": "Memory slots not enabled"}), PeerFailedError, "not enabled"),
        (Said(413, {"error": "too long"}), AgentmemoryTooLargeError, "too large"),
        (Said(504, b""), PeerTimeoutError, "too slow"),
        (Said(302, b"", {"Location": "http://other/"}), PeerFailedError, "status 302"),
        (Said(200, b"<html>a router</html>"), PeerAnswerError, "no agentmemory"),
        (Said(200, [1, 2]), PeerAnswerError, "no agentmemory"),
        (Said(200, {"success": False, "error": "no"}), AgentmemoryRefusedError, "did not do"),
        (Said(201, {"success": False}), AgentmemoryRefusedError, "says no reason"),
        (
            Said(200, {"success": False, "error": "Response is 20 MiB", "oversized": True}),
            AgentmemoryTooLargeError,
            "20 MiB",
        ),
    ],
)
def test_every_failure_is_an_error_of_its_own(
    asking: Asking, said: Said, kind: type[DshloopError], words: str
) -> None:
    error = failing(asking, said)
    assert type(error) is kind
    assert words in error.message
    assert error.exit_code is ExitCode.PEER
    assert error.details["call"] == "POST /session/end"


@both
def test_a_refused_secret_is_told_and_never_shown(asking: Asking) -> None:
    with serving(lambda _asked: Said(401, {"error": f"unauthorized: {SECRET}"})) as server:
        with pytest.raises(PeerDeniedError, match="refused our secret") as raised:
            asking(server.url, calls.health(), secret=SECRET)
        assert server.asked[0].headers["authorization"] == f"Bearer {SECRET}"
    assert "AGENTMEMORY_SECRET" in str(raised.value.hint)
    assert SECRET not in json.dumps(raised.value.as_json())


@both
def test_nobody_there_is_told(asking: Asking) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
    with pytest.raises(PeerDownError, match="can't be reached") as raised:
        asking(url, calls.livez())
    assert outcome.may_pass(raised.value)


@both
def test_a_daemon_that_hangs_is_told(asking: Asking) -> None:
    done = threading.Event()
    said = Said(pieces=[b"{"], wait=done)
    try:
        limit = {"seconds": 0.2} if asking is ask else {"deadline": 0.2}
        with serving(lambda _asked: said) as server, pytest.raises(PeerTimeoutError):
            asking(server.url, calls.livez(), **limit)
    finally:
        done.set()


@contextmanager
def resetting() -> Iterator[str]:
    """Lend the address of a server that ends every connection before it answers."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def reset() -> None:
            while True:
                try:
                    connection, _ = listening.accept()
                except OSError:
                    return
                connection.recv(65_536)
                connection.close()

        thread = threading.Thread(target=reset)
        thread.start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        listening.shutdown(socket.SHUT_RDWR)
        thread.join()


@both
def test_a_restart_in_the_middle_of_a_call_is_told(asking: Asking) -> None:
    with resetting() as url:
        with pytest.raises(AgentmemoryRestartingError, match="whether it was done") as raised:
            asking(url, calls.remember("x"))
        assert outcome.may_pass(raised.value)
        with pytest.raises(AgentmemoryRestartingError) as raised:
            asking(url, calls.livez())
    assert "whether it was done" not in raised.value.message


def test_what_may_pass_is_told_from_what_is_final() -> None:
    passing = [Said(404, b""), Said(500, {"error": "x"}), Said(503, {}), Said(200, b"x"),
               Said(504, b"")]  # fmt: skip
    final = [Said(400, {"error": "x"}), Said(401, {}), Said(413, {}),
             Said(201, {"success": False})]  # fmt: skip
    assert [outcome.may_pass(failing(ask, said)) for said in passing] == [True] * len(passing)
    assert [outcome.may_pass(failing(ask, said)) for said in final] == [False] * len(final)


def test_a_restart_is_waited_out() -> None:
    with serving(in_turn(Said(404, b""), Said(404, b""), Said(200, PLAIN))) as server:
        with Agentmemory(peer_of(server.url), {}, patience=5.0) as client:
            client.ask(calls.remember("x"))
        assert len(server.asked) == 3


def test_a_call_that_the_daemon_fell_over_is_not_made_again() -> None:
    with serving(lambda _asked: Said(500, {"error": "Invocation stopped"})) as server:
        with (
            Agentmemory(peer_of(server.url), {}, patience=5.0) as client,
            pytest.raises(AgentmemoryRestartingError),
        ):
            client.ask(calls.memories(limit=500))
        assert len(server.asked) == 1


def test_the_answer_may_be_had_as_it_came() -> None:
    async def values(server: LoopbackServer) -> list[Any]:
        async with AgentmemoryAsync(peer_of(server.url), {}) as client:
            return [await client.value(calls.search("x")) for _ in range(3)]

    said = [Said(200, {"results": [1]}), Said(200, b"plain"), Said(201, {"success": False})]
    with serving(in_turn(*said)) as server:
        assert asyncio.run(values(server)) == [
            {"results": [1]},
            {"raw": "plain"},
            {"success": False},
        ]
    refused = Said(400, {"error": "query is required"})
    with serving(lambda _asked: refused) as server, pytest.raises(AgentmemoryRefusedError):
        asyncio.run(values(server))


# What is sent


@both
def test_requests_are_those_of_the_contract(asking: Asking) -> None:
    with serving(lambda _asked: Said(200, PLAIN)) as server:
        data = {"prompt": "hi"}
        asking(server.url, calls.observe("prompt_submit", "s", "p", "/w", 0.0, data, agent="dsh"))
        asking(server.url, calls.context("s", "p"))
        asking(server.url, calls.sessions(agent="*"))
    observe, context, sessions = server.asked
    assert (observe.method, observe.path) == ("POST", "/agentmemory/observe")
    assert observe.headers["content-type"] == "application/json"
    assert list(observe.json.items()) == [
        ("hookType", "prompt_submit"),
        ("sessionId", "s"),
        ("project", "p"),
        ("cwd", "/w"),
        ("agentId", "dsh"),
        ("timestamp", "1970-01-01T00:00:00.000Z"),
        ("data", {"prompt": "hi"}),
    ]
    assert context.json == {"sessionId": "s", "project": "p"}
    assert sessions.path == "/agentmemory/sessions?agentId=%2A"


def test_a_body_is_one_that_the_daemon_can_read() -> None:
    deep: Any = "end"
    for _ in range(300):
        deep = {"d": deep, "\ud800": float("inf")}
    body = outcome.body_of(calls.observe("h", "s", "p", "/w", "t", {"a": "x\ud800y", "deep": deep}))
    assert "\\ud800" not in json.dumps(body)
    assert body["data"]["a"] == "x\ufffdy"
    assert 90 < depth_of(body) < 127


def depth_of(value: Any) -> int:
    return 1 + max(map(depth_of, value.values()), default=0) if isinstance(value, dict) else 0


def test_a_body_that_would_take_the_daemon_down_is_not_sent() -> None:
    with serving(lambda _asked: Said(200, PLAIN)) as server:
        with pytest.raises(AgentmemoryTooLargeError) as raised:
            ask(server.url, calls.remember("é" * 6_000_000))
        assert server.asked == []
        assert raised.value.exit_code is ExitCode.PEER
        ask(server.url, calls.remember("e" * 6_000_000))
        assert len(server.asked) == 1


# Where it is


def nothing(_key: str) -> None:
    """A config.yml in which nothing is set."""


def test_the_address_is_a_variable_a_setting_or_the_usual_one() -> None:
    settings = {"memory.agentmemory.url": "http://there:1"}
    assert configured_url(settings.get, {"AGENTMEMORY_URL": "http://here:2"}) == "http://here:2"
    assert configured_url(settings.get, {}) == "http://there:1"
    assert (
        configured_url(nothing, {"AGENTMEMORY_URL": " "}) == DEFAULT_URL == "http://localhost:3111"
    )


def test_the_secret_is_in_a_variable() -> None:
    variables = {"AGENTMEMORY_SECRET": "one", "OTHER": "two"}
    named = {"memory.agentmemory.secret_variable": "OTHER"}
    assert configured_secret(nothing, variables) == "one"
    assert configured_secret(nothing, {}) == ""
    assert configured_secret(named.get, variables) == "two"
    with pytest.raises(PeerConfigError, match=r"\$OTHER"):
        configured_secret(named.get, {"AGENTMEMORY_SECRET": "one"})


def test_a_secret_goes_to_no_other_machine_in_plain_text() -> None:
    with pytest.raises(InsecureHttpError):
        Agentmemory(peer_of("http://198.51.100.7:3111", SECRET), {})
    Agentmemory(peer_of("http://198.51.100.7:3111"), {}).close()
    allowed = peer_of("http://198.51.100.7:3111", SECRET, allow_insecure_http=True)
    Agentmemory(allowed, {}).close()


# Everything there is, against our server


def test_every_call_is_understood_by_the_daemon(
    daemons: Daemons, tmp_path: Any
) -> None:  # fmt: skip
    with daemons.over(tmp_path) as url, Agentmemory(peer_of(url), {}) as client:
        assert client.ask(calls.livez()).ok
        assert client.ask(calls.health()).version == "0.9.29"
        assert client.ask(calls.flags()).embeddings == "none"
        started = client.ask(calls.session_start("s1", "p", "/w", agent="dsh", title="Tax"))
        assert (started.session["agentId"], started.context) == ("dsh", "")
        data = {"tool_name": "edit", "tool_input": {"path": "a.py"}, "tool_output": "the tax"}
        noted = client.ask(calls.observe("post_tool_use", "s1", "p", "/w", 1e9, data))
        assert client.ask(calls.observe("post_tool_use", "s1", "p", "/w", 1e9, data)).duplicate
        assert noted.id is not None
        kept = client.ask(calls.remember("the tax is rounded", project="p", concepts=["tax"]))
        id_ = kept.memory["id"]
        hits = client.ask(calls.search("tax", project="p", format="narrative"))
        assert {hit.id for hit in hits} == {noted.id, id_}
        assert "the tax" in {hit.narrative.partition(" | ")[2] for hit in hits}
        smart = client.ask(calls.smart_search("tax", project="p", session="s1"))
        assert {hit.id for hit in smart} == {noted.id, id_}
        assert [hit.row["title"] for hit in client.ask(calls.expand([noted.id]))] == ["edit"]
        window = client.ask(calls.context("s2", "p"))
        assert window.text.startswith("<agentmemory-context")
        assert window.tokens > 0
        assert "tax" in client.ask(calls.file_context("s2", ["a.py"], project="p")).text
        assert client.ask(calls.enrich("s2", ["a.py"], terms=["tax"])).text
        version = client.ask(calls.evolve(id_, "the tax is not rounded")).memory
        assert client.ask(calls.memory(id_)) is not None
        assert client.ask(calls.memory("mem_none")) is None
        assert client.ask(calls.memory_counts()) == (2, 1)
        page = client.ask(calls.memories(limit=1, offset=1))
        assert ([row["id"] for row in page.rows], page.total) == ([version["id"]], 2)
        assert client.ask(calls.sessions(limit=5)).total == 1
        assert len(client.ask(calls.observations("s1")).rows) == 1
        with pytest.raises(AgentmemoryRefusedError, match="empty_provider_response"):
            client.ask(calls.summarize("s1"))
        export = client.ask(calls.export(10))
        assert client.ask(calls.import_(export, "skip"))["skipped"] > 0
        assert client.ask(calls.lessons()).rows == ()
        assert client.ask(calls.forget(session="s1", observations=[noted.id])) == 1
        assert client.ask(calls.forget(memory=version["id"])) == 1
        client.ask(calls.session_end("s1"))
        assert client.ask(calls.sessions()).rows[0]["status"] == "completed"
