"""The quick start beside the real dsh, whose own bundles bring the other rows of `web`."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from dshloop.drivers.fake import FAKE_REPLY
from tests.cli.test_quick_start import follow_quick_start, offline

pytestmark = [pytest.mark.peer, pytest.mark.slow]


@pytest.fixture
def dsh() -> Path:
    found = shutil.which(os.environ.get("DSHLOOP_TEST_DSH", ""))
    if found is None:
        pytest.skip("set DSHLOOP_TEST_DSH to a dsh (tests/peers/dsh-setup.sh installs one)")
    return Path(found)


def test_the_quick_start_among_the_rows_of_a_real_web_profile(tmp_path: Path, dsh: Path) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "dsh").symlink_to(dsh.resolve())
    path = os.pathsep.join([str(programs), "/usr/bin", "/bin"])
    found = follow_quick_start(tmp_path, PATH=path)
    assert (found[0]["loop"], found[0]["driver"]) == ("standard", "fake-driver")
    dump = offline("profile", "dump", "web", cwd=tmp_path, PATH=path).stdout
    (official,) = (part for part in dump.split("- id: ") if part.startswith("agent-loop\n"))
    assert "disabled: true" in official
    run = offline("session", "run", "hi", "--profile", "web", cwd=tmp_path, PATH=path)
    assert run.stdout == f"{FAKE_REPLY}\n"
    assert "rows of profile web run only in dsh" in run.stderr
