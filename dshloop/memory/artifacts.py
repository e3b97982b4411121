"""Files that stores keep beside their entries."""

from __future__ import annotations

import base64
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from dshloop.errors import MemoryNotFoundError, StoreUnsupportedError

ARTIFACTS, BLOBS = "patchouli/artifact", "patchouli/blob"
"""Kinds of documents in a store of ours: facts by id, bytes (base64) by their SHA-256."""


def artifact_of(store: Any, id_: str) -> Iterator[bytes]:
    """Give the bytes of an artifact. Raises MEMORY_NOT_FOUND, STORE_UNSUPPORTED."""
    from dshloop.memory.store import DocumentStore

    if hasattr(store, "artifact"):
        pieces: Iterator[bytes] = store.artifact(id_)
        return pieces
    if isinstance(store, DocumentStore):
        return iter([_document(store, id_)])
    raise StoreUnsupportedError(
        f"the store {store.name} keeps no artifacts", hint="Name another one by --store."
    )


def _document(store: Any, id_: str) -> bytes:
    facts = store.document(ARTIFACTS, id_)
    blob = None if facts is None else store.document(BLOBS, facts["placement"]["key"])
    if blob is None:
        raise MemoryNotFoundError(f'there is no artifact "{id_}"', hint=None, id=id_)
    return base64.b64decode(blob["base64"])


def save(pieces: Iterable[bytes], path: Path) -> int:
    """Write bytes to a new file (0600) and give how many; nothing is left of one that failed.

    Raises WRITE_FAILED, also where there is a file already.
    """
    from dshloop.files import writing

    with writing(path):
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with writing(path), os.fdopen(descriptor, "wb") as file:
            return sum(file.write(piece) for piece in pieces)
    except BaseException:
        path.unlink(missing_ok=True)
        raise
