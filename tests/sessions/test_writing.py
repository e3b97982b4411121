"""New files that are there whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from dshloop.errors import OutputExistsError
from dshloop.sessions.writing import new_log


@pytest.fixture(params=["nameless", "named"], autouse=True)
def system(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """A system that has files without a name, and one that hasn't."""
    if request.param == "named":
        monkeypatch.delattr(os, "O_TMPFILE", raising=False)


def test_a_failure_in_the_middle_leaves_nothing(tmp_path: Path) -> None:
    def write() -> None:
        with new_log(tmp_path / "a") as file:
            file.write(b"half")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        write()
    assert list(tmp_path.iterdir()) == []


def test_a_name_that_is_taken_meanwhile_is_not_taken_over(tmp_path: Path) -> None:
    path = tmp_path / "a"

    def write() -> None:
        with new_log(path) as file:
            file.write(b"ours")
            path.write_bytes(b"theirs")

    with pytest.raises(OutputExistsError):
        write()
    assert path.read_bytes() == b"theirs"
    assert [each.name for each in tmp_path.iterdir()] == ["a"]


def test_a_private_file_appears_at_the_end_only(tmp_path: Path) -> None:
    path = tmp_path / "a"
    with new_log(path) as file:
        file.write(b"line\n")
        assert not path.exists()
    assert path.read_bytes() == b"line\n"
    assert path.stat().st_mode & 0o777 == 0o600
