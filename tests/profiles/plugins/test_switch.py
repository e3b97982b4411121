from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from dshloop.errors import (
    PluginInactiveError,
    PluginNotFoundError,
    PluginRefusedError,
    ProfileNotFoundError,
    RowIdTakenError,
)
from dshloop.journal import Journal
from dshloop.profiles.layout import profile_at, read_manifest
from dshloop.profiles.plugins.changing import Outcome, Request
from dshloop.profiles.plugins.install import add_plugins, remove_plugins
from dshloop.profiles.plugins.lockfile import read_lock
from dshloop.profiles.plugins.switch import disable_plugins, enable_plugins
from dshloop.profiles.stack import stack_layers
from dshloop.profiles.view import list_plugins
from tests.profiles.packages import contents, package, places_in, profile_in
from tests.profiles.plugins.test_lockfile import LOCK

NOW = 1_800_000_000.0


@pytest.fixture
def request_(tmp_path: Path) -> Request:
    """Give a request on profile "p" with the plugins a, b and c, without pnpm."""
    places = places_in(tmp_path / "home")
    profile = profile_in(places, "p", (), name="dsh-profile-p")
    request = Request(
        places, Journal(places.journal), profile, tmp_path, {"HOME": str(tmp_path)}, "test"
    )
    for name in ("a", "b", "c"):
        package(tmp_path / name)
    add_plugins(request, ["./a", "./b", "./c"])
    return request


def disable(request: Request, *names: str, reason: str | None = None) -> Outcome:
    return disable_plugins(request, names, reason=reason, now=NOW)


def labels(request: Request) -> list[str]:
    return [layer.label for layer in stack_layers(request.profile).layers]


def test_a_disabled_plugin_adds_no_layer_and_stays_installed(request_: Request) -> None:
    outcome = disable(request_, "b", reason="too loud")
    assert labels(request_) == ["a", "c"]
    assert (request_.profile.modules / "b").is_symlink()
    assert [one.state for one in outcome.plugins] == ["disabled"]
    states = {line.name: line.state for line in list_plugins(request_.profile)}
    assert states == {
        "a": "layer 1",
        "b": "disabled by dshloop on 2027-01-15: too loud",
        "c": "layer 2",
    }


def test_enabling_restores_everything(request_: Request) -> None:
    before = contents(request_.profile.folder)
    disable(request_, "a", "c")
    disable(request_, "b")
    assert labels(request_) == []
    enable_plugins(request_, ["c"])
    outcome = enable_plugins(request_, ["a", "b"])
    assert [(one.name, one.state, one.layer) for one in outcome.plugins] == [
        ("a", "enabled", 1),
        ("b", "enabled", 2),
    ]
    assert contents(request_.profile.folder) == before


def test_undo_takes_a_switch_back(request_: Request) -> None:
    before = contents(request_.profile.folder)
    disable(request_, "a")
    request_.journal.undo()
    assert contents(request_.profile.folder) == before


def test_switching_twice_changes_nothing(request_: Request) -> None:
    disable(request_, "a", "a", reason="x")
    again = disable(request_, "a")
    assert (again.changed, again.plugins[0].state) == (False, "unchanged")
    on = enable_plugins(request_, ["b"])
    assert (on.changed, on.plugins[0].state) == (False, "unchanged")


def test_a_dry_run_shows_the_manifest_and_changes_nothing(request_: Request) -> None:
    before = contents(request_.profile.folder)
    outcome = disable_plugins(replace(request_, dry_run=True), ["a"], reason=None, now=NOW)
    assert '+  "devDependencies": {' in outcome.diff
    assert contents(request_.profile.folder) == before


def test_unknown_names_and_profiles(request_: Request) -> None:
    before = contents(request_.profile.folder)
    with pytest.raises(PluginNotFoundError):
        disable(request_, "a", "nobody")
    with pytest.raises(PluginNotFoundError):
        enable_plugins(request_, ["nobody"])
    other = replace(request_, profile=profile_at(request_.places, "other"))
    with pytest.raises(ProfileNotFoundError):
        disable(other, "a")
    assert contents(request_.profile.folder) == before


def test_a_plain_dependency_is_never_a_layer(request_: Request, tmp_path: Path) -> None:
    package(tmp_path / "plain", dsh=None)
    add_plugins(request_, ["./plain"])
    with pytest.raises(PluginInactiveError):
        enable_plugins(request_, ["plain"])


