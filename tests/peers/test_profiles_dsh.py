"""Profiles made here are what the real dsh makes, dumps and boots (dsh 0.2.1)."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.profiles.packages import contents, package, packed
from tests.running import Ran, dshloop

pytestmark = [pytest.mark.peer, pytest.mark.slow]

EXAMPLE = Path(__file__).parents[2] / "examples" / "hello-bundle"
NEW_FILES = ("package.json", "cordis.patch.yml", "pnpm-workspace.yaml")


@pytest.fixture
def dsh() -> str:
    """Give the real dsh's program."""
    program = os.environ.get("DSHLOOP_TEST_DSH")
    if not program:
        pytest.skip("set DSHLOOP_TEST_DSH to a dsh 0.2.1 (tests/peers/dsh-setup.sh installs one)")
    if shutil.which(program) is None:
        pytest.skip(f"DSHLOOP_TEST_DSH names no program: {program}")
    return program


@pytest.fixture
def pnpm_folder() -> str:
    """Give the folder that holds pnpm and node."""
    folder = os.environ.get("DSHLOOP_TEST_PNPM_DIR")
    if not folder or shutil.which("pnpm", path=folder) is None:
        pytest.skip("set DSHLOOP_TEST_PNPM_DIR to a folder with pnpm and node")
    return folder


