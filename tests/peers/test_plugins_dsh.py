"""Plugins installed, updated and switched by us beside the real dsh, with a loopback registry.

Both sides get the same commands; manifests, bundle lists and dumps must be the same after each.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.peers.test_profiles_dsh import Home
from tests.profiles.packages import package, packed
from tests.profiles.stand_in_registry import Registry, registry, registry_variables

pytestmark = [pytest.mark.peer, pytest.mark.slow]


def program(variable: str) -> str:
    found = os.environ.get(variable)
    if not found:
        pytest.skip(f"set {variable} to a dsh (tests/peers/dsh-setup.sh installs one)")
    if shutil.which(found) is None:
        pytest.skip(f"{variable} names no program: {found}")
    return found


@pytest.fixture(params=["DSHLOOP_TEST_DSH", "DSHLOOP_TEST_DSH_012"])
def either_dsh(request: pytest.FixtureRequest) -> str:
    """Give each of the two versions of the real dsh."""
    return program(request.param)


@pytest.fixture
def dsh() -> str:
    """Give the newer dsh."""
    return program("DSHLOOP_TEST_DSH")


@pytest.fixture
def pnpm_folder() -> str:
    """Give the folder that holds pnpm and node."""
    folder = os.environ.get("DSHLOOP_TEST_PNPM_DIR")
    if not folder or shutil.which("pnpm", path=folder) is None:
        pytest.skip("set DSHLOOP_TEST_PNPM_DIR to a folder with pnpm and node")
    return folder


@pytest.fixture
def server() -> Iterator[Registry]:
    """Give a registry with a few versions of three bundles."""
    with registry() as found:
        for version in ("1.0.0", "1.1.0", "2.0.0"):
            found.publish("alpha", version)
        found.publish("@s/beta", "1.0.0")
        found.publish("gamma", "1.0.0")
        yield found


def home_at(root: Path, dsh: str, pnpm_folder: str, server: Registry, name: str) -> Home:
    home = Home(root / name, dsh, pnpm_folder)
    home.variables.update(registry_variables(server, root))
    return home


class Pair:
    """One profile twice: in a home that dsh works on, and in one that we work on."""

    def __init__(self, root: Path, dsh: str, pnpm_folder: str, server: Registry) -> None:
        self.root = root
        self.theirs = home_at(root, dsh, pnpm_folder, server, "h1")
        self.ours = home_at(root, dsh, pnpm_folder, server, "h2")

    def both(self, *words: str) -> None:
        theirs = self.theirs.dsh("plugin", "--profile", "m", *words, cwd=self.root)
        ours = self.ours.ours("plugin", "--profile", "m", *words, cwd=self.root)
        assert (theirs.returncode, ours.code) == (0, 0), theirs.stdout + theirs.stderr + ours.err
        self.same(" ".join(words))

    def same(self, what: str = "") -> None:
        assert self.ours.manifest("m") == self.theirs.manifest("m"), what
        assert self.lock(self.ours) == self.lock(self.theirs), what
        assert self.dump(self.ours) == self.dump(self.theirs), what

    def lock(self, home: Home) -> str:
        return (home.folder("m") / "pnpm-lock.yaml").read_text(encoding="utf-8")

    def dump(self, home: Home) -> str:
        ran = home.dsh("--profile", "m", "--dump-config")
        return (ran.stdout + ran.stderr).replace(str(home.root), "HOME")


def layers(home: Home) -> list[str]:
    found: list[str] = home.manifest("m")["dsh"]["profile"]["bundles"]
    return [name for name in found if not name.startswith("@deepseek-ai/")]


def test_updates_leave_the_same_profile(
    tmp_path: Path, dsh: str, pnpm_folder: str, server: Registry
) -> None:
    package(tmp_path / "linked")
    archive = packed(package(tmp_path / "packed"))
    pair = Pair(tmp_path, dsh, pnpm_folder, server)
    specs = ["x@npm:gamma@~1.0.0", "./linked", "alpha@^1.0.0", "@s/beta@1.0.0", str(archive)]
    pair.both("add", *specs)
    server.publish("alpha", "1.5.0")
    server.publish("alpha", "3.0.0")
    server.publish("@s/beta", "1.1.0")
    server.publish("gamma", "1.0.7")
    pair.both("update")
    assert pair.ours.manifest("m")["dependencies"]["alpha"] == "^1.5.0"
    assert pair.ours.manifest("m")["dependencies"]["@s/beta"] == "1.0.0"
    pair.both("update", "--latest", "@s/beta")
    pair.both("update", "--latest")
    assert pair.ours.manifest("m")["dependencies"]["alpha"] == "^3.0.0"
    pair.both("remove", "x", "linked")


def test_a_disabled_plugin_stays_off_whatever_dsh_does(
    tmp_path: Path, either_dsh: str, pnpm_folder: str, server: Registry
) -> None:
    home = home_at(tmp_path, either_dsh, pnpm_folder, server, "home")
    for name in ("linked", "other"):
        package(tmp_path / name)
    archive = packed(package(tmp_path / "packed"))
    start = home.dsh(
        "plugin", "--profile", "m", "add", "alpha@^1.0.0", "@s/beta@1.0.0", str(archive),
        "./linked", cwd=tmp_path,
    )  # fmt: skip
    assert start.returncode == 0, start.stderr
    before, order = home.manifest("m"), layers(home)
    off = home.ours("plugin", "--profile", "m", "disable", "alpha", "packed", "--reason", "loud")
    assert off.code == 0, off.err
    expected = [name for name in order if name not in ("alpha", "packed")]
    for words in (
        ["install", "--frozen-lockfile"],
        ["install"],
        ["add", "./other"],
        ["update"],
        ["add", "alpha@^1.1.0"],
        ["remove", "other"],
    ):
        ran = home.dsh("plugin", "--profile", "m", *words, cwd=tmp_path)
        assert ran.returncode == 0, ran.stdout + ran.stderr
        assert [name for name in layers(home) if name != "other"] == expected, words
        assert (home.folder("m") / "node_modules" / "alpha" / "package.json").is_file()
    dump = home.dsh("--profile", "m", "--dump-config")
    assert "# == linked" in dump.stdout
    assert "# == alpha" not in dump.stdout
    states = {line["name"]: line["state"] for line in listed(home)}
    assert states["alpha"].endswith(": loud")
    on = home.ours("plugin", "--profile", "m", "enable", "alpha", "packed")
    assert on.code == 0, on.err
    assert layers(home) == order
    assert home.manifest("m") == before
    again = home.dsh("plugin", "--profile", "m", "install", "--frozen-lockfile")
    assert again.returncode == 0, again.stdout + again.stderr
    assert layers(home) == order


def listed(home: Home) -> Any:
    return home.ours("plugin", "--profile", "m", "list", "--json").json


def test_outdated_asks_the_registry(
    tmp_path: Path, dsh: str, pnpm_folder: str, server: Registry
) -> None:
    home = home_at(tmp_path, dsh, pnpm_folder, server, "home")
    specs = ["alpha@^1.0.0", "@s/beta@1.0.0", "x@npm:gamma@~1.0.0"]
    assert home.ours("plugin", "--profile", "m", "add", *specs).code == 0
    server.publish("alpha", "1.5.0")
    server.publish("alpha", "3.0.0")
    server.publish("@s/beta", "1.1.0")
    server.publish("gamma", "1.0.7")
    found = home.ours("plugin", "--profile", "m", "outdated", "--json").json
    told = {row["name"]: (row["current"], row["wanted"], row["latest"]) for row in found}
    assert told == {
        "alpha": ("1.1.0", "1.5.0", "3.0.0"),
        "@s/beta": ("1.0.0", "1.0.0", "1.1.0"),
        "x": ("1.0.0", "1.0.7", "1.0.7"),
    }
    reasons = {row["name"]: row["why"] for row in found}
    assert reasons["@s/beta"].startswith("pinned")
    assert "outside of ^1.1.0" in reasons["alpha"]
    named = home.ours("plugin", "--profile", "m", "update", "x", "--json").json
    assert (named["plugins"][0]["version"], named["plugins"][0]["was"]) == ("1.0.7", "1.0.0")


def test_archives_and_copies_are_read_again(
    tmp_path: Path, dsh: str, pnpm_folder: str, server: Registry
) -> None:
    home = home_at(tmp_path, dsh, pnpm_folder, server, "home")
    archive = packed(package(tmp_path / "packed"))
    package(tmp_path / "copied")
    assert home.ours("plugin", "--profile", "m", "add", str(archive), "file:./copied",
                     cwd=tmp_path).code == 0  # fmt: skip
    home.ours("plugin", "--profile", "m", "disable", "packed")
    package(tmp_path / "packed", "packed", "packed", version="1.1.0")
    packed(tmp_path / "packed")
    shutil.rmtree(tmp_path / "copied")  # pnpm links copies to the files themselves
    package(tmp_path / "copied", "copied", "copied", version="2.0.0")
    ran = home.ours("plugin", "--profile", "m", "update", "--json")
    assert ran.code == 0, ran.err
    told = {one["name"]: (one["was"], one["version"], one["state"]) for one in ran.json["plugins"]}
    assert told == {
        "packed": ("1.0.0", "1.1.0", "updated"),
        "copied": ("1.0.0", "2.0.0", "updated"),
    }
    assert list(home.manifest("m")["devDependencies"]) == ["packed"]
    frozen = home.dsh("plugin", "--profile", "m", "install", "--frozen-lockfile")
    assert frozen.returncode == 0, frozen.stdout + frozen.stderr
    assert home.ours("plugin", "--profile", "m", "update", "--json").json["changed"] in (
        True,
        False,
    )


def test_scripts_run_with_leave_only(
    tmp_path: Path, dsh: str, pnpm_folder: str, server: Registry
) -> None:
    write = "node -e \"require('fs').writeFileSync('RAN', '1')\""
    server.publish("built", "1.0.0", scripts={"postinstall": write})
    server.publish("needs", "1.0.0", dependencies={"built": "^1.0.0"})
    home = home_at(tmp_path, dsh, pnpm_folder, server, "home")
    modules = home.folder("m") / "node_modules"
    added = home.ours("plugin", "--profile", "m", "add", "needs", "--json")
    (finding,) = added.json["findings"]
    assert (finding["code"], finding["details"]["key"]) == ("BUILD_NOT_ALLOWED", "built")
    assert not (modules / "built" / "RAN").exists()
    allowed = home.ours("plugin", "--profile", "m", "add", "built", "--allow-build", "--json")
    assert allowed.json["allowed_builds"] == ["built"]
    assert (modules / "built" / "RAN").is_file()
    workspace = (home.folder("m") / "pnpm-workspace.yaml").read_text(encoding="utf-8")
    assert workspace.endswith("autoInstallPeers: false\nallowBuilds:\n  built: true\n")
    assert home.dsh("plugin", "--profile", "m", "install").returncode == 0


def test_a_git_package_that_prepares_itself(
    tmp_path: Path, dsh: str, pnpm_folder: str, server: Registry
) -> None:
    write = "node -e \"require('fs').writeFileSync('RAN', '1')\""
    folder = package(tmp_path / "fromgit", scripts={"prepare": write})
    run = ["git", "-c", "user.name=a", "-c", "user.email=a@example.org"]
    for words in (["init", "-q"], ["add", "."], ["commit", "-qm", "one"]):
        subprocess.run([*run, *words], cwd=folder, check=True)
    head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=folder, check=True,
                          capture_output=True, text=True)  # fmt: skip
    key = f"fromgit@git+file://{folder}#{head.stdout.strip()}"
    home = home_at(tmp_path, dsh, pnpm_folder, server, "home")
    spec = f"git+file://{folder}"
    theirs = home.dsh("plugin", "--profile", "other", "add", spec)
    assert key in theirs.stdout + theirs.stderr  # what pnpm itself asks for
    added = home.ours("plugin", "--profile", "m", "add", spec, "--json")
    assert added.json["findings"][0]["details"]["key"] == key
    assert f"{key}: true" in added.json["findings"][0]["fix"]
    assert not (home.folder("m") / "node_modules" / "fromgit" / "RAN").exists()
    allowed = home.ours("plugin", "--profile", "m", "add", spec, "--allow-build")
    assert allowed.code == 0, allowed.err
    assert (home.folder("m") / "node_modules" / "fromgit" / "RAN").is_file()
    assert home.dsh("plugin", "--profile", "m", "install").returncode == 0


@pytest.mark.parametrize(
    "text", [">=0.2.0", "^0.2.1", "~0.2", "<0.2.1", "", "0.2.1 - 0.3", "latest"],
)  # fmt: skip
def test_ranges_of_dsh_are_judged_as_dsh_judges(
    tmp_path: Path, dsh: str, pnpm_folder: str, server: Registry, text: str
) -> None:
    package(tmp_path / "wants", engines={"dsh": text})
    home = home_at(tmp_path, dsh, pnpm_folder, server, "home")
    home.variables["PATH"] = os.pathsep.join([bin_with(tmp_path, dsh), home.variables["PATH"]])
    theirs = home.dsh("plugin", "--profile", "t", "add", "./wants", cwd=tmp_path)
    ours = home.ours("plugin", "--profile", "m", "add", "./wants", cwd=tmp_path)
    assert (ours.code == 0) is (theirs.returncode == 0), theirs.stderr + ours.err
    if ours.code:
        assert ours.code == 4
        assert "rejected" in theirs.stderr


def bin_with(root: Path, dsh: str) -> str:
    folder = root / "bin"
    folder.mkdir()
    (folder / "dsh").symlink_to(shutil.which(dsh) or dsh)
    return str(folder)


def test_a_trial_boot_of_the_real_dsh(
    tmp_path: Path, dsh: str, pnpm_folder: str, server: Registry
) -> None:
    home = home_at(tmp_path, dsh, pnpm_folder, server, "home")
    home.variables["PATH"] = os.pathsep.join([bin_with(tmp_path, dsh), home.variables["PATH"]])
    package(tmp_path / "first")
    home.ours("profile", "create", "m", "--template", "empty")
    assert home.ours("plugin", "--profile", "m", "add", "./first", cwd=tmp_path).code == 0
    package(tmp_path / "good")
    bad = package(tmp_path / "bad")
    (bad / "index.js").write_text("export function apply() { throw new Error('kaboom') }\n")
    fine = home.ours(
        "plugin", "--profile", "m", "check", "./good", "--boot", "--json", cwd=tmp_path
    )
    assert (fine.code, fine.json["boot"]["ok"]) == (0, True), fine.out
    ran = home.ours("plugin", "--profile", "m", "check", "./bad", "--boot", "--json", cwd=tmp_path)
    assert ran.code == 1
    assert any("kaboom" in line for line in ran.json["boot"]["complaints"])
    assert ran.json["boot_without"]["ok"]
    assert json.loads((home.folder("m") / "package.json").read_text())["dependencies"] == {
        "first": f"link:{tmp_path}/first"
    }


@pytest.mark.parametrize(
    ("spec", "code"),
    [("nothere", 3), ("alpha@^77", 3), ("github:nobody/nothing-here-at-all", 5)],
)
def test_pnpms_errors_in_a_line(
    tmp_path: Path, dsh: str, pnpm_folder: str, server: Registry, spec: str, code: int
) -> None:
    home = home_at(tmp_path, dsh, pnpm_folder, server, "home")
    home.variables.update({"https_proxy": "http://127.0.0.1:9", "no_proxy": "127.0.0.1"})
    ran = home.ours("plugin", "--profile", "m", "add", spec)
    assert ran.code == code, ran.err
    first, hint = ran.err.splitlines()[:2]
    assert first.startswith("error: pnpm failed: ")
    assert ".log" in hint
    assert not home.folder("m").exists()
