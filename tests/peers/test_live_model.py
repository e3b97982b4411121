"""A real model on the driver `default`: a text turn, a tool call, and a cut answer."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import pytest

from dshloop import plugins
from dshloop.config import Config
from dshloop.host.rows import HostRow
from dshloop.llm.credentials import Keyring
from dshloop.llm.providers import Providers, read_providers
from dshloop.paths import Places
from dshloop.plugins.built_in import ROWS
from dshloop.runs.profile import ProfileRows
from dshloop.runs.talking.conversation import RunOptions
from dshloop.runs.talking.models import ModelAsked
from dshloop.runs.talking.run import Ended, Happened, Record, run_session
from tests.plugins.tool_row import NAME

SWITCH = "DSH_LOOP_DOCK_LIVE_API"
NEEDS = (SWITCH, "DEEPSEEK_API_KEY", "DSH_LOOP_DOCK_LIVE_MODEL")
GIVEN = {name: os.environ.get(name, "") for name in (*NEEDS, "DEEPSEEK_BASE_URL")}
LACKING = [name for name in NEEDS if not GIVEN[name]]

pytestmark = [
    pytest.mark.peer,
    pytest.mark.slow,
    pytest.mark.skipif(
        bool(LACKING) or GIVEN[SWITCH] != "1",
        reason=f"asks a real model: needs {SWITCH}=1, DEEPSEEK_API_KEY and "
        f"DSH_LOOP_DOCK_LIVE_MODEL; missing: {', '.join(LACKING) or SWITCH}",
    ),
]


@pytest.fixture
def places(tmp_path: Path) -> Places:
    return Places(tmp_path / "dsh", tmp_path / "data", tmp_path / "config")


def go(places: Places, prompt: str, **more: Any) -> list[Record]:
    def providers() -> Providers:
        return read_providers(Config(places.config_file, {}), Keyring(GIVEN, places.dsh_home))

    model = ModelAsked("deepseek", GIVEN[NEEDS[2]], **more)
    options = RunOptions(
        cwd=Path("/home/dev"),
        command="test",
        driver="headless",
        rows=ProfileRows((*ROWS, HostRow("measure", NAME))),
        model=model,
        providers=providers,
    )
    return list(run_session(places, options, [prompt], time.time))


def outcome(records: list[Record]) -> str:
    last = records[-1]
    assert isinstance(last, Ended)
    return last.outcome


def kinds(records: list[Record]) -> list[str]:
    return [record.event["type"] for record in records if isinstance(record, Happened)]


def test_a_model_answers(places: Places) -> None:
    records = go(places, "Answer with the one word: ready", max_tokens=2000)
    assert outcome(records) == "completed"
    assert "assistant/message" in kinds(records)
    log = b"".join(path.read_bytes() for path in places.data.rglob("*.jsonl"))
    assert GIVEN["DEEPSEEK_API_KEY"].encode() not in log


def test_a_model_calls_a_tool_and_goes_on(places: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(plugins.TABLE, NAME, "tests.plugins.tool_row:Measure")
    prompt = "Call the tool measure with the word 'strawberry' and tell me what it says."
    records = go(places, prompt, max_tokens=4000)
    assert outcome(records) == "completed"
    assert "tool/result" in kinds(records)


def test_an_answer_is_cut_where_asked(places: Places) -> None:
    records = go(places, "Count from 1 to 500 in words.", max_tokens=16)
    assert outcome(records) == "max-tokens"
