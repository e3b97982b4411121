"""The bundles inside a real dsh give the dumps and warnings that it prints itself."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from pathlib import Path

import pytest

from tests.profiles.packages import contents, package
from tests.running import Ran, dshloop, process

pytestmark = [pytest.mark.peer, pytest.mark.slow]

TEMPLATES = ["web", "headless", "sdk", "sdk-minimal", "acp"]
SCOPE = "@deepseek-ai/dsh-"


class Pair:
    """The real dsh, on PATH of dshloop, and a DSH home for both."""

    def __init__(self, program: Path, root: Path, data: Path) -> None:
        self.program, self.root = program, root
        self.variables = {
            "DSH_HOME": str(root),
            "DSHLOOP_DATA": str(data),
            "DSH_TELEMETRY_DISABLED": "1",
            "PATH": os.pathsep.join([str(program.parent), "/usr/bin", "/bin"]),
        }

    def dsh(self, *words: str, home: Path | None = None) -> subprocess.CompletedProcess[str]:
        env = {**os.environ, **self.variables, "DSH_HOME": str(home or self.root)}
        return subprocess.run(
            [str(self.program), *words], env=env, stdin=subprocess.DEVNULL, capture_output=True,
            text=True, encoding="utf-8", timeout=60, check=False,
        )  # fmt: skip

    def dump(self, *words: str) -> Ran:
        return dshloop("profile", "dump", *words, variables=self.variables)

    def write(self, name: str, bundles: Sequence[str]) -> Path:
        folder = self.root / "profiles" / name
        folder.mkdir(parents=True, exist_ok=True)
        value = {"dsh": {"profile": {"bundles": list(bundles)}}}
        (folder / "package.json").write_text(json.dumps(value), encoding="utf-8")
        return folder

    def assert_same(self, name: str, *words: str) -> str:
        """Compare dump and default dump, warnings included; give the dump."""
        for ours, theirs in (((), "--dump-config"), (("--default",), "--dump-default-config")):
            more = words if theirs == "--dump-config" else ()
            said = self.dsh("--profile", name, *more, theirs)
            ran = self.dump(name, *more, *ours)
            assert (ran.code, ran.out) == (said.returncode, said.stdout), name
            assert ran.err == said.stderr, name
        return self.dump(name, *words).out


@pytest.fixture(scope="module", params=["DSHLOOP_TEST_DSH", "DSHLOOP_TEST_DSH_012"])
def installed(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a folder with `bin/dsh`, the real program under the name that people have."""
    found = os.environ.get(request.param)
    if not found or shutil.which(found) is None:
        pytest.skip(f"{request.param} names no program (tests/peers/dsh-setup.sh installs one)")
    root = tmp_path_factory.mktemp("installed")
    (root / "bin").mkdir()
    (root / "bin" / "dsh").symlink_to(Path(found).absolute())
    return root


@pytest.fixture
def pair(installed: Path, tmp_path: Path) -> Pair:
    return Pair(installed / "bin" / "dsh", tmp_path / "home", installed / "data")


@pytest.mark.parametrize("name", TEMPLATES)
def test_a_template_is_dumped_as_dsh_does(pair: Pair, name: str) -> None:
    before = pair.dump(name, "--strict")
    assert before.code == 0
    assert not pair.root.exists()  # dsh itself creates the profile
    text = pair.assert_same(name)
    assert text == before.out
    patch = pair.root / "profiles" / name / "cordis.patch.yml"
    patch.write_text("- {id: session, config: {x: 1}}\n- {id: nobody}\n", encoding="utf-8")
    (pair.root / "cordis.patch.yml").write_text("- {id: session, disabled: true}\n")
    own = contents(pair.root)
    ours = pair.dump(name)
    assert contents(pair.root) == own
    assert ours.out == pair.dsh("--profile", name, "--dump-config").stdout
    pair.assert_same(name)


def test_bundles_in_any_order_and_number(pair: Pair) -> None:
    names = [f"{SCOPE}{name}" for name in ("base", "web-app", "headless")]
    lists = [list(some) for count in (1, 2) for some in product(names, repeat=count)]
    lists.append([*reversed(names), f"{SCOPE}acp-app", f"{SCOPE}sdk-minimal", names[0]])
    for number, bundles in enumerate(lists):
        pair.write(f"p{number}", bundles)
        pair.assert_same(f"p{number}")


def test_installed_bundles_among_dshs_own(pair: Pair) -> None:
    folder = pair.write("mine", [])
    package(folder / "node_modules" / "first", None, "session")
    package(folder / "node_modules" / "between", None, "tools", "alone")
    (folder / "node_modules" / "between" / "cordis.patch.yml").write_text(
        "- {id: tools, config: {mode: mine}}\n- {id: nobody}\n- insert: [{id: skill-filesystem}]\n"
    )
    package(folder / "node_modules" / (SCOPE + "base"), None, "copy")  # dsh's own wins
    bundles = ["first", SCOPE + "base", "between", SCOPE + "web-app", "first"]
    pair.write("mine", bundles)
    (folder / "cordis.patch.yml").write_text("- {id: web-server, config: {port: 1}}\n")
    (pair.root / "more.yml").write_text("- {id: session, config: [1]}\n- {id: nowhere}\n")
    text = pair.assert_same("mine", "--patch", str(pair.root / "more.yml"))
    assert "patched by between" in text
    assert "id: copy" not in text


def test_what_is_nowhere_is_skipped_as_021_does(pair: Pair) -> None:
    pair.write("odd", ["nowhere", SCOPE + "base", "yaml"])
    ran = pair.dump("odd")
    assert (ran.code, ran.err.count("dsh: skipping profile bundle ")) == (0, 2)
    if pair.dsh("--version").stdout.startswith("0.2"):
        pair.assert_same("odd")
    pair.write("odd", [SCOPE + "base"])
    assert ran.out == pair.dsh("--profile", "odd", "--dump-config").stdout


def test_40_dumps_at_once_are_all_the_same(pair: Pair, tmp_path: Path) -> None:
    expected = pair.dsh("--profile", "web", "--dump-config").stdout
    before = contents(pair.root)
    fresh = {**pair.variables, "DSHLOOP_DATA": str(tmp_path / "data")}  # learned by all at once
    with ThreadPoolExecutor(8) as pool:
        ran = list(pool.map(lambda _: process("profile", "dump", "web", env=fresh), range(40)))
    assert {(one.returncode, one.stdout, one.stderr) for one in ran} == {(0, expected, "")}
    assert contents(pair.root) == before


def test_plugin_add_refuses_a_row_of_dshs_own(pair: Pair, tmp_path: Path) -> None:
    folder = package(tmp_path / "taker", None, "session")
    ran = dshloop(
        "plugin", "add", str(folder), "--profile", "web", "--json",
        variables={**pair.variables, "PATH": str(pair.program.parent)},
    )  # fmt: skip
    assert (ran.code, ran.error["code"]) == (4, "ROW_ID_TAKEN")
    assert ran.error["details"]["owner"] == SCOPE + "base"
    assert not pair.root.exists() or contents(pair.root) == {}
