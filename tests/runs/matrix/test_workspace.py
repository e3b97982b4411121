"""Copies of the workspace that cells work in."""

from __future__ import annotations

import os
import shutil
import socket
from pathlib import Path

import pytest

from dshloop.errors import WorkspaceUncopiedError
from dshloop.runs.matrix.workspace import copied


def tree(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


def test_a_copy_is_made_afresh_with_links_as_they_are(tmp_path: Path) -> None:
    work = tmp_path / "work"
    (work / "sub").mkdir(parents=True)
    (work / "sub" / "file").write_text("x")
    (work / "gone").symlink_to("nowhere")
    copy = tmp_path / "copy"
    for _ in range(2):
        assert copied(work, copy, tmp_path / "data") == copy
        assert tree(copy) == {"sub", "sub/file", "gone"}
        (copy / "left over").write_text("")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes here")
def test_what_is_no_content_and_our_own_data_stay_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = tmp_path / ".local" / "dshloop"
    (data / "matrix").mkdir(parents=True)
    (tmp_path / "file").write_text("x")
    os.mkfifo(tmp_path / "pipe")
    monkeypatch.chdir(tmp_path)
    with socket.socket(socket.AF_UNIX) as one:
        one.bind("sock")
    assert tree(copied(tmp_path, data / "matrix" / "copy", data)) == {"file", ".local"}


def test_what_cannot_be_copied_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "one").write_text("x")
    (tmp_path / "work" / "two").write_text("x")
    with pytest.raises(WorkspaceUncopiedError, match=r"can't copy the workspace .*none: "):
        copied(tmp_path / "none", tmp_path / "copy", tmp_path / "data")
    monkeypatch.setattr(shutil, "copyfile", full)
    with pytest.raises(WorkspaceUncopiedError, match=r"No space left on device.*, and 1 more"):
        copied(tmp_path / "work", tmp_path / "copy", tmp_path / "data")