class Home:
    """One DSH home, and the two programs that may work on it."""

    def __init__(self, root: Path, program: str, pnpm_folder: str | None = None) -> None:
        self.root, self.program = root, program
        path = os.pathsep.join(filter(None, [pnpm_folder, "/usr/bin", "/bin"]))
        self.variables = {
            "DSH_HOME": str(root),
            "DSHLOOP_DATA": str(root.with_name(root.name + "-data")),
            "PATH": path,
        }

    def dsh(self, *words: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
        env = {**os.environ, **self.variables, "DSH_TELEMETRY_DISABLED": "1"}
        return subprocess.run(
            [self.program, *words], env=env, cwd=cwd, stdin=subprocess.DEVNULL,
            capture_output=True, text=True, encoding="utf-8", timeout=60, check=False,
        )  # fmt: skip

    def ours(self, *words: str, cwd: Path | None = None) -> Ran:
        return dshloop(*words, cwd=cwd, variables=self.variables)

    def folder(self, profile: str) -> Path:
        return self.root / "profiles" / profile

    def manifest(self, profile: str) -> Any:
        return json.loads((self.folder(profile) / "package.json").read_text(encoding="utf-8"))

    def write(self, profile: str, value: Any) -> Path:
        folder = self.folder(profile)
        folder.mkdir(parents=True, exist_ok=True)
        text = value if isinstance(value, str) else json.dumps(value)
        (folder / "package.json").write_text(text, encoding="utf-8")
        return folder


def said(stderr: str) -> list[str]:
    return [line for line in stderr.splitlines() if line.startswith("dsh: ")]


def assert_same_dump(home: Home, profile: str, *words: str) -> str:
    """Compare the two dumps and what goes to stderr with them; give the text."""
    ours = home.ours("profile", "dump", profile, *words)
    theirs = home.dsh("--profile", profile, *words, "--dump-config")
    assert (ours.code, ours.out) == (theirs.returncode, theirs.stdout)
    assert ours.err == theirs.stderr
    return ours.out


@pytest.mark.parametrize("name", ["web", "headless", "sdk", "sdk-minimal", "acp"])
def test_a_template_profile_has_the_same_bytes(tmp_path: Path, dsh: str, name: str) -> None:
    theirs, ours = Home(tmp_path / "theirs", dsh), Home(tmp_path / "ours", dsh)
    assert theirs.dsh("--profile", name, "--dump-config").returncode == 0
    assert ours.ours("profile", "create", name).code == 0
    for file in NEW_FILES:
        one, other = theirs.folder(name) / file, ours.folder(name) / file
        assert one.read_bytes() == other.read_bytes()
        assert one.stat().st_mode == other.stat().st_mode


def test_another_profile_has_the_same_bytes(tmp_path: Path, dsh: str, pnpm_folder: str) -> None:
    theirs, ours = Home(tmp_path / "theirs", dsh, pnpm_folder), Home(tmp_path / "ours", dsh)
    theirs.dsh("plugin", "--profile", "a b", "list")
    assert ours.ours("profile", "create", "a b").code == 0
    for file in NEW_FILES:
        assert (theirs.folder("a b") / file).read_bytes() == (
            ours.folder("a b") / file
        ).read_bytes()


@pytest.mark.parametrize("with_pnpm", [False, True])
def test_a_profile_made_here_is_dumped_and_booted(
    tmp_path: Path, dsh: str, request: pytest.FixtureRequest, with_pnpm: bool
) -> None:
    home = Home(
        tmp_path / "home", dsh, request.getfixturevalue("pnpm_folder") if with_pnpm else None
    )
    shutil.copytree(EXAMPLE, tmp_path / "hello-bundle")
    archive = packed(package(tmp_path / "two words", "@s/packed", "one", "two"))
    copied = package(tmp_path / "copied")
    assert home.ours("profile", "create", "mine", "--template", "empty").code == 0
    added = home.ours(
        "plugin", "--profile", "mine", "add",
        "./hello-bundle", str(archive), f"file:{copied}", cwd=tmp_path,
    )  # fmt: skip
    assert added.code == 0, added.err
    (home.folder("mine") / "cordis.patch.yml").write_text(
        "- {id: hello, config: {greeting: 你好}}\n- {id: nobody}\n", encoding="utf-8"
    )
    before = contents(home.root)
    text = assert_same_dump(home, "mine")
    assert text.count("# == ") == 3
    (tmp_path / "more 1.yml").write_text("- insert: [{id: more}]\n- {id: one, disabled: true}\n")
    more = str(tmp_path / "more 1.yml")
    assert "patched by" in assert_same_dump(home, "mine", "--patch", more)
    default = home.dsh("--profile", "mine", "--dump-default-config").stdout
    assert home.ours("profile", "dump", "mine", "--default").out == default
    booted = home.dsh("--profile", "mine", cwd=tmp_path)
    assert booted.returncode == 0
    assert "你好 from hello-bundle" in booted.stderr
    assert said(booted.stderr) == []
    after = contents(home.root)
    del after["profiles/mine/cordis.yml"]  # dsh's own
    assert {name: after[name] for name in before} == before


def test_a_template_profile_that_an_add_created_goes_on_in_dsh(tmp_path: Path, dsh: str) -> None:
    home = Home(tmp_path / "home", dsh)
    assert home.ours("plugin", "add", str(EXAMPLE), "--profile", "web").code == 0
    theirs = home.dsh("--profile", "web", "--dump-config")
    assert (theirs.returncode, theirs.stderr) == (0, "")
    layer = home.ours("profile", "dump", "web").out
    assert layer.startswith("# == hello-bundle\n- id: hello\n")
    assert theirs.stdout.endswith(layer)


def test_the_same_commands_leave_the_same_profile(
    tmp_path: Path, dsh: str, pnpm_folder: str
) -> None:
    homes = {
        "dsh": Home(tmp_path / "h1", dsh, pnpm_folder),
        "pnpm": Home(tmp_path / "h2", dsh, pnpm_folder),
        "ours": Home(tmp_path / "h3", dsh),
    }
    for name in ("alpha", "beta", "gamma"):
        package(tmp_path / name)
    packed(tmp_path / "gamma")
    package(tmp_path / "plain", dsh=None)
    operations = [
        ["add", "./alpha", "./beta"],
        ["add", "./gamma-1.0.0.tgz"],
        ["add", "./plain"],
        ["add", "./alpha"],
        ["remove", "alpha", "plain"],
        ["add", "./alpha"],
        ["add", "mine@link:./beta"],
        ["remove", "mine"],
        ["remove", "alpha", "beta", "gamma"],
    ]
    for words in operations:
        kept = []
        for kind, home in homes.items():
            if kind == "dsh":
                ran = home.dsh("plugin", "--profile", "mine", *_absolute(words, tmp_path))
                assert ran.returncode == 0, ran.stdout + ran.stderr
            else:
                # two layers of one bundle under two names insert its row twice
                force = ["--force"] if words[0] == "add" else []
                own = home.ours("plugin", "--profile", "mine", *words, *force, cwd=tmp_path)
                assert own.code == 0, own.err
            dump = home.ours("profile", "dump", "mine").out
            kept.append((home.manifest("mine"), dump.replace(str(home.root), "HOME")))
        assert kept[0] == kept[1] == kept[2], words


def _absolute(words: list[str], root: Path) -> list[str]:
    # dsh makes `./x` absolute by itself, but not behind an alias
    return [word.replace("./", f"{root}/") for word in words]


def test_dsh_goes_on_with_a_profile_that_we_installed(
    tmp_path: Path, dsh: str, pnpm_folder: str
) -> None:
    home = Home(tmp_path / "home", dsh, pnpm_folder)
    alone = Home(tmp_path / "home", dsh)
    archive = packed(package(tmp_path / "a"))
    package(tmp_path / "b")
    alone.ours("profile", "create", "mine", "--template", "empty")
    assert alone.ours("plugin", "--profile", "mine", "add", str(archive)).code == 0
    assert home.dsh("plugin", "--profile", "mine", "add", str(tmp_path / "b")).returncode == 0
    assert home.manifest("mine")["dsh"]["profile"]["bundles"] == ["a", "b"]
    assert_same_dump(home, "mine")
    assert alone.ours("plugin", "--profile", "mine", "remove", "a", "b").code == 0
    assert home.manifest("mine")["dsh"]["profile"]["bundles"] == []


BUNDLE = '{"dsh": {"bundle": {"patch": "p.yml"}}}'
# names with a capital: dsh's own installation wins over the profile's node_modules
PACKAGES = {
    "Xnone": "{}",
    "Xtext": '{"dsh": "x"}',
    "Xempty": '{"dsh": {"bundle": {}}}',
    "Xshape": '{"dsh": {"bundle": "x.yml"}}',
    "Xnumber": '{"dsh": {"bundle": {"patch": 12}}}',
    "Xnolist": '{"dsh": {"bundle": {"patch": []}}}',
    "Xmixed": '{"dsh": {"bundle": {"patch": ["p.yml", 3]}}}',
    "Xfolder": '{"dsh": {"bundle": {"patch": ""}}}',
    "Xmissing": BUNDLE,
    "Xthrough": '{"dsh": {"bundle": {"patch": "package.json/x"}}}',
    "Xcut": '{"dsh":',
    "Xarray": "[]",
    "Xcomma": '{"a":1,}',
    "Xcolon": '{"a" 1}',
    "Xextra": '{"a":1}x',
    "Xtoken": '{"aaaaaaaaaaaa":x,"bbbbbbbbbbbbbbbb":1}',
    "Xbom": "\ufeff" + BUNDLE,
}
PATCHES = {
    "Xyaml": "a: [",
    "Xmap": "a: 1",
    "Xscalar": "- x",
    "Xinsert": "- insert: x",
    "Xnullrow": "- insert: [null]",
    "Xgood": "- insert: [{id: good, name: ./x y.js}]\n- {id: zz, config: 1}",
    "Xgroup": "- insert: [{id: g, group: true, config: [{id: h, name: ../x.js}]}]",
}


def test_odd_bundles_are_skipped_in_the_same_words(tmp_path: Path, dsh: str) -> None:
    home = Home(tmp_path / "home", dsh)
    names: list[Any] = [
        *PACKAGES,
        *PATCHES,
        12,
        None,
        True,
        {"a": 1},
        [],
        "./beside",
        "nowhere",
        "..",
    ]
    folder = home.write("p", {"dsh": {"profile": {"bundles": [*names, "Xgood"]}}})
    for name, text in {**PACKAGES, **dict.fromkeys(PATCHES, BUNDLE)}.items():
        home.write(f"p/node_modules/{name}", text)
    for name, text in PATCHES.items():
        (folder / "node_modules" / name / "p.yml").write_text(text + "\n", encoding="utf-8")
    package(folder / "beside")
    (folder / "cordis.patch.yml").write_text("- {id: good, name: other}\n- {id: g, config: 1}\n")
    (home.root / "cordis.patch.yml").write_text("- {insert: [{id: home}], id: nope}\n")
    assert "# == Xgroup" in assert_same_dump(home, "p")


@pytest.mark.parametrize(
    "text",
    ["{}", '{"dsh": null}', '{"dsh": "x"}', '{"dsh": {"profile": {"bundles": null}}}',
     "[]", "null", "{", '{"dsh": {"profile": {"bundles": "abc"}}}',
     '{"dsh": {"profile": {"bundles": {}}}}'],
)  # fmt: skip
def test_odd_manifests_end_the_same_way(tmp_path: Path, dsh: str, text: str) -> None:
    home = Home(tmp_path / "home", dsh)
    home.write("p", text)
    ours, theirs = home.ours("profile", "dump", "p"), home.dsh("--profile", "p", "--dump-config")
    assert (ours.code, ours.out) == (theirs.returncode, theirs.stdout)


@pytest.mark.parametrize("name", ["", ".", "..", "node_modules", "a/b", "a\\b", " ", ".x", "é"])
def test_the_same_names_are_refused(tmp_path: Path, dsh: str, name: str) -> None:
    home = Home(tmp_path / "home", dsh)
    theirs = home.dsh("--profile", name, "--dump-config").stderr
    ours = home.ours("profile", "dump", f"--profile={name}", "--json")
    bad = "invalid profile name" in theirs or "needs a name" in theirs
    assert ours.error["code"] == ("PROFILE_NAME_INVALID" if bad else "PROFILE_NOT_FOUND")
