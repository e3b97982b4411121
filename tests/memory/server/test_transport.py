"""Requests of every kind: wrong, hostile, slow and broken ones get an answer, and end nothing."""

from __future__ import annotations

import json
import signal
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.memory.server.serving import Client, Served, found, observation, served

REFUSED = b'{"error":"content is required"}'


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("data")) as one:
        yield one
        assert " 500 " not in one.stop()[2]


@pytest.fixture
def client(server: Served) -> Iterator[Client]:
    with server.client() as one:
        yield one


def raw(server: Served, data: bytes) -> bytes:
    """Send bytes and no more, and read until the server closes the connection."""
    read = b""
    try:
        with socket.create_connection(("127.0.0.1", server.port), timeout=30) as connection:
            connection.sendall(data)
            connection.shutdown(socket.SHUT_WR)
            while piece := connection.recv(65536):
                read += piece
    except ConnectionError:  # closed before all was read
        pass
    return read


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b'{"content": "x"', "application/json"),
        (b'{"content": "x"}', "text/plain"),
        (b'{"content": "\xff"}', "application/json"),
        (b'{"content": "\\ud800"}', "application/json"),
        (b'{"content": "x", "\\ud800": 1}', "application/json"),
        (b'{"content": NaN}', "application/json"),
        (b'{"content": -Infinity}', "application/json"),
        (b'\xef\xbb\xbf{"content": "x"}', "application/json"),
        (b'["content"]', "application/json"),
        (b'"content"', "application/json"),
        (b"null", "application/json"),
        (b"", "application/json"),
        (b'{"content": 5}', "application/json"),
        (b'{"content": ' + b"[" * 128 + b"]" * 128 + b"}", "application/json"),
        (b'{"content": "x", "n": ' + b"[" * 128 + b"]" * 128 + b"}", "application/json"),
        (b"[" * 200_000, "application/json"),
        (b'{"content": "x", "n": ' + b"9" * 5000 + b"}", "application/json"),
    ],
)
def test_what_is_no_readable_object_counts_as_no_body(
    client: Client, body: bytes, kind: str
) -> None:
    got = client.send("POST", "/remember", body, {"Content-Type": kind})
    assert (got.status, got.body) == (400, REFUSED)


def test_nul_and_every_plane_come_back(client: Client) -> None:
    text = "nul \x00 tab \t umlaut ü han 数据 emoji 😀 end"
    made = client.post("/remember", content=text, project="planes").json["memory"]
    assert made["content"] == text
    assert client.get(f"/memories/{made['id']}").json["memory"]["content"] == text


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/", 404),
        ("GET", "/nope", 404),
        ("GET", "/livez/", 404),
        ("PUT", "/remember", 405),
        ("PATCH", "/memories/x", 405),
        ("GET", "/search", 405),
        ("TRACE", "/search", 405),
        ("GET", "/memories/../../../etc/passwd", 404),
        ("POST", "/obsidian/export", 404),
        ("POST", "/compress-file", 404),
    ],
)
def test_unknown_paths_and_methods_have_no_body(
    client: Client, method: str, path: str, status: int
) -> None:
    got = client.send(method, path, {"a": 1} if method != "GET" else None)
    assert got.status == status
    if path.startswith("/memories/"):
        return  # it looks like an id
    assert got.body == b""
    assert client.get("/livez").status == 200


