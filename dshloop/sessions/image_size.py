"""What kind of image bytes are, and how large: PNG, GIF, JPEG and WebP, by their headers. Pure."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from typing import NamedTuple


class ImageKind(NamedTuple):
    """A media type, and width and height in pixels."""

    media_type: str
    width: int
    height: int


def image_kind(data: bytes) -> ImageKind | None:
    """Tell what an image is; None for bytes of another kind, or whose header is cut or damaged."""
    try:
        found = _kind(data)
    except (struct.error, IndexError):
        return None
    return found if found is not None and found.width > 0 and found.height > 0 else None


def _kind(data: bytes) -> ImageKind | None:
    if data.startswith(b"\x89PNG\r\n\x1a\n") and data[12:16] == b"IHDR":
        return ImageKind("image/png", *struct.unpack_from(">II", data, 16))
    if data.startswith((b"GIF87a", b"GIF89a")):
        return ImageKind("image/gif", *struct.unpack_from("<HH", data, 6))
    if data.startswith(b"\xff\xd8"):
        return _jpeg(data)
    if data.startswith(b"RIFF") and data[8:12] == b"WEBP":
        return _webp(data)
    return None


def is_cut(data: bytes, kind: ImageKind) -> bool:
    """Whether the end of an image is missing, by what its format ends with."""
    return not _ENDS[kind.media_type](data)


_FRAMES = frozenset({*range(0xC0, 0xD0)} - {0xC4, 0xC8, 0xCC})
"""The markers of a JPEG that say how large it is."""
_BARE = frozenset({0x01, *range(0xD0, 0xD9)})
"""Markers without a length behind them."""
_SCAN = 0xDA
"""The marker behind which the picture itself comes, in which no other marker can be."""


def _jpeg(data: bytes) -> ImageKind | None:
    for marker, at in _jpeg_markers(data):
        if marker in _FRAMES:
            height, width = struct.unpack_from(">HH", data, at + 5)
            return ImageKind("image/jpeg", width, height)
    return None


def _jpeg_markers(data: bytes) -> Iterator[tuple[int, int]]:
    """Give the markers before the picture itself, each with its place."""
    at = 2
    while data[at] == 0xFF:
        marker = data[at + 1]
        if marker == 0xFF:  # filling
            at += 1
            continue
        yield marker, at
        if marker == _SCAN:
            return
        at += 2 if marker in _BARE else 2 + struct.unpack_from(">H", data, at + 2)[0]


def _webp(data: bytes) -> ImageKind | None:
    form = data[12:16]
    if form == b"VP8X":
        width, height = (int.from_bytes(data[at : at + 3], "little") + 1 for at in (24, 27))
        whole = len(data) >= 30
    elif form == b"VP8L":
        bits = struct.unpack_from("<I", data, 21)[0]
        width, height = (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
        whole = data[20] == 0x2F
    elif form == b"VP8 ":
        width, height = (size & 0x3FFF for size in struct.unpack_from("<HH", data, 26))
        whole = data[23:26] == b"\x9d\x01\x2a"
    else:
        return None
    return ImageKind("image/webp", width, height) if whole else None


# --- ends ----------------------------------------------------------------------------------------


def _png_ends(data: bytes) -> bool:
    at = 8
    while at + 12 <= len(data):
        if data[at + 4 : at + 8] == b"IEND":
            return True
        at += 12 + int.from_bytes(data[at : at + 4], "big")
    return False


def _jpeg_ends(data: bytes) -> bool:
    try:
        scan = next((at for marker, at in _jpeg_markers(data) if marker == _SCAN), None)
    except (struct.error, IndexError):
        return False
    return scan is not None and b"\xff\xd9" in data[scan:]


def _gif_ends(data: bytes) -> bool:
    return data.rstrip(b"\0").endswith(b";")


def _webp_ends(data: bytes) -> bool:
    return len(data) >= 8 + int.from_bytes(data[4:8], "little")


_ENDS: dict[str, Callable[[bytes], bool]] = {
    "image/png": _png_ends,
    "image/jpeg": _jpeg_ends,
    "image/gif": _gif_ends,
    "image/webp": _webp_ends,
}
