from __future__ import annotations

import json
import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from dshloop.errors import (
    ArchiveInvalidError,
    BundleInvalidError,
    DshloopError,
    LockHeldError,
    PackageNotFoundError,
    PluginNotFoundError,
    PnpmMissingError,
    ProfileNotFoundError,
    RowIdTakenError,
    SpecInvalidError,
    UnreadableFileError,
    WriteFailedError,
)
from dshloop.journal import Journal
from dshloop.locks import hold, lock_path
from dshloop.profiles.layout import profile_at
from dshloop.profiles.plugins import turnover
from dshloop.profiles.plugins.changing import Request
from dshloop.profiles.plugins.install import add_plugins, remove_plugins
from dshloop.profiles.stack import stack_layers
from dshloop.profiles.view import list_plugins
from tests.profiles.packages import contents, package, packed, places_in, profile_in


@pytest.fixture
def request_(tmp_path: Path) -> Request:
    """Give a request on profile "p", which has no bundles, without pnpm."""
    places = places_in(tmp_path / "home")
    profile = profile_in(places, "p", (), name="dsh-profile-p")
    (tmp_path / "work").mkdir()
    return Request(
        places, Journal(places.journal), profile, tmp_path / "work", {"HOME": str(tmp_path)}, "test"
    )


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turnover, "WAIT", 0.1)


def manifest(request: Request) -> Any:
    return json.loads(request.profile.manifest.read_text())


def bundles(request: Request) -> list[str]:
    found: list[str] = manifest(request)["dsh"]["profile"]["bundles"]
    return found


def test_a_folder_is_linked_and_becomes_a_layer(request_: Request) -> None:
    folder = package(request_.cwd / "with space" / "hello")
    outcome = add_plugins(request_, ["./with space/hello"])
    assert manifest(request_)["dependencies"] == {"hello": f"link:{folder}"}
    assert bundles(request_) == ["hello"]
    assert (request_.profile.modules / "hello").readlink() == folder
    assert [layer.label for layer in stack_layers(request_.profile).layers] == ["hello"]
    assert outcome.plugins[0].layer == 1


def test_an_archive_is_unpacked_and_recorded(request_: Request) -> None:
    archive = packed(package(request_.cwd / "hello", "@s/hello"))
    add_plugins(request_, [archive.name])
    assert manifest(request_)["dependencies"] == {"@s/hello": f"file:{archive}"}
    installed = request_.profile.modules / "@s" / "hello"
    assert not installed.is_symlink()
    assert (installed / "cordis.patch.yml").is_file()
    assert bundles(request_) == ["@s/hello"]


def test_the_prefix_file_copies_a_folder(request_: Request) -> None:
    folder = package(request_.cwd / "hello")
    (folder / "node_modules" / "x").mkdir(parents=True)
    add_plugins(request_, ["file:./hello"])
    installed = request_.profile.modules / "hello"
    assert not installed.is_symlink()
    assert sorted(p.name for p in installed.iterdir()) == [
        "cordis.patch.yml", "index.js", "package.json"
    ]  # fmt: skip
    assert manifest(request_)["dependencies"] == {"hello": f"file:{folder}"}


def test_an_alias_gives_the_name(request_: Request) -> None:
    package(request_.cwd / "hello")
    add_plugins(request_, ["mine@link:./hello"])
    assert bundles(request_) == ["mine"]


def test_home_is_expanded(request_: Request, tmp_path: Path) -> None:
    package(tmp_path / "hello")
    add_plugins(request_, ["~/hello"])
    assert bundles(request_) == ["hello"]


def test_layers_and_dependencies_come_in_the_order_of_their_names(request_: Request) -> None:
    for name in ("zeta", "Alpha", "mid"):
        package(request_.cwd / name)
    add_plugins(request_, ["./zeta", "./mid", "./Alpha"])
    assert bundles(request_) == ["Alpha", "mid", "zeta"]
    assert list(manifest(request_)["dependencies"]) == ["Alpha", "mid", "zeta"]


