"""Our reading of ignore files against git itself."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from dshloop.plugins.workspace_tools.walking import rules_above, walk
from dshloop.plugins.workspace_tools.workspace import Workspace

PATTERNS = """\
# a comment
*.log
!kept.log
/top
build/
docs/*.txt
**/cache
deep/**/end
tail/**
\\#literal
\\!bang
blank\\{blank}
trailing{blank}{blank}
[ab]x
[!c]y
q?z
a/b/../c
""".replace("{blank}", " ")
NAMES = """\
x.log kept.log sub/x.log sub/kept.log top sub/top build/x sub/build/x notbuild docs/a.txt
docs/sub/a.txt sub/docs/a.txt cache/x sub/cache/x deep/end deep/a/end deep/a/b/end tail/x
tail/sub/x #literal !bang trailing ax bx cx ay cy qxz qxxz sub/own.tmp sub/deeper/own.tmp own.tmp
excluded sub/excluded buildx topx
"""


def git(root: Path, *words: str) -> str:
    ran = subprocess.run(["git", *words], cwd=root, check=True, capture_output=True, text=True)
    return ran.stdout


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git to compare with")
@pytest.mark.parametrize("inside", ["", "sub"])
def test_what_is_walked_is_what_git_would_add(
    tmp_path: Path, inside: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
    git(tmp_path, "init", "-q")
    for name in [*NAMES.split(), "blank "]:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")
    (tmp_path / ".gitignore").write_text(PATTERNS)
    (tmp_path / "sub" / ".gitignore").write_text("/own.tmp\n!x.log\n")
    (tmp_path / ".git" / "info" / "exclude").write_text("excluded\n")
    listed = git(tmp_path / inside, "ls-files", "-z", "-co", "--exclude-standard")
    expected = {name for name in listed.split("\0") if name}
    workspace = Workspace(tmp_path / inside)
    with workspace.folder(".") as (folder, real):
        rules = rules_above(workspace.root, real)
        found = {one.path for one in walk(folder, real, rules) if one.is_file}
    assert found == expected
