"""Images in the events of a turn, by their attachments (patchouli 8.6). Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeGuard

MEDIA_TYPES = ("image/png", "image/jpeg", "image/webp", "image/gif")


@dataclass(frozen=True, slots=True)
class Image:
    """An attachment as a block describes it."""

    id: str
    media_type: str
    bytes: int
    width: int
    height: int
    name: str | None


def images_in(events: Any, limit: int) -> list[Image]:
    """Find images at any depth, one for each attachment, the last of siblings first.

    Raises ValueError for one that says it has more than ``limit`` bytes.
    """
    found: dict[str, Image] = {}
    pending = [events]
    while pending:
        value = pending.pop()
        if isinstance(value, list):
            pending += value
        elif isinstance(value, Mapping):
            image = _image(value)
            if image is not None and image.id not in found:
                if image.bytes > limit:
                    raise ValueError(f"image attachment exceeds the {limit} byte limit: {image.id}")
                found[image.id] = image
            pending += value.values()
    return list(found.values())


def _image(block: Mapping[str, Any]) -> Image | None:
    given = block.get("attachment") if block.get("type") == "image" else None
    if not isinstance(given, Mapping):
        return None
    id_, name, media_type = given.get("attachmentId"), given.get("name"), given.get("mediaType")
    size, width, height = given.get("bytes"), given.get("width"), given.get("height")
    if not isinstance(id_, str) or not id_ or not (name is None or isinstance(name, str)):
        return None
    if media_type not in MEDIA_TYPES or not (_is_count(size, 0) and _is_count(width, 1)):
        return None
    return Image(id_, media_type, size, width, height, name) if _is_count(height, 1) else None


def _is_count(value: Any, least: int) -> TypeGuard[int]:
    return type(value) is int and value >= least
