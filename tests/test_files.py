"""Reading and replacing one file."""

from __future__ import annotations

import errno
import os
import socket
import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dshloop import files
from dshloop.errors import ChangedSinceReadError, UnreadableFileError, WriteFailedError


def test_read_gives_bytes_or_none(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"\x00\xff")
    assert files.read_bytes(tmp_path / "a") == b"\x00\xff"
    assert files.read_bytes(tmp_path / "absent") is None
    assert files.read_bytes(tmp_path / "no" / "folder") is None


def test_read_through_dangling_link_is_absent(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("nowhere")
    assert files.read_bytes(tmp_path / "link") is None


def test_read_refuses_what_is_no_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "plain").write_bytes(b"")
    (tmp_path / "circle").symlink_to("circle")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "socket"))
    expected = {
        tmp_path: "it is a folder",
        tmp_path / "pipe": "it is a named pipe",
        tmp_path / "socket": "it is a socket",
        Path("/dev/null"): "it is a device",
        tmp_path / "plain" / "x": "a part of its path is a file",
        tmp_path / "circle": "its symbolic links run in a circle",
        tmp_path / ("n" * 300): "its name is too long",
        tmp_path / "nul\0": "null character",
    }
    for path, reason in expected.items():
        with pytest.raises(UnreadableFileError, match=reason):
            files.read_bytes(path)


def test_read_takes_an_open_pipe() -> None:
    reader, writer = os.pipe()
    os.write(writer, b"- id: a\n")
    os.close(writer)
    try:
        assert files.read_bytes(Path(f"/dev/fd/{reader}")) == b"- id: a\n"
    finally:
        os.close(reader)


def test_read_says_permission_denied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"x")

    def refuse(self: Path) -> bytes:
        raise PermissionError(errno.EACCES, "Permission denied", str(self))

    monkeypatch.setattr(Path, "read_bytes", refuse)
    with pytest.raises(UnreadableFileError, match="permission denied") as caught:
        files.read_bytes(path)
    assert caught.value.details["file"] == str(path)


def test_text_tells_of_a_byte_order_mark(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"\xef\xbb\xbf{}")
    (tmp_path / "b").write_bytes("né\r\n".encode())
    assert files.read_text(tmp_path / "a") == files.Text("{}", True)
    assert files.read_text(tmp_path / "b") == files.Text("né\r\n", False)
    assert files.read_text(tmp_path / "absent") is None


@pytest.mark.parametrize(
    ("data", "line", "column", "offset"),
    [
        (b"\xff", 1, 1, 0),
        (b"a: \xc3\xa9\nb: \xe9\n", 2, 4, 9),
        (b"\xef\xbb\xbfab\xff", 1, 3, 5),
        (b"x\n\n\xc3", 3, 1, 3),
    ],
)
def test_text_points_at_the_byte_that_is_wrong(
    tmp_path: Path, data: bytes, line: int, column: int, offset: int
) -> None:
    path = tmp_path / "a.yml"
    path.write_bytes(data)
    with pytest.raises(UnreadableFileError, match=f"a.yml:{line}:{column}: byte 0x") as caught:
        files.read_text(path)
    details = caught.value.details
    assert (details["line"], details["column"], details["offset"]) == (line, column, offset)


def test_digest_of_absent_is_none() -> None:
    assert files.digest(None) is None
    assert files.digest(b"") != files.digest(b"\n")


def test_replace_makes_a_file_less_the_umask(tmp_path: Path) -> None:
    for umask, mode in ((0o022, 0o644), (0o077, 0o600)):
        before = os.umask(umask)
        try:
            files.replace_file(tmp_path / f"{umask}", b"x")
        finally:
            os.umask(before)
        assert stat.S_IMODE((tmp_path / f"{umask}").stat().st_mode) == mode


def test_replace_keeps_the_mode_or_takes_the_given_one(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"1")
    path.chmod(0o640)
    files.replace_file(path, b"2")
    assert (path.read_bytes(), stat.S_IMODE(path.stat().st_mode)) == (b"2", 0o640)
    files.replace_file(path, b"3", mode=0o600)
    assert (path.read_bytes(), stat.S_IMODE(path.stat().st_mode)) == (b"3", 0o600)


@pytest.mark.skipif(os.getuid() != 0, reason="only root may give a file to another user")
def test_replace_keeps_the_owner(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"1")
    os.chown(path, 12345, 12346)
    files.replace_file(path, b"2")
    assert (path.stat().st_uid, path.stat().st_gid) == (12345, 12346)


