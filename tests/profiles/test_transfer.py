from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dshloop.errors import (
    DshloopError,
    ExportInvalidError,
    FindingsRefusedError,
    ProfileExistsError,
)
from dshloop.journal import Journal
from dshloop.profiles.layout import Profile
from dshloop.profiles.transfer import Imported, export_profile, export_text, import_profile
from tests.profiles.checks.made import profile
from tests.profiles.packages import contents, package, places_in


def made(root: Path, patch: str | bytes = "# 中 mine\r\n[]\r\n") -> Profile:
    target = package(root / "linked", "linked")
    found = profile(
        root,
        "b",
        patch=patch,
        name="dsh-profile-p",
        dependencies={"linked": f"link:{target}", "git": "github:o/r#1"},
    )
    (found.modules / "linked").symlink_to(target)
    (found.folder / "loops.yml").write_bytes(b"loops: \xff\n")
    return found


def taken_in(root: Path, value: Any, **more: Any) -> Imported:
    places = places_in(root / "other")
    text = value if isinstance(value, bytes) else export_text(value).encode()
    return import_profile(
        places,
        Journal(places.journal),
        text,
        Path("x.json"),
        **{"name": None, "command": "x", **more},
    )


def test_what_is_exported_is_imported_byte_for_byte(tmp_path: Path) -> None:
    source = made(tmp_path)
    value = export_profile(source)
    imported = taken_in(tmp_path, value).profile
    for name in ("package.json", "cordis.patch.yml", "loops.yml"):
        assert (imported.folder / name).read_bytes() == (source.folder / name).read_bytes()
    assert (imported.folder / "pnpm-workspace.yaml").is_file()
    assert not imported.modules.exists()
    Journal(places_in(tmp_path / "other").journal).undo()
    assert not imported.folder.exists()


def test_plugins_are_listed_with_spec_version_and_kind(tmp_path: Path) -> None:
    plugins = {one["name"]: one for one in export_profile(made(tmp_path))["plugins"]}
    assert {name: (one["kind"], one["version"], one["layer"]) for name, one in plugins.items()} == {
        "b": ("registry", "1.0.0", 1),
        "linked": ("linked", "1.0.0", None),
        "git": ("git", None, None),
    }


def test_another_name_is_written_into_the_manifest(tmp_path: Path) -> None:
    imported = taken_in(tmp_path, export_profile(made(tmp_path)), name="q")
    assert json.loads(imported.profile.manifest.read_text())["name"] == "dsh-profile-q"


def test_a_check_comes_before_anything_is_written(tmp_path: Path) -> None:
    value = export_profile(made(tmp_path, patch="[]\n- {id: x}\n"))
    with pytest.raises(FindingsRefusedError) as refused:
        taken_in(tmp_path, value)
    assert refused.value.details["findings"][0]["code"] == "PATCH_ROOT_APPENDED"
    assert contents(tmp_path / "other") == {}
    forced = taken_in(tmp_path, value, force=True)
    assert forced.profile.patch.read_text() == "[]\n- {id: x}\n"


def test_a_dry_run_shows_the_files_and_writes_none(tmp_path: Path) -> None:
    imported = taken_in(tmp_path, export_profile(made(tmp_path)), dry_run=True)
    assert "+# 中 mine" in imported.as_json()["diff"]
    assert contents(tmp_path / "other") == {}


def test_a_profile_that_is_there_is_not_overwritten(tmp_path: Path) -> None:
    value = export_profile(made(tmp_path))
    taken_in(tmp_path, value)
    with pytest.raises(ProfileExistsError):
        taken_in(tmp_path, value)


@pytest.mark.parametrize(
    "change",
    [
        {"format": "other"},
        {"version": 2},
        {"name": 5},
        {"name": "../../x"},
        {"files": {}},
        {"files": {"package.json": "{}", "../../evil": "x"}},
        {"files": {"package.json": 5}},
        {"files": {"package.json": {"base64": "%%"}}},
    ],
)
def test_damaged_exports_are_refused(tmp_path: Path, change: dict[str, Any]) -> None:
    value = {**export_profile(made(tmp_path)), **change}
    with pytest.raises(DshloopError):
        taken_in(tmp_path, value)
    assert contents(tmp_path / "other") == {}


def test_what_is_no_json_is_refused() -> None:
    with pytest.raises(ExportInvalidError):
        taken_in(Path("/nowhere"), b"\xff{")
