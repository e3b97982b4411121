from __future__ import annotations

import io
import os
import sys
from pathlib import Path

import pytest

from dshloop.cli.app import run
from dshloop.environment import Environment
from dshloop.profiles.layout import Profile
from tests.profiles.checks.made import profile
from tests.running import Ran, Terminal, dshloop


class Keyboard(io.StringIO):
    """A terminal's input."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def made(isolated: Path) -> Profile:
    """Give profile p."""
    return profile(isolated, "b", patch="# mine\n[]\n")


def editing(folder: Path, *texts: str, answers: str = "", words: tuple[str, ...] = ()) -> Ran:
    """Run `profile edit` with an editor that saves one text after the other."""
    for number, text in enumerate(texts):
        (folder / f"text{number}").write_text(text)
    script = folder / "editor.py"
    script.write_text(
        "import pathlib, sys\n"
        f"folder = pathlib.Path({str(folder)!r})\n"
        "text = min(folder.glob('text*'))\n"
        "pathlib.Path(sys.argv[1]).write_bytes(text.read_bytes())\n"
        "text.unlink()\n"
    )
    out, err = Terminal(), Terminal()
    variables = {**os.environ, "EDITOR": f"{sys.executable} {script}"}
    env = Environment(Keyboard(answers), out, err, variables, Path.cwd())
    code = run(["profile", "edit", "--profile", "p", *words], env)
    return Ran(code, out.getvalue(), err.getvalue())


def test_a_sound_edit_is_saved_as_one_change(made: Profile, tmp_path: Path) -> None:
    ran = editing(tmp_path, "# mine\n- {id: b, disabled: true}\n")
    assert (ran.code, "wrote" in ran.out) == (0, True)
    assert made.patch.read_text() == "# mine\n- {id: b, disabled: true}\n"
    assert dshloop("undo").code == 0
    assert made.patch.read_text() == "# mine\n[]\n"


def test_what_a_check_refuses_is_shown_and_can_be_mended(made: Profile, tmp_path: Path) -> None:
    ran = editing(tmp_path, "[]\n- {id: b}\n", "- {id: b}\n", answers="huh\ne\n")
    assert ran.code == 0
    assert "PATCH_ROOT_APPENDED" in ran.err
    assert made.patch.read_text() == "- {id: b}\n"


@pytest.mark.parametrize(("answers", "saved"), [("x\n", False), ("", False), ("Q\n", True)])
def test_or_dropped_or_saved_all_the_same(
    made: Profile, tmp_path: Path, answers: str, saved: bool
) -> None:
    editing(tmp_path, "[]\n- {id: b}\n", answers=answers)
    assert (made.patch.read_text() == "[]\n- {id: b}\n") == saved


def test_the_homes_file_can_be_edited_before_it_is_there(made: Profile, tmp_path: Path) -> None:
    assert editing(tmp_path, "- {id: b}\n", words=("--layer", "home")).code == 0
    assert made.home_patch.read_text() == "- {id: b}\n"


def test_a_preset_of_the_users_own_can_be_edited(made: Profile, tmp_path: Path) -> None:
    file = made.dsh_home / ".agent-presets" / "mine" / "agent.cordis.yml"
    file.parent.mkdir(parents=True)
    file.write_text("[]\n")
    words = ("--layer", "preset:mine")
    dropped = editing(tmp_path, "- insert: []\n", answers="x\n", words=words)
    assert "PRESET_FILE_INVALID" in dropped.err
    assert editing(tmp_path, "- {name: x}\n", words=words).code == 0
    assert file.read_text() == "- {name: x}\n"
    assert editing(tmp_path, "", words=("--layer", "preset:none")).code == 3
    assert editing(tmp_path, "", words=("--layer", "preset:../x")).code == 3
    assert editing(tmp_path, "", words=("--layer", "zzz")).code == 2


def test_without_a_terminal_it_is_2_with_what_to_use(made: Profile) -> None:
    ran = dshloop("profile", "edit", "--profile", "p", "--json")
    assert ran.code == 2
    assert "profile set" in ran.error["hint"]
