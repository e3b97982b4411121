"""The client of the storage daemon, against the stand-in as a process."""

from __future__ import annotations

import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from dshloop.errors import (
    PatchouliFailedError,
    PeerAnswerError,
    PeerDownError,
    PeerTimeoutError,
    WriteFailedError,
)
from dshloop.memory.artifacts import save
from dshloop.memory.patchouli_socket import Client
from dshloop.memory.patchouli_socket.artifacts import download, upload
from dshloop.memory.patchouli_socket.querying import instruction, query_text
from dshloop.memory.patchouli_socket.work_units import Mutation, run_work_unit
from tests.stand_ins.patchouli import PROGRAM, SCOPE, Daemon, create, daemon, knowledge, metadata


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemon]:
    with daemon(tmp_path_factory.mktemp("patchouli")) as found:
        yield found


@pytest.fixture
def client(running: Daemon) -> Iterator[Client]:
    with running.client() as found:
        yield found


def own(name: str) -> dict[str, str]:
    """Make a scope of one test's own."""
    return {**SCOPE, "workspace_id": name}


def test_the_stand_in_passes_its_own_tests() -> None:
    done = subprocess.run(
        [sys.executable, str(PROGRAM), "--selftest"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-500:]


def test_the_handshake_and_the_status(client: Client) -> None:
    hello = client.handshake()
    assert hello["protocol_version"] == 1
    assert set(hello["capabilities"]) == {"artifacts", "subscriptions"}
    assert hello["limits"]["max_result_items"] == 100
    status = client.status()
    assert (status["ready"], status["provider"]) == (True, "routed")
    assert client.checkpoint() is True


def test_entities_are_created_read_and_found(client: Client) -> None:
    entity = create(client, knowledge("We deploy on Fridays"), "k1")
    found = client.read(SCOPE, "knowledge", "k1")
    assert found["state"] == "active"
    assert found["variants"][0]["version"] == entity["version"]
    query = query_text(instruction(text="deploy on"))
    (hit,) = client.retrieve(SCOPE, query).data["hits"]
    assert hit["variants"][0]["ref"] == {"type": "knowledge", "id": "k1"}
    assert client.retrieve(own("elsewhere"), query).data["hits"] == []


def test_pages_follow_the_cursor(client: Client) -> None:
    scope = own("pages")
    for number in range(7):
        data = {"type": "knowledge", "value": knowledge(f"fact {number}"), "id": f"f{number}"}
        client.call("entity.create", scope, data)
    pages = list(client.pages(scope, instruction(order="id_asc"), size=3))
    assert [len(page) for page in pages] == [3, 3, 1]
    ids = [hit["variants"][0]["ref"]["id"] for page in pages for hit in page]
    assert ids == [f"f{number}" for number in range(7)]


def test_a_refusal_has_method_code_reason_and_data(client: Client) -> None:
    with pytest.raises(PatchouliFailedError) as raised:
        client.read(own("none"), "knowledge", "missing")
    details = raised.value.details
    assert (details["method"], details["rpc_code"], details["reason"]) == (
        "entity.read", -32003, "NOT_FOUND",
    )  # fmt: skip
    with pytest.raises(PatchouliFailedError, match="OVERLOADED"):
        client.call("control.status", {"fake_error": "OVERLOADED"}, {})


def test_a_call_has_a_time_limit_and_the_others_go_on(client: Client) -> None:
    with pytest.raises(PeerTimeoutError, match=r"within 0\.05 s"):
        client.call("control.status", {"fake_delay_ms": 700}, {}, timeout=0.05)
    assert client.status()["ready"]


def test_a_broken_line_fails_the_call_it_stands_for(client: Client) -> None:
    with pytest.raises(PeerAnswerError, match="can't be read"):
        client.call("control.status", {"fake_garbage": True}, {})
    assert client.status()["ready"]


def test_a_reading_call_is_asked_again_on_a_new_connection(client: Client) -> None:
    client.handshake()
    old = client._connection
    with pytest.raises(PeerDownError, match="was lost"):
        client.call("control.status", {"fake_disconnect": True}, {})
    assert client.status()["ready"]
    assert client._connection is not old


def test_a_daemon_that_comes_back_is_found_again(tmp_path: Path) -> None:
    with daemon(tmp_path) as first:
        client = first.client(timeout=5)
        create(client, knowledge("kept"), "k1")
        first.stop()
        with pytest.raises(PeerDownError):
            client.status()
        with daemon(tmp_path, socket=first.socket):
            assert client.read(SCOPE, "knowledge", "k1")["state"] == "active"
        client.close()


def test_nobody_at_the_socket_is_a_clear_error(tmp_path: Path) -> None:
    with pytest.raises(PeerDownError, match="no Patchouli daemon answers"):
        Client(tmp_path / "none.sock").status()
    with pytest.raises(PeerDownError):
        Client(tmp_path / ("x" * 300)).status()


def test_a_request_that_is_too_long_is_not_sent(client: Client) -> None:
    with pytest.raises(PatchouliFailedError, match="too long"):
        client.call("entity.retrieve", SCOPE, {"query": "x" * 1_100_000})
    assert client.status()["ready"]


def test_many_threads_share_a_connection(client: Client) -> None:
    def ask(number: int) -> Any:
        meta = {"fake_delay_ms": 5 * (number % 3)}
        return client.call("control.status", meta, {}).data["ready"]

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(ask, range(40)))


