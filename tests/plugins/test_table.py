"""Which rows run here: the table, then what installed packages offer."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import dshloop.plugins
from dshloop.errors import PluginContractError
from dshloop.plugins import TABLE, find_plugin


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Install a package that offers plugins, and forget what was read of others."""
    info = tmp_path / "offers-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: offers\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[dshloop.plugins]\nmine = offers_it:Mine\nbad = offers_it:Bad\nbroken = offers_not:X\n"
    )
    (tmp_path / "offers_it.py").write_text(
        "class Mine:\n    name = 'mine'\n    Config = dict\n    async def apply(self, h, c): ...\n"
        "class Bad:\n    name = 'bad'\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(dshloop.plugins, "_names", None)
    return tmp_path


@pytest.mark.parametrize("name", TABLE)
def test_every_row_of_the_table_is_a_plugin(name: str) -> None:
    plugin = find_plugin(name)
    assert plugin is not None
    assert plugin.name


@pytest.mark.usefixtures("package")
def test_packages_offer_rows_by_entry_point() -> None:
    plugin = find_plugin("mine")
    assert plugin is not None
    assert plugin.__module__ == "offers_it"
    assert find_plugin("another") is None


@pytest.mark.usefixtures("package")
def test_what_is_offered_and_no_plugin_says_what_it_lacks() -> None:
    with pytest.raises(PluginContractError, match="lacks Config, apply"):
        find_plugin("bad")
    with pytest.raises(ModuleNotFoundError):
        find_plugin("broken")


def test_metadata_is_read_only_for_names_that_could_be_offered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(dshloop.plugins, "_names", None)
    monkeypatch.setitem(sys.modules, "importlib.metadata", None)
    for name in ("dsh-loop-dock", "./mine.mjs", "/abs/mine.mjs", "cordis:include", ""):
        find_plugin(name)
    assert find_plugin("their-row") is None  # no package offers any
    monkeypatch.setattr(dshloop.plugins, "_names", None)
    monkeypatch.setattr(dshloop.plugins, "offers_any", lambda _group: True)
    with pytest.raises(ImportError):
        find_plugin("something")
