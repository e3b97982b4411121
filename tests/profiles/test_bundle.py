from __future__ import annotations

from pathlib import Path

import pytest

from dshloop.errors import BundleInvalidError
from dshloop.profiles.bundle import check_patches, read_package, valid_package_name
from tests.profiles.packages import package


def test_a_bundle_is_read(tmp_path: Path) -> None:
    found = read_package(package(tmp_path / "x", "@s/x", dependencies={"a": "1"}))
    assert (found.name, found.version, found.dependencies) == ("@s/x", "1.0.0", ("a",))
    assert found.is_bundle
    assert found.patch_files == (tmp_path / "x" / "cordis.patch.yml",)


@pytest.mark.parametrize("dsh", [None, "x", {}, {"bundle": {}}, {"bundle": "x"}, []])
def test_what_names_no_patch_is_a_plain_package(tmp_path: Path, dsh: object) -> None:
    assert not read_package(package(tmp_path / "x", dsh=dsh)).is_bundle


def test_a_package_without_a_name_goes_by_its_folder(tmp_path: Path) -> None:
    folder = package(tmp_path / "nameless")
    (folder / "package.json").write_text("{}")
    assert read_package(folder).name == "nameless"
    with pytest.raises(BundleInvalidError):
        read_package(folder, archive=tmp_path / "nameless.tgz")


@pytest.mark.parametrize("name", ["../x", "a b", ".x", ""])
def test_a_name_that_leads_elsewhere_is_refused(tmp_path: Path, name: str) -> None:
    folder = package(tmp_path / "x")
    (folder / "package.json").write_text(f'{{"name": "{name}"}}')
    with pytest.raises(BundleInvalidError, match="can't be a package's name"):
        read_package(folder)


@pytest.mark.parametrize("text", ["", "[]", "null", '{"a": }', "{'a': 1}"])
def test_a_broken_manifest_is_refused(tmp_path: Path, text: str) -> None:
    folder = package(tmp_path / "x")
    (folder / "package.json").write_text(text)
    with pytest.raises(BundleInvalidError) as caught:
        read_package(folder)
    assert caught.value.exit_code == 4
    assert "package.json" in caught.value.details["file"]


def test_a_folder_without_manifest_is_no_package(tmp_path: Path) -> None:
    with pytest.raises(BundleInvalidError, match="it has no package"):
        read_package(tmp_path)


def test_a_byte_order_mark_is_refused_since_dsh_skips_such_a_bundle(tmp_path: Path) -> None:
    folder = package(tmp_path / "x")
    manifest = folder / "package.json"
    manifest.write_bytes(b"\xef\xbb\xbf" + manifest.read_bytes())
    with pytest.raises(BundleInvalidError, match="byte order mark"):
        read_package(folder)


@pytest.mark.parametrize(
    ("patch", "said"),
    [("a: [", "unexpected end"), ("x: 1", "top-level YAML array"), ("- 1", "must be a mapping"),
     ("- insert: {}", "insert"), ("", "top-level YAML array"),
     ("- insert: [&a {id: x, config: [*a]}]", "contains itself")],
)  # fmt: skip
def test_a_broken_patch_file_is_named(tmp_path: Path, patch: str, said: str) -> None:
    folder = package(tmp_path / "x")
    (folder / "cordis.patch.yml").write_text(patch)
    with pytest.raises(BundleInvalidError, match=said) as caught:
        check_patches(read_package(folder))
    assert caught.value.details["file"] == str(folder / "cordis.patch.yml")
    assert caught.value.details["line"] >= 1


def test_a_fault_names_the_place_that_the_user_knows(tmp_path: Path) -> None:
    folder = package(tmp_path / "x")
    (folder / "cordis.patch.yml").write_text("a: 1")
    archive = tmp_path / "x.tgz"
    with pytest.raises(BundleInvalidError) as caught:
        check_patches(read_package(folder, archive=archive))
    assert caught.value.details["file"] == str(archive / "cordis.patch.yml")
    assert str(folder / "cordis") not in caught.value.message


def test_a_patch_file_that_is_not_in_the_package_is_named(tmp_path: Path) -> None:
    folder = package(tmp_path / "x", dsh={"bundle": {"patch": ["cordis.patch.yml", "no.yml"]}})
    with pytest.raises(BundleInvalidError, match="not in the package") as caught:
        check_patches(read_package(folder))
    assert caught.value.details["file"] == str(folder / "no.yml")


def test_a_patch_of_another_type_is_refused(tmp_path: Path) -> None:
    folder = package(tmp_path / "x", dsh={"bundle": {"patch": 12}})
    with pytest.raises(BundleInvalidError, match="file path or a list"):
        check_patches(read_package(folder))


@pytest.mark.parametrize("name", ["a", "@s/n", "Upper", "a.b", "a_b", "~x", "1"])
def test_good_package_names(name: str) -> None:
    assert valid_package_name(name)


@pytest.mark.parametrize(
    "name", ["", ".", "..", ".x", "a/b", "../x", "@s", "@s/../x", "a b", "node_modules", "a" * 215]
)
def test_bad_package_names(name: str) -> None:
    assert not valid_package_name(name)


def test_a_manifest_that_is_no_file_is_named_where_the_user_has_it(tmp_path: Path) -> None:
    (tmp_path / "unpacked" / "package.json").mkdir(parents=True)
    archive = tmp_path / "a.tgz"
    with pytest.raises(BundleInvalidError) as raised:
        read_package(tmp_path / "unpacked", archive=archive)
    assert str(archive / "package.json") in raised.value.message
    assert raised.value.details["file"] == str(archive / "package.json")