def test_adding_again_changes_nothing(request_: Request) -> None:
    package(request_.cwd / "hello")
    archive = packed(package(request_.cwd / "arch"))
    add_plugins(request_, ["./hello", f"./{archive.name}"])
    before = contents(request_.places.dsh_home)
    outcome = add_plugins(request_, ["./hello", f"./{archive.name}"])
    assert not outcome.changed
    assert [plugin.state for plugin in outcome.plugins] == ["unchanged", "unchanged"]
    assert contents(request_.places.dsh_home) == before
    assert len(Journal(request_.places.journal).entries()) == 1


def test_adding_from_elsewhere_updates_in_place(request_: Request) -> None:
    package(request_.cwd / "first", "hello")
    package(request_.cwd / "other")
    add_plugins(request_, ["./first", "./other"])
    folder = package(request_.cwd / "second", "hello", version="2.0.0")
    outcome = add_plugins(request_, ["./second"])
    assert bundles(request_) == ["hello", "other"]
    assert (outcome.plugins[0].state, outcome.plugins[0].version) == ("updated", "2.0.0")
    assert (request_.profile.modules / "hello").readlink() == folder


def test_a_bundle_taken_off_the_list_by_hand_stays_off_as_in_dsh(request_: Request) -> None:
    package(request_.cwd / "hello")
    add_plugins(request_, ["./hello"])
    value = manifest(request_)
    value["dsh"]["profile"]["bundles"] = []
    request_.profile.manifest.write_text(json.dumps(value))
    outcome = add_plugins(request_, ["./hello"])
    assert bundles(request_) == []
    assert "taken off the bundle list" in outcome.cautions[0]


def test_a_package_that_is_no_bundle_is_a_plain_dependency(request_: Request) -> None:
    package(request_.cwd / "lib", dsh=None)
    outcome = add_plugins(request_, ["./lib"])
    assert bundles(request_) == []
    assert list(manifest(request_)["dependencies"]) == ["lib"]
    assert outcome.cautions == (
        "lib declares no dsh.bundle — installed as a plain dependency, not a profile layer",
    )


def test_a_bundle_that_is_none_any_more_leaves_the_list(request_: Request) -> None:
    folder = package(request_.cwd / "hello")
    add_plugins(request_, ["./hello"])
    package(folder, dsh=None)
    add_plugins(request_, ["./hello"])
    assert bundles(request_) == []


def test_a_missing_profile_is_created_as_dsh_does(request_: Request) -> None:
    request = replace(request_, profile=profile_at(request_.places, "headless"))
    package(request.cwd / "hello")
    outcome = add_plugins(request, ["./hello"])
    assert outcome.created
    assert bundles(request) == ["@deepseek-ai/dsh-base", "@deepseek-ai/dsh-headless", "hello"]
    assert (request.profile.folder / "pnpm-workspace.yaml").is_file()
    assert request.profile.patch.read_text().endswith("[]\n")


def test_one_command_is_one_entry_and_undo_brings_everything_back(request_: Request) -> None:
    package(request_.cwd / "hello")
    archive = packed(package(request_.cwd / "arch"))
    before = contents(request_.places.dsh_home)
    add_plugins(request_, ["./hello", f"./{archive.name}"])
    after = contents(request_.places.dsh_home)
    journal = Journal(request_.places.journal)
    journal.undo()
    assert contents(request_.places.dsh_home) == before
    journal.redo()
    assert contents(request_.places.dsh_home) == after


def test_undo_on_a_fresh_home_leaves_no_home(tmp_path: Path) -> None:
    places = places_in(tmp_path / "home")
    archive = packed(package(tmp_path / "hello"))
    request = Request(
        places, Journal(places.journal), profile_at(places, "web"), tmp_path, {}, "test"
    )
    add_plugins(request, [str(archive)])
    Journal(places.journal).undo()
    assert not places.dsh_home.exists()


def test_dry_run_shows_the_change_and_makes_none(request_: Request) -> None:
    package(request_.cwd / "hello")
    before = contents(request_.places.dsh_home.parent)
    outcome = add_plugins(replace(request_, dry_run=True), ["./hello"])
    assert '+        "hello"' in outcome.diff or '+      "hello"' in outcome.diff
    assert contents(request_.places.dsh_home.parent) == before


