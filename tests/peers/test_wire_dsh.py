"""The real dsh and our default driver at one scripted model: the same codes, the same history."""

from __future__ import annotations

import os
import re
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from dshloop import plugins
from dshloop.config import Config
from dshloop.host.retry import RetryPolicy
from dshloop.host.rows import HostRow
from dshloop.llm.credentials import Keyring
from dshloop.llm.providers import read_providers
from dshloop.paths import Places
from dshloop.plugins import headless_driver
from dshloop.plugins.built_in import ROWS
from dshloop.runs.profile import ProfileRows
from dshloop.runs.talking.conversation import RunOptions
from dshloop.runs.talking.run import Ended, run_session
from tests.fake_model import FakeModel, fake_model
from tests.peers.test_sessions_dsh import program
from tests.plugins.tool_row import NAME

pytestmark = [pytest.mark.peer, pytest.mark.slow]

QUIET = """\
- {id: llm-retry, disabled: true}
- {id: session-title-llm, disabled: true}
- {id: session-log-deepseek, disabled: true}
- {id: plugin-package-inventory-deepseek, disabled: true}
"""
PROMPT = "hello"


@pytest.fixture
def dsh() -> str:
    return program("DSHLOOP_TEST_DSH", "0.2.1")


@pytest.fixture(autouse=True)
def row(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have a tool offered, as requests without one get another answer, and nothing tried again."""
    monkeypatch.setitem(plugins.TABLE, NAME, "tests.plugins.tool_row:Measure")
    monkeypatch.setattr(headless_driver, "RETRIES", RetryPolicy(retries=0))


def theirs(dsh: str, folder: Path, model: FakeModel) -> str | None:
    """Run the real dsh; give the code of its failure."""
    home, cwd = folder / "home", folder / "work"
    home.mkdir()
    cwd.mkdir()
    (home / "cordis.patch.yml").write_text(QUIET)
    variables = {
        **os.environ,
        "DSH_HOME": str(home),
        "DSH_TELEMETRY_DISABLED": "1",
        "DEEPSEEK_API_KEY": "dummy",
        "DEEPSEEK_BASE_URL": model.url,
    }
    ran = subprocess.run(
        [dsh, "--profile", "headless", PROMPT],
        cwd=cwd,
        env=variables,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    found = re.search(r"^dsh: ([A-Z_0-9]+): ", ran.stderr, re.M)
    return found[1] if found else None


def ours(folder: Path, model: FakeModel) -> str | None:
    """Run the default driver; give the code of its failure."""
    places = Places(folder / "dsh", folder / "data", folder / "config")
    variables = {"DEEPSEEK_API_KEY": "dummy", "DEEPSEEK_BASE_URL": model.url}
    keys = Keyring(variables, places.dsh_home)
    options = RunOptions(
        cwd=folder,
        command="test",
        driver="headless",
        rows=ProfileRows((*ROWS, HostRow("measure", NAME))),
        providers=lambda: read_providers(Config(places.config_file, {}), keys),
    )
    *_, last = run_session(places, options, [PROMPT], time.time)
    assert isinstance(last, Ended)
    return None if last.failure is None else str(last.failure["code"])


ANSWERS: dict[str, list[dict[str, Any]]] = {
    "fine": [{"text": "hi"}],
    "401": [{"error": 401, "type": "authentication_error", "message": "no"}],
    "403": [{"error": 403, "type": "permission_error", "message": "no"}],
    "402": [{"error": 402, "type": "unknown", "message": "Insufficient Balance"}],
    "429": [{"error": 429, "type": "rate_limit_error", "message": "slow"}],
    "429 quota": [{"error": 429, "type": "x", "message": "You exceeded your current quota"}],
    "400": [{"error": 400, "type": "invalid_request_error", "message": "bad"}],
    "400 context": [
        {"error": 400, "type": "invalid_request_error",
         "message": "This model's maximum context length is 10 tokens"},
    ],
    "413": [{"error": 413, "type": "request_too_large", "message": "big"}],
    "404": [{"error": 404, "type": "not_found_error", "message": "none"}],
    "408": [{"error": 408, "type": "x", "message": "late"}],
    "409": [{"error": 409, "type": "x", "message": "conflict"}],
    "422": [{"error": 422, "type": "x", "message": "what"}],
    "500": [{"error": 500, "type": "api_error", "message": "oh"}],
    "529": [{"error": 529, "type": "overloaded_error", "message": "busy"}],
    "dropped": [{"text": "half"}, {"drop": True}],
    "empty": [],
    "arguments": [{"tool": "read", "raw": "[1"}],
    "stop": [{"text": "a"}, {"stop": "sideways"}],
}  # fmt: skip


@pytest.mark.parametrize("name", ANSWERS)
def test_failures_have_the_same_code(name: str, dsh: str, tmp_path: Path) -> None:
    with fake_model(tmp_path, ANSWERS[name]) as model:
        assert ours(tmp_path, model) == theirs(dsh, tmp_path, model)


def test_history_is_the_same_on_the_wire(dsh: str, tmp_path: Path) -> None:
    first = [{"reasoning": "hm"}, {"text": "Look."}, {"tool": "nosuchtool", "input": {"a": 1}}]
    sent = []
    for side in ("ours", "theirs"):
        folder = tmp_path / side
        folder.mkdir()
        with fake_model(folder, first, [{"text": "done"}]) as model:
            if side == "ours":
                assert ours(folder, model) is None
            else:
                assert theirs(dsh, folder, model) is None
            sent.append(model.asked)
    mine, other = sent
    assert [one["path"] for one in mine] == [one["path"] for one in other]
    for asked in (mine[1], other[1]):
        assert asked["headers"]["anthropic-version"] == "2023-06-01"
    keys = ("model", "max_tokens", "stream")
    assert [mine[1]["body"][key] for key in keys] == [other[1]["body"][key] for key in keys]
    assert mine[1]["body"]["messages"][1] == other[1]["body"]["messages"][1]
    results = [asked[1]["body"]["messages"][2]["content"][0] for asked in (mine, other)]
    for key in ("type", "tool_use_id", "is_error"):
        assert results[0][key] == results[1][key]
