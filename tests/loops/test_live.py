"""Original 49: two drivers and two strategies, four turns; with a real model where one is given.

The same four turns run against a model server of the tests.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from dshloop.loops.binding import Binding, read_binding
from dshloop.transcripts.dsh import read_transcript
from tests.fake_model import fake_model
from tests.running import dshloop

SWITCH, KEY = "DSH_LOOP_DOCK_LIVE_API", "DEEPSEEK_API_KEY"
URL, MODEL = "DEEPSEEK_BASE_URL", "DSH_LOOP_DOCK_LIVE_MODEL"
GIVEN = {name: os.environ.get(name, "") for name in (SWITCH, KEY, MODEL, URL)}
LACKING = [name for name in (SWITCH, KEY, MODEL) if not GIVEN[name]]
live = pytest.mark.skipif(
    bool(LACKING) or GIVEN[SWITCH] != "1",
    reason=f"asks a real model: needs {SWITCH}=1, {KEY} and {MODEL} (the model's name); "
    f"missing: {', '.join(LACKING) or SWITCH}",
)

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
def profile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A profile with a second driver, as its folder."""
    (tmp_path / "live_driver.py").write_text(SECOND_DRIVER)
    monkeypatch.syspath_prepend(str(tmp_path))
    assert dshloop("profile", "create", "live", "--template", "empty").code == 0
    return Path(os.environ["DSH_HOME"], "profiles", "live")


def four_turns(profile: Path, model: str) -> list[str]:
    """Talk to both strategies on both drivers; gives what was answered."""
    (profile / "loops.yml").write_text(LOOPS.format(model=model))
    root = Path(os.environ["DSHLOOP_DATA"])
    answers = []
    for driver in ("default", "loop2"):
        for loop in ("live-a", "live-b"):
            session = f"{driver}-{loop}"
            words = ("--profile", "live", "--driver", driver, "--loop", loop)
            ran = dshloop("session", "run", "Say yes or 1.", "--session-id", session, *words)
            assert ran.code == 0, ran.err
            (log,) = root.rglob(f"{session}/session.jsonl")
            events = read_transcript(log).events
            assert read_binding(events) == Binding(loop, driver)
            (answer,) = (one["data"] for one in events if one["type"] == "assistant/message")
            source = answer["message"]["source"]
            assert (source["provider"], source["model"]) == ("deepseek", model)
            answers.append(ran.out.strip())
    return answers


@live
@pytest.mark.slow
def test_four_turns_with_a_real_model(profile: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (KEY, URL):
        if GIVEN[name]:
            monkeypatch.setenv(name, GIVEN[name])
    answers = four_turns(profile, GIVEN[MODEL])
    assert all(answers)


def test_four_turns_with_a_model_server(
    profile: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with fake_model(tmp_path, [{"text": "aye"}]) as model:
        monkeypatch.setenv(KEY, "the-key-of-the-tests")
        monkeypatch.setenv(URL, model.url)
        assert four_turns(profile, "large") == ["aye"] * 4
        asked = [str(request["body"]) for request in model.asked]
    assert ["one word" in body for body in asked] == [True, False, True, False]
    assert ["one number" in body for body in asked] == [False, True, False, True]
