"""Writers of settings and loops that are killed on the way, and are then asked the same again."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.running import dshloop
from tests.test_journal_crash import run_until_killed

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="needs fork and kill -9"),
]

COMMANDS = {
    "driver": ["driver", "use", "fake-driver"],
    "route": ["loop", "route", "k", "standard", "--profile", "p"],
    "register": ["loop", "register", "c", "--from", "c.yml", "--profile", "p"],
    "agent": ["agent", "add", "a", "--profile", "p"],
    "config": ["config", "set", "profile", "p"],
    "store": ["memory", "use", "embedded"],
    "profile": ["profile", "use", "p"],
}


def contents(folder: Path) -> dict[str, bytes]:
    """Give the files of the user's; locks and temporary files hold nothing of theirs."""
    paths = [*(folder / "dsh").rglob("*"), *(folder / "config").rglob("*")]
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(paths)
        if path.is_file() and path.suffix not in (".lock", ".tmp")
    }


@pytest.mark.parametrize("verb", COMMANDS)
def test_what_is_said_again_after_a_kill_is_done_for_good(
    verb: str, isolated: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the killed command left, the same command once more is not taken back later."""
    monkeypatch.chdir(isolated)
    (isolated / "c.yml").write_text("prompt: hi\n")
    assert dshloop("profile", "create", "p", "--template", "empty").code == 0
    assert dshloop("loop", "use", "standard", "--profile", "p", "--yes").code == 0
    before, killed, outcomes = contents(isolated), True, set()
    for point in range(1, 4000, 23):
        killed = run_until_killed(lambda: dshloop(*COMMANDS[verb]), point)
        left = contents(isolated) != before
        assert dshloop(*COMMANDS[verb]).code in (0, 4)  # 4: it is registered already
        done = contents(isolated)
        assert done != before
        assert dshloop("profile", "create", "q", "--template", "empty").code == 0
        assert dshloop("undo").code == 0
        assert contents(isolated) == done
        outcomes.add(left)
        if not killed:
            break
        while contents(isolated) != before:
            assert dshloop("undo").code == 0
    assert not killed
    assert outcomes == {True, False}
