"""session bind: what is inferred is recorded, once and on purpose."""

from __future__ import annotations

import os
from pathlib import Path

from dshloop.sessions.log import SessionLog
from tests.running import dshloop


def unbound(preset: str | None = None) -> Path:
    """Make a session that nothing is recorded of."""
    root = Path(os.environ["DSHLOOP_DATA"]) / "sessions"
    clock = lambda: 1.0  # noqa: E731
    log = SessionLog.create(
        root, "s1", cwd=str(Path.cwd()), clock=clock, command="test", agent_preset=preset
    )
    log.append("turn/start", {"turn": 1})
    log.append("turn/end", {"turn": 1, "reason": {"kind": "completed"}})
    log.close()
    return log.path


def test_a_session_without_a_record_is_bound_and_stays_bound() -> None:
    path = unbound("code")
    before = path.read_bytes()
    shown = dshloop("session", "bind", "s1", "--dry-run", "--json").json
    assert (shown["loop"], shown["driver"], shown["written"]) == ("standard", "default", False)
    assert path.read_bytes() == before
    explained = dshloop("loop", "explain", "--resume", "--session", "s1", "--json").json
    assert explained["recorded"] is False
    assert any("not recorded" in notice for notice in explained["notices"])
    bound = dshloop("session", "bind", "s1", "--json").json
    assert bound["written"] is True
    after = path.read_bytes()
    assert after.startswith(before)
    assert b'"agentPreset":"code","agentLoopDock":{"loop":"standard","driver":"default"}' in after
    again = dshloop("session", "bind", "s1", "--json").json
    assert (again["recorded_before"], again["written"]) == (True, False)
    assert path.read_bytes() == after
    assert dshloop("loop", "explain", "--resume", "--session", "s1", "--json").json["recorded"]


def test_what_could_not_run_is_not_bound() -> None:
    path = unbound()
    before = path.read_bytes()
    settings = Path(os.environ["DSH_HOME"]) / "settings.yaml"
    settings.parent.mkdir(parents=True, exist_ok=True)
    settings.write_text("agent-loops: {defaultDriver: nobody}\n")
    ran = dshloop("session", "bind", "s1", "--json")
    assert (ran.code, ran.error["code"]) == (3, "MISSING_DRIVER")
    assert path.read_bytes() == before
    assert dshloop("session", "bind", "none").code == 3
