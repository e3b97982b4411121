"""Files that go along with a prompt: images as attachments, texts as a marked part of it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from dshloop.errors import (
    AttachmentTooLargeError,
    AttachmentUnsupportedError,
    UnreadableFileError,
)
from dshloop.files import decode, read_bytes, shown
from dshloop.sessions.attachments import AttachmentStore, image_block
from dshloop.sessions.image_size import ImageKind, image_kind

LARGEST_IMAGE = 10_000_000
"""Bytes; what the servers of models take."""
LARGEST_TEXT = 1_000_000
"""Bytes; more fills any model's window."""


class Attachment(NamedTuple):
    """A file that was read: an image's ``content``, or else a ``text``."""

    name: str
    content: bytes = b""
    kind: ImageKind | None = None
    text: str = ""


def read_attachments(paths: Sequence[Path]) -> tuple[Attachment, ...]:
    """Read files. Raises UNREADABLE_FILE, ATTACHMENT_TOO_LARGE, ATTACHMENT_UNSUPPORTED."""
    return tuple(map(_read, paths))


def _read(path: Path) -> Attachment:
    _require_size(path, path.stat().st_size if path.is_file() else 0, LARGEST_IMAGE)
    content = read_bytes(path)
    if content is None:
        raise UnreadableFileError(f"there is no file {shown(path)}", file=shown(path))
    kind = image_kind(content)
    if kind is not None:
        _require_size(path, len(content), LARGEST_IMAGE)
        return Attachment(path.name, content, kind)
    return Attachment(path.name, text=_text(path, content))


def _text(path: Path, content: bytes) -> str:
    unsupported = AttachmentUnsupportedError(
        f"{shown(path)} is neither an image that models take nor text", file=shown(path)
    )
    if b"\0" in content or not content.strip():
        raise unsupported
    _require_size(path, len(content), LARGEST_TEXT)
    try:
        return decode(content, path).value
    except UnreadableFileError:
        raise unsupported from None


def _require_size(path: Path, size: int, largest: int) -> None:
    if size > largest:
        raise AttachmentTooLargeError(
            f"{shown(path)} has {size:,} bytes, and {largest:,} may be attached",
            file=shown(path),
            bytes=size,
            limit=largest,
        )


def has_images(attached: Sequence[Attachment]) -> bool:
    """Whether anything of it needs a model that sees."""
    return any(each.kind is not None for each in attached)


def with_texts(prompt: str, attached: Sequence[Attachment]) -> str:
    """Put the texts behind a prompt, each marked as the file that it is."""
    return "\n\n".join([prompt, *(_marked(each) for each in attached if each.kind is None)])


def _marked(attached: Attachment) -> str:
    """Fence a text with more backticks than it has itself."""
    fence = "```"
    while fence in attached.text:
        fence += "`"
    return f"Attached file {attached.name}:\n\n{fence}\n{attached.text.rstrip()}\n{fence}"


def kept_images(store: AttachmentStore, attached: Sequence[Attachment]) -> list[dict[str, Any]]:
    """Keep the images and give their blocks. Raises WRITE_FAILED."""
    return [
        image_block(store.keep(each.content, each.kind, each.name))
        for each in attached
        if each.kind is not None
    ]