def test_changes_come_in_order_after_the_boundary(client: Client) -> None:
    scope = own("changes")
    subscription = client.subscribe(scope)
    for number in range(3):
        data = {"type": "knowledge", "value": knowledge("x"), "id": f"c{number}"}
        client.call("entity.create", scope, data)
    changes = [subscription.get(5) for _ in range(3)]
    assert [change.id for change in changes if change] == ["c0", "c1", "c2"]
    assert {change.kind for change in changes if change} == {"created"}
    last = changes[0]
    assert last is not None
    again = client.subscribe(scope, after=last.cursor)
    assert [change.id for change in (again.get(5), again.get(5)) if change] == ["c1", "c2"]
    subscription.unsubscribe()
    subscription.unsubscribe()
    assert subscription.closed == "unsubscribed"
    client.call("entity.create", scope, {"type": "knowledge", "value": knowledge("y")})
    assert subscription.get(0.1) is None
    again.unsubscribe()


def test_subscriptions_say_why_they_ended(running: Daemon) -> None:
    with running.client() as client:
        lost = client.subscribe(own("ends"))
        with pytest.raises(PeerDownError):
            client.call("control.status", {"fake_disconnect": True}, {})
        assert lost.get(5) is None
        assert lost.closed == "connection-lost"
        ours = client.subscribe(own("ends"))
    assert ours.closed == "client-closed"
    with running.client() as client, pytest.raises(PatchouliFailedError) as raised:
        client.subscribe(own("ends"), after="999999999")
    assert raised.value.details["reason"] == "CURSOR_EXPIRED"


def test_artifacts_go_up_and_come_down_in_chunks(client: Client, tmp_path: Path) -> None:
    content = bytes(range(256)) * 5000
    entity = upload(
        client, SCOPE, content, media_type="application/x-test", metadata=metadata(), name="a.bin"
    )
    id_ = entity["ref"]["id"]
    assert b"".join(download(client, SCOPE, id_)) == content
    assert save(download(client, SCOPE, id_), tmp_path / "a.bin") == len(content)
    assert (tmp_path / "a.bin").read_bytes() == content
    assert (tmp_path / "a.bin").stat().st_mode & 0o077 == 0
    with pytest.raises(WriteFailedError, match="file exists"):
        save(download(client, SCOPE, id_), tmp_path / "a.bin")
    with pytest.raises(PatchouliFailedError, match="NOT_FOUND"):
        save(download(client, own("elsewhere"), id_), tmp_path / "b.bin")
    assert not (tmp_path / "b.bin").exists()
    empty = upload(client, SCOPE, b"", media_type="text/plain", metadata=metadata())
    assert b"".join(download(client, SCOPE, empty["ref"]["id"])) == b""


def test_a_broken_line_leaves_other_calls_alone(tmp_path: Path) -> None:
    """Two calls wait; a broken line comes, then both answers."""
    import tempfile

    with tempfile.TemporaryDirectory(prefix="p") as short:
        path = f"{short}/p.sock"
        server = socket.socket(socket.AF_UNIX)
        server.bind(path)
        server.listen()

        def serve() -> None:
            peer, _ = server.accept()
            lines = peer.makefile("rb")
            lines.readline()
            hello = b'{"jsonrpc":"2.0","id":1,"result":{"protocol_version":1,"limits":{}}}\n'
            peer.sendall(hello)
            lines.readline(), lines.readline()
            answer = b'{"jsonrpc":"2.0","id":%d,"result":{"meta":{},"data":{"n":%d}}}\n'
            peer.sendall(b"\xff{broken\n" + answer % (3, 3) + answer % (2, 2))
            lines.readline()
            peer.close()

        thread = threading.Thread(target=serve)
        thread.start()
        with Client(Path(path), timeout=10) as client, ThreadPoolExecutor(2) as pool:
            client.handshake()
            both = [pool.submit(client.call, "control.status", {}, {}) for _ in range(2)]
            assert sorted(one.result().data["n"] for one in both) == [2, 3]
        thread.join()
        server.close()


def test_wrong_queries_are_refused_before_they_are_sent() -> None:
    for wrong in (
        {"text": " "},
        {"where": {"content": 1}},
        {"where": {"/a": {"$like": 1}}},
        {"order": "relevance"},
        {"order": "best"},
    ):
        with pytest.raises(ValueError, match=r"."):
            instruction(**wrong)  # type: ignore[arg-type]
    made = instruction(text=" a ", ids=["x", "x"], where={"/a": {"$eq": 1}}, order="newest")
    assert query_text(made) == '{"text":"a","ids":["x"],"where":{"/a":{"$eq":1}},"order":"newest"}'


def test_a_work_unit_appears_as_a_whole(client: Client) -> None:
    scope = own("unit")
    creates = [
        Mutation("entity.create", {"type": "knowledge", "value": knowledge("x"), "id": f"u{n}"})
        for n in range(3)
    ]
    subscription = client.subscribe(scope)
    answers = run_work_unit(client, scope, creates)
    assert [answer.data["entity"]["ref"]["id"] for answer in answers] == ["u0", "u1", "u2"]
    changes = [subscription.get(5) for _ in range(3)]
    assert {change.id for change in changes if change} == {"u0", "u1", "u2"}
    subscription.unsubscribe()


def test_work_units_that_can_not_be_are_refused(client: Client) -> None:
    create = Mutation("entity.create", {"type": "knowledge", "value": knowledge("x")})
    for mutations, closing in (
        ([], None),
        ([create], {}),
        ([create], {"workspace_id": "other"}),
        ([Mutation("entity.read", {})], None),
    ):
        with pytest.raises(ValueError, match=r"unit|closing|mutation"):
            run_work_unit(client, SCOPE, mutations, closing)
