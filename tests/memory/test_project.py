"""Which project a memory belongs to."""

from __future__ import annotations

from pathlib import Path

import pytest

from dshloop.memory.project import project_filter, project_here


def test_the_variable_comes_first(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    assert project_here({"AGENTMEMORY_PROJECT_NAME": " shop "}, tmp_path) == "shop"
    assert project_here({"AGENTMEMORY_PROJECT_NAME": "  "}, tmp_path) == tmp_path.name


@pytest.mark.parametrize("kind", ["folder", "file"])
def test_the_top_of_the_git_tree_names_it(tmp_path: Path, kind: str) -> None:
    top = tmp_path / "shop"
    inner = top / "src" / "deep"
    inner.mkdir(parents=True)
    if kind == "folder":
        (top / ".git").mkdir()
    else:  # a work tree or submodule
        (top / ".git").write_text("gitdir: elsewhere\n")
    assert project_here({}, inner) == project_here({}, top) == "shop"


def test_the_nearest_git_tree_counts(tmp_path: Path) -> None:
    inner = tmp_path / "shop" / "vendored"
    inner.mkdir(parents=True)
    (tmp_path / "shop" / ".git").mkdir()
    (inner / ".git").mkdir()
    assert project_here({}, inner) == "vendored"


def test_without_git_the_folder_names_it(tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    assert project_here({}, folder) == "notes"
    root = Path(folder.anchor)
    assert project_here({}, root) == str(root)


def test_a_dot_is_this_project(tmp_path: Path) -> None:
    assert project_filter(".", {}, tmp_path) == tmp_path.name
    assert project_filter("web", {}, tmp_path) == "web"
    assert project_filter(None, {}, tmp_path) is None
