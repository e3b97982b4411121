"""Commands that are killed on the way leave the profile as it was, or done; the next one heals."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from dshloop.journal import Journal
from dshloop.profiles.layout import STAGE, read_manifest
from dshloop.profiles.plugins.changing import Request
from dshloop.profiles.plugins.disabled import disabled_plugins
from dshloop.profiles.plugins.install import add_plugins, remove_plugins
from dshloop.profiles.plugins.lockfile import read_lock
from dshloop.profiles.plugins.switch import disable_plugins
from dshloop.profiles.plugins.update import update_plugins
from dshloop.profiles.view import list_plugins
from tests.profiles.packages import contents, package, packed, places_in, profile_in
from tests.profiles.plugins.test_lockfile import LOCK
from tests.running import dshloop
from tests.test_journal_crash import run_until_killed

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="needs fork and kill -9"),
]


def prepared(root: Path) -> Request:
    places = places_in(root / "home")
    profile = profile_in(places, "p", ("kept",), name="dsh-profile-p")
    package(profile.modules / "kept")
    package(root / "linked")
    packed(package(root / "unpacked"))
    package(root / "next")
    return Request(
        places, Journal(places.journal), profile, root, {"HOME": str(root)}, "dshloop plugin add"
    )


def state(request: Request) -> tuple[list[str], list[str]]:
    """Give the bundle list and what is installed; no stage and no lock may be left."""
    folder = request.profile.folder
    assert not list(folder.parent.glob(f"{STAGE}*"))
    assert not (folder / "package.json.lock").exists()
    value = json.loads((folder / "package.json").read_text())
    return value["dsh"]["profile"]["bundles"], sorted(
        p.name for p in (folder / "node_modules").iterdir()
    )


def specs() -> list[str]:
    return ["./linked", "./unpacked-1.0.0.tgz"]


@pytest.mark.parametrize("verb", ["add", "remove"])
def test_killed_anywhere_all_or_nothing(tmp_path: Path, verb: str) -> None:
    before, after = (["kept"], ["kept", "linked", "unpacked"])
    outcomes = set()
    for point in range(1, 3000, 5):
        root = tmp_path / f"{verb}{point}"
        root.mkdir()
        request = prepared(root)
        if verb == "remove":
            add_plugins(request, specs())

        def work(request: Request = request) -> None:
            if verb == "add":
                add_plugins(request, specs())
            else:
                remove_plugins(request, ["linked", "unpacked"])

        killed = run_until_killed(work, point)
        request.journal.recover()
        add_plugins(request, ["./next"])
        bundles, installed = state(request)
        bundles.remove("next")
        installed.remove("next")
        assert bundles == installed
        assert bundles in (before, after)
        outcomes.add(len(bundles))
        if not killed:
            break
    assert not killed
    assert outcomes == {len(before), len(after)}


def test_a_killed_update_moves_all_or_nothing(tmp_path: Path) -> None:
    outcomes = set()
    for point in range(1, 3000, 7):
        root = tmp_path / f"update{point}"
        root.mkdir()
        request = prepared(root)
        package(root / "copied")
        add_plugins(request, ["./unpacked-1.0.0.tgz", "file:./copied"])
        for name in ("unpacked", "copied"):
            package(root / name, name, version="2.0.0")
        packed(root / "unpacked")
        killed = run_until_killed(lambda request=request: update_plugins(request, []), point)
        request.journal.recover()
        versions = {line.version for line in list_plugins(request.profile)}
        assert len(versions) == 1
        add_plugins(request, ["./next"])
        state(request)
        outcomes |= versions
        if not killed:
            break
    assert not killed
    assert outcomes == {"1.0.0", "2.0.0"}


def test_a_killed_switch_leaves_manifest_and_lock_agreeing(tmp_path: Path) -> None:
    outcomes = set()
    for point in range(1, 3000, 7):
        root = tmp_path / f"switch{point}"
        root.mkdir()
        request = prepared(root)
        add_plugins(request, ["./linked"])
        lock = request.profile.folder / "pnpm-lock.yaml"
        lock.write_bytes(LOCK.replace(b"alpha:\n", b"linked:\n"))

        def work(request: Request = request) -> None:
            disable_plugins(request, ["linked"], reason=None, now=0.0)

        killed = run_until_killed(work, point)
        request.journal.recover()
        off = "linked" in disabled_plugins(read_manifest(request.profile))
        group = read_lock(lock.read_bytes())["linked"].group
        assert group == ("devDependencies" if off else "dependencies")
        outcomes.add(off)
        if not killed:
            break
    assert not killed
    assert outcomes == {False, True}


def test_the_next_command_says_what_it_healed(tmp_path: Path) -> None:
    request = prepared(tmp_path)
    for point in range(40, 3000, 20):
        before = contents(request.profile.modules)
        assert run_until_killed(lambda: add_plugins(request, specs()), point)
        if contents(request.profile.modules) != before:
            break
    home, data = str(request.places.dsh_home), str(request.places.data)
    words = [
        "plugin",
        "list",
        "--profile",
        request.profile.name,
        "--home",
        home,
        "--data-dir",
        data,
    ]
    assert "dshloop plugin add" not in dshloop(*words).err  # readers put nothing in order
    words[1:2] = ["add", str(tmp_path / "next")]
    told = dshloop(*words)
    assert told.code == 0
    assert "dshloop plugin add" in told.err
