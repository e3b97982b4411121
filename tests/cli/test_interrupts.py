"""Ctrl-C against code of other authors that hangs: the second one ends the process at once."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.running import dshloop, process

MODULE = """
import asyncio, sys, time
from dshloop.host.tools import Tool

def ready(): print("ready", flush=True)

async def hang():
    ready()
    await asyncio.sleep(1000)

async def cling():
    ready()
    while True:
        try:
            await asyncio.sleep(1000)
        except asyncio.CancelledError:
            pass

def block():
    ready()
    time.sleep(1000)

class Strategy:
    kind = "strategy"
    def setup(self, agent): ...

def tool(body):
    class WithTool(Strategy):
        def setup(self, agent):
            agent.tools.register(Tool("wait", "Waits.", lambda call: body()))
    return WithTool

def undo(body):
    class WithUndo(Strategy):
        def setup(self, agent):
            agent.undo(body)
    return WithUndo

def listener(body):
    class WithListener(Strategy):
        def setup(self, agent):
            agent.hooks.on("agent/pre-step", lambda event, following: body())
    return WithListener

def setup(body):
    class WithSetup(Strategy):
        def setup(self, agent):
            return body()
    return WithSetup

class HangingDriver:
    async def create_agent(self, owner, options): await hang()
    resume = create_agent

class ClingingDriver(HangingDriver):
    async def create_agent(self, owner, options): await cling()

class BadEnd:
    async def create_agent(self, owner, options):
        from dshloop.drivers.fake import FakeDriver
        from dshloop.loops.hosted import HostedDriver
        handle = await HostedDriver(FakeDriver()).create_agent(owner, options)
        async def dispose():
            await handle.dispose()
            raise ValueError("can't let go")
        return {"agent": handle.agent, "dispose": dispose}
    async def resume(self, owner, options): ...

hanging_tool, clinging_tool, blocking_tool = tool(hang), tool(cling), tool(block)
hanging_listener, clinging_setup, blocking_setup = listener(hang), setup(cling), setup(block)
hanging_undo, clinging_undo = undo(hang), undo(cling)
"""
SCRIPT = "turns: [{steps: [{calls: [{name: wait}]}, {text: done}]}]"


@pytest.fixture
def profile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    site = tmp_path / "site"
    site.mkdir()
    (site / "hanging.py").write_text(MODULE)
    monkeypatch.setenv("PYTHONPATH", str(site))
    monkeypatch.syspath_prepend(str(site))
    assert dshloop("profile", "create", "p", "--template", "empty").code == 0
    monkeypatch.setenv("DSHLOOP_PROFILE", "p")
    (tmp_path / "script.yml").write_text(SCRIPT)
    return Path(os.environ["DSH_HOME"]) / "profiles" / "p"


def running(*words: str) -> subprocess.Popen[str]:
    """Start a command and wait until code of the module says that it is ready."""
    ran = subprocess.Popen(
        [sys.executable, "-m", "dshloop", *words],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert ran.stderr is not None
    for line in ran.stderr:
        if line == "ready\n":
            return ran
    raise AssertionError(ran.communicate())


def interrupt(ran: subprocess.Popen[str], times: int) -> tuple[int, str]:
    """Press Ctrl-C and give exit code and stderr; the process must end without any more."""
    for _ in range(times):
        time.sleep(0.5)
        ran.send_signal(signal.SIGINT)
    try:
        _, err = ran.communicate(timeout=20)
    except subprocess.TimeoutExpired:
        ran.kill()
        raise
    return ran.returncode, err


@pytest.mark.slow
@pytest.mark.parametrize(
    ("loop", "times"),
    [
        ("hanging_tool", 2),
        ("clinging_tool", 2),
        ("blocking_tool", 2),
        ("hanging_listener", 2),
        ("clinging_setup", 2),
        ("blocking_setup", 2),
        ("hanging_undo", 1),
        ("clinging_undo", 1),
    ],
)
def test_what_hangs_ends_with_ctrl_c(profile: Path, tmp_path: Path, loop: str, times: int) -> None:
    (profile / "loops.yml").write_text(f"loops: {{a: hanging:{loop}}}")
    script = str(tmp_path / "script.yml")
    words = ("session", "run", "hi", "--script", script, "--loop", "a", "--session-id", "s")
    code, err = interrupt(running(*words), times)
    assert (code, err.splitlines()) == (130, ["error: interrupted (INTERRUPTED)"])
    if not loop.endswith("setup"):
        (profile / "loops.yml").write_text("loops: {a: hanging:Strategy}")
        again = dshloop("session", "run", "hi", "--resume", "s")
        assert again.code == 0


@pytest.mark.parametrize("driver", ["HangingDriver", "ClingingDriver"])
def test_agents_whose_driver_hangs_end_with_the_timeout(profile: Path, driver: str) -> None:
    team(profile, driver)
    ran = process("agent", "start", "--timeout", "0.1", "--json")
    found = {one["id"]: one for one in json.loads(ran.stdout)}
    assert ran.returncode == 1
    assert found["stuck"]["state"] == "failed"
    assert found["stuck"]["fault"]["message"] == "it has not started within 0.1 s"
    assert found["fine"]["state"] == "started"


@pytest.mark.slow
@pytest.mark.parametrize(("driver", "times"), [("HangingDriver", 1), ("ClingingDriver", 2)])
def test_agents_whose_driver_hangs_end_with_ctrl_c(profile: Path, driver: str, times: int) -> None:
    team(profile, driver)
    code, err = interrupt(running("agent", "start"), times)
    assert (code, err.splitlines()[-1]) == (130, "error: interrupted (INTERRUPTED)")


def team(profile: Path, driver: str) -> None:
    """Have the dock row ask for an agent whose driver hangs, and one whose driver doesn't."""
    (profile / "loops.yml").write_text(f"drivers: {{hanging: hanging:{driver}}}")
    rows = (
        "- insert:\n"
        "    - id: dock\n"
        "      name: dsh-loop-dock\n"
        "      config: {agents: [{id: stuck, driver: hanging}, {id: fine, driver: fake-driver}]}\n"
        "    - {id: engine, name: dsh-loop-dock/headless-driver, config: {fakeDriver: true}}\n"
    )
    (profile / "cordis.patch.yml").write_text(rows)


def test_an_end_that_raises_is_told(profile: Path) -> None:
    (profile / "loops.yml").write_text("drivers: {bad: hanging:BadEnd}")
    ran = dshloop("session", "run", "hi", "--driver", "bad", "--session-id", "s")
    assert ran.code == 0
    assert ran.out.startswith("[FAKE-DRIVER]")
    assert ran.err.splitlines()[1:] == ['ending agent "s": can\'t let go', "session s"]


def test_who_but_a_person_aborts_a_turn_is_told_and_a_failure(profile: Path) -> None:
    (profile / "loops.yml").write_text("loops: {a: {budget: {seconds: 1e-9}}}")
    words = ("session", "run", "hi", "--driver", "fake", "--loop", "a")
    ran = dshloop(*words)
    said = "the loop's budget of 1e-09 seconds a turn is used up"
    assert ran.code == 1
    assert f"error: {said} (ABORTED)" in ran.err
    end = dshloop(*words, "--json").lines[-1]
    assert (end["outcome"], end["failure"]) == ("aborted", {"message": said, "code": "ABORTED"})
    assert said in dshloop("session", "show", "last").out
