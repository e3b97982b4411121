"""What was answered with 2xx is there and is found, however the server ends (agentmemory 15)."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.memory.server.serving import Client, found, observation, served

MEBIBYTE = 1 << 20


def test_rows_and_index_survive_a_crash(tmp_path: Path) -> None:
    with served(tmp_path) as server, server.client() as client:
        first = client.post("/observe", **observation("s", "zebra one")).json["observationId"]
        other = client.post("/remember", content="a note to forget").json["memory"]["id"]
        assert client.post("/forget", memoryId=other).json["deleted"] == 1
        second = client.post("/observe", **observation("s", "quagga two")).json["observationId"]
        third = client.post("/remember", content="okapi three").json["memory"]["id"]
        server.kill()
    with served(tmp_path) as server, server.client() as client:
        assert found(client, "zebra")[0] == first
        assert found(client, "quagga")[0] == second
        assert found(client, "okapi") == [third]
        rows = client.get("/observations?sessionId=s").json["observations"]
        assert [row["id"] for row in rows] == [first, second]


def test_a_repeat_is_known_after_a_restart(tmp_path: Path) -> None:
    with served(tmp_path) as server, server.client() as client:
        client.post("/observe", **observation("s", "the same prompt"))
        server.kill()
    with served(tmp_path) as server, server.client() as client:
        again = client.post("/observe", **observation("s", "the same prompt"))
        assert again.json == {"deduplicated": True, "sessionId": "s"}
        assert len(client.get("/observations?sessionId=s").json["observations"]) == 1


def test_equal_observations_at_once_are_one_row(tmp_path: Path) -> None:
    def send(number: int) -> str:
        with Client(server.url) as client:
            answer = client.post("/observe", **observation("s", "all at once")).json
        return "kept" if "observationId" in answer else "repeat"

    with served(tmp_path) as server:
        with ThreadPoolExecutor(6) as threads:
            outcomes = sorted(threads.map(send, range(6)))
        assert outcomes == ["kept", *["repeat"] * 5]
        with server.client() as client:
            assert len(client.get("/observations?sessionId=s").json["observations"]) == 1


def test_what_is_too_large_is_refused_and_hurts_nobody(tmp_path: Path) -> None:
    with served(tmp_path) as server, server.client() as client, server.client() as other:
        got = client.post("/remember", content="w" * (17 * MEBIBYTE))
        assert got.status == 413
        assert got.json == {"error": "the body is larger than 16 MiB"}
        assert other.get("/livez").status == 200
    with served(tmp_path) as server, server.client() as client:
        assert client.get("/memories?count=true").json["total"] == 0


def test_long_lists_and_exports_are_whole(tmp_path: Path) -> None:
    with served(tmp_path) as server, server.client() as client:
        for number in range(8):
            text = f"doc {number} {'y' * 2_200_000} {number}"
            got = client.post("/remember", content=text, project=f"p{number}")
            assert got.status == 201
        listed = client.get("/memories")
        assert (listed.status, listed.json["total"], listed.json["limit"]) == (200, 8, 500)
        assert len(listed.json["memories"]) == 8
        exported = client.get("/export")
        assert exported.status == 200
        assert [len(one["content"]) for one in exported.json["memories"]] == [2_200_008] * 8
        assert client.get("/livez").status == 200


def test_a_second_server_of_the_store_is_refused(tmp_path: Path) -> None:
    from tests.running import process

    with served(tmp_path) as server:
        env = {"DSHLOOP_DATA": str(tmp_path)}
        ran = process("memory", "serve", "--port", "0", "--json", env=env)
        assert ran.returncode == 4
        assert ran.stdout == ""
        assert '"SERVER_RUNNING"' in ran.stderr
        assert str(server.ready["pid"]) in ran.stderr
        with server.client() as client:
            assert client.post("/remember", content="still here").status == 201
