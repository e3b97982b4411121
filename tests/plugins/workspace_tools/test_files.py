"""Reading by pages, exact edits, lists."""

from __future__ import annotations

import stat
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dshloop.host.tools import ToolFailure
from dshloop.plugins.workspace_tools import reading
from dshloop.plugins.workspace_tools.editing import edit, replaced
from dshloop.plugins.workspace_tools.listing import list_folder
from dshloop.plugins.workspace_tools.reading import read
from dshloop.plugins.workspace_tools.workspace import Workspace


@pytest.fixture
def work(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path)


def code_of(action: Callable[[], object]) -> str:
    with pytest.raises(ToolFailure) as caught:
        action()
    return caught.value.fault.code


def test_pages_follow_each_other(work: Workspace) -> None:
    (work.root / "f").write_text("".join(f"line {n}\n" for n in range(1, 8)))
    first = read(work, "f", limit=3)
    assert first == "1\tline 1\n2\tline 2\n3\tline 3\n[lines 1-3; go on with offset 4]"
    assert read(work, "f", offset=7, limit=3) == "7\tline 7"
    assert read(work, "f", offset=9) == "[the file has 7 lines, none from 9 on]"
    (work.root / "f").write_text("")
    assert read(work, "f") == "[the file is empty]"


def test_a_page_is_cut_by_its_length_and_so_is_a_line(work: Workspace) -> None:
    (work.root / "f").write_text("x" * 10_000_000 + "\n" + ("y" * 1999 + "\n") * 100)
    page = read(work, "f")
    assert len(page) < reading.MOST_CHARACTERS + reading.LONGEST_LINE + 100
    assert page.splitlines()[0].endswith("x… [the line goes on]")
    assert "go on with offset" in page.splitlines()[-1]


def test_binary_and_huge_files_are_told(work: Workspace) -> None:
    (work.root / "b").write_bytes(b"\x7fELF\0\0")
    assert code_of(lambda: read(work, "b")) == "BINARY_FILE"
    (work.root / "latin").write_bytes("caf\xe9\n".encode("latin-1"))
    assert read(work, "latin") == "1\tcaf\ufffd"
    with (work.root / "huge").open("wb") as file:
        file.truncate(reading.MOST_BYTES + 1)
    assert code_of(lambda: read(work, "huge")) == "TOO_LARGE"


def test_an_edit_changes_one_place_and_keeps_mode_and_line_ends(work: Workspace) -> None:
    path = work.root / "f"
    path.write_bytes(b"a\r\nb\r\nc\r\n")
    path.chmod(0o750)
    assert edit(work, "f", "B\nB2\n", "b\n") == "changed f at line 2"
    assert path.read_bytes() == b"a\r\nB\r\nB2\r\nc\r\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o750
    assert [one.name for one in work.root.iterdir()] == ["f"]


def test_an_edit_that_is_not_exact_changes_nothing(work: Workspace) -> None:
    path = work.root / "f"
    path.write_text("aaa b b\n")
    assert code_of(lambda: edit(work, "f", "x", "b")) == "NOT_UNIQUE"
    assert code_of(lambda: edit(work, "f", "x", "aa")) == "NOT_UNIQUE"
    assert code_of(lambda: edit(work, "f", "x", "c")) == "NOT_THERE"
    assert code_of(lambda: edit(work, "f", "x")) == "FILE_EXISTS"
    assert code_of(lambda: edit(work, "f", "\ud800", "aaa")) == "BAD_TEXT"
    assert code_of(lambda: edit(work, "g", "x", "aaa")) == "NOT_FOUND"
    assert path.read_text() == "aaa b b\n"
    assert [one.name for one in work.root.iterdir()] == ["f"]


def test_a_new_file_comes_with_its_folders(work: Workspace) -> None:
    assert edit(work, "a/b/c.txt", "new\n") == "made a/b/c.txt, 4 bytes"
    assert (work.root / "a" / "b" / "c.txt").read_text() == "new\n"


@given(before=st.binary(max_size=30), old=st.binary(min_size=1, max_size=3), after=st.binary())
def test_what_is_around_a_replacement_stays(before: bytes, old: bytes, after: bytes) -> None:
    text = before + old + after
    if text.find(old) != text.rfind(old):
        assert code_of(lambda: replaced(text, old, b"NEW", "f")) == "NOT_UNIQUE"
        return
    result, line = replaced(text, old, b"NEW", "f")
    assert result == before + b"NEW" + after
    assert line == before.count(b"\n") + 1


def test_a_list_leaves_out_what_git_ignores(work: Workspace) -> None:
    for folder in ("src", "build", ".git"):
        (work.root / folder).mkdir()
    (work.root / ".gitignore").write_text("build/\n*.log\n")
    (work.root / "src" / "a.py").write_text("12345")
    (work.root / "src" / "x.log").write_text("")
    (work.root / "link").symlink_to("nowhere")
    assert list_folder(work).splitlines() == [".gitignore  13", "link -> nowhere", "src/"]
    deep = list_folder(work, depth=2).splitlines()
    assert deep[-2:] == ["src/", "src/a.py  5"]
    assert list_folder(work, "src") == "src/a.py  5"


def test_a_list_has_an_end(work: Workspace) -> None:
    for number in range(600):
        (work.root / f"f{number:03}").touch()
    lines = list_folder(work).splitlines()
    assert len(lines) == 501
    assert lines[-1].startswith("[more than 500")
