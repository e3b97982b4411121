"""Runs on a profile: its rows, what is added to it, what is told."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from dshloop.drivers.fake import FAKE_REPLY
from dshloop.errors import (
    DriverUnavailableError,
    InvalidConfigError,
    LoopSwitchError,
    MissingDriverError,
    PresetNotFoundError,
    UnknownLoopError,
)
from dshloop.llm.ping import REPLY
from dshloop.paths import Places
from dshloop.profiles.layout import Profile
from dshloop.runs.profile import ProfileRows, profile_rows
from dshloop.runs.talking.conversation import RunOptions
from dshloop.runs.talking.run import Ended, Happened, Opened, Record, run_session
from tests.running import dshloop

DOCKED = """\
- insert:
    - id: agent-loop-dock
      name: dsh-loop-dock
      config:
        defaultLoop: standard
        defaultDriver: fake-driver
        presetLoops: {minimal: standard}
    - id: driver
      name: dsh-loop-dock/headless-driver
      config:
        maxParallelToolCalls: 10
        fakeDriver: true
    - id: js
      name: '@deepseek-ai/dsh-web'
"""


@pytest.fixture
def places(tmp_path: Path) -> Places:
    return Places(tmp_path / "dsh", tmp_path / "data", tmp_path / "config")


def rows_of(places: Places, patch: str) -> ProfileRows:
    profile = Profile("mine", places.profiles / "mine", places.dsh_home)
    profile.folder.mkdir(parents=True, exist_ok=True)
    profile.manifest.write_text('{"dsh": {"profile": {"bundles": []}}}')
    profile.patch.write_text(patch)
    return profile_rows(profile)


def go(places: Places, *prompts: str, **more: Any) -> list[Record]:
    options = RunOptions(Path("/home/dev"), "test run", **more)
    return list(run_session(places, options, prompts, time.time))


def ended(records: list[Record]) -> Ended:
    assert isinstance(records[-1], Ended)
    return records[-1]


def replies(records: list[Record]) -> list[str]:
    events = [record.event for record in records if isinstance(record, Happened)]
    messages = [e["data"]["message"] for e in events if e["type"] == "assistant/message"]
    return [message["content"][0]["text"] for message in messages]


def test_a_run_uses_the_rows_of_its_profile(places: Places) -> None:
    records = go(places, "hi", rows=rows_of(places, DOCKED))
    assert isinstance(records[0], Opened)
    assert (records[0].loop, records[0].driver) == ("standard", "fake-driver")
    assert replies(records) == [FAKE_REPLY]
    said = "1 row of profile mine runs only in dsh (dshloop profile row list)"
    assert list(ended(records).notices) == [said]


def test_the_settings_of_dsh_choose_the_driver_of_new_sessions(places: Places) -> None:
    rows = rows_of(places, DOCKED.replace("defaultDriver: fake-driver", "defaultDriver: default"))
    with pytest.raises(DriverUnavailableError):
        go(places, "hi", rows=rows)
    (places.dsh_home / "settings.yaml").write_text("agent-loops: {defaultDriver: fake-driver}\n")
    assert replies(go(places, "hi", rows=rows)) == [FAKE_REPLY]


def test_a_profile_without_a_dock_gets_one_and_is_told(places: Places) -> None:
    rows = rows_of(places, "[]\n")
    records = go(places, "hi", driver="fake", rows=rows)
    assert replies(records) == [FAKE_REPLY]
    assert list(ended(records).notices) == [
        "profile mine has no loop dock: dsh-loop-dock, dsh-loop-dock/headless-driver, "
        "dshloop/workspace-tools, dshloop/memory and dshloop/compaction added in memory"
    ]
    assert rows_of(places, "[]\n") == rows


def test_without_fake_driver_the_fix_is_named(places: Places) -> None:
    rows = rows_of(places, DOCKED.replace("fakeDriver: true", "fakeDriver: yes"))
    with pytest.raises(MissingDriverError) as caught:
        go(places, "hi", driver="fake", rows=rows)
    assert "dshloop profile set driver.fakeDriver true" in str(caught.value.hint)
    assert not places.data.exists()


def test_a_row_that_fails_stops_the_run_before_it_began(places: Places) -> None:
    rows = rows_of(places, DOCKED.replace("maxParallelToolCalls: 10", "maxParallelToolCalls: 0"))
    with pytest.raises(InvalidConfigError) as caught:
        go(places, "hi", rows=rows)
    error = caught.value
    assert error.message.endswith("maxParallelToolCalls must be a positive integer")
    assert error.details["file"] == str(places.profiles / "mine" / "cordis.patch.yml")
    assert error.details["line"] == 11
    assert not places.data.exists()


def test_loop_and_preset_are_chosen_and_stay(places: Places) -> None:
    with pytest.raises(UnknownLoopError):
        go(places, "hi", driver="fake", loop="other")
    with pytest.raises(PresetNotFoundError):
        go(places, "hi", driver="fake", preset="nope")
    assert not places.data.exists()
    go(places, "hi", driver="fake", loop="standard", preset="minimal", session_id="s")
    with pytest.raises(LoopSwitchError):
        go(places, "hi", resume="s", loop="other")
    assert replies(go(places, "hi", resume="s")) == [FAKE_REPLY]


def test_ping_beats_whatever_the_rows_say(places: Places) -> None:
    records = go(places, "hi", driver="ping", rows=rows_of(places, DOCKED))
    assert replies(records) == [REPLY]
    assert isinstance(records[0], Opened)
    assert records[0].driver == "default"


def test_the_command_takes_the_profile_that_is_named(isolated: Path) -> None:
    rows_of(Places(isolated / "dsh", isolated / "data", isolated / "config"), DOCKED)
    done = dshloop("session", "run", "hi", "--profile", "mine")
    assert (done.code, done.out) == (0, FAKE_REPLY + "\n")
    assert "1 row of profile mine runs only in dsh" in done.err
    unknown = dshloop("session", "run", "hi", "--profile", "nope", "--driver", "fake")
    assert unknown.code == 3
    plain = dshloop("session", "run", "hi", "--driver", "fake")
    assert (plain.code, plain.err.count("\n")) == (0, 1)
