"""Sessions on loops and drivers of loops.yml."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from dshloop import plugins
from tests.running import dshloop

MODULE = """\
from dshloop.drivers.fake import FakeDriver
from dshloop.loops.hosted import HostedDriver
class Mine(FakeDriver):
    provider, model, reply = "mine", "m", "said by mine"
def driver(): return HostedDriver(Mine())
packed = {"kind": "strategy", "setup": lambda agent: None, "label": "Packed"}
def of_row(agent): agent.prompt.section("row", "Of the row.")
class Row:
    name, inject = "run-row", ("agentLoopDock",)
    Config = staticmethod(lambda raw: None)
    async def apply(self, host, config):
        loop = {"id": "both", "kind": "strategy", "setup": of_row}
        host.undo(host.service("agentLoopDock").register(loop))
class Liar:
    async def create_agent(self, owner, options): return "no handle"
    async def resume(self, owner, options): return "no handle"
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A profile with loops.yml, and a module that is found like an installed one."""
    site = tmp_path / "site"
    site.mkdir()
    (site / "run_loops.py").write_text(MODULE)
    (site / "run_broken.py").write_text("raise ValueError('no key')\n")
    monkeypatch.syspath_prepend(str(site))
    monkeypatch.setattr(plugins, "_names", None)
    assert dshloop("profile", "create", "p", "--template", "empty").code == 0
    monkeypatch.setenv("DSHLOOP_PROFILE", "p")
    folder = Path(os.environ["DSH_HOME"]) / "profiles" / "p"
    (folder / "loops.yml").write_text(
        "loops:\n"
        "  careful: {prompt: Look twice., driver: mine}\n"
        "  broken: run_broken:x\n"
        "drivers:\n"
        "  mine: run_loops:driver\n"
        "  liar: run_loops:Liar\n"
    )
    yield folder
    sys.modules.pop("run_loops", None)


def test_a_strategy_runs_on_its_own_driver_with_its_prompt() -> None:
    ran = dshloop("session", "run", "hi", "--loop", "careful", "--json", "--session-id", "s")
    assert ran.code == 0
    assert (ran.lines[0]["loop"], ran.lines[0]["driver"]) == ("careful", "mine")
    events = [line["event"] for line in ran.lines if line["type"] == "event"]
    header = next(event for event in events if event["type"] == "request/header")
    assert "Look twice." in header["data"]["header"]["system"]
    message = next(event for event in events if event["type"] == "assistant/message")
    assert message["data"]["message"]["content"][0]["text"] == "said by mine"
    again = dshloop("session", "run", "more", "--resume", "s", "--json")
    assert (again.lines[0]["loop"], again.lines[0]["driver"]) == ("careful", "mine")
    assert dshloop("session", "run", "x", "--resume", "s", "--driver", "fake").code == 4


@pytest.mark.parametrize(
    ("words", "code", "error"),
    [
        (["--loop", "broken", "--driver", "fake"], 1, "LOOP_IMPORT_FAILED"),
        (["--loop", "nobody", "--driver", "fake"], 3, "UNKNOWN_LOOP"),
        (["--driver", "liar"], 1, "DRIVER_CONTRACT"),
        (["--driver", "nobody"], 3, "DRIVER_UNAVAILABLE"),
    ],
)
def test_what_can_not_run_is_one_clear_error_and_leaves_nothing(
    words: list[str], code: int, error: str
) -> None:
    ran = dshloop("session", "run", "hi", *words, "--json")
    assert (ran.code, ran.error["code"]) == (code, error)
    assert not list(Path(os.environ["DSHLOOP_DATA"]).rglob("session.jsonl"))


def test_a_broken_loop_does_not_stop_the_others() -> None:
    ran = dshloop("session", "run", "hi", "--driver", "fake")
    assert ran.code == 0
    assert "loop broken can't be used" in ran.err


def test_a_loops_file_that_is_wrong_starts_nothing(folder: Path) -> None:
    (folder / "loops.yml").write_text("loops: {a: {promt: x}}\n")
    ran = dshloop("session", "run", "hi", "--driver", "fake", "--json")
    assert (ran.code, ran.error["code"]) == (1, "LOOPS_FILE_INVALID")


def test_loops_of_the_file_hide_built_in_ones(folder: Path) -> None:
    (folder / "loops.yml").write_text(
        "loops:\n  standard: {prompt: Ours.}\ndrivers:\n  fake-driver: run_loops:driver\n"
    )
    ran = dshloop("session", "run", "hi", "--driver", "fake")
    assert ran.code == 0
    assert ran.out.strip() == "said by mine"
    assert "loops.yml:4) hides that of built-in (dshloop)" in ran.err


def package(tmp_path: Path, points: str) -> None:
    info = tmp_path / "site" / "pack-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: pack\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(points)


PACKAGE = """
[dshloop.loops]
standard = run_loops:packed
[dshloop.drivers]
default = run_loops:driver
[dshloop.plugins]
run-row = run_loops:Row
"""


def test_a_package_is_nearer_than_what_is_built_in(folder: Path, tmp_path: Path) -> None:
    (folder / "loops.yml").unlink()
    package(tmp_path, PACKAGE)
    hidden = "of package (pack) hides that of built-in (dshloop)"
    assert f'"standard" {hidden}' in dshloop("loop", "list").err
    assert dshloop("loop", "show", "standard", "--json").json["label"] == "Packed"
    assert dshloop("driver", "show", "default", "--json").json["from"] == "package"
    ran = dshloop("session", "run", "hi")
    assert (ran.code, ran.out) == (0, "said by mine\n")
    assert f'loop "standard" {hidden}' in ran.err
    assert f'driver "default" {hidden}' in ran.err


def test_a_profile_is_nearer_than_a_package(folder: Path, tmp_path: Path) -> None:
    package(tmp_path, PACKAGE)
    (folder / "loops.yml").write_text("loops: {standard: {label: Of the profile}}")
    shown = dshloop("loop", "show", "standard", "--json").json
    assert (shown["label"], [one["from"] for one in shown["shadows"]]) == (
        "Of the profile",
        ["package", "built-in"],
    )
    ran = dshloop("session", "run", "hi", "--driver", "fake")
    assert "Packed" not in ran.err
    assert 'loop "standard" of profile' in ran.err


def test_a_program_is_nearer_than_a_profile(folder: Path, tmp_path: Path) -> None:
    package(tmp_path, PACKAGE)
    rows = "- insert: [{id: mine, name: run-row}]\n"
    (folder / "cordis.patch.yml").write_text(rows)
    (folder / "loops.yml").write_text("loops: {both: {prompt: Of the profile.}}")
    ran = dshloop("session", "run", "hi", "--driver", "fake", "--loop", "both", "--json")
    assert ran.code == 0
    assert "Of the row." in ran.out
    assert "Of the profile." not in ran.out
    told = dshloop("session", "run", "hi", "--driver", "fake", "--loop", "both").err
    assert 'loop "both" of program (a row) hides that of profile' in told


def test_a_loop_of_a_package_is_found_by_its_name(tmp_path: Path) -> None:
    package(tmp_path, "[dshloop.drivers]\ntheirs = run_loops:driver\n")
    ran = dshloop("session", "run", "hi", "--driver", "theirs")
    assert ran.code == 0
    assert ran.out.strip() == "said by mine"


def test_a_misspelt_loop_of_a_package_is_guessed(tmp_path: Path) -> None:
    package(tmp_path, "[dshloop.loops]\nthorough = run_loops:packed\n")
    ran = dshloop("session", "run", "hi", "--loop", "thorogh", "--driver", "fake", "--json")
    assert (ran.code, ran.error["code"]) == (3, "UNKNOWN_LOOP")
    assert ran.error["hint"].startswith('Did you mean "thorough"? `dshloop loop list`')
