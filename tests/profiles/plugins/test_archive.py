from __future__ import annotations

import gzip
import io
import tarfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dshloop.errors import ArchiveInvalidError, PackageNotFoundError
from dshloop.profiles.plugins import archive
from dshloop.profiles.plugins.archive import unpack


def pack(path: Path, *members: tuple[tarfile.TarInfo, bytes], mode: str = "w:gz") -> Path:
    with tarfile.open(path, mode) as tar:  # type: ignore[call-overload]
        for info, data in members:
            tar.addfile(info, io.BytesIO(data))
    return path


def entry(name: str, data: bytes = b"{}", **attrs: object) -> tuple[tarfile.TarInfo, bytes]:
    info = tarfile.TarInfo(name)
    info.size = len(data)
    for key, value in attrs.items():
        setattr(info, key, value)
    return info, data


def names(folder: Path) -> list[str]:
    return sorted(p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file())


@pytest.mark.parametrize(
    ("members", "expected"),
    [
        (["package/package.json", "package/lib/x.js"], ["lib/x.js", "package.json"]),
        (["other/package.json"], ["package.json"]),
        (["./package/package.json"], ["package.json"]),
        (["./package.json", "./lib/x.js"], ["lib/x.js", "package.json"]),
    ],
)
def test_the_folder_around_a_package_is_dropped(
    tmp_path: Path, members: list[str], expected: list[str]
) -> None:
    packed = pack(tmp_path / "a.tgz", *map(entry, members))
    (tmp_path / "out").mkdir()
    unpack(packed, tmp_path / "out")
    assert names(tmp_path / "out") == expected


def test_modes_are_those_of_new_files_and_programs_stay_programs(tmp_path: Path) -> None:
    packed = pack(
        tmp_path / "a.tgz",
        entry("package/package.json", mode=0o600),
        entry("package/bin", b"", type=tarfile.DIRTYPE, mode=0o777),
        entry("package/bin/x", mode=0o4777),
    )
    unpack(packed, tmp_path / "out")
    (tmp_path / "new").mkdir()
    assert (tmp_path / "out" / "bin").stat().st_mode == (tmp_path / "new").stat().st_mode
    assert (tmp_path / "out" / "bin" / "x").stat().st_mode & 0o7777 == 0o755


def test_an_uncompressed_archive_is_read_too(tmp_path: Path) -> None:
    packed = pack(tmp_path / "a.tar", entry("package/package.json", b"[1]"), mode="w")
    unpack(packed, tmp_path / "out")
    assert (tmp_path / "out" / "package.json").read_bytes() == b"[1]"


@pytest.mark.parametrize(
    "name",
    ["../evil", "package/../../evil", "/evil", "package/..", "package\\..\\evil", "C:/evil"],
)
def test_names_that_lead_out_are_refused_before_anything_is_written(
    tmp_path: Path, name: str
) -> None:
    packed = pack(tmp_path / "a.tgz", entry("package/package.json"), entry(name))
    with pytest.raises(ArchiveInvalidError):
        unpack(packed, tmp_path / "out")
    assert not (tmp_path / "out").exists()
    assert not (tmp_path / "evil").exists()


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE])
def test_links_and_devices_are_refused(tmp_path: Path, kind: bytes) -> None:
    member = entry("package/x", b"", type=kind, linkname="../../../etc/passwd")
    packed = pack(tmp_path / "a.tgz", entry("package/package.json"), member)
    with pytest.raises(ArchiveInvalidError, match="link or a device"):
        unpack(packed, tmp_path / "out")


def test_too_many_files_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "MAX_FILES", 3)
    packed = pack(tmp_path / "a.tgz", *(entry(f"package/{n}") for n in range(4)))
    with pytest.raises(ArchiveInvalidError, match="more than 3 files"):
        unpack(packed, tmp_path / "out")


def test_too_many_bytes_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "MAX_BYTES", 1 << 20)
    packed = pack(tmp_path / "a.tgz", *(entry(f"package/{n}", bytes(1 << 19)) for n in range(3)))
    with pytest.raises(ArchiveInvalidError, match="more than 1 MiB"):
        unpack(packed, tmp_path / "out")


def test_a_bomb_hidden_in_a_header_is_refused(tmp_path: Path) -> None:
    header = tarfile.TarInfo("package/pax")
    header.type, header.size = tarfile.XHDTYPE, 64 << 20
    with gzip.open(tmp_path / "a.tgz", "wb") as file:
        file.write(header.tobuf() + bytes(64 << 20))
    with pytest.raises(ArchiveInvalidError, match="header in it is too large"):
        unpack(tmp_path / "a.tgz", tmp_path / "out")


def test_a_missing_archive_is_not_found(tmp_path: Path) -> None:
    with pytest.raises(PackageNotFoundError):
        unpack(tmp_path / "none.tgz", tmp_path / "out")


@pytest.mark.parametrize(
    "data", [b"", b"text, no archive", b"\x1f\x8b", gzip.compress(b"x" * 999, mtime=0)]
)
def test_what_is_no_archive_says_so(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "a.tgz").write_bytes(data)
    with pytest.raises(ArchiveInvalidError):
        unpack(tmp_path / "a.tgz", tmp_path / "out")


@given(st.data())
def test_a_damaged_archive_never_ends_in_another_error(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    folder = tmp_path_factory.mktemp("fuzz")
    packed = pack(folder / "a.tgz", entry("package/package.json"), entry("package/x", b"x" * 2000))
    raw = bytearray(packed.read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    packed.write_bytes(raw[: data.draw(st.integers(0, len(raw)))])
    (folder / "out").mkdir()
    try:
        unpack(packed, folder / "out")
    except ArchiveInvalidError:
        pass
    assert {p.name for p in folder.iterdir()} == {"a.tgz", "out"}


def test_an_entry_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    packed = pack(tmp_path / "a.tgz", entry("package/a"), entry("package/a/b"))
    with pytest.raises(ArchiveInvalidError, match="package/a/b"):
        unpack(packed, tmp_path / "out")


@pytest.mark.parametrize("end", [b"", b"12345678", b"\0" * 4])
def test_a_wrong_checksum_is_found_though_all_files_could_be_read(
    tmp_path: Path, end: bytes
) -> None:
    packed = pack(tmp_path / "a.tgz", entry("package/package.json"))
    packed.write_bytes(packed.read_bytes()[:-8] + end)
    with pytest.raises(ArchiveInvalidError, match="damaged"):
        unpack(packed, tmp_path / "out")
