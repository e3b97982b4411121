"""Folder names and ids."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dshloop.errors import SessionIdError
from dshloop.sessions.naming import decode_id, encode_id, folder_of, slug, uuid7


@pytest.mark.parametrize(
    ("cwd", "name"),
    [
        ("/home/dev/demo", "home-dev-demo"),
        ("/", "root"),
        ("//", "root"),
        ("C:\\Users\\me", "C-Users-me"),
        ("/a b", "a~0020b"),
        ("/a~b", "a~007Eb"),
        ("/--x y~é😀", "x~0020y~007E~00E9~D83D~DE00"),
        ("/a-b_c.d", "a-b_c.d"),
        ("/" + "x" * 300, "x" * 251),
    ],
)
def test_slugs_are_those_of_dsh(cwd: str, name: str) -> None:
    assert slug(cwd) == name


def test_folders() -> None:
    assert folder_of("/home/dev") == "--home-dev--"
    assert folder_of(None) == "_no-cwd"


@pytest.mark.parametrize(
    ("session_id", "name"),
    [(".", "~002E"), ("..", "~002E~002E"), ("a/b", "a~002Fb"), ("...", "..."), ("--", "--")],
)
def test_ids_are_encoded_without_folding(session_id: str, name: str) -> None:
    assert encode_id(session_id) == name
    assert decode_id(name) == session_id


@given(st.text(min_size=1, max_size=20))
def test_encoded_ids_come_back(session_id: str) -> None:
    name = encode_id(session_id)
    assert re.fullmatch(r"[A-Za-z0-9._~-]+", name)
    assert name not in (".", "..")
    assert decode_id(name) == session_id


@pytest.mark.parametrize("session_id", ["", "x" * 256, "/" * 60])
def test_unusable_ids_are_refused(session_id: str) -> None:
    with pytest.raises(SessionIdError):
        encode_id(session_id)


def test_ids_are_uuid7_and_sort_by_time() -> None:
    import uuid

    ids = [uuid7(1_700_000_000 + number) for number in range(20)]
    assert ids == sorted(ids)
    assert {uuid.UUID(each).version for each in ids} == {7}
    assert {uuid.UUID(each).variant for each in ids} == {uuid.RFC_4122}
    assert uuid7(1) != uuid7(1)
