"""The pytest plugin, as an author's CI has it: by its entry point, from a wheel."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from dshloop.loops.standard import standard_loop
from dshloop.runs.authoring.kit import LoopKit
from dshloop.runs.authoring.new import plan_package
from tests.running import run_script
from tests.test_documents import ROOT

MODULE = "dshloop.runs.authoring.pytest_plugin"


def test_the_plugin_imports_nothing_for_who_does_not_use_it() -> None:
    code = f"""
import sys, pytest
before = set(sys.modules)
import {MODULE}
print(*sorted(set(sys.modules) - before))
"""
    ran = run_script([sys.executable, "-c", code])
    assert ran.stdout.split() == ["dshloop", "dshloop.runs", "dshloop.runs.authoring", MODULE]


def test_a_failed_check_fails_the_test_and_says_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(
        "class Bad:\n"
        "    kind = 'strategy'\n"
        "    async def setup(self, agent):\n"
        "        agent.hooks.on('agent/requst', None)\n"
        "def test_it(dshloop_loop_kit):\n"
        "    dshloop_loop_kit.check(Bad).require_passed()\n"
        "def test_that_hangs(dshloop_loop_kit):\n"
        "    import asyncio\n"
        "    class Hangs:\n"
        "        kind = 'strategy'\n"
        "        async def setup(self, agent):\n"
        "            await asyncio.Event().wait()\n"
        "    dshloop_loop_kit.patience = 0.2\n"
        "    dshloop_loop_kit.run(Hangs, 'hi')\n"
    )
    words = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "--tb=line"]
    ran = run_script([sys.executable, *words, str(tmp_path)], cwd=tmp_path)
    assert "2 failed" in ran.stdout
    assert 'it listens to "agent/requst", which nobody dispatches' in ran.stdout
    assert 'Did you mean "agent/request"?' in ran.stdout
    assert "the session has not ended within 0.2 s" in ran.stdout


def test_a_run_of_the_kit_uses_no_store_of_the_person(
    dshloop_loop_kit: LoopKit, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DSHLOOP_STORE", "http://127.0.0.1:9")  # where nobody answers
    calls = "[{name: remember, arguments: {content: We deploy on Fridays}}]"
    script = f"turns: [{{steps: [{{calls: {calls}}}, done]}}]"
    ran = dshloop_loop_kit.run(standard_loop(), "remember it", script=script)
    assert ran.tool_calls == ["remember"]
    assert not [event for event in ran.of_type("tool/result") if "error" in event["data"]]
    data = Path(os.environ["DSHLOOP_DATA"])
    assert not data.exists() or not list(data.rglob("*.db"))


@pytest.mark.slow
def test_a_wheel_has_plugin_and_templates(tmp_path: Path) -> None:
    words = ["-m", "build", "--wheel", "--no-isolation", "--outdir", str(tmp_path), str(ROOT)]
    subprocess.run([sys.executable, *words], check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "site")
    points = next((tmp_path / "site").glob("*.dist-info")) / "entry_points.txt"
    assert f"[pytest11]\ndshloop = {MODULE}" in points.read_text()
    code = (
        "from pathlib import Path; from dshloop.runs.authoring.new import plan_package as plan;"
        "print(*plan('careful', 'strategy', Path('/nowhere/new')).files)"
    )
    env = {"PYTHONPATH": str(tmp_path / "site"), "PATH": ""}
    ran = run_script([sys.executable, "-c", code], env=env, cwd=tmp_path)
    files = plan_package("careful", "strategy", Path("/nowhere/new")).files
    assert ran.stdout.split() == files
