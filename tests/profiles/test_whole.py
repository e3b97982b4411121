from __future__ import annotations

import json
from pathlib import Path

import pytest

from dshloop.config import plan_set, read_config, write_config
from dshloop.errors import LockHeldError, ProfileExistsError, ProfileNotFoundError
from dshloop.journal import Journal
from dshloop.locks import hold, lock_path
from dshloop.paths import Places
from dshloop.profiles.layout import Profile, profile_at
from dshloop.profiles.whole import copy_profile, delete_profile, rename_profile
from tests.profiles.checks.made import profile
from tests.profiles.packages import contents, package, places_in


@pytest.fixture
def places(tmp_path: Path) -> Places:
    return places_in(tmp_path)


@pytest.fixture
def made(tmp_path: Path) -> Profile:
    """Give a profile with a package, a link and files of all kinds."""
    found = profile(tmp_path, "b", patch="# mine\n[]\n", name="dsh-profile-p")
    (found.modules / "linked").symlink_to(package(tmp_path / "linked", "linked"))
    (found.folder / "loops.yml").write_text("loops: []\n")
    (found.folder / "cordis.yml").write_text("[]\n")
    return found


def journal(places: Places) -> Journal:
    return Journal(places.journal)


def test_a_copy_has_everything_but_what_dsh_makes_anew(places: Places, made: Profile) -> None:
    before = contents(made.folder)
    copy_profile(places, journal(places), made, "q", command="copy")
    copy = profile_at(places, "q")
    assert json.loads(copy.manifest.read_text())["name"] == "dsh-profile-q"
    after = contents(copy.folder)
    assert set(before) - set(after) == {"cordis.yml"}
    assert after["node_modules/linked"] == before["node_modules/linked"]
    assert contents(made.folder) == before
    journal(places).undo()
    assert not copy.folder.exists()


def test_a_rename_moves_the_default_with_it_and_undo_brings_all_back(
    places: Places, made: Profile
) -> None:
    write_config(journal(places), plan_set(places, "profile", "p"), command="use")
    before = contents(places.dsh_home)
    moved = rename_profile(places, journal(places), made, "q", command="rename")
    assert (moved.was_default, made.folder.exists()) == (True, False)
    assert read_config(places).get("profile") == "q"
    journal(places).undo()
    assert contents(places.dsh_home) == before
    assert read_config(places).get("profile") == "p"


def test_a_deleted_profile_comes_back_byte_for_byte(places: Places, made: Profile) -> None:
    before = contents(places.dsh_home)
    delete_profile(places, journal(places), made, command="delete")
    assert not made.folder.exists()
    journal(places).undo()
    assert contents(places.dsh_home) == before
    journal(places).redo()
    assert not made.folder.exists()


def test_deleting_the_default_makes_config_forget_it(places: Places, made: Profile) -> None:
    write_config(journal(places), plan_set(places, "profile", "p"), command="use")
    assert delete_profile(places, journal(places), made, command="delete").was_default
    assert read_config(places).get("profile") is None


def test_dry_runs_show_and_change_nothing(tmp_path: Path, places: Places, made: Profile) -> None:
    before = contents(tmp_path)
    for plan in (
        copy_profile(places, journal(places), made, "q", command="x", dry_run=True).plan,
        rename_profile(places, journal(places), made, "q", command="x", dry_run=True).plan,
        delete_profile(places, journal(places), made, command="x", dry_run=True).plan,
    ):
        assert str(places.profiles) in plan.diff()
    assert contents(tmp_path) == before


def test_refusals_change_nothing(tmp_path: Path, places: Places, made: Profile) -> None:
    profile_at(places, "q").folder.mkdir()
    before = contents(places.dsh_home)
    with pytest.raises(ProfileExistsError):
        copy_profile(places, journal(places), made, "q", command="x")
    with pytest.raises(ProfileNotFoundError):
        delete_profile(places, journal(places), profile_at(places, "none"), command="x")
    lock = lock_path(places.locks, made.folder)
    import threading

    held, done = threading.Event(), threading.Event()

    def other() -> None:
        with hold(lock, command="other"):
            held.set()
            done.wait(20)

    thread = threading.Thread(target=other)
    thread.start()
    held.wait(20)
    try:
        with pytest.raises(LockHeldError) as refused:
            delete_profile(places, journal(places), made, command="x")
    finally:
        done.set()
        thread.join()
    assert refused.value.details["command"] == "other"
    assert contents(places.dsh_home) == before