def test_replace_follows_links_and_keeps_them(tmp_path: Path) -> None:
    (tmp_path / "dotfiles").mkdir()
    real = tmp_path / "dotfiles" / "settings.yaml"
    real.write_bytes(b"old")
    middle = tmp_path / "middle"
    middle.symlink_to("dotfiles/settings.yaml")
    link = tmp_path / "settings.yaml"
    link.symlink_to(middle)
    files.replace_file(link, b"new", expected=b"old")
    assert link.is_symlink()
    assert middle.is_symlink()
    assert real.read_bytes() == b"new"


def test_replace_through_a_dangling_link_makes_its_file(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("real")
    files.replace_file(tmp_path / "link", b"x", expected=None)
    assert (tmp_path / "real").read_bytes() == b"x"
    assert (tmp_path / "link").is_symlink()


@pytest.mark.parametrize(
    ("now", "expected", "word"),
    [(b"2", b"1", "changed"), (None, b"1", "was removed"), (b"2", None, "appeared")],
)
def test_replace_refuses_when_changed_since_read(
    tmp_path: Path, now: bytes | None, expected: bytes | None, word: str
) -> None:
    path = tmp_path / "a"
    if now is not None:
        path.write_bytes(now)
    with pytest.raises(ChangedSinceReadError, match=f"{word} since it was read"):
        files.replace_file(path, b"new", expected=expected)
    assert files.read_bytes(path) == now
    assert len(list(tmp_path.iterdir())) == (now is not None)


@pytest.mark.parametrize(
    ("number", "reason"),
    [
        (errno.ENOSPC, "no space is left on the disk"),
        (errno.EROFS, "the file system is read-only"),
        (errno.EACCES, "permission denied"),
        (errno.EDQUOT, "the disk quota is used up"),
    ],
)
def test_replace_failure_is_told_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, reason: str
) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"old")

    def fail(descriptor: int) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(WriteFailedError, match=reason):
        files.replace_file(path, b"new")
    assert path.read_bytes() == b"old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["a"]


def test_replace_says_what_is_in_the_way(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    expected = {
        tmp_path / "folder": "it is a folder",
        tmp_path / "file" / "x": "a part of its path is a file",
        tmp_path / "absent" / "x": "its folder does not exist",
        tmp_path / "pipe": "it is a named pipe",
        tmp_path / "nul\0": "null character",
    }
    for path, reason in expected.items():
        with pytest.raises(WriteFailedError, match=reason):
            files.replace_file(path, b"new")


def test_replace_refuses_a_read_only_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"old")
    path.chmod(0o444)
    writable = os.access

    def access(name: Path, how: int) -> bool:  # root is allowed everything
        return bool(Path(name).stat().st_mode & 0o200) and writable(name, how)

    monkeypatch.setattr(os, "access", access)
    with pytest.raises(WriteFailedError, match="the file is read-only"):
        files.replace_file(path, b"new")
    assert path.read_bytes() == b"old"


def test_replace_takes_the_longest_name_there_is(tmp_path: Path) -> None:
    path = tmp_path / ("n" * 255)
    files.replace_file(path, b"x")
    assert path.read_bytes() == b"x"


def test_names_that_are_no_utf8_are_shown_escaped(tmp_path: Path) -> None:
    path = tmp_path / os.fsdecode(b"caf\xe9")
    files.replace_file(path, b"x")
    assert files.read_bytes(path) == b"x"
    assert files.shown(path).endswith("caf\\xe9")
    with pytest.raises(ChangedSinceReadError) as caught:
        files.replace_file(path, b"y", expected=b"z")
    caught.value.message.encode()


def test_remove_takes_the_link_not_its_file(tmp_path: Path) -> None:
    (tmp_path / "real").write_bytes(b"x")
    (tmp_path / "link").symlink_to("real")
    files.remove_file(tmp_path / "link", expected=b"x")
    files.remove_file(tmp_path / "link")
    assert not (tmp_path / "link").is_symlink()
    with pytest.raises(ChangedSinceReadError):
        files.remove_file(tmp_path / "real", expected=b"y")
    assert (tmp_path / "real").exists()


@given(old=st.none() | st.binary(max_size=40), new=st.binary(max_size=40))
def test_replace_is_byte_exact(
    tmp_path_factory: pytest.TempPathFactory, old: bytes | None, new: bytes
) -> None:
    path = tmp_path_factory.mktemp("f") / "a"
    if old is not None:
        path.write_bytes(old)
    files.replace_file(path, new, expected=old)
    assert files.read_bytes(path) == new
