"""Loops and drivers that broke since a session was made: a clear error, the session untouched."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from tests.running import dshloop

GOOD = """
from dshloop.host.engine import Engine
from dshloop.loops.hosted import HostedDriver
good = HostedDriver(Engine())
strategy = {"kind": "strategy", "setup": lambda agent: None}
"""
LYING = """
class Lying:
    async def create_agent(self, owner, options):
        {}
    resume = create_agent
"""
LIES = {
    "none": LYING.format("return None"),
    "no agent": LYING.format("return {'agent': object(), 'dispose': lambda: None}"),
    "no coroutine": LYING.replace("async ", "").format("return 7"),
    "no resume": LYING.replace("    resume = create_agent\n", "").format("return None"),
    "raises": LYING.format("raise KeyError('x')"),
}
CODES = {"raises": "AGENT_FAILED", "no resume": "INVALID_DRIVER"}


@pytest.fixture
def session(docked: Path, tmp_path: Path) -> Path:
    """Make a session on a loop of a module; gives its log."""
    change(tmp_path, GOOD)
    text = "loops: {own: cli_changing:strategy}\ndrivers: {mine: cli_changing:good}\n"
    (docked.parent / "loops.yml").write_text(text)
    words = ("--driver", "fake", "--loop", "own", "--session-id", "s1")
    assert dshloop("session", "run", "hi", *words).code == 0
    (log,) = Path(os.environ["DSHLOOP_DATA"]).rglob("session.jsonl")
    return log


def change(tmp_path: Path, text: str) -> None:
    (tmp_path / "site" / "cli_changing.py").write_text(text + "\n# changed\n")
    sys.modules.pop("cli_changing", None)
    sys.path_importer_cache.clear()


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("raise RuntimeError('no key')", "LOOP_IMPORT_FAILED"),
        ("strategy = 7", "INVALID_LOOP_DEFINITION"),
        ("strategy = {'kind': 'strategy'}", "INVALID_LOOP_DEFINITION"),
        ("def strategy(config): raise ValueError('no')", "LOOP_IMPORT_FAILED"),
        ("import sys; sys.exit(3)", "LOOP_IMPORT_FAILED"),
    ],
)
def test_a_loop_that_broke_leaves_its_session_untouched(
    session: Path, tmp_path: Path, text: str, code: str
) -> None:
    before = session.read_bytes()
    change(tmp_path, text)
    ran = dshloop("session", "run", "hi", "--resume", "s1", "--json")
    assert (ran.code, ran.out, ran.error["code"]) == (1, "", code)
    assert session.read_bytes() == before


@pytest.mark.parametrize("lie", LIES)
def test_a_driver_that_lies_makes_no_session(session: Path, tmp_path: Path, lie: str) -> None:
    before = session.read_bytes()
    change(tmp_path, GOOD + LIES[lie] + "good = Lying()\n")
    ran = dshloop("session", "run", "hi", "--driver", "mine", "--session-id", "s2", "--json")
    assert ran.out == ""
    assert ran.error["code"] == CODES.get(lie, "DRIVER_CONTRACT")
    assert ran.code == (2 if lie == "no resume" else 1)
    assert session.read_bytes() == before
    assert list(Path(os.environ["DSHLOOP_DATA"]).rglob("session.jsonl")) == [session]


def test_a_route_to_nothing_leaves_its_session_untouched(session: Path, docked: Path) -> None:
    before = session.read_bytes()
    text = docked.read_text()
    docked.write_text(
        text.replace("presetLoops:", "sessionLoops: {new: gone}\n        presetLoops:")
    )
    ran = dshloop("session", "run", "hi", "--driver", "fake", "--session-id", "new", "--json")
    assert (ran.code, ran.error["code"]) == (3, "UNKNOWN_LOOP")
    assert ran.error["details"] == {"loop": "gone", "available": ["standard", "own"]}
    assert session.read_bytes() == before
    assert list(Path(os.environ["DSHLOOP_DATA"]).rglob("session.jsonl")) == [session]


RAISES = ["import sys; sys.exit(7)", "raise BaseException('own')"]


@pytest.mark.parametrize("raises", RAISES)
@pytest.mark.parametrize(
    "text",
    [
        "{}",
        "def strategy(config):\n    {}",
        "async def setup(agent):\n    {}\nstrategy = {{'kind': 'strategy', 'setup': setup}}",
        "async def make(owner, options):\n    {}\n"
        "strategy = {{'kind': 'driver', 'createAgent': make, 'resume': make}}",
    ],
)
def test_what_would_end_the_process_is_an_error_of_that_loop(
    docked: Path, tmp_path: Path, text: str, raises: str
) -> None:
    change(tmp_path, text.format(raises))
    (docked.parent / "loops.yml").write_text("loops: {own: cli_changing:strategy}\n")
    listed = dshloop("loop", "list", "--json")
    assert listed.code == 0
    words = [] if "'driver'" in text else ["--driver", "fake"]
    ran = dshloop("session", "run", "hi", *words, "--loop", "own", "--json")
    assert ran.out == ""
    assert ran.code == 1
    assert ran.error["code"] in ("LOOP_IMPORT_FAILED", "AGENT_FAILED")
    assert "Traceback" not in ran.err


def test_an_interrupt_while_a_loop_is_imported_is_one(docked: Path, tmp_path: Path) -> None:
    change(tmp_path, "raise KeyboardInterrupt")
    (docked.parent / "loops.yml").write_text("loops: {own: cli_changing:strategy}\n")
    ran = dshloop("loop", "list", "--json")
    assert (ran.code, ran.out, ran.error["code"]) == (130, "", "INTERRUPTED")


def test_what_loops_print_is_no_answer(docked: Path, tmp_path: Path) -> None:
    noisy = "print('loud import')\ndef setup(agent): print('loud setup')\n"
    change(tmp_path, noisy + "strategy = {'kind': 'strategy', 'setup': setup}")
    (docked.parent / "loops.yml").write_text("loops: {own: cli_changing:strategy}\n")
    listed = dshloop("loop", "list", "--json")
    assert [one["id"] for one in listed.json] == ["own", "standard"]
    assert "loud import" in listed.err
    sys.modules.pop("cli_changing")
    ran = dshloop("session", "run", "hi", "--driver", "fake", "--loop", "own")
    assert ran.out == "[FAKE-DRIVER] fake driver reply — generated locally, no model call.\n"
    assert "loud import\nloud setup\n" in ran.err


UNREADABLE = """
class Unreadable:
    kind = "strategy"
    async def create_agent(self, owner, options): ...
    resume = property(lambda self: 1 / 0)
    setup = property(lambda self: 1 / 0)
