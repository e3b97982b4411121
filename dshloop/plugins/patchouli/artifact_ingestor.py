"""The row `dsh-patchouli-artifact-ingestor`: files and images become artifacts (patchouli 8.6)."""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from dshloop.host.abort import AbortSignal
from dshloop.host.mount import Mount
from dshloop.plugins.memory_place import SERVICE as PLACE
from dshloop.plugins.patchouli import points
from dshloop.plugins.patchouli.artifact_homes import Artifact, Home, LocalHome
from dshloop.plugins.patchouli.config import Keys
from dshloop.plugins.patchouli.images import Image, images_in
from dshloop.plugins.patchouli.service import SERVICE, Call, Request
from dshloop.plugins.patchouli.storage import SERVICE as STORAGE
from dshloop.plugins.patchouli.workspace_files import Resource, read_inside, resources_of
from dshloop.times import iso_time

ID = "artifact-ingestor"
BINDING = "dsh-patchouli-artifact-ingestor"
ATTACHMENTS = "attachments"
MAX_FILE_BYTES = 33_554_432


class Attachments(Protocol):
    """The service that has the bytes of images."""

    def read(self, attachment_id: str) -> bytes | Awaitable[bytes]:
        """Give an attachment's bytes."""
        ...


@dataclass(frozen=True, slots=True)
class IngestorConfig:
    """What is taken, and how the daemon's scope is named."""

    ingest_session_images: bool = True
    max_file_bytes: int = MAX_FILE_BYTES
    scope_field: str = "workspace_id"
    source_field: str = "user_id"
    session_field: str = "channel_id"
    fixed_meta: Mapping[str, str] = field(default_factory=dict)

    def daemon_meta(self, meta: Mapping[str, Any]) -> dict[str, Any]:
        """Give the meta of the daemon's calls for a memory call."""
        source = meta["source"]
        session = meta.get("attributes", {}).get("sessionId") or source["type"]
        return {
            **self.fixed_meta,
            self.scope_field: meta["scope"],
            self.source_field: f"{source['type']}:{source['id']}",
            self.session_field: session,
        }


def read_ingestor_config(raw: Any) -> IngestorConfig:
    """Check the config of the row. Raises ValueError."""
    keys = Keys(raw, "")
    fields, fixed = keys.group("metaFields"), keys.mapping("fixedMeta")
    for name, value in fixed.items():
        if not isinstance(value, str):
            raise ValueError(f"fixedMeta.{name} must be a text")
    config = IngestorConfig(
        ingest_session_images=keys.flag("ingestSessionImages", True),
        max_file_bytes=keys.count("maxFileBytes", MAX_FILE_BYTES, least=1),
        scope_field=fields.text("scope", "workspace_id"),
        source_field=fields.text("source", "user_id"),
        session_field=fields.text("session", "channel_id"),
        fixed_meta=fixed,
    )
    fields.finish()
    keys.finish()
    return config


class ArtifactIngestor:
    """Registers the ingestor as a memory plugin."""

    name = BINDING
    inject = (SERVICE,)
    Config = staticmethod(read_ingestor_config)

    async def apply(self, host: Mount, config: IngestorConfig) -> None:
        """Register it; where its artifacts go is looked at with each of them."""
        place = host.service(PLACE)
        opener = None if place is None else place.open_store
        local = None if opener is None else LocalHome(opener)

        async def home() -> Home | None:
            storage = host.service(STORAGE)
            reached = None if storage is None else await storage.home()
            return local if reached is None else reached

        plugin = Ingestor(config, home, lambda: host.service(ATTACHMENTS))
        host.undo(host.service(SERVICE).register(plugin))


