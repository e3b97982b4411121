"""What is attached to messages, kept by its content: ``attachments/`` of our data folder."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from dshloop.errors import AttachmentNotFoundError
from dshloop.files import digest, read_bytes, replace_file
from dshloop.paths import private_folder

if TYPE_CHECKING:
    from dshloop.sessions.image_size import ImageKind

_ID = re.compile(r"sha256-[0-9a-f]{64}")


class AttachmentStore(NamedTuple):
    """The service `attachments`; two files for each: the bytes, and what they are as JSON."""

    root: Path

    def keep(self, content: bytes, kind: ImageKind, name: str | None = None) -> dict[str, Any]:
        """Keep an image and give the attachment as a block names it. Raises WRITE_FAILED.

        What is there already stays; its name is that of the message that it is in.
        """
        id_ = f"sha256-{digest(content)}"
        facts: dict[str, Any] = {
            "attachmentId": id_,
            "mediaType": kind.media_type,
            "bytes": len(content),
            "width": kind.width,
            "height": kind.height,
        }
        path = self.root / id_
        if not path.exists():
            private_folder(self.root)
            about = json.dumps(facts, separators=(",", ":")).encode()
            replace_file(self.root / f"{id_}.json", about, mode=0o600)
            replace_file(path, content, mode=0o600)
        return facts if name is None else {**facts, "name": name}

    def read(self, attachment_id: str) -> bytes:
        """Give an attachment's bytes. Raises ATTACHMENT_NOT_FOUND."""
        known = _ID.fullmatch(attachment_id)
        content = read_bytes(self.root / attachment_id) if known else None
        if content is None:
            raise AttachmentNotFoundError(
                f"the attachment {attachment_id} is not here", attachment=attachment_id
            )
        return content


def image_block(attachment: Mapping[str, Any]) -> dict[str, Any]:
    """Make the block of an image (dsh-sessions 5)."""
    return {"type": "image", "attachment": dict(attachment)}
