from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from dshloop.errors import EditorFailedError
from dshloop.profiles.checks.findings import Finding
from dshloop.profiles.checks.subject import Case
from dshloop.profiles.edits.hand_edit import Choice, edit_file, editor_command, run_editor
from tests.profiles.checks.made import profile


def writing(*texts: str) -> Callable[[Path], None]:
    """Give an editor that saves one text after the other."""
    left = list(texts)

    def edit(path: Path) -> None:
        path.write_text(left.pop(0))

    return edit


def choosing(*choices: Choice) -> Callable[[Sequence[Finding]], Choice]:
    left = list(choices)

    def choose(errors: Sequence[Finding]) -> Choice:
        assert errors
        return left.pop(0)

    return choose


def test_a_sound_edit_becomes_a_change(tmp_path: Path) -> None:
    made = profile(tmp_path, "b")
    done = edit_file(Case(made), made.patch, "", writing("- {id: b}\n"), choosing())
    assert done.change is not None
    assert (done.change.before, done.change.after) == (b"[]\n", b"- {id: b}\n")
    assert made.patch.read_text() == "[]\n"


def test_what_a_check_refuses_can_be_edited_again(tmp_path: Path) -> None:
    made = profile(tmp_path, "b")
    edit = writing("[]\n- {id: b}\n", "- {id: b}\n")
    done = edit_file(Case(made), made.patch, "", edit, choosing("edit"))
    assert done.change is not None
    assert done.change.after == b"- {id: b}\n"


def test_or_dropped_or_written_all_the_same(tmp_path: Path) -> None:
    made = profile(tmp_path, "b")
    bad = "[]\n- {id: b}\n"
    dropped = edit_file(Case(made), made.patch, "", writing(bad), choosing("drop"))
    assert (dropped.change, dropped.findings[0].code) == (None, "PATCH_ROOT_APPENDED")
    written = edit_file(Case(made), made.patch, "", writing(bad), choosing("write"))
    assert written.change is not None


def test_what_was_wrong_before_does_not_hold_an_edit_up(tmp_path: Path) -> None:
    made = profile(tmp_path, "b", patch="- insert: [{id: x}]\n")
    more = "- insert: [{id: x}]\n- {id: b, disabled: true}\n"
    done = edit_file(Case(made), made.patch, "", writing(more), choosing())
    assert done.change is not None


def test_no_edit_is_no_change(tmp_path: Path) -> None:
    made = profile(tmp_path, "b")
    assert edit_file(Case(made), made.patch, "", writing("[]\n"), choosing()).change is None
    new = edit_file(Case(made), made.home_patch, "# new\n[]\n", writing("# new\n[]\n"), choosing())
    assert new.change is None


def test_the_editor_is_the_users(tmp_path: Path) -> None:
    assert editor_command({"EDITOR": "vim -f", "VISUAL": "code --wait"}) == ["code", "--wait"]
    assert editor_command({"EDITOR": "vim -f"}) == ["vim", "-f"]
    for variables in ({}, {"EDITOR": "'"}):
        with pytest.raises(EditorFailedError):
            editor_command(variables)
    for command in (["false"], ["/no/such/editor"]):
        with pytest.raises(EditorFailedError):
            run_editor(command, tmp_path / "x", {"PATH": "/usr/bin:/bin"})


@pytest.mark.skipif(sys.platform == "win32", reason="sends a POSIX signal")
def test_ctrl_c_is_the_editors(tmp_path: Path) -> None:
    editor = tmp_path / "editor.py"
    editor.write_text(
        "import os, pathlib, signal, sys\n"
        "assert signal.getsignal(signal.SIGINT) is signal.default_int_handler\n"
        "os.kill(os.getppid(), signal.SIGINT)\n"
        "pathlib.Path(sys.argv[1]).write_text('kept')\n"
    )
    before = signal.getsignal(signal.SIGINT)
    run_editor([sys.executable, str(editor)], tmp_path / "x", dict(os.environ))
    assert (tmp_path / "x").read_text() == "kept"
    assert signal.getsignal(signal.SIGINT) is before