def test_dry_run_on_an_empty_home_leaves_it_empty(tmp_path: Path) -> None:
    places = places_in(tmp_path / "home")
    package(tmp_path / "hello")
    profile = profile_at(places, "web")
    request = Request(places, Journal(places.journal), profile, tmp_path, {}, "test", dry_run=True)
    outcome = add_plugins(request, ["./hello"])
    assert outcome.created
    assert not (tmp_path / "home").exists()


def test_a_manifest_with_a_byte_order_mark_is_finished_without_it(request_: Request) -> None:
    path = request_.profile.manifest
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    package(request_.cwd / "hello")
    add_plugins(request_, ["./hello"])
    assert not path.read_bytes().startswith(b"\xef\xbb\xbf")
    assert bundles(request_) == ["hello"]


# --- what is refused ------------------------------------------------------------------------


def refused(request: Request, error: type[DshloopError], *specs: str) -> DshloopError:
    """Add, expect an error, and see that nothing at all was changed."""
    before = contents(request.places.dsh_home)
    with pytest.raises(error) as caught:
        add_plugins(request, specs)
    assert contents(request.places.dsh_home) == before
    assert Journal(request.places.journal).entries() == []
    return caught.value


def test_a_row_id_of_another_bundle_is_refused_naming_both(request_: Request) -> None:
    package(request_.profile.modules / "old", "old", "jobs")
    profile_in(request_.places, "p", ("old",))
    package(request_.cwd / "new", "new", "mine", "jobs")
    error = refused(request_, RowIdTakenError, "./new")
    assert error.exit_code == 4
    assert (error.details["row"], error.details["owner"]) == ("jobs", "old")
    assert error.details["newcomer"] == "new"
    assert "old" in error.message
    assert "new" in error.message


@pytest.mark.parametrize("layer", ["patch", "home_patch"])
def test_a_row_id_of_a_patch_layer_is_refused(request_: Request, layer: str) -> None:
    path: Path = getattr(request_.profile, layer)
    path.write_text("- insert: [{id: hello, name: x}]\n")
    package(request_.cwd / "hello")
    error = refused(request_, RowIdTakenError, "./hello")
    assert error.details["owner"] == str(path)


def test_a_row_id_inside_a_group_is_found(request_: Request) -> None:
    request_.profile.patch.write_text(
        "- insert:\n    - id: g\n      group: true\n      config:\n        - {id: hello}\n"
    )
    package(request_.cwd / "hello")
    refused(request_, RowIdTakenError, "./hello")


def test_two_newcomers_are_checked_against_each_other(request_: Request) -> None:
    package(request_.cwd / "a", "a", "browse")
    package(request_.cwd / "b", "b", "browse")
    error = refused(request_, RowIdTakenError, "./a", "./b")
    assert (error.details["owner"], error.details["newcomer"]) == ("a", "b")


def test_a_bundle_that_inserts_a_row_twice_is_refused(request_: Request) -> None:
    package(request_.cwd / "a", "a", "x", "x")
    refused(request_, RowIdTakenError, "./a")


def test_ids_of_different_types_do_not_collide(request_: Request) -> None:
    request_.profile.patch.write_text("- insert: [{id: 12}, {id: true}, {}, {id: null}]\n")
    package(request_.cwd / "a", "a", "12", "1")
    add_plugins(request_, ["./a"])
    assert bundles(request_) == ["a"]


def test_an_update_does_not_collide_with_itself(request_: Request) -> None:
    package(request_.cwd / "a", "a", "x")
    add_plugins(request_, ["./a"])
    package(request_.cwd / "a2", "a", "x", "y")
    add_plugins(request_, ["./a2"])


def test_force_adds_what_collides_and_says_so(request_: Request) -> None:
    package(request_.cwd / "a", "a", "x")
    package(request_.cwd / "b", "b", "x")
    outcome = add_plugins(replace(request_, force=True), ["./a", "./b"])
    assert bundles(request_) == ["a", "b"]
    assert "which a inserts already" in outcome.findings[0].why


