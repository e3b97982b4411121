"""Indexers read only what has changed, and nothing that git ignores."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from dshloop.memory.stores import open_store
from dshloop.plugins.memory_place import MemoryPlace
from dshloop.plugins.patchouli.session_indexer import index_sessions, read_session_indexer_config
from dshloop.plugins.patchouli.workspace_indexer import (
    WorkspaceIndexerConfig,
    files_of,
    index_workspace,
    read_workspace_indexer_config,
)
from tests.transcripts.logs import turn, write


def place(tmp_path: Path) -> MemoryPlace:
    return MemoryPlace(tmp_path, tmp_path / "outbox", sessions=(tmp_path / "sessions",))


def going() -> bool:
    return False


@pytest.fixture
def store(tmp_path: Path) -> Any:
    opened = open_store(None, database=tmp_path / "memory.db")
    yield opened
    opened.close()


def work_tree(root: Path) -> None:
    root.mkdir()
    for path, text in (
        ("a.txt", "alpha"), ("src/b.py", "beta = 1"), ("out/c.txt", "ignored"),
        ("key.env", "API_KEY=sk-" + "a1B2" * 8), ("picture.bin", "\0binary"), ("empty", ""),
    ):  # fmt: skip
        file = root / path
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)
    (root / ".gitignore").write_text("out/\n")
    (root / "link.txt").symlink_to(root / "a.txt")


def indexed(store: Any) -> dict[str, str]:
    return {entry.title: entry.content for entry in store.list(limit=None)}


def test_a_work_tree_is_read_without_what_git_ignores(tmp_path: Path, store: Any) -> None:
    root = tmp_path / "work"
    work_tree(root)
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    config = WorkspaceIndexerConfig(enabled=True)
    assert index_workspace(store, place(tmp_path), root, config, going) == (4, 0)
    found = indexed(store)
    assert set(found) == {".gitignore", "a.txt", "src/b.py", "key.env"}
    assert "a1B2" not in found["key.env"]
    assert index_workspace(store, place(tmp_path), root, config, going) == (0, 0)
    (root / "a.txt").write_text("alpha and omega")
    (root / "src" / "b.py").unlink()
    assert index_workspace(store, place(tmp_path), root, config, going) == (1, 1)
    found = indexed(store)
    assert found["a.txt"] == "alpha and omega"
    assert "src/b.py" not in found


def test_without_git_hidden_and_usual_folders_are_left_out(tmp_path: Path) -> None:
    root = tmp_path / "work"
    for path in ("a.txt", ".hidden/x", "node_modules/y", ".env", "d/b.txt"):
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("x")
    assert list(files_of(root)) == ["a.txt", "d/b.txt"]


def test_files_that_are_too_long_or_too_many_are_left_out(tmp_path: Path, store: Any) -> None:
    root = tmp_path / "work"
    root.mkdir()
    for number in range(5):
        (root / f"{number}.txt").write_text("x" * (50 if number else 500))
    config = WorkspaceIndexerConfig(enabled=True, max_file_bytes=100, max_files=2)
    assert index_workspace(store, place(tmp_path), root, config, going)[0] == 2
    assert sorted(indexed(store)) == ["1.txt", "2.txt"]


def test_an_index_that_is_stopped_forgets_nothing(tmp_path: Path, store: Any) -> None:
    root = tmp_path / "work"
    root.mkdir()
    (root / "a.txt").write_text("x")
    config = WorkspaceIndexerConfig(enabled=True)
    index_workspace(store, place(tmp_path), root, config, going)
    assert index_workspace(store, place(tmp_path), root, config, lambda: True) == (0, 0)
    assert list(indexed(store)) == ["a.txt"]


def test_sessions_are_read_when_they_have_changed(tmp_path: Path, store: Any) -> None:
    log = tmp_path / "sessions" / "--w--" / "s1" / "session.jsonl"
    log.parent.mkdir(parents=True)
    write(log, turn(1, 0))
    assert index_sessions(store, place(tmp_path), going) == 1
    first = store.count()
    assert first > 0
    assert index_sessions(store, place(tmp_path), going) == 0
    os.utime(log, (1, 1))
    assert index_sessions(store, place(tmp_path), going) == 1
    assert store.count() == first


def test_indexers_are_off_by_default() -> None:
    assert not read_session_indexer_config(None).enabled
    assert not read_workspace_indexer_config({}).enabled
    with pytest.raises(ValueError, match="did you mean enabled"):
        read_session_indexer_config({"enable": True})