def test_ids_are_whole_and_not_decoded(client: Client) -> None:
    id_ = client.post("/remember", content="an id is whole", project="ids").json["memory"]["id"]
    assert client.get(f"/memories/{id_}").status == 200
    for other in (id_[:-1], id_[4:], f"%6D{id_[1:]}", f"{id_}%00", "a%2Fb"):
        got = client.get(f"/memories/{other}")
        assert got.json == {"error": f"memory not found: {other}"}


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:3111", "127.0.0.1.evil.example", "192.168.1.5", ""]
)
def test_foreign_hosts_are_refused(server: Served, host: str) -> None:
    answer = raw(server, f"GET /agentmemory/livez HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
    assert answer.startswith(b"HTTP/1.1 403")
    assert b'{"error":"forbidden host"}' in answer


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:3111", "127.0.0.1:80", "[::1]:3111"])
def test_names_of_this_machine_are_ours(server: Served, host: str) -> None:
    request = f"GET /agentmemory/livez HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"
    assert raw(server, request.encode()).startswith(b"HTTP/1.1 200")


def test_pages_of_other_origins_are_refused(server: Served, client: Client) -> None:
    body = {"content": "from a page"}
    port = server.port
    for origin in ("https://evil.example", "null", f"http://localhost:{port + 1}", "http://[bad"):
        got = client.send("POST", "/remember", body, {"Origin": origin})
        assert (got.status, got.json) == (403, {"error": "forbidden origin"}), origin
    for origin in (f"http://localhost:{port}", f"http://127.0.0.1:{port + 2}"):
        got = client.send("POST", "/remember", body, {"Origin": origin})
        assert got.status == 201
        assert got.headers["access-control-allow-origin"] == origin


def test_preflights_are_answered(server: Served, client: Client) -> None:
    origin = f"http://localhost:{server.port}"
    got = client.send("OPTIONS", "/remember", None, {"Origin": origin})
    assert got.status == 200
    assert got.headers["access-control-allow-methods"] == "GET,POST,PUT,DELETE,OPTIONS"


def test_broken_http_is_answered_or_dropped(server: Served, client: Client) -> None:
    for data in (b"\x16\x03\x01\x02\x00", b"GET\r\n\r\n", b"NOT HTTP AT ALL\r\n\r\n", b"\r\n" * 9):
        assert raw(server, data)[:12] in (b"HTTP/1.1 400", b"")
    head = b"POST /agentmemory/remember HTTP/1.1\r\nHost: localhost\r\n"
    for rest in (
        b"Content-Length: -5\r\n\r\n",
        b"Content-Length: abc\r\n\r\n",
        b"Transfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"X: " + b"y" * 200_000 + b"\r\n\r\n",
    ):
        assert raw(server, head + rest)[:12] in (b"HTTP/1.1 400", b"")
    assert client.get("/livez").status == 200


def test_clients_that_leave_hurt_nobody(server: Served, client: Client) -> None:
    head = b"POST /agentmemory/remember HTTP/1.1\r\nHost: localhost\r\n"
    json_head = head + b"Content-Type: application/json\r\nContent-Length: 5000000\r\n\r\n"
    for _ in range(20):
        with socket.create_connection(("127.0.0.1", server.port), timeout=30) as connection:
            connection.sendall(json_head + b'{"content": "' + b"x" * 2_000_000)
    for _ in range(20):
        with socket.create_connection(("127.0.0.1", server.port), timeout=30) as connection:
            connection.sendall(b"GET /agentmemory/export HTTP/1.1\r\nHost: localhost\r\n\r\n")
    assert client.post("/remember", content="after those who left").status == 201


def test_clients_that_send_slowly_hold_nobody_up(server: Served, client: Client) -> None:
    slow = [socket.create_connection(("127.0.0.1", server.port), timeout=30) for _ in range(60)]
    try:
        head = b"POST /agentmemory/remember HTTP/1.1\r\nHost: localhost\r\n"
        for at, connection in enumerate(slow):
            body = b"Content-Type: application/json\r\nContent-Length: 4000000\r\n\r\n"
            connection.sendall(head if at % 2 else head + body + b"{" * 1_500_000)
        assert client.post("/remember", content="not held up at all").status == 201
        assert found(client, "held")
    finally:
        for connection in slow:
            connection.close()


def test_lists_of_the_wrong_kind_are_domain_failures(client: Client) -> None:
    for key in ("concepts", "files", "sourceObservationIds"):
        got = client.post("/remember", content="x", **{key: "a,b"})
        assert got.status == 201
        assert got.json == {"success": False, "error": f"{key} must be an array"}


def test_a_page_reports_its_limit_and_the_total(client: Client) -> None:
    for number in range(5):
        client.post("/observe", **observation(f"page-{number}", f"word {number}", project="pages"))
    got = client.get("/sessions?project=pages&limit=2&offset=1").json
    assert [one["id"] for one in got["sessions"]] == ["page-1", "page-2"]
    assert (got["total"], got["limit"], got["offset"]) == (5, 2, 1)
    past = client.get("/sessions?project=pages&limit=2&offset=9").json
    assert (past["sessions"], past["total"]) == ([], 5)
    for odd in ("limit=-1", "limit=x", "limit=1e3", "offset=-4", "limit=" + "9" * 40):
        assert client.get(f"/sessions?project=pages&{odd}").status == 200


def test_the_secret_is_asked_for_to_the_letter(tmp_path: Path) -> None:
    with served(tmp_path, AGENTMEMORY_SECRET="s3cret") as server, server.client() as client:
        assert client.get("/livez", Authorization="Bearer wrong").status == 200
        for value in ("", "Bearer", "Bearer s3cre", "bearer s3cret", "Bearer  s3cret", "Bearer é"):
            got = client.get("/health", Authorization=value)
            assert (got.status, got.json) == (401, {"error": "unauthorized"})
        assert client.send("POST", "/remember", b"x" * 3_000_000).status == 401
        with server.client() as other:
            assert other.get("/health", Authorization="Bearer s3cret").status == 200
            assert other.get("/nope").status == 404


def test_calls_in_flight_are_answered_before_the_end(tmp_path: Path) -> None:
    with served(tmp_path) as server:
        answers: list[int] = []

        def send() -> None:
            with server.client() as client:
                text = " ".join(f"word{number}" for number in range(150_000))
                answers.append(client.post("/remember", content=text).status)

        thread = threading.Thread(target=send)
        thread.start()
        time.sleep(0.3)
        code, out, err = server.stop(signal.SIGTERM)
        thread.join()
        assert answers == [201]
        assert (code, json.loads(out)["outcome"]) == (0, "stopped"), err
    with served(tmp_path) as server, server.client() as client:
        assert client.get("/memories?count=true").json["total"] == 1


def test_idle_clients_do_not_keep_the_server(tmp_path: Path) -> None:
    with served(tmp_path) as server, server.client() as client:
        assert client.get("/livez").status == 200
        assert server.stop(signal.SIGINT)[0] == 0
