"""Where things live."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from dshloop.paths import find_places, private_folder


def test_options_win_over_variables() -> None:
    places = find_places(
        {"DSH_HOME": "/a", "DSHLOOP_DATA": "/b"}, Path("/cwd"), home="/x", data_dir="/y"
    )
    assert (places.dsh_home, places.data) == (Path("/x"), Path("/y"))


@pytest.mark.parametrize("blank", ["", "  ", "\t"])
def test_blank_counts_as_unset(blank: str, monkeypatch: pytest.MonkeyPatch) -> None:
    places = find_places({"DSH_HOME": blank, "HOME": "/me"}, Path("/cwd"))
    assert places.dsh_home == Path("/me/.dsh")


def test_tilde_and_relative_paths_become_absolute() -> None:
    places = find_places({"DSH_HOME": "~/h", "HOME": "/me", "DSHLOOP_DATA": "../d"}, Path("/a/b"))
    assert places.dsh_home == Path("/me/h")
    assert places.data == Path("/a/d")


def test_asking_creates_nothing(tmp_path: Path) -> None:
    find_places({"DSHLOOP_DATA": str(tmp_path / "data")}, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_default_folders_are_the_users_own(monkeypatch: pytest.MonkeyPatch) -> None:
    places = find_places({"HOME": "/me"}, Path("/cwd"))
    assert places.data.name == places.config.name == "dshloop"
    assert places.data.is_absolute()


def test_private_folders_are_private(tmp_path: Path) -> None:
    made = private_folder(tmp_path / "a" / "b")
    for folder in (made, made.parent):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