class Ingestor:
    """The memory plugin; what is stored already is found again by its content."""

    id = ID

    def __init__(
        self,
        config: IngestorConfig,
        home: Callable[[], Awaitable[Home | None]],
        attachments: Callable[[], Attachments | None] = lambda: None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._config, self._home, self._attachments = config, home, attachments
        self._clock = clock

    def filter(self, call: Call) -> bool:
        """Take memory_update, and turns where their images can be read."""
        meta = call.meta
        if call.operation != "update" or meta.get("source", {}).get("type") != "agent-loop":
            return False
        point = meta.get("attributes", {}).get("point")
        images = self._config.ingest_session_images and self._attachments() is not None
        return point == points.TOOL_UPDATE or (point == points.TURN_END and images)

    async def retrieve(self, request: Request, *, signal: AbortSignal | None) -> Any:  # noqa: ARG002
        """Refuse."""
        raise ValueError("artifact ingestor does not provide retrieval")

    async def update(self, request: Request, *, signal: AbortSignal | None) -> Any:  # noqa: ARG002
        """Store what a request names; the first that is wrong fails all, earlier ones stay."""
        meta, data = request["meta"], request["data"]
        if meta["attributes"]["point"] == points.TURN_END:
            images = images_in(data["events"], self._config.max_file_bytes)
            return {"artifacts": [await self._image(meta, image) for image in images]}
        resources = resources_of(data)
        return {"artifacts": [await self._file(meta, resource) for resource in resources]}

    async def _file(self, meta: Mapping[str, Any], resource: Resource) -> dict[str, Any]:
        root = meta["attributes"].get("workspaceRoot")
        limit = self._config.max_file_bytes
        content, inner = await asyncio.to_thread(read_inside, root, resource.path, limit)
        digest = hashlib.sha256(content).hexdigest()
        facts = {"dsh.file": {"requested_path": resource.path, "version": f"sha256:{digest}"}}
        origin = ("workspace-file", inner)
        artifact = self._artifact(meta, content, resource.media_type, resource.name, origin, facts)
        source = {"kind": "workspace-file", "id": inner}
        return await self._kept(meta, artifact, resource.role, source)

    async def _image(self, meta: Mapping[str, Any], image: Image) -> dict[str, Any]:
        from dshloop.host.calling import call

        attachments = self._attachments()
        if attachments is None:
            raise ValueError(f"image attachment {image.id} can't be read here")
        content = await call(attachments.read, image.id)
        limit = self._config.max_file_bytes
        if len(content) > limit:
            raise ValueError(f"image attachment exceeds the {limit} byte limit: {image.id}")
        facts = {"dsh.image": {"width": image.width, "height": image.height}}
        origin = ("image-attachment", image.id)
        artifact = self._artifact(meta, content, image.media_type, image.name, origin, facts)
        source = {"kind": "image-attachment", "id": image.id}
        return await self._kept(meta, artifact, "attachment", source)

    async def _kept(
        self, meta: Mapping[str, Any], artifact: Artifact, role: str, source: Mapping[str, str]
    ) -> dict[str, Any]:
        home = await self._home()
        if home is None:
            raise ValueError("no Patchouli daemon answers, and this host has no store of its own")
        kept = await asyncio.to_thread(home.keep, self._config.daemon_meta(meta), artifact)
        told = {"ref": {"type": "artifact", "id": kept.id}, "version": kept.version, "role": role}
        told["source"] = dict(source)
        return {**told, "existing": True} if kept.existing else told

    def _artifact(
        self,
        meta: Mapping[str, Any],
        content: bytes,
        media_type: str,
        name: str | None,
        origin: tuple[str, str],
        facts: Mapping[str, Any],
    ) -> Artifact:
        from dshloop.memory.interchange.ids import made_id

        digest = hashlib.sha256(content).hexdigest()
        native_type, native_id = origin
        now = iso_time(self._clock())
        core = {
            "schema": "patchouli.artifact@1",
            "scope": {
                "tenant": None,
                "workspace": meta["scope"],
                "user": None,
                "session": meta["attributes"]["sessionId"],
            },
            "origin": {
                "provider": "deepseek-harness",
                "binding": BINDING,
                "native_type": native_type,
                "native_id": native_id,
                "native_revision": f"sha256:{digest}",
            },
            "time": {
                "event_at": None,
                "source_created_at": None,
                "source_updated_at": None,
                "observed_at": now,
                "ingested_at": now,
            },
            "lifecycle": {"status": "active", "expires_at": None},
            "provenance": [
                {"kind": "imported", "actor": BINDING, "source": native_id, "recorded_at": now}
            ],
        }
        return Artifact(
            id=made_id("artifact_", str(meta["scope"]), native_type, native_id, digest),
            content=content,
            digest=digest,
            media_type=media_type,
            name=name,
            metadata={"core": core, "extensions": dict(facts)},
        )
