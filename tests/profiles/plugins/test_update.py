"""Updates without pnpm; those with pnpm and a registry are in tests/peers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from dshloop.errors import (
    BundleInvalidError,
    PackageNotFoundError,
    PluginNotFoundError,
    PnpmMissingError,
    ProfileNotFoundError,
)
from dshloop.journal import Journal
from dshloop.profiles.layout import profile_at, read_manifest
from dshloop.profiles.plugins.changing import Outcome, Request
from dshloop.profiles.plugins.install import add_plugins
from dshloop.profiles.plugins.outdated import find_outdated
from dshloop.profiles.plugins.recorded import recorded_plugins
from dshloop.profiles.plugins.update import update_plugins
from tests.profiles.packages import contents, package, packed, places_in, profile_in


@pytest.fixture
def request_(tmp_path: Path) -> Request:
    """Give a request on a profile with an archive, a copy and a link, without pnpm."""
    places = places_in(tmp_path / "home")
    profile = profile_in(places, "p", (), name="dsh-profile-p")
    request = Request(
        places, Journal(places.journal), profile, tmp_path, {"HOME": str(tmp_path)}, "test"
    )
    packed(package(tmp_path / "archived"))
    package(tmp_path / "copied")
    package(tmp_path / "linked")
    add_plugins(request, ["./archived-1.0.0.tgz", "file:./copied", "./linked"])
    return request


def states(outcome: Outcome) -> dict[str, str]:
    return {one.name: one.state for one in outcome.plugins}


def test_nothing_changed_nothing_moves(request_: Request) -> None:
    before = contents(request_.profile.folder)
    outcome = update_plugins(request_, [])
    assert states(outcome) == dict.fromkeys(("archived", "copied", "linked"), "unchanged")
    assert not outcome.changed
    assert [one.why.partition(":")[0] for one in outcome.plugins] == [
        "an archive",
        "a copy of a folder",
        "linked",
    ]
    assert contents(request_.profile.folder) == before


def test_archives_and_copies_are_read_again(request_: Request, tmp_path: Path) -> None:
    manifest = request_.profile.manifest.read_bytes()
    package(tmp_path / "archived", "archived", version="1.1.0")
    packed(tmp_path / "archived")
    package(tmp_path / "copied", "copied", version="2.0.0")
    outcome = update_plugins(request_, [])
    assert states(outcome) == {"archived": "updated", "copied": "updated", "linked": "unchanged"}
    told = {one.name: (one.was, one.version) for one in outcome.plugins}
    assert told["archived"] == ("1.0.0", "1.1.0")
    assert '"2.0.0"' in (request_.profile.modules / "copied" / "package.json").read_text()
    assert request_.profile.manifest.read_bytes() == manifest
    request_.journal.undo()
    assert '"1.0.0"' in (request_.profile.modules / "copied" / "package.json").read_text()


def test_only_the_named_one_moves(request_: Request, tmp_path: Path) -> None:
    package(tmp_path / "archived", "archived", version="1.1.0")
    packed(tmp_path / "archived")
    package(tmp_path / "copied", "copied", version="2.0.0")
    assert states(update_plugins(request_, ["copied"])) == {"copied": "updated"}
    assert '"1.0.0"' in (request_.profile.modules / "archived" / "package.json").read_text()


def test_an_update_that_would_break_changes_nothing(request_: Request, tmp_path: Path) -> None:
    (package(tmp_path / "copied") / "cordis.patch.yml").write_text("a: [", encoding="utf-8")
    before = contents(request_.profile.folder)
    with pytest.raises(BundleInvalidError):
        update_plugins(request_, [])
    assert contents(request_.profile.folder) == before
    assert update_plugins(replace(request_, force=True), []).changed


def test_an_update_that_is_no_bundle_any_more_leaves_the_list(
    request_: Request, tmp_path: Path
) -> None:
    package(tmp_path / "copied", dsh=None)
    update_plugins(request_, [])
    assert read_manifest(request_.profile).bundles == ("archived", "linked")


def test_a_dry_run_changes_nothing(request_: Request, tmp_path: Path) -> None:
    package(tmp_path / "copied", "copied", version="2.0.0")
    before = contents(request_.profile.folder)
    outcome = update_plugins(replace(request_, dry_run=True), [])
    assert (outcome.changed, states(outcome)["copied"]) == (True, "updated")
    assert contents(request_.profile.folder) == before


def test_what_is_gone_or_unknown(request_: Request, tmp_path: Path) -> None:
    with pytest.raises(PluginNotFoundError):
        update_plugins(request_, ["nobody"])
    with pytest.raises(ProfileNotFoundError):
        update_plugins(replace(request_, profile=profile_at(request_.places, "other")), [])
    (tmp_path / "archived-1.0.0.tgz").unlink()
    with pytest.raises(PackageNotFoundError):
        update_plugins(request_, ["archived"])


def test_without_pnpm_the_registry_is_left_alone_unless_named(request_: Request) -> None:
    manifest = read_manifest(request_.profile).with_specs({"far": "^1.0.0"})
    request_.profile.manifest.write_bytes(manifest.as_bytes())
    outcome = update_plugins(request_, [])
    (far,) = [one for one in outcome.plugins if one.name == "far"]
    assert (far.state, far.why) == ("unchanged", "only pnpm can move it")
    with pytest.raises(PnpmMissingError):
        update_plugins(request_, ["far"])


def test_outdated_without_pnpm(request_: Request, tmp_path: Path) -> None:
    package(tmp_path / "copied", "copied", version="2.0.0")
    manifest = read_manifest(request_.profile).with_specs({"far": "^1.0.0"})
    request_.profile.manifest.write_bytes(manifest.as_bytes())
    ages = {age.name: age for age in find_outdated(request_.profile, request_.variables, None)}
    assert (ages["copied"].current, ages["copied"].wanted) == ("1.0.0", "2.0.0")
    assert [name for name, age in ages.items() if age.outdated] == ["copied"]
    assert ages["far"].why == "only pnpm can ask the registry"
    (tmp_path / "archived-1.0.0.tgz").unlink()
    (age,) = [
        age
        for age in find_outdated(request_.profile, request_.variables, None)
        if age.name == "archived"
    ]
    assert age.why.endswith("archived-1.0.0.tgz is gone")


@pytest.mark.parametrize(
    ("text", "way", "package_name", "wanted"),
    [
        ("^1.0.0", "range", "x", "^1.0.0"),
        ("1.0.0", "pin", "x", "1.0.0"),
        ("=1.0.0", "pin", "x", "=1.0.0"),
        ("*", "range", "x", "*"),
        ("latest", "tag", "x", "latest"),
        ("npm:@s/y@~2.0.0", "range", "@s/y", "~2.0.0"),
        ("npm:y@2.0.0", "pin", "y", "2.0.0"),
        ("npm:y", "range", "y", "*"),
        ("link:/a/b", "link", "x", ""),
        ("link:../b", "link", "x", ""),
        ("file:/a/b", "copy", "x", ""),
        ("file:../b-1.0.0.tgz", "archive", "x", ""),
        ("https://example.org/b.tgz", "url", "x", ""),
        ("github:o/r#v1", "git", "x", ""),
        ("git+ssh://git@example.org/r.git", "git", "x", ""),
        ("workspace:*", "unknown", "x", ""),
    ],
)
def test_how_a_spec_is_recorded(
    tmp_path: Path, text: str, way: str, package_name: str, wanted: str
) -> None:
    profile = profile_in(places_in(tmp_path), "q", dependencies={"x": text})
    (one,) = recorded_plugins(profile, read_manifest(profile), {})
    assert (one.way, one.package) == (way, package_name)
    if wanted:
        assert one.range == wanted
    assert bool(one.why) is (way not in ("range", "tag"))
