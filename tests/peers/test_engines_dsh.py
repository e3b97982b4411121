"""The real dsh runs turns for the drivers `dsh` and `acp`, asking a scripted model."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from dshloop.drivers.settings import EngineSettings
from dshloop.llm.messages import plain_text
from dshloop.paths import Places
from dshloop.runs.talking.conversation import RunOptions
from dshloop.runs.talking.run import Ended, Happened, Opened, run_session
from dshloop.sessions.catalog import find_id
from dshloop.sessions.fsck import check_log
from tests.fake_model import FakeModel, fake_model
from tests.peers.test_sessions_dsh import program

pytestmark = [pytest.mark.peer, pytest.mark.slow]

ANSWERS: list[list[dict[str, Any]]] = [
    [{"text": "Let me look."}, {"tool": "read", "input": {"file_path": "hello.txt"}}],
    [{"text": "It says hello."}],
    [{"text": "Again, then."}],
]


@dataclass
class Place:
    """A folder to work in, dsh on PATH, and the model that it asks."""

    folder: Path
    model: FakeModel
    driver: str

    @property
    def places(self) -> Places:
        return Places(self.folder / "dsh", self.folder / "data", self.folder / "config")

    def run(self, prompt: str, **more: Any) -> tuple[Opened, list[Any], Ended]:
        """Talk to the session; gives its events, too."""
        variables = {
            **os.environ,
            "PATH": f"{self.folder / 'bin'}{os.pathsep}{os.environ['PATH']}",
            "DSH_TELEMETRY_DISABLED": "1",
            "DEEPSEEK_API_KEY": "dummy",
            "DEEPSEEK_BASE_URL": self.model.url,
        }
        engines = EngineSettings(variables, self.places.dsh_home, ("dsh", "--profile", "acp"), 60)
        options = RunOptions(
            cwd=self.folder, command="test", driver=self.driver, engines=engines, **more
        )
        first, *records, last = run_session(self.places, options, [prompt], time.time)
        assert isinstance(first, Opened)
        assert isinstance(last, Ended)
        return first, [one.event for one in records if isinstance(one, Happened)], last


@pytest.fixture(params=["dsh", "acp"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    found = program("DSHLOOP_TEST_DSH", "0.2.1")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "dsh").symlink_to(found)
    (tmp_path / "dsh").mkdir()
    (tmp_path / "hello.txt").write_text("hello from the file\n")
    with fake_model(tmp_path, *ANSWERS) as model:
        yield Place(tmp_path, model, request.param)


def of(events: list[Any], kind: str) -> list[Any]:
    return [event["data"] for event in events if event["type"] == kind]


def test_a_turn_with_a_tool_call_and_another_in_the_next_process(place: Place) -> None:
    opened, events, ended = place.run("what does the file say?")
    assert (opened.driver, ended.outcome) == (place.driver, "completed")
    texts = [plain_text(one["message"]["content"]) for one in of(events, "assistant/message")]
    assert texts == ["Let me look.", "It says hello."]
    (call,) = of(events, "tool/call")
    assert (call["name"], call["arguments"]) == ("read", '{"file_path": "hello.txt"}')
    (result,) = of(events, "tool/result")
    assert "hello from the file" in str(result["message"]["content"])
    assert [(one["turn"], one["step"]) for one in of(events, "step/end")] == [(1, 1), (1, 2)]

    resumed, events, ended = place.run("and again?", resume=opened.id)
    assert (resumed.driver, ended.outcome) == (place.driver, "completed")
    (message,) = of(events, "assistant/message")
    assert (message["turn"], plain_text(message["message"]["content"])) == (2, "Again, then.")
    asked = str(place.model.asked[-1]["body"]["messages"])
    assert "what does the file say?" in asked
    assert "It says hello." in asked

    entry = find_id(place.places, opened.id)
    assert entry is not None
    assert check_log(entry.path).sound