def test_one_bad_package_keeps_the_good_ones_out(request_: Request) -> None:
    package(request_.cwd / "good")
    bad = package(request_.cwd / "bad")
    (bad / "cordis.patch.yml").unlink()
    refused(request_, BundleInvalidError, "./good", "./bad")


def test_a_broken_archive_is_refused(request_: Request) -> None:
    (request_.cwd / "x.tgz").write_bytes(b"nothing")
    refused(request_, ArchiveInvalidError, "./x.tgz")


def test_what_is_not_there_is_not_found(request_: Request) -> None:
    refused(request_, PackageNotFoundError, "./none")
    refused(request_, PackageNotFoundError, "./none.tgz")
    (request_.cwd / "file").write_text("x")
    refused(request_, PackageNotFoundError, "./file")


@pytest.mark.parametrize("spec", ["is-odd", "x@npm:is-odd", "https://e.org/x.tgz", "github:a/b"])
def test_what_needs_a_network_needs_pnpm(request_: Request, spec: str) -> None:
    error = refused(request_, PnpmMissingError, spec)
    assert error.exit_code == 5
    assert "pnpm" in (error.hint or "")


def test_a_package_with_dependencies_needs_pnpm(request_: Request) -> None:
    folder = package(request_.cwd / "a", dependencies={"b": "1"})
    error = refused(request_, PnpmMissingError, "./a")
    assert error.details["dependencies"] == ["b"]
    package(folder / "node_modules" / "b")
    add_plugins(request_, ["./a"])


def test_dependencies_above_a_linked_folder_are_found_as_node_finds_them(
    request_: Request,
) -> None:
    package(request_.cwd / "node_modules" / "b")
    folder = package(request_.cwd / "packages" / "a", dependencies={"b": "1"})
    refused(request_, PnpmMissingError, f"file:{folder}")
    add_plugins(request_, [str(folder)])


def test_a_folder_that_holds_the_profile_is_not_copied_into_it(request_: Request) -> None:
    package(request_.places.dsh_home, "all")
    refused(request_, SpecInvalidError, f"file:{request_.places.dsh_home}")


def test_a_lock_that_pnpm_wrote_and_we_can_not_is_told(request_: Request) -> None:
    package(request_.cwd / "a")
    (request_.profile.folder / "pnpm-lock.yaml").write_text("lockfileVersion: '9.0'\n")
    assert "pnpm-lock.yaml" in add_plugins(request_, ["./a"]).cautions[0]
    assert "pnpm-lock.yaml" in remove_plugins(request_, ["a"]).cautions[0]


def test_two_packages_of_one_name_are_refused(request_: Request) -> None:
    package(request_.cwd / "a", "same")
    package(request_.cwd / "b", "same")
    refused(request_, SpecInvalidError, "./a", "./b")


def test_a_second_writer_is_refused_and_told_who_the_first_is(request_: Request) -> None:
    package(request_.cwd / "hello")
    lock = lock_path(request_.places.locks, request_.profile.folder)
    held, done = Event(), Event()

    def first() -> None:
        with hold(lock, command="dshloop plugin add ./other"):
            held.set()
            done.wait(30)

    with ThreadPoolExecutor() as pool:
        pool.submit(first)
        held.wait(30)
        try:
            error = refused(request_, LockHeldError, "./hello")
        finally:
            done.set()
    assert error.details["command"] == "dshloop plugin add ./other"
    assert error.details["pid"] == os.getpid()


def test_a_lock_of_dsh_is_honoured_and_a_dead_one_is_not(request_: Request) -> None:
    package(request_.cwd / "hello")
    lock = request_.profile.folder / "package.json.lock"
    lock.write_text(f"{os.getppid()}\n")
    refused(request_, LockHeldError, "./hello")
    lock.write_text("999999999\n")
    add_plugins(request_, ["./hello"])
    assert not lock.exists()


def test_a_write_that_fails_leaves_everything_as_before(
    request_: Request, monkeypatch: pytest.MonkeyPatch
) -> None:
    package(request_.cwd / "hello")
    archive = packed(package(request_.cwd / "arch"))

    def fail(*args: Any, **more: Any) -> None:
        raise WriteFailedError("no space")

    monkeypatch.setattr("dshloop.journal.step.replace_file", fail)
    refused(request_, WriteFailedError, "./hello", f"./{archive.name}")


