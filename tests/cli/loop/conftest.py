"""A profile to work on, and a module of loops and drivers that is found like an installed one."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.running import dshloop

MODULE = """\
async def setup(agent): pass
async def make(owner, options): return {"agent": None, "dispose": None}
critic = {"kind": "strategy", "setup": setup, "label": "A critic", "driver": "default"}
own_engine = {"kind": "driver", "createAgent": make, "resume": make}
class Driver:
    async def create_agent(self, owner, options): return await make(owner, options)
    async def resume(self, owner, options): return await make(owner, options)
"""


@pytest.fixture(autouse=True)
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    folder = tmp_path / "site"
    folder.mkdir()
    (folder / "cli_loops.py").write_text(MODULE)
    (folder / "cli_broken.py").write_text("raise ValueError('no key')\n")
    monkeypatch.syspath_prepend(str(folder))
    yield
    for name in ("cli_loops", "cli_broken"):
        sys.modules.pop(name, None)


@pytest.fixture
def profile(monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty profile that every command means, as its folder."""
    assert dshloop("profile", "create", "p", "--template", "empty").code == 0
    monkeypatch.setenv("DSHLOOP_PROFILE", "p")
    return Path(os.environ["DSH_HOME"]) / "profiles" / "p"


@pytest.fixture
def docked(profile: Path) -> Path:
    """The same with a dock row and an engine row; gives its patch file."""
    patch = profile / "cordis.patch.yml"
    patch.write_text(
        "# mine\n"
        "- insert:\n"
        "    - id: dock\n"
        "      name: dsh-loop-dock\n"
        "      config:\n"
        "        defaultLoop: standard # keep\n"
        "        presetLoops: {code: standard}\n"
        "        agents:\n"
        "          - id: first # stays\n"
        "    - {id: engine, name: dsh-loop-dock/headless-driver, config: {fakeDriver: true}}\n"
    )
    return patch
