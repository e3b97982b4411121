"""DSH's settings.yaml: live reading, writing by splice under dsh's lock and the journal."""

from __future__ import annotations

import asyncio
import os
import stat
from pathlib import Path
from typing import Any

import pytest

from dshloop.errors import DshYamlInvalidError, LockHeldError, SpliceRefusedError
from dshloop.host.settings import DshSettings
from dshloop.journal import Journal
from dshloop.loops.dock import Dock
from dshloop.loops.settings_default import declare, remote
from dshloop.paths import Places
from tests.loops.stand_ins import Maker

TEXT = """\
# mine
theme: {mode: dark}   # at night

agent-loops:
  # which engine
  defaultDriver: default
"""


@pytest.fixture
def places(tmp_path: Path) -> Places:
    return Places(tmp_path / "dsh", tmp_path / "data", tmp_path / "config")


def settings(places: Places) -> DshSettings:
    return DshSettings(places, command="dshloop driver use x")


def written(places: Places, text: str) -> Path:
    places.dsh_home.mkdir(parents=True, exist_ok=True)
    path = places.dsh_home / "settings.yaml"
    path.write_text(text)
    return path


def test_without_a_file_nothing_is_set_and_nothing_is_made(places: Places) -> None:
    assert settings(places).get("agent-loops") is None
    assert not places.dsh_home.exists()


def test_the_file_is_read_as_it_is_now(places: Places) -> None:
    found = settings(places)
    written(places, TEXT)
    assert found.get("agent-loops") == {"defaultDriver": "default"}
    written(places, TEXT.replace("default\n", "fake-driver\n"))
    assert found.get("agent-loops") == {"defaultDriver": "fake-driver"}
    assert found.get("nothing") is None


def test_one_value_changes_and_no_other_byte(places: Places) -> None:
    path = written(places, TEXT)
    settings(places).update("agent-loops", {"defaultDriver": "fake-driver"})
    assert path.read_text() == TEXT.replace("Driver: default", "Driver: fake-driver")
    [entry] = Journal(places.journal).entries()
    assert entry.command == "dshloop driver use x"
    Journal(places.journal).undo()
    assert path.read_text() == TEXT
    assert sorted(each.name for each in places.dsh_home.iterdir()) == ["settings.yaml"]


def test_a_new_file_is_for_its_owner_only(places: Places) -> None:
    settings(places).update("agent-loops", {"defaultDriver": "fake-driver"})
    path = places.dsh_home / "settings.yaml"
    assert path.read_text() == "agent-loops:\n  defaultDriver: fake-driver\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_file_that_dsh_is_writing_is_left_alone(places: Places) -> None:
    path = written(places, TEXT)
    lock = places.dsh_home / "settings.yaml.lock"
    lock.write_text(f"{os.getppid()}\n")
    with pytest.raises(LockHeldError):
        settings(places).update("agent-loops", {"defaultDriver": "x"})
    assert path.read_text() == TEXT
    assert lock.exists()


@pytest.mark.parametrize(
    ("text", "error"), [("a: [", DshYamlInvalidError), ("agent-loops: 5\n", SpliceRefusedError)]
)
def test_what_cannot_be_read_or_edited_is_never_written(
    places: Places, text: str, error: type[Exception]
) -> None:
    path = written(places, text)
    with pytest.raises(error):
        settings(places).update("agent-loops", {"defaultDriver": "x"})
    assert path.read_text() == text


def test_the_dock_follows_the_file(places: Places) -> None:
    found = settings(places)
    dock = Dock({"defaultDriver": "one"}, settings=found)
    declare(found, dock.config)
    assert found.namespaces["agent-loops"][1] == {"defaultDriver": "one"}
    for name in ("one", "two"):
        dock.register_driver(name, Maker(name, {}))
    assert dock.default_driver() == ("one", "config")
    methods: Any = remote(dock)
    asyncio.run(methods["setDefaultDriver"]("two"))
    assert dock.default_driver() == ("two", "settings")
    assert asyncio.run(methods["listDrivers"]()) == {"drivers": ["one", "two"], "current": "two"}


def test_the_place_of_a_value_and_a_plan_that_writes_nothing(places: Places) -> None:
    found = settings(places)
    path = places.dsh_home / "settings.yaml"
    assert found.place("agent-loops", "defaultDriver") == str(path)
    assert found.plan("agent-loops", {"defaultDriver": "x"}).mode == 0o600
    assert not places.dsh_home.exists()
    text = "\ufeff" + TEXT.replace("\n", "\r\n")
    written(places, "")
    path.write_bytes(text.encode())
    assert found.place("agent-loops", "defaultDriver") == f"{path}:6"
    change = found.plan("agent-loops", {"defaultDriver": "x"})
    assert change.after == text.replace("Driver: default", "Driver: x").encode()
    assert path.read_bytes() == change.before == text.encode()
    found.update("agent-loops", {"defaultDriver": "x"})
    assert path.read_bytes() == change.after