def test_a_profiles_folder_that_is_a_file_is_said(tmp_path: Path) -> None:
    places = places_in(tmp_path)
    places.dsh_home.mkdir()
    places.profiles.write_text("x")
    package(tmp_path / "hello")
    request = Request(
        places, Journal(places.journal), profile_at(places, "p"), tmp_path, {}, "test"
    )
    with pytest.raises(UnreadableFileError):
        add_plugins(request, ["./hello"])


# --- removing -------------------------------------------------------------------------------


def test_remove_takes_everything_away(request_: Request) -> None:
    package(request_.cwd / "hello")
    archive = packed(package(request_.cwd / "arch"))
    add_plugins(request_, ["./hello", f"./{archive.name}"])
    outcome = remove_plugins(request_, ["hello", "arch"])
    assert bundles(request_) == []
    assert "dependencies" not in manifest(request_)
    assert list(request_.profile.modules.iterdir()) == []
    assert [plugin.state for plugin in outcome.plugins] == ["removed", "removed"]
    assert (request_.cwd / "hello" / "package.json").is_file()


def test_remove_takes_a_hand_listed_bundle_off_the_list(request_: Request) -> None:
    profile_in(request_.places, "p", ("ghost", "kept", "ghost"))
    remove_plugins(request_, ["ghost"])
    assert bundles(request_) == ["kept"]


def test_remove_of_an_unknown_name_changes_nothing(request_: Request) -> None:
    package(request_.cwd / "hello")
    add_plugins(request_, ["./hello"])
    before = contents(request_.places.dsh_home)
    with pytest.raises(PluginNotFoundError) as caught:
        remove_plugins(request_, ["hello", "helo"])
    assert caught.value.details["near"] == ["hello"]
    assert contents(request_.places.dsh_home) == before


def test_remove_from_a_profile_that_is_not_there(request_: Request) -> None:
    request = replace(request_, profile=profile_at(request_.places, "web"))
    with pytest.raises(ProfileNotFoundError):
        remove_plugins(request, ["hello"])


def test_remove_finds_the_rows_left_in_both_patch_layers(request_: Request) -> None:
    package(request_.cwd / "hello", "hello", "row")
    add_plugins(request_, ["./hello"])
    request_.profile.patch.write_text("- insert: [{id: extra, name: hello/extra}]\n")
    request_.profile.home_patch.write_text("- {id: row, disabled: true}\n- {id: other}\n")
    outcome = remove_plugins(request_, ["hello"])
    assert [(row.row, row.file) for row in outcome.left] == [
        ("extra", request_.profile.patch),
        ("row", request_.profile.home_patch),
    ]


def test_remove_works_beside_a_broken_patch_file(request_: Request) -> None:
    package(request_.cwd / "hello")
    add_plugins(request_, ["./hello"])
    request_.profile.patch.write_text("[]\n- broken")
    remove_plugins(request_, ["hello"])
    assert bundles(request_) == []


def test_remove_can_be_undone(request_: Request) -> None:
    archive = packed(package(request_.cwd / "arch"))
    add_plugins(request_, [f"./{archive.name}"])
    before = contents(request_.places.dsh_home)
    remove_plugins(request_, ["arch"])
    Journal(request_.places.journal).undo()
    assert contents(request_.places.dsh_home) == before


# --- listing --------------------------------------------------------------------------------


def test_the_list_tells_layers_plain_dependencies_and_what_is_missing(request_: Request) -> None:
    package(request_.cwd / "b")
    package(request_.cwd / "a", dsh=None)
    package(request_.cwd / "gone")
    add_plugins(request_, ["./b", "./a", "./gone"])
    (request_.profile.modules / "gone").unlink()
    lines = {line.name: line for line in list_plugins(request_.profile)}
    assert list(lines) == ["a", "b", "gone"]
    assert [line.state for line in lines.values()] == [
        "plain dependency", "layer 1", "layer 2, missing on disk"
    ]  # fmt: skip
    assert lines["b"].as_json()["installed"] is True
    assert lines["gone"].version is None
