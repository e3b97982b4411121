"""A matrix over the real dsh, an ACP agent and our own engine, all asking one scripted model."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.fake_model import fake_model
from tests.peers.test_sessions_dsh import program
from tests.running import dshloop

pytestmark = [pytest.mark.peer, pytest.mark.slow]

MATRIX = """\
drivers:
  - headless
  - dsh
  - {id: dsh-acp, driver: acp, command: dsh --profile acp}
prompts: [Are you there?]
checks: [{contains: aye}]
timeout: 90
"""


def test_engines_of_their_own_run_beside_ours(tmp_path: Path) -> None:
    found = program("DSHLOOP_TEST_DSH", "0.2.1")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "dsh").symlink_to(found)
    (tmp_path / "dsh").mkdir()
    (tmp_path / "m.yml").write_text(MATRIX)
    with fake_model(tmp_path, [{"text": "aye"}]) as model:
        variables = {
            "PATH": f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}",
            "DSH_HOME": str(tmp_path / "dsh"),
            "DSH_TELEMETRY_DISABLED": "1",
            "DEEPSEEK_API_KEY": "dummy",
            "DEEPSEEK_BASE_URL": model.url,
        }
        words = ("session", "matrix", str(tmp_path / "m.yml"), "--json", "--jobs", "3")
        ran = dshloop(*words, cwd=tmp_path, variables=variables)
    assert ran.code == 0, ran.out + ran.err
    cells = [record for record in ran.lines if record["type"] == "cell"]
    assert sorted(cell["ran_on"]["driver"] for cell in cells) == ["acp", "default", "dsh"]
    assert all(cell["passed"] and cell["steps"] == 1 for cell in cells)
