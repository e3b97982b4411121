"""Profile commands that are killed on the way: all or nothing, and undo gives the bytes back."""

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

ROW = "- insert:\n    - {id: a, name: './a.mjs', config: {k: 1}}\n"
DAMAGED = f"# mine\n[]\n{ROW}- id: a\n  config: {{k: 2}}\n"
COMMANDS = {
    "repair": (DAMAGED, ["profile", "repair", "p", "--apply"]),
    "import": (ROW, ["profile", "import", "exported.yml", "--profile", "q"]),
    "set": (ROW, ["profile", "set", "a.k", "2", "--profile", "p"]),
    "delete": (ROW, ["profile", "delete", "p"]),
}


def contents(folder: Path) -> dict[str, bytes]:
    """Give every file of the home; lock files hold nothing of the user's."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and ".lock" not in path.suffixes
    }


@pytest.mark.parametrize("verb", COMMANDS)
def test_a_killed_command_did_all_or_nothing(
    verb: str, isolated: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(isolated)
    home = isolated / "dsh"
    patch, words = COMMANDS[verb]
    assert dshloop("profile", "create", "p", "--template", "empty").code == 0
    (home / "profiles" / "p" / "cordis.patch.yml").write_text(patch)
    if verb == "import":
        assert dshloop("profile", "export", "exported.yml", "--profile", "p").code == 0
    before, outcomes = contents(home), set()
    for point in range(1, 4000, 7):
        killed = run_until_killed(lambda: dshloop(*words), point)
        assert dshloop("config", "set", "profile", f"x{point}").code == 0  # the next writer heals
        outcomes.add(contents(home) == before)
        if contents(home) != before:
            dshloop("undo")
            assert dshloop("undo").code == 0
            assert contents(home) == before
        if not killed:
            break
    assert not killed
    assert outcomes == {True, False}
