"""Ways out of a workspace: none of them leads anywhere."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from dshloop.host.tools import ToolFailure
from dshloop.plugins.workspace_tools.editing import edit
from dshloop.plugins.workspace_tools.listing import list_folder
from dshloop.plugins.workspace_tools.reading import read
from dshloop.plugins.workspace_tools.workspace import Workspace

SECRET = "what nobody in the workspace may see"


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "secret").write_text(SECRET)
    return folder


@pytest.fixture
def root(tmp_path: Path, outside: Path) -> Path:
    root = tmp_path / "work"
    (root / "sub" / "deep").mkdir(parents=True)
    (root / "inside").write_text("one\ntwo\n")
    (root / "to-file").symlink_to(outside / "secret")
    (root / "to-folder").symlink_to(outside)
    (root / "up").symlink_to("..")
    (root / "sub" / "far-up").symlink_to("../../outside")
    (root / "chain").symlink_to("to-folder")
    (root / "to-root").symlink_to("/")
    (root / "proc").symlink_to("/proc/self/root")
    (root / "loop").symlink_to("loop")
    (root / "within").symlink_to("sub/../inside")
    (root / "within-absolute").symlink_to(root / "inside")
    (root / "to-deep").symlink_to("sub/deep")
    return root


def code_of(action: Callable[[], object]) -> str:
    with pytest.raises(ToolFailure) as caught:
        action()
    assert SECRET not in str(caught.value)
    return caught.value.fault.code


WAYS_OUT = [
    "../outside/secret",
    "sub/../../outside/secret",
    "./sub/deep/../../../outside/secret",
    "to-file",
    "to-folder/secret",
    "chain/secret",
    "up/outside/secret",
    "sub/far-up/secret",
    "to-deep/../../../outside/secret",
    "/etc/passwd",
    "to-root/etc/passwd",
    "proc/etc/passwd",
    "..",
    "../work-beside",
    "../work/../outside/secret",
]


@pytest.mark.parametrize("path", WAYS_OUT)
def test_no_path_leads_out(root: Path, path: str) -> None:
    workspace = Workspace(root)
    assert code_of(lambda: read(workspace, path)) == "OUTSIDE_WORKSPACE"
    assert code_of(lambda: list_folder(workspace, path)) == "OUTSIDE_WORKSPACE"
    assert code_of(lambda: edit(workspace, path, "x")) == "OUTSIDE_WORKSPACE"
    assert code_of(lambda: edit(workspace, path, "x", SECRET)) == "OUTSIDE_WORKSPACE"


def test_an_absolute_path_outside_is_refused(root: Path, outside: Path) -> None:
    workspace = Workspace(root)
    assert code_of(lambda: read(workspace, str(outside / "secret"))) == "OUTSIDE_WORKSPACE"
    sibling = root.with_name("work2")
    sibling.mkdir()
    (sibling / "secret").write_text(SECRET)
    assert code_of(lambda: read(workspace, str(sibling / "secret"))) == "OUTSIDE_WORKSPACE"


def test_links_and_paths_that_stay_inside_are_followed(root: Path) -> None:
    workspace = Workspace(root)
    for path in ("inside", "within", "within-absolute", str(root / "inside"), "sub/../inside"):
        assert read(workspace, path) == "1\tone\n2\ttwo"
    assert "empty" in list_folder(workspace, "to-deep")
    assert edit(workspace, "within", "ONE", "one") == "changed inside at line 1"
    assert (root / "within").is_symlink()
    assert (root / "inside").read_text() == "ONE\ntwo\n"


def test_a_root_that_is_a_link_is_the_folder_behind_it(root: Path) -> None:
    link = root.with_name("link-to-work")
    link.symlink_to(root)
    for path in ("inside", str(link / "inside"), str(root / "inside")):
        assert read(Workspace(link), path) == "1\tone\n2\ttwo"


def test_what_is_no_file_is_refused_at_once(root: Path) -> None:
    os.mkfifo(root / "pipe")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(root / "socket"))
    workspace = Workspace(root)
    for path in ("pipe", "socket", "sub", ".", "", "loop"):
        assert code_of(partial(read, workspace, path)) == "NOT_READABLE"
        assert code_of(partial(edit, workspace, path, "x", "y")) in (
            "WRITE_FAILED", "NOT_READABLE", "NOT_A_FILE",
        )  # fmt: skip
    assert code_of(lambda: read(workspace, "nothing")) == "NOT_FOUND"
    assert code_of(lambda: read(workspace, "inside/below")) == "NOT_READABLE"
    assert code_of(lambda: read(workspace, "in\0side")) == "NOT_FOUND"


def test_devices_are_refused_without_being_opened(tmp_path: Path) -> None:
    workspace = Workspace(Path("/dev"))
    assert code_of(lambda: read(workspace, "zero")) == "NOT_READABLE"
    assert code_of(lambda: read(workspace, "tty")) == "NOT_READABLE"


def test_gits_own_files_are_never_edited(root: Path) -> None:
    (root / ".git" / "hooks").mkdir(parents=True)
    (root / "to-git").symlink_to(".git")
    workspace = Workspace(root)
    for path in (".git/hooks/pre-commit", "to-git/config", "sub/.GIT/config", ".git"):
        assert code_of(partial(edit, workspace, path, "x")) in ("PROTECTED", "NOT_A_FILE")
    assert not (root / ".git" / "hooks" / "pre-commit").exists()


def test_what_is_refused_leaves_no_folders(root: Path) -> None:
    (root / ".git").mkdir()
    before = sorted(root.rglob("*"))
    workspace = Workspace(root)
    refused = {
        ".git/hooks/new/x": "PROTECTED",
        "new/.GIT/hooks/x": "PROTECTED",
        "new/../.git/hooks/x": "PROTECTED",
        "new/../../evil": "OUTSIDE_WORKSPACE",
        "new/deep/../../../evil/x": "OUTSIDE_WORKSPACE",
    }
    for path, code in refused.items():
        assert code_of(partial(edit, workspace, path, "x")) == code
    assert sorted(root.rglob("*")) == before
    edit(workspace, "new/../made/deep/../x", "here")
    assert (root / "made" / "x").read_text() == "here"
    assert not (root / "new").exists()


def test_a_swap_with_a_link_while_files_are_opened_never_leads_out(
    root: Path, outside: Path
) -> None:
    """A folder and a link take each other's name all the time; what is read is ours or nothing."""
    (root / "real").mkdir()
    (root / "real" / "secret").write_text("ours")
    (root / "link").symlink_to(outside)
    before = (outside / "secret").stat()
    over = threading.Event()

    def swap() -> None:
        while not over.is_set():
            for one in ("real", "link"):
                (root / one).rename(root / "swapped")
                (root / "swapped").rename(root / one)

    swapping = threading.Thread(target=swap)
    swapping.start()
    seen = set()
    try:
        for number in range(60_000):
            if number >= 1500 and {"1\tours", "OUTSIDE_WORKSPACE"} <= seen:
                break
            try:
                seen.add(read(Workspace(root), "swapped/secret"))
                edit(Workspace(root), "swapped/secret", "r", "r")  # it stands once in both
            except ToolFailure as failure:
                seen.add(failure.fault.code)
    finally:
        over.set()
        swapping.join()
    assert seen <= {"1\tours", "OUTSIDE_WORKSPACE", "NOT_FOUND", "NOT_READABLE", "WRITE_FAILED"}
    assert "1\tours" in seen
    assert "OUTSIDE_WORKSPACE" in seen
    assert [one.name for one in outside.iterdir()] == ["secret"]
    assert (outside / "secret").stat().st_ino == before.st_ino
