"""Original 49: two drivers and two strategies, four turns with a real model."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from dshloop.loops.binding import Binding, read_binding
from dshloop.transcripts.dsh import read_transcript
from tests.running import dshloop

SWITCH = "DSH_LOOP_DOCK_LIVE_API"
NEEDS = (SWITCH, "DEEPSEEK_API_KEY", "DSH_LOOP_DOCK_LIVE_MODEL")
GIVEN = {name: os.environ.get(name, "") for name in (*NEEDS, "DEEPSEEK_BASE_URL")}
LACKING = [name for name in NEEDS if not GIVEN[name]]

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        bool(LACKING) or GIVEN[SWITCH] != "1",
        reason=f"asks a real model: needs {SWITCH}=1, DEEPSEEK_API_KEY and "
        f"DSH_LOOP_DOCK_LIVE_MODEL (the model's name); missing: {', '.join(LACKING) or SWITCH}",
    ),
]

SECOND_DRIVER = """\
from dshloop.host.engine import Engine
from dshloop.loops.hosted import HostedDriver

driver = HostedDriver(Engine())
"""
LOOPS = """\
loops:
  live-a: {{provider: deepseek, model: "{model}", prompt: Answer with one word.}}
  live-b: {{provider: deepseek, model: "{model}", prompt: Answer with one number.}}
drivers:
  loop2: live_driver:driver
"""


@pytest.fixture
def profile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A profile with two strategies and a second driver; gives its name."""
    for name, value in GIVEN.items():
        if value:
            monkeypatch.setenv(name, value)
    (tmp_path / "live_driver.py").write_text(SECOND_DRIVER)
    monkeypatch.syspath_prepend(str(tmp_path))
    assert dshloop("profile", "create", "live", "--template", "empty").code == 0
    folder = Path(os.environ["DSH_HOME"], "profiles", "live")
    text = LOOPS.format(model=GIVEN["DSH_LOOP_DOCK_LIVE_MODEL"])
    (folder / "loops.yml").write_text(text)
    return "live"


def test_four_turns_of_two_strategies_on_two_drivers(profile: str) -> None:
    root = Path(os.environ["DSHLOOP_DATA"])
    for driver in ("default", "loop2"):
        for loop in ("live-a", "live-b"):
            session = f"{driver}-{loop}"
            words = ("--profile", profile, "--driver", driver, "--loop", loop)
            ran = dshloop("session", "run", "Say yes or 1.", "--session-id", session, *words)
            assert ran.code == 0, ran.err
            assert ran.out.strip()
            (log,) = root.rglob(f"{session}/session.jsonl")
            events = read_transcript(log).events
            assert read_binding(events) == Binding(loop, driver)
            (answer,) = (one["data"] for one in events if one["type"] == "assistant/message")
            assert answer["message"]["source"]["provider"] == "deepseek"
