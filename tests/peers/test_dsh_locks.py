"""dsh and dshloop wait for each other at a profile's package.json."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from dshloop import locks
from dshloop.errors import LockHeldError

pytestmark = [pytest.mark.peer, pytest.mark.slow]

# pnpm runs this file of the profile first; it stands still until the test lets it go on.
PNPMFILE = """
const fs = require('fs');
fs.writeFileSync(process.env.TEST_READY, 'x');
while (!fs.existsSync(process.env.TEST_GO)) {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20);
}
module.exports = {hooks: {}};
"""


class Peer:
    """The real dsh on a home of its own with one profile, whose pnpm runs can be held up."""

    def __init__(self, program: str, root: Path) -> None:
        self.program, self.root = program, root
        self.ready, self.go = root / "ready", root / "go"
        self.profile = root / "home" / "profiles" / "q"
        self.target = self.profile / "package.json"
        self.running: list[subprocess.Popen[str]] = []

    def start(self, *words: str) -> subprocess.Popen[str]:
        child = subprocess.Popen(
            [self.program, "plugin", "--profile", "q", *words],
            env={
                **os.environ,
                "DSH_HOME": str(self.root / "home"),
                "DSH_TELEMETRY_DISABLED": "1",
                "TEST_READY": str(self.ready),
                "TEST_GO": str(self.go),
            },
            cwd=self.root,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        self.running.append(child)
        return child


def wait_for(condition: Callable[[], bool], seconds: float = 30.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it didn't happen in time"
        time.sleep(0.02)


@pytest.fixture
def dsh(tmp_path: Path) -> Iterator[Peer]:
    program = os.environ.get("DSHLOOP_TEST_DSH")
    if not program:
        pytest.skip("set DSHLOOP_TEST_DSH to a dsh 0.2.1 (tests/peers/dsh-setup.sh installs one)")
    if shutil.which(program) is None:
        pytest.skip(f"DSHLOOP_TEST_DSH names no program: {program}")
    peer = Peer(program, tmp_path)
    package = tmp_path / "b"
    package.mkdir()
    (package / "package.json").write_text(
        '{"name": "b", "version": "1.0.0", "dsh": {"bundle": {"patch": "p.yml"}}}'
    )
    (package / "p.yml").write_text("[]\n")
    output, _ = peer.start("add", "./b").communicate(timeout=60)
    if peer.running[0].returncode == 127:
        pytest.skip("dsh finds no pnpm")
    assert peer.running[0].returncode == 0, output
    (peer.profile / ".pnpmfile.cjs").write_text(PNPMFILE)
    yield peer
    peer.go.touch()
    for child in peer.running:
        if child.poll() is None:
            os.killpg(child.pid, signal.SIGKILL)
            child.communicate()


def test_dsh_waits_for_us(dsh: Peer) -> None:
    dsh.go.touch()
    with locks.hold_dsh(dsh.target, command="dshloop x"):
        child = dsh.start("remove", "b")
        time.sleep(2.0)
        assert child.poll() is None
        assert not dsh.ready.exists()
    output, _ = child.communicate(timeout=60)
    assert child.returncode == 0, output
    assert dsh.ready.exists()


def test_we_are_refused_while_dsh_works_and_go_on_after_it(dsh: Peer) -> None:
    child = dsh.start("remove", "b")
    wait_for(dsh.ready.exists)
    lock = dsh.target.with_name("package.json.lock")
    assert lock.stat().st_mode & 0o777 == 0o600
    holder = int(lock.read_text())
    with (
        pytest.raises(LockHeldError) as caught,
        locks.hold_dsh(dsh.target, command="dshloop x", wait=0.2, what='profile "q"'),
    ):
        pass
    assert caught.value.details["pid"] == holder
    assert caught.value.message.startswith(f'profile "q" is being changed by pid {holder} (')
    dsh.go.touch()
    with locks.hold_dsh(dsh.target, command="dshloop x", wait=30):
        assert b'"b"' not in dsh.target.read_bytes()
    child.communicate(timeout=60)
    assert child.returncode == 0


def test_we_take_the_lock_of_a_killed_dsh_and_dsh_takes_ours(dsh: Peer) -> None:
    child = dsh.start("remove", "b")
    wait_for(dsh.ready.exists)
    os.killpg(child.pid, signal.SIGKILL)
    child.communicate()
    lock = dsh.target.with_name("package.json.lock")
    assert lock.exists()
    with locks.hold_dsh(dsh.target, command="dshloop x", wait=5):
        assert lock.read_text() == f"{os.getpid()}\n"
    lock.write_text(f"{child.pid}\n")  # as a killed dshloop leaves it
    dsh.go.touch()
    again = dsh.start("list")
    output, _ = again.communicate(timeout=60)
    assert again.returncode == 0, output
    assert not lock.exists()
