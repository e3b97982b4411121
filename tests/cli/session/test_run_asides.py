"""What a run tells on stderr beside the answer."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.running import dshloop

SCRIPT = """\
turns:
  - steps:
      - {reasoning: "I should look.\\nThen tell.", calls: [{name: list, arguments: {path: .}}]}
      - {error: {message: busy, code: RATE_LIMIT, times: 1}, text: All is well.}
"""


@pytest.fixture
def script(tmp_path: Path) -> str:
    path = tmp_path / "script.yml"
    path.write_text(SCRIPT, encoding="utf-8")
    return str(path)


def test_a_request_that_is_made_again_is_told_and_nothing_else(script: str, tmp_path: Path) -> None:
    ran = dshloop("session", "run", "hi", "--script", script, cwd=tmp_path)
    assert ran.out == "All is well.\n"
    again, session = ran.err.splitlines()
    assert again.startswith("no answer (busy); it is asked for again in ")
    assert session.startswith("session ")
    quiet = dshloop("session", "run", "hi", "--script", script, "--quiet", cwd=tmp_path)
    assert (quiet.out, quiet.err) == ("All is well.\n", "")


def test_verbose_tells_thoughts_and_calls_too(script: str, tmp_path: Path) -> None:
    ran = dshloop("session", "run", "hi", "--script", script, "--verbose", cwd=tmp_path)
    assert ran.out == "All is well.\n"
    thought, more, call, again, _ = ran.err.splitlines()
    assert (thought, more) == ("thought: I should look.", "Then tell.")
    assert call.startswith('tool list {"path": "."} → script.yml')
    assert again.startswith("no answer (busy)")


def test_json_has_them_as_events_only(script: str, tmp_path: Path) -> None:
    ran = dshloop("session", "run", "hi", "--script", script, "--json", "--verbose", cwd=tmp_path)
    assert ran.err == ""
    kinds = [line["event"]["type"] for line in ran.lines if line["type"] == "event"]
    assert "llm/retry" in kinds
