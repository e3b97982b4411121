"""pnpm as a stand-in script: what we do with its answers. The real one is in tests/peers."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from dshloop.dsh import find_program
from dshloop.errors import (
    BundleInvalidError,
    DshloopError,
    PackageNotFoundError,
    PnpmFailedError,
    PnpmMissingError,
    RegistryUnreachableError,
    RowIdTakenError,
)
from dshloop.journal import Journal
from dshloop.profiles.layout import profile_at
from dshloop.profiles.plugins.changing import Request
from dshloop.profiles.plugins.install import add_plugins, remove_plugins
from tests.profiles.packages import contents, package, places_in, profile_in

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="scripts with #! need POSIX")

# Does what pnpm does to a folder: records dependencies, fills node_modules, writes its lock.
# Packages of its "registry" are folders beside it, named as the spec without its version.
WORKING = """\
import json, pathlib, shutil, sys
verb, *rest = sys.argv[1:]
words = [w for w in rest if not w.startswith("-")]
store = pathlib.Path(__file__).parent / "store"
path = pathlib.Path("package.json")
value = json.loads(path.read_text())
deps = value.setdefault("dependencies", {})
modules = pathlib.Path("node_modules")
modules.mkdir(exist_ok=True)
for word in words:
    if verb == "remove":
        del deps[word]
        continue
    alias, _, target = word.rpartition("@") if "@" in word[1:] else ("", "", word)
    local = target.partition(":")[2] if target.startswith(("link:", "file:")) else ""
    source = pathlib.Path(local) if local else store / target.rpartition("/")[2]
    name = alias or json.loads((source / "package.json").read_text())["name"]
    deps[name] = target if local or "/" in target else "^1.0.0"
    place = modules / name
    if place.is_symlink() or place.exists():
        place.unlink() if place.is_symlink() else shutil.rmtree(place)
    place.symlink_to(source) if target.startswith("link:") else shutil.copytree(source, place)
