"""Files in the storage daemon: up and down in chunks (patchouli 9.2)."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator, Mapping
from typing import Any

from dshloop.errors import PeerAnswerError
from dshloop.memory.patchouli_socket.client import Client, Entity, Meta

CHUNK = 524_288


def upload(
    client: Client,
    meta: Meta,
    content: bytes,
    *,
    media_type: str,
    metadata: Mapping[str, Any],
    name: str | None = None,
    id_: str | None = None,
) -> Entity:
    """Store bytes as an artifact; give its entity. Raises what `Client.call` raises."""
    digest = f"sha256:{hashlib.sha256(content).hexdigest()}"
    begin: dict[str, Any] = {
        "media_type": media_type, "name": name, "expected_byte_length": len(content),
        "expected_digest": digest, "metadata": metadata,
    }  # fmt: skip
    if id_ is not None:
        begin["id"] = id_
    begun = client.call("artifact.upload.begin", meta, begin).data
    size = min(CHUNK, int(begun["max_chunk_bytes"]))
    upload_id = begun["upload_id"]
    for offset in range(0, len(content), size):
        piece = base64.b64encode(content[offset : offset + size]).decode()
        chunk = {"upload_id": upload_id, "offset": offset, "bytes_base64": piece}
        client.call("artifact.upload.chunk", meta, chunk)
    done = client.call("artifact.upload.commit", meta, {"upload_id": upload_id}).data
    entity: Entity = done["entity"]
    return entity


def download(
    client: Client, meta: Meta, id_: str, *, version: str | None = None
) -> Iterator[bytes]:
    """Give an artifact's bytes piece by piece, all of the version that the first piece has.

    Raises PATCHOULI_FAILED, among it NOT_FOUND in another scope, and PEER_ANSWER when the bytes
    don't have the digest that the daemon tells.
    """
    offset, sum_, entity = 0, hashlib.sha256(), None
    while True:
        asked = {"id": id_, "version": version, "offset": offset, "max_bytes": CHUNK}
        piece = client.call("artifact.download.chunk", meta, asked).data
        entity, version = piece["entity"], piece["entity"]["version"]
        content = base64.b64decode(piece["bytes_base64"])
        sum_.update(content)
        if content:
            yield content
        if piece["eof"]:
            break
        if piece["next_offset"] <= offset:
            raise PeerAnswerError("Patchouli's download does not move on")
        offset = piece["next_offset"]
    digest = entity["value"].get("digest")
    if digest is not None and digest != f"sha256:{sum_.hexdigest()}":
        raise PeerAnswerError(f"the bytes of artifact {id_} don't have its digest")