def test_what_would_collide_is_not_switched_on(request_: Request, tmp_path: Path) -> None:
    disable(request_, "a")
    package(tmp_path / "other", "other", "a")
    add_plugins(request_, ["./other"])
    with pytest.raises(RowIdTakenError) as caught:
        enable_plugins(request_, ["a"])
    assert {caught.value.details["owner"], caught.value.details["newcomer"]} == {"a", "other"}
    forced = enable_plugins(replace(request_, force=True), ["a"])
    assert forced.plugins[0].layer == 1


def test_patches_that_miss_their_rows_are_told(request_: Request) -> None:
    request_.profile.patch.write_text("- {id: a, disabled: true}\n", encoding="utf-8")
    outcome = disable(request_, "a")
    assert [finding.code for finding in outcome.findings] == ["PATCH_TARGET_MISSING"]
    assert outcome.findings[0].severity != "error"


def test_adding_a_disabled_plugin_again_leaves_it_off(request_: Request) -> None:
    disable(request_, "a", reason="no")
    outcome = add_plugins(request_, ["./a"])
    assert "plugin enable a" in outcome.cautions[0]
    assert labels(request_) == ["b", "c"]
    assert list(read_manifest(request_.profile).value["devDependencies"]) == ["a"]


def test_removing_a_disabled_plugin_takes_its_record_too(request_: Request) -> None:
    disable(request_, "a")
    remove_plugins(request_, ["a"])
    manifest = read_manifest(request_.profile)
    assert "dshloop" not in manifest.value
    assert "a" not in manifest.recorded


def test_a_bundle_of_dshs_own_can_be_switched_off(request_: Request) -> None:
    value = json.loads(request_.profile.manifest.read_text())
    value["dsh"]["profile"]["bundles"].insert(0, "@deepseek-ai/dsh-base")
    request_.profile.manifest.write_text(json.dumps(value))
    disable(request_, "@deepseek-ai/dsh-base")
    assert "@deepseek-ai/dsh-base" not in read_manifest(request_.profile).bundles
    lines = {line.name: line.state for line in list_plugins(request_.profile)}
    assert lines["@deepseek-ai/dsh-base"] == "disabled by dshloop on 2027-01-15"
    enable_plugins(request_, ["@deepseek-ai/dsh-base"])
    assert read_manifest(request_.profile).bundles[0] == "@deepseek-ai/dsh-base"
    remove_plugins(request_, ["@deepseek-ai/dsh-base"])


def test_the_lock_moves_with_the_manifest(request_: Request) -> None:
    lock = request_.profile.folder / "pnpm-lock.yaml"
    lock.write_bytes(LOCK.replace(b"alpha:\n", b"a:\n"))
    before = lock.read_bytes()
    disable(request_, "a")
    assert read_lock(lock.read_bytes())["a"].group == "devDependencies"
    enable_plugins(request_, ["a"])
    assert lock.read_bytes() == before


def test_those_who_need_what_goes_are_named(request_: Request, tmp_path: Path) -> None:
    package(tmp_path / "b", "b", peerDependencies={"a": "^1"})
    assert disable(request_, "a").cautions == ("b needs a ^1 (peerDependencies)",)
    assert disable(request_, "c").cautions == ()
    assert remove_plugins(request_, ["a"]).cautions == ("b needs a ^1 (peerDependencies)",)


def test_a_disabled_plugin_that_dsh_removed(request_: Request) -> None:
    disable(request_, "b")
    manifest = read_manifest(request_.profile).without(["b"])
    request_.profile.manifest.write_bytes(manifest.as_bytes())
    (request_.profile.modules / "b").unlink()
    states = {line.name: line.state for line in list_plugins(request_.profile)}
    assert states["b"] == "disabled by dshloop on 2027-01-15, removed since"
    with pytest.raises(PluginRefusedError):
        enable_plugins(request_, ["b"])
    add_plugins(request_, ["./b"])
    assert labels(request_) == ["a", "c", "b"]
    assert "dshloop" not in read_manifest(request_.profile).value


def test_a_disabled_plugin_that_came_back_can_be_switched_again(request_: Request) -> None:
    disable(request_, "b")
    value = json.loads(request_.profile.manifest.read_text())
    value["dependencies"]["b"] = value.pop("devDependencies")["b"]
    value["dsh"]["profile"]["bundles"].append("b")  # as dsh 0.1.2 does after a move by hand
    request_.profile.manifest.write_text(json.dumps(value))
    assert {line.name: line.layer for line in list_plugins(request_.profile)}["b"] == 3
    assert disable(request_, "b").changed
    assert labels(request_) == ["a", "c"]
    enable_plugins(request_, ["b"])
    assert labels(request_) == ["a", "c", "b"]
