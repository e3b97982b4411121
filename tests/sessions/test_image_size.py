"""What kind of image bytes are, by headers as programs write them."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dshloop.sessions.image_size import ImageKind, image_kind, is_cut

PNG = b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + b"IHDR" + struct.pack(">II", 640, 480)
GIF = b"GIF89a" + struct.pack("<HH", 640, 480)
APP0 = b"\xff\xe0" + struct.pack(">H", 16) + b"JFIF\0" + b"\0" * 9
SIZE = struct.pack(">HBHH", 17, 8, 480, 640)
JPEG = b"\xff\xd8" + APP0 + b"\xff\xff\xc2" + SIZE
LOSSY = b"VP8 " + b"\0" * 4 + b"\0" * 3 + b"\x9d\x01\x2a" + struct.pack("<HH", 640, 480)
LOSSLESS = b"VP8L" + b"\0" * 4 + b"\x2f" + struct.pack("<I", 639 | 479 << 14)
EXTENDED = b"VP8X" + b"\0" * 8 + (639).to_bytes(3, "little") + (479).to_bytes(3, "little")


def webp(form: bytes) -> bytes:
    return b"RIFF" + b"\0" * 4 + b"WEBP" + form


@pytest.mark.parametrize(
    ("data", "media_type"),
    [
        (PNG, "image/png"),
        (GIF, "image/gif"),
        (JPEG, "image/jpeg"),
        (webp(LOSSY), "image/webp"),
        (webp(LOSSLESS), "image/webp"),
        (webp(EXTENDED), "image/webp"),
    ],
)
def test_kind_and_size(data: bytes, media_type: str) -> None:
    assert image_kind(data) == ImageKind(media_type, 640, 480)
    assert image_kind(data[:-1]) is None


def test_an_image_of_no_size_is_none() -> None:
    assert image_kind(PNG[:16] + struct.pack(">II", 0, 480)) is None


def _png_chunk(kind: bytes, data: bytes = b"") -> bytes:
    return struct.pack(">I", len(data)) + kind + data + b"\0" * 4


WHOLE_PNG = PNG + b"\0" * 9 + _png_chunk(b"IDAT", b"IEND") + _png_chunk(b"IEND")
THUMBNAIL = b"\xff\xe1" + struct.pack(">H", 6) + b"\xff\xd9\xff\xd9"
WHOLE_JPEG = (
    b"\xff\xd8" + THUMBNAIL + b"\xff\xc0" + SIZE + b"\0" * 10 + b"\xff\xda\0\2pixels\xff\xd9"
)


@pytest.mark.parametrize(
    "data",
    [
        WHOLE_PNG,
        WHOLE_JPEG,
        GIF + b"pixels\0;",
        b"RIFF" + struct.pack("<I", 30) + b"WEBP" + EXTENDED + b"\0" * 8,
    ],
)
def test_an_image_without_its_end_is_cut(data: bytes) -> None:
    kind = image_kind(data)
    assert kind is not None
    assert not is_cut(data, kind)
    cuts = [data[:length] for length in range(len(data))]
    assert all(is_cut(cut, kind) for cut in cuts if image_kind(cut) is not None)


@given(st.binary(), st.sampled_from([b"", b"\xff\xd8", b"GIF89a", webp(b"VP8L"), PNG[:12]]))
def test_no_bytes_break_it(data: bytes, start: bytes) -> None:
    found = image_kind(start + data)
    assert found is None or (found.width > 0 and found.height > 0)
    if found is not None:
        is_cut(start + data, found)
