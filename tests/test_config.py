"""config.yml."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from dshloop.config import SETTINGS, plan_set, read_config, write_config
from dshloop.errors import ConfigInvalidError, SettingUnknownError
from dshloop.journal import Journal
from dshloop.paths import Places


@pytest.fixture
def places(tmp_path: Path) -> Places:
    (tmp_path / "config").mkdir()
    return Places(tmp_path / "dsh", tmp_path / "data", tmp_path / "config")


def test_a_missing_file_is_an_empty_one(places: Places) -> None:
    config = read_config(places)
    assert all(config.get(setting.key) is None for setting in SETTINGS)


def test_dotted_keys_reach_into_mappings(places: Places) -> None:
    places.config_file.write_text("memory:\n  store: embedded\n")
    assert read_config(places).get("memory.store") == "embedded"
    assert read_config(places).get("memory.store.deeper") is None


@pytest.mark.parametrize(
    ("text", "line"),
    [("a: [1, }\n", 1), ("- a\n", 1), ("a: 1\n b: 2\n", 2)],
)
def test_a_broken_file_is_named_with_its_line(places: Places, text: str, line: int) -> None:
    places.config_file.write_text(text)
    with pytest.raises(ConfigInvalidError) as caught:
        read_config(places)
    assert caught.value.details["line"] == line
    assert str(places.config_file) in caught.value.message


@pytest.mark.parametrize("text", ["profile: 3\n", "profile: ''\n", "memory: {store: [x]}\n"])
def test_a_value_of_the_wrong_type_is_named(places: Places, text: str) -> None:
    places.config_file.write_text(text)
    with pytest.raises(ConfigInvalidError):
        read_config(places)


def test_unknown_settings_offer_the_near_one(places: Places) -> None:
    with pytest.raises(SettingUnknownError) as caught:
        plan_set(places, "profil", "web")
    assert caught.value.details["near"] == ["profile"]
    with pytest.raises(ConfigInvalidError):
        plan_set(places, "memory.store", "nowhere")


def test_the_written_file_is_private(places: Places) -> None:
    write_config(Journal(places.journal), plan_set(places, "profile", "web"), command="test")
    assert stat.S_IMODE(places.config_file.stat().st_mode) == 0o600
    assert read_config(places).get("profile") == "web"
