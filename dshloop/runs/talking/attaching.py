"""Files that go along with a prompt: images as attachments, texts as a marked part of it."""

from __future__ import annotations

import contextlib
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
from dshloop.sessions.image_size import ImageKind, image_kind, is_cut
from dshloop.terminal import one_line

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
    content = read_bytes(path, LARGEST_IMAGE)
    if content is None:
        raise UnreadableFileError(f"there is no file {shown(path)}", file=shown(path))
    _require_size(path, content, LARGEST_IMAGE)
    if not content.strip():
        raise _unsupported(path, "is empty")
    name, kind = one_line(shown(path.name)), image_kind(content)
    if kind is None:
        return Attachment(name, text=_text(path, content))
    if is_cut(content, kind):
        raise _unsupported(path, "is an image whose end is missing")
    return Attachment(name, content, kind)


def _text(path: Path, content: bytes) -> str:
    if b"\0" not in content:
        _require_size(path, content, LARGEST_TEXT)
        with contextlib.suppress(UnreadableFileError):
            return decode(content, path).value
    raise _unsupported(path, "is neither an image that models take nor text in UTF-8")


def _unsupported(path: Path, what: str) -> AttachmentUnsupportedError:
    return AttachmentUnsupportedError(f"{shown(path)} {what}", file=shown(path))


def _require_size(path: Path, content: bytes, largest: int) -> None:
    if len(content) > largest:
        raise AttachmentTooLargeError(
            f"{shown(path)} has more than {largest:,} bytes, the most that may be attached",
            file=shown(path),
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
