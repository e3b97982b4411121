"""Files and images become artifacts: in the daemon where it answers, else in our store."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import os
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from dshloop.host.host import Host
from dshloop.host.mount import Mount
from dshloop.memory.artifacts import ARTIFACTS, BLOBS
from dshloop.memory.patchouli_socket.artifacts import download
from dshloop.memory.stores import open_store
from dshloop.plugins.memory_place import SERVICE as PLACE
from dshloop.plugins.memory_place import MemoryPlace
from dshloop.plugins.patchouli.artifact_ingestor import (
    ATTACHMENTS,
    ArtifactIngestor,
    read_ingestor_config,
)
from dshloop.plugins.patchouli.images import images_in
from dshloop.plugins.patchouli.service import SERVICE, MemoryService
from dshloop.plugins.patchouli.storage import PatchouliStorage, read_storage_config
from dshloop.plugins.patchouli.workspace_files import read_inside
from tests.stand_ins.patchouli import daemon


def run(body: Callable[[], Coroutine[Any, Any, None]]) -> None:
    asyncio.run(asyncio.wait_for(body(), 60))


def update(
    root: Path | None, *resources: Any, point: str = "tool/memory-update", **data: Any
) -> Any:
    attributes = {"point": point, "sessionId": "s1"}
    if root is not None:
        attributes["workspaceRoot"] = str(root)
    meta = {
        "source": {"type": "agent-loop", "id": "dsh-patchouli-agent-loop"},
        "scope": str(root or "s1"),
        "attributes": attributes,
    }
    return {"meta": meta, "data": {"resources": list(resources), **data}}


def file(path: str, **more: str) -> dict[str, str]:
    return {"kind": "workspace-file", "path": path, **more}


class Rows:
    """The service, the storage row and the ingestor on a host."""

    def __init__(self, data: Path, socket: Path, config: Any = None) -> None:
        self.host = Host(None)  # type: ignore[arg-type]
        self.mount = Mount(self.host)
        self.memory = MemoryService()
        self.database = data / "memory.db"
        place = MemoryPlace(data, data / "outbox", lambda: open_store(None, database=self.database))
        self.host.provide(PLACE, place)
        self.host.provide(SERVICE, self.memory)
        self._socket, self._config = socket, config or {}

    async def __aenter__(self) -> Rows:
        storage = read_storage_config({"endpoint": str(self._socket), "autoStart": False})
        await PatchouliStorage().apply(self.mount, storage)
        await ArtifactIngestor().apply(self.mount, read_ingestor_config(self._config))
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.mount.unwind()

    async def send(self, request: Any) -> Any:
        (outcome,) = await self.memory.update(request)
        return outcome


def error(outcome: Any) -> str:
    assert outcome["ok"] is False
    return str(outcome["error"])


def test_without_a_daemon_files_are_kept_in_our_store_by_content(tmp_path: Path) -> None:
    async def body() -> None:
        work = tmp_path / "work"
        work.mkdir()
        (work / "a.txt").write_bytes(b"hello")
        (work / "b.txt").write_bytes(b"hello")
        async with Rows(tmp_path / "data", tmp_path / "none.sock") as rows:
            done = await rows.send(
                update(work, file("a.txt", mediaType="text/plain"), file("b.txt"))
            )
            first, second = done["value"]["artifacts"]
            assert first["ref"]["type"] == "artifact"
            assert first["source"] == {"kind": "workspace-file", "id": "a.txt"}
            assert (first["role"], first["ref"] != second["ref"]) == ("attachment", True)
            again = await rows.send(update(work, file("a.txt")))
            assert again["value"]["artifacts"][0]["existing"] is True
            assert again["value"]["artifacts"][0]["ref"] == first["ref"]
            (warning,) = rows.host.warnings
            assert "artifacts are kept in dshloop's own store" in warning
        store = open_store(None, database=rows.database)
        digest = hashlib.sha256(b"hello").hexdigest()
        (blob,) = store.documents(BLOBS).items()  # type: ignore[attr-defined]
        assert blob == (digest, {"base64": base64.b64encode(b"hello").decode()})
        facts = store.document(ARTIFACTS, first["ref"]["id"])  # type: ignore[attr-defined]
        assert (facts["media_type"], facts["name"], facts["byte_length"]) == (
            "text/plain",
            "a.txt",
            5,
        )
        assert facts["scope"]["user_id"] == "agent-loop:dsh-patchouli-agent-loop"
        store.close()

    run(body)


def test_a_daemon_that_answers_gets_them(tmp_path: Path) -> None:
    async def body() -> None:
        work = tmp_path / "work"
        work.mkdir()
        content = os.urandom(700_000)
        (work / "big.bin").write_bytes(content)
        with daemon(tmp_path) as peer:
            async with Rows(tmp_path / "data", peer.socket) as rows:
                done = await rows.send(update(work, file("big.bin", role="source", name="Big")))
                (artifact,) = done["value"]["artifacts"]
                again = await rows.send(update(work, file("big.bin")))
                assert again["value"]["artifacts"][0]["existing"] is True
                assert again["value"]["artifacts"][0]["version"] == artifact["version"]
            scope = {"workspace_id": str(work), "user_id": "agent-loop:dsh-patchouli-agent-loop"}
            with peer.client() as client:
                assert b"".join(download(client, scope, artifact["ref"]["id"])) == content
                read = client.read(scope, "artifact", artifact["ref"]["id"])["variants"][0]
                core = read["value"]["metadata"]["core"]
                assert core["scope"]["session"] == "s1"
                assert core["origin"]["native_type"] == "workspace-file"
                assert read["value"]["name"] == "Big"
        assert not rows.database.exists()

    run(body)


@pytest.mark.parametrize(
    ("resource", "said"),
    [
        (file("../secret"), "workspace-file path is outside the session workspace: ../secret"),
        (file("/etc/passwd"), "workspace-file path is outside the session workspace: /etc/passwd"),
        (file("out"), "workspace-file path is outside the session workspace: out"),
        (file("folder"), "workspace-file path is not a regular file: folder"),
        (file("."), "workspace-file path is not a regular file: ."),
        (file("pipe"), "workspace-file path is not a regular file: pipe"),
        (file("missing"), "workspace-file path is not a regular file: missing"),
        (file("a\0b"), "workspace-file path is outside the session workspace: a\0b"),
        (file("long"), "workspace-file exceeds the 10 byte limit: long"),
        (file(" "), "workspace-file resources require a non-empty path"),
        (file("a", mediaType=""), "workspace-file mediaType must be a non-empty string"),
        (file("a", name=" "), "workspace-file name must be a non-empty string"),
        (file("a", role="embedding"), "workspace-file role must be source or attachment"),
    ],
)
def test_what_is_no_file_of_the_workspace_is_refused(
    tmp_path: Path, resource: Any, said: str
) -> None:
    async def body() -> None:
        work = tmp_path / "work"
        (work / "folder").mkdir(parents=True)
        (tmp_path / "secret").write_text("x")
        (work / "out").symlink_to(tmp_path / "secret")
        (work / "long").write_text("x" * 11)
        os.mkfifo(work / "pipe")
        async with Rows(tmp_path / "data", tmp_path / "n.sock", {"maxFileBytes": 10}) as rows:
            assert error(await rows.send(update(work, resource))) == said

    run(body)


def test_a_workspace_is_needed_and_resources_are_a_list(tmp_path: Path) -> None:
    async def body() -> None:
        async with Rows(tmp_path / "data", tmp_path / "n.sock") as rows:
            said = "workspace-file ingestion requires the Agent session cwd"
            assert error(await rows.send(update(None, file("a")))) == said
            request = update(tmp_path)
            request["data"]["resources"] = {}
            assert error(await rows.send(request)) == "resources must be an array"
            (outcome,) = await rows.memory.update(update(tmp_path, messages=[]))
            assert outcome["value"] == {"artifacts": []}
            assert await rows.memory.retrieve(update(tmp_path)) == []

    run(body)


def test_links_inside_are_followed_and_dots_that_stay_inside_too(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    (tmp_path / "a.txt").write_text("x")
    (tmp_path / "d" / "link").symlink_to(tmp_path / "a.txt")
    assert read_inside(str(tmp_path), "d/link", 10) == (b"x", "a.txt")
    assert read_inside(str(tmp_path), "d/../a.txt", 10) == (b"x", "a.txt")
    linked = tmp_path / "linked"
    linked.symlink_to(tmp_path / "d")
    (tmp_path / "d" / "b.txt").write_text("y")
    assert read_inside(str(linked), "b.txt", 10) == (b"y", "b.txt")


def image(id_: str, **more: Any) -> dict[str, Any]:
    attachment = {
        "attachmentId": id_, "mediaType": "image/png", "bytes": 3, "width": 1, "height": 2, **more,
    }  # fmt: skip
    return {"type": "image", "attachment": attachment}


def test_images_of_a_turn_are_found_once_the_last_of_siblings_first() -> None:
    events = [
        {"type": "user/message", "data": {"content": [image("a"), image("b"), image("a")]}},
        {"type": "tool/result", "data": {"deep": [{"x": [image("c", name="n")]}]}},
        {"data": [image("", width=1), image("w", width=0), image("m", mediaType="image/bmp")]},
        {"data": [image("t", bytes=True), image("n", name=5), {"type": "image"}]},
    ]
    assert [each.id for each in images_in(events, 10)] == ["c", "a", "b"]
    with pytest.raises(ValueError, match="image attachment exceeds the 2 byte limit: c"):
        images_in(events, 2)


def test_images_are_kept_where_their_bytes_can_be_read(tmp_path: Path) -> None:
    async def body() -> None:
        class Attachments:
            def read(self, attachment_id: str) -> bytes:
                return attachment_id.encode()

        events = [{"type": "user/message", "data": {"content": [image("abc")]}}]
        turn = update(tmp_path, point="session/turn-end", events=events)
        async with Rows(tmp_path / "data", tmp_path / "n.sock") as rows:
            assert await rows.memory.update(turn) == []
            rows.host.provide(ATTACHMENTS, Attachments())
            (outcome,) = await rows.memory.update(turn)
            (artifact,) = outcome["value"]["artifacts"]
            assert artifact["source"] == {"kind": "image-attachment", "id": "abc"}
            empty = update(tmp_path, point="session/turn-end", events=[])
            (outcome,) = await rows.memory.update(empty)
            assert outcome["value"] == {"artifacts": []}
        off = Rows(tmp_path / "data", tmp_path / "n.sock", {"ingestSessionImages": False})
        async with off as rows:
            rows.host.provide(ATTACHMENTS, Attachments())
            assert await rows.memory.update(turn) == []

    run(body)


def test_the_fields_of_the_daemons_meta_can_be_named() -> None:
    config = read_ingestor_config(
        {"metaFields": {"scope": "room"}, "fixedMeta": {"tenant": "t", "user_id": "x"}}
    )
    meta = update(Path("/w"))["meta"]
    assert config.daemon_meta(meta) == {
        "tenant": "t", "user_id": "agent-loop:dsh-patchouli-agent-loop", "room": "/w",
        "channel_id": "s1",
    }  # fmt: skip
    for wrong in ({"maxFileBytes": 0}, {"metaFields": {"scope": " "}}, {"fixedMeta": {"a": 1}}):
        with pytest.raises(ValueError, match=r"\w"):
            read_ingestor_config(wrong)


def test_the_daemon_is_started_when_it_is_installed(tmp_path: Path) -> None:
    import sys

    from tests.stand_ins.patchouli import PROGRAM

    async def body() -> None:
        import tempfile

        from dshloop.plugins.patchouli.storage import SERVICE as STORAGE

        with tempfile.TemporaryDirectory(prefix="p") as short:
            program = tmp_path / "patchouli-db"
            program.write_text(f'#!/bin/sh\nexec {sys.executable} {PROGRAM} "$3"\n')
            program.chmod(0o755)
            (tmp_path / "providers.json").write_text("{}")
            config = read_storage_config(
                {
                    "endpoint": f"{short}/p.sock", "command": str(program),
                    "providerConfigPath": str(tmp_path / "providers.json"),
                    "startupTimeoutMs": 20_000,
                }
            )  # fmt: skip
            host = Host(None)  # type: ignore[arg-type]
            mount = Mount(host)
            await PatchouliStorage().apply(mount, config)
            storage = host.service(STORAGE)
            answer = await storage.call("control.status", {}, {})
            assert answer.data["ready"] is True
            await storage.call("control.shutdown", {}, {})
            await mount.unwind()

    run(body)