"""


def test_members_that_raise_are_a_fault_of_that_one_alone(docked: Path, tmp_path: Path) -> None:
    change(tmp_path, UNREADABLE)
    target = "cli_changing:Unreadable"
    (docked.parent / "loops.yml").write_text(f"loops: {{own: {target}}}\ndrivers: {{p: {target}}}")
    loops = {one["id"]: one for one in dshloop("loop", "list", "--json").json}
    drivers = {one["name"]: one for one in dshloop("driver", "list", "--json").json}
    assert loops["own"]["fault"]["code"] == "INVALID_LOOP_DEFINITION"
    assert drivers["p"]["fault"]["code"] == "INVALID_DRIVER"
    assert "ZeroDivisionError" in drivers["p"]["fault"]["message"]
    assert drivers["fake-driver"]["fault"] is None
    assert dshloop("session", "run", "hi", "--driver", "fake").code == 0


def test_an_async_generator_prepares_and_may_refuse(docked: Path, tmp_path: Path) -> None:
    text = """
async def setup(agent):
    agent.prompt.section("own", "Own words.")
    yield
    if agent.session.header.id == "refused":
        raise ValueError("not this one")
strategy = {"kind": "strategy", "setup": setup}
"""
    change(tmp_path, text)
    (docked.parent / "loops.yml").write_text("loops: {own: cli_changing:strategy}\n")
    words = ("session", "run", "hi", "--driver", "fake", "--loop", "own", "--session-id")
    ran = dshloop(*words, "taken", "--json")
    assert ran.code == 0
    assert "Own words." in ran.out
    refused = dshloop(*words, "refused", "--json")
    assert (refused.code, refused.error["code"]) == (1, "AGENT_FAILED")
    assert "not this one" in refused.error["message"]
    assert dshloop("session", "show", "refused").code == 3


WITHOUT_SETUP = """
async def create_agent(owner, options):
    return await good.create_agent(owner, {**options, "setup": None})
driver = {"createAgent": create_agent, "resume": good.resume}
"""
OTHER_BINDING = """
def setup(agent):
    agent.append("agent-preset/selected", {"agentLoopDock": {"loop": "standard"}})
strategy = {"kind": "strategy", "setup": setup}
"""
UNKNOWN_EVENT = """
def setup(agent): agent.append("mine/happened", {})
strategy = {"kind": "strategy", "setup": setup}
"""
NO_JSON = UNKNOWN_EVENT.replace('"mine/happened", {}', '"todo/write", {"todos": [object()]}')


@pytest.mark.parametrize(
    ("text", "driver", "code", "said"),
    [
        (WITHOUT_SETUP, "mine", "DRIVER_CONTRACT", "its setup was not run"),
        (OTHER_BINDING, "fake", "DRIVER_CONTRACT", "its setup bound it to standard"),
        (UNKNOWN_EVENT, "fake", "AGENT_FAILED", "mine/happened is no event type"),
        (NO_JSON, "fake", "AGENT_FAILED", "not JSON serializable"),
    ],
)
def test_what_a_session_records_is_the_docks_alone(
    docked: Path, tmp_path: Path, text: str, driver: str, code: str, said: str
) -> None:
    change(tmp_path, GOOD + text)
    loops = "loops: {own: cli_changing:strategy}\ndrivers: {mine: cli_changing:driver}\n"
    (docked.parent / "loops.yml").write_text(loops)
    words = ("--loop", "own", "--driver", driver, "--session-id", "s", "--json")
    ran = dshloop("session", "run", "hi", *words)
    assert (ran.code, ran.out, ran.error["code"]) == (1, "", code)
    assert said in ran.error["message"]
    assert dshloop("session", "show", "s").code == 3


def test_what_the_rows_warned_of_is_told_with_the_error_of_a_run() -> None:
    settings = Path(os.environ["DSH_HOME"]) / "settings.yaml"
    settings.parent.mkdir(parents=True, exist_ok=True)
    settings.write_text("agent-loops: {defaultDriver: fake-driver\n")
    ran = dshloop("session", "run", "hi")
    assert ran.code == 3
    warned, error = ran.err.index("the settings can't be read"), ran.err.index("error: no model")
    assert warned < error
    assert ran.err.count("the settings can't be read") == 1
    assert len(dshloop("session", "run", "hi", "--json").err.splitlines()) == 1
