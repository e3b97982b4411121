"""Where artifacts are kept: in the storage daemon, else in our store by their content."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from dshloop.memory.artifacts import ARTIFACTS, BLOBS

if TYPE_CHECKING:
    from dshloop.memory.patchouli_socket import Client
    from dshloop.memory.store import MemoryStore


@dataclass(frozen=True, slots=True)
class Artifact:
    """A file with what is known of it; the same content of the same origin has the same id."""

    id: str
    content: bytes
    digest: str
    media_type: str
    name: str | None
    metadata: Mapping[str, Any]


class Kept(NamedTuple):
    """Where an artifact is; ``existing`` when it was there before."""

    id: str
    version: str
    existing: bool = False


class Home(Protocol):
    """Keeps artifacts; called outside the event loop."""

    def keep(self, meta: Mapping[str, Any], artifact: Artifact) -> Kept:
        """Store an artifact unless it is there."""
        ...


class DaemonHome:
    """The storage daemon."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def keep(self, meta: Mapping[str, Any], artifact: Artifact) -> Kept:
        """Upload an artifact. Raises what the client raises."""
        from dshloop.errors import PatchouliFailedError
        from dshloop.memory.patchouli_socket.artifacts import upload

        found = self._found(meta, artifact.id)
        if found is not None:
            return found
        try:
            entity = upload(
                self._client, meta, artifact.content, media_type=artifact.media_type,
                metadata=artifact.metadata, name=artifact.name, id_=artifact.id,
            )  # fmt: skip
        except PatchouliFailedError as error:
            again = self._found(meta, artifact.id)
            if error.details["reason"] != "VERSION_CONFLICT" or again is None:
                raise
            return again
        return Kept(artifact.id, entity["version"])

    def _found(self, meta: Mapping[str, Any], id_: str) -> Kept | None:
        from dshloop.errors import PatchouliFailedError

        try:
            read = self._client.read(meta, "artifact", id_)
        except PatchouliFailedError as error:
            if error.details["reason"] != "NOT_FOUND":
                raise
            return None
        active = [each for each in read["variants"] if each["state"] == "active"]
        return Kept(id_, active[0]["version"], existing=True) if active else None


class LocalHome:
    """Our store: facts and bytes as documents beside its entries."""

    def __init__(self, open_store: Callable[[], MemoryStore]) -> None:
        self._open = open_store

    def keep(self, meta: Mapping[str, Any], artifact: Artifact) -> Kept:
        """Store an artifact. Raises STORE_UNSUPPORTED for a store without documents."""
        from dshloop.errors import StoreUnsupportedError
        from dshloop.memory.store import DocumentStore

        store = self._open()
        try:
            if not isinstance(store, DocumentStore):
                raise StoreUnsupportedError(
                    f"store {store.name} keeps no artifacts", hint="Use the embedded store."
                )
            version = f"sha256:{artifact.digest}"
            if store.document(ARTIFACTS, artifact.id) is not None:
                return Kept(artifact.id, version, existing=True)
            if store.document(BLOBS, artifact.digest) is None:
                text = base64.b64encode(artifact.content).decode()
                store.keep_document(BLOBS, artifact.digest, {"base64": text})
            store.keep_document(ARTIFACTS, artifact.id, _facts(meta, artifact))
        finally:
            store.close()
        return Kept(artifact.id, version)


def _facts(meta: Mapping[str, Any], artifact: Artifact) -> dict[str, Any]:
    return {
        "media_type": artifact.media_type,
        "name": artifact.name,
        "byte_length": len(artifact.content),
        "digest": f"sha256:{artifact.digest}",
        "placement": {"kind": "managed", "provider": "dshloop", "key": artifact.digest},
        "metadata": artifact.metadata,
        "scope": dict(meta),
    }
