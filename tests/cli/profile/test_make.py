from __future__ import annotations

import json
from pathlib import Path

import pytest

from dshloop.profiles.layout import Profile
from tests.profiles.checks.made import profile
from tests.profiles.packages import contents
from tests.running import dshloop


@pytest.fixture
def made(isolated: Path) -> Profile:
    """Give profile p."""
    return profile(isolated, "b", patch="# mine\n[]\n")


def test_copy_rename_and_delete_can_be_undone(isolated: Path, made: Profile) -> None:
    home = isolated / "dsh"
    before = contents(home)
    assert dshloop("profile", "copy", "p", "q").code == 0
    assert dshloop("profile", "use", "q").code == 0
    renamed = dshloop("profile", "rename", "q", "r", "--json").json
    assert (renamed["profile"], renamed["was_default"]) == ("r", True)
    ran = dshloop("profile", "delete", "r")
    assert (ran.code, "dshloop undo" in ran.err) == (0, True)
    assert "none is now" in ran.err
    assert [one["name"] for one in dshloop("profile", "list", "--json").json] == ["p"]
    for _ in range(4):
        assert dshloop("undo").code == 0
    assert contents(home) == before


def test_refusals_of_whole_profiles(made: Profile) -> None:
    for words, code in (
        (("copy", "p", "p"), 4),
        (("copy", "none", "q"), 3),
        (("rename", "p", "../x"), 2),
        (("delete", "none"), 3),
    ):
        assert dshloop("profile", *words, "--json").code == code, words


def test_dry_runs_change_nothing(isolated: Path, made: Profile) -> None:
    before = contents(isolated)
    for words in (("copy", "p", "q"), ("rename", "p", "q"), ("delete", "p")):
        ran = dshloop("profile", *words, "--dry-run", "--json")
        assert (ran.code, ran.json["dry_run"], bool(ran.json["diff"])) == (0, True, True)
    assert contents(isolated) == before


def test_dry_runs_of_create_and_use_change_nothing(isolated: Path, made: Profile) -> None:
    before = contents(isolated)
    for words in (("create", "q", "--template", "web"), ("use", "p")):
        ran = dshloop("profile", *words, "--dry-run", "--json")
        assert (ran.code, ran.json["dry_run"], bool(ran.json["diff"])) == (0, True, True)
        assert dshloop("profile", *words, "--dry-run").out == ran.json["diff"]
    assert dshloop("profile", "create", "p", "--dry-run").code == 4
    assert contents(isolated) == before


def test_export_and_import(isolated: Path, made: Profile, tmp_path: Path) -> None:
    file = tmp_path / "p.json"
    assert dshloop("profile", "export", str(file), "--profile", "p").code == 0
    assert file.stat().st_mode & 0o777 == 0o600
    assert dshloop("profile", "export", "-", "--profile", "p").out == file.read_text()
    assert dshloop("profile", "import", str(file)).code == 4
    ran = dshloop("profile", "import", str(file), "--name", "q")
    assert (ran.code, "dsh plugin --profile q install" in ran.err) == (0, True)
    assert (isolated / "dsh/profiles/q/cordis.patch.yml").read_text() == "# mine\n[]\n"
    piped = dshloop("profile", "import", "-", "--name", "r", stdin=file.read_text())
    assert piped.code == 0


def test_import_checks_first(isolated: Path, made: Profile, tmp_path: Path) -> None:
    file = tmp_path / "p.json"
    dshloop("profile", "export", str(file), "--profile", "p")
    value = json.loads(file.read_text())
    value["files"]["cordis.patch.yml"] = "[]\n- {id: x}\n"
    file.write_text(json.dumps(value))
    ran = dshloop("profile", "import", str(file), "--name", "q", "--json")
    assert (ran.code, ran.error["code"]) == (4, "FINDINGS_REFUSED")
    assert not (isolated / "dsh/profiles/q").exists()
    assert dshloop("profile", "import", str(file), "--name", "q", "--force").code == 0
    for text, code in (("{", 1), ("{}", 1)):
        file.write_text(text)
        assert dshloop("profile", "import", str(file), "--name", "s").code == code
    assert dshloop("profile", "import", str(tmp_path / "none")).code == 2