value["dependencies"] = dict(sorted(deps.items()))
path.write_text(json.dumps(value, indent=2) + "\\n")
pathlib.Path("pnpm-lock.yaml").write_text(json.dumps(value["dependencies"]) + "\\n")
print("Done")
"""


@pytest.fixture
def request_(tmp_path: Path) -> Request:
    return request_with(tmp_path, WORKING)


def request_with(tmp_path: Path, script: str) -> Request:
    folder = tmp_path / "bin"
    folder.mkdir(exist_ok=True)
    path = folder / "pnpm"
    path.write_text(f"#!{sys.executable}\n{script}")
    path.chmod(0o755)
    places = places_in(tmp_path / "home")
    profile = profile_in(places, "p", (), name="dsh-profile-p")
    pnpm = find_program("pnpm", {"PATH": str(folder)})
    return Request(
        places, Journal(places.journal), profile, tmp_path, dict(os.environ), "test", pnpm
    )


def manifest(request: Request) -> Any:
    return json.loads(request.profile.manifest.read_text())


def test_what_pnpm_installs_reaches_the_profile(request_: Request, tmp_path: Path) -> None:
    package(tmp_path / "bin" / "store" / "remote")
    folder = package(tmp_path / "local")
    outcome = add_plugins(request_, ["remote", "./local"])
    assert manifest(request_)["dependencies"] == {"local": f"link:{folder}", "remote": "^1.0.0"}
    assert manifest(request_)["dsh"]["profile"]["bundles"] == ["local", "remote"]
    assert (request_.profile.modules / "remote" / "package.json").is_file()
    assert (request_.profile.folder / "pnpm-lock.yaml").is_file()
    assert outcome.log is not None
    assert outcome.log.read_text() == "Done\n"
    assert outcome.log.stat().st_mode & 0o777 == 0o600


def test_the_name_of_a_repository_is_learned_from_what_pnpm_recorded(
    request_: Request, tmp_path: Path
) -> None:
    package(tmp_path / "bin" / "store" / "repo", "its-name")
    add_plugins(request_, ["owner/repo"])
    assert manifest(request_)["dsh"]["profile"]["bundles"] == ["its-name"]


def test_a_missing_profile_is_made_with_its_workspace_file(
    request_: Request, tmp_path: Path
) -> None:
    profile = profile_at(request_.places, "web")
    request = Request(
        request_.places,
        request_.journal,
        profile,
        tmp_path,
        request_.variables,
        "test",
        request_.pnpm,
    )
    package(tmp_path / "local")
    add_plugins(request, ["./local"])
    assert "nodeLinker: hoisted" in (profile.folder / "pnpm-workspace.yaml").read_text()
    assert manifest(request)["name"] == "dsh-profile-web"


def test_adding_again_and_removing(request_: Request, tmp_path: Path) -> None:
    package(tmp_path / "local")
    add_plugins(request_, ["./local"])
    before = contents(request_.places.dsh_home)
    assert not add_plugins(request_, ["./local"]).changed
    assert contents(request_.places.dsh_home) == before
    remove_plugins(request_, ["local"])
    assert manifest(request_)["dsh"]["profile"]["bundles"] == []
    assert list(request_.profile.modules.iterdir()) == []


def test_what_pnpm_brings_is_checked_before_the_profile_changes(
    request_: Request, tmp_path: Path
) -> None:
    request_.profile.patch.write_text("- insert: [{id: taken}]\n")
    package(tmp_path / "bin" / "store" / "remote", "remote", "taken")
    broken = package(tmp_path / "bin" / "store" / "broken")
    (broken / "cordis.patch.yml").unlink()
    before = contents(request_.places.dsh_home)
    with pytest.raises(RowIdTakenError):
        add_plugins(request_, ["remote"])
    with pytest.raises(BundleInvalidError):
        add_plugins(request_, ["broken"])
    assert contents(request_.places.dsh_home) == before


def test_other_files_of_the_profile_stay(request_: Request, tmp_path: Path) -> None:
    package(tmp_path / "bin" / "store" / "one")
    package(tmp_path / "bin" / "store" / "two")
    add_plugins(request_, ["one"])
    (request_.profile.folder / "notes.txt").write_text("mine")
    add_plugins(request_, ["two"])
    assert sorted(path.name for path in request_.profile.modules.iterdir()) == ["one", "two"]
    assert (request_.profile.folder / "notes.txt").read_text() == "mine"
    assert not (request_.profile.folder / "notes.txt").is_symlink()


@pytest.mark.parametrize(
    ("output", "status", "error", "said"),
    [
        ("[ERR_PNPM_FETCH_404] GET https://r/x: Not Found - 404", 1, PackageNotFoundError, "404"),
        (" ERR_PNPM_FETCH_404  GET https://r/x: Not Found - 404", 1, PackageNotFoundError, "404"),
        ("[WARN] GET https://r/x error (ENOTFOUND). Will retry\n"
         "[ERR_PNPM_META_FETCH_FAIL] GET https://r/x: getaddrinfo ENOTFOUND r",
         1, RegistryUnreachableError, "getaddrinfo ENOTFOUND r"),
        ("[ERROR] Command failed with exit code 128: git ls-remote x\n"
         "ssh: Could not resolve hostname h", 1, RegistryUnreachableError, "git ls-remote x"),
        ("[ERR_PNPM_GIT_DEP_PREPARE_NOT_ALLOWED] The git-hosted package needs to be built",
         1, PnpmFailedError, "needs to be built"),
        ("first\nlast words", 9, PnpmFailedError, "last words"),
        ("", 1, PnpmFailedError, "it said nothing"),
        ("env: node: No such file or directory", 127, PnpmMissingError, "env: node"),
    ],
)  # fmt: skip
def test_a_failure_is_one_line_and_changes_nothing(
    tmp_path: Path, output: str, status: int, error: type[DshloopError], said: str
) -> None:
    request = request_with(tmp_path, f"import sys; print({output!r}); sys.exit({status})")
    before = contents(request.places.dsh_home)
    with pytest.raises(error) as caught:
        add_plugins(request, ["x"])
    assert said in caught.value.message
    assert "\n" not in caught.value.message
    assert output in Path(caught.value.details["log"]).read_text()
    assert contents(request.places.dsh_home) == before


def test_a_linked_folder_without_its_dependencies_is_told(
    request_: Request, tmp_path: Path
) -> None:
    package(tmp_path / "local", dependencies={"x": "1"})
    outcome = add_plugins(request_, ["./local"])
    assert f"run pnpm install in {tmp_path / 'local'}" in outcome.cautions[0]


def test_old_logs_are_forgotten(request_: Request, tmp_path: Path) -> None:
    logs = request_.places.data / "logs"
    logs.mkdir(parents=True)
    for number in range(30):
        (logs / f"pnpm-20200101T0000{number:02}-x.log").touch()
    package(tmp_path / "local")
    add_plugins(request_, ["./local"])
    assert len(list(logs.iterdir())) == 20


def test_packages_that_others_swapped_are_told(request_: Request, tmp_path: Path) -> None:
    package(tmp_path / "bin" / "store" / "remote")
    package(tmp_path / "local")
    add_plugins(request_, ["remote"])
    package(request_.profile.modules / "remote", "remote", version="9.0.0")
    codes = {finding.code: finding for finding in add_plugins(request_, ["./local"]).findings}
    assert "9.0.0 is installed, package.json says ^1.0.0" in codes["VERSION_DRIFT"].why
