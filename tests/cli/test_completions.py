"""The completion scripts: current, and answering in real shells with real values."""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from dshloop.cli import generated
from dshloop.cli.complete import answer
from dshloop.environment import Environment
from tests.running import dshloop
from tests.tmux import terminal

ROOT = Path(__file__).parents[2]
SCRIPTS = ROOT / "completions"


@pytest.mark.parametrize("name", generated.files())
def test_generated_files_are_current(name: str) -> None:
    assert (ROOT / name).read_text(encoding="utf-8") == generated.files()[name], (
        "run `make generated`"
    )


def complete(*words: str) -> list[str]:
    """Ask as the scripts do; give the values."""
    ran = subprocess.run(
        [sys.executable, "-m", "dshloop", *words],
        env={**os.environ, "_DSHLOOP_COMPLETE": "bash"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert ran.stderr == ""
    return [line.partition("\t")[0] for line in ran.stdout.splitlines()]


def test_words_of_the_root_and_of_groups() -> None:
    assert {"profile", "plugin", "session", "memory"} <= set(complete(""))
    assert complete("plu") == ["plugin"]
    assert {"add", "remove", "list"} <= set(complete("plugin", ""))
    assert "--profile" in complete("plugin", "list", "--")


def test_profiles_are_offered_in_both_places() -> None:
    dshloop("profile", "create", "mine", "--template", "empty")
    for words in (["plugin", "--profile", ""], ["plugin", "list", "--profile", ""]):
        assert "mine" in complete(*words)
        assert "web" in complete(*words)
    assert complete("plugin", "list", "--profile", "mi") == ["mine"]
    assert complete("plugin", "list", "--profile=mi") == ["--profile=mine"]
    assert complete("plugin", "list", "--profile", "=", "mi") == ["mine"]
    assert "mine" in complete("plugin", "list", "--profile", "=")


def test_profiles_of_a_named_home_are_offered(tmp_path: Path) -> None:
    dshloop("profile", "create", "there", "--template", "empty", "--home", str(tmp_path))
    assert "there" in complete("plugin", "list", "--home", str(tmp_path), "--profile", "th")


def test_installed_plugins_and_drivers_are_offered(tmp_path: Path) -> None:
    bundle = ROOT / "examples" / "hello-bundle"
    assert dshloop("plugin", "add", str(bundle), "--profile", "mine").code == 0
    assert complete("plugin", "remove", "--profile", "mine", "") == ["hello-bundle"]
    assert "fake" in complete("session", "run", "--driver", "")


def test_loops_drivers_and_agents_are_offered(monkeypatch: pytest.MonkeyPatch) -> None:
    dshloop("profile", "create", "mine", "--template", "empty")
    monkeypatch.setenv("DSHLOOP_PROFILE", "mine")
    dshloop("loop", "register", "careful", "not_there:loop", "--force")
    dshloop("driver", "register", "engine", "not_there:Driver", "--force")
    dshloop("agent", "add", "coder", "--loop", "standard", "--yes")
    assert {"list", "explain", "route"} <= set(complete("loop", ""))
    assert complete("loop", "use", "") == ["careful", "standard"]
    assert complete("loop", "unregister", "") == ["careful"]
    assert complete("loop", "explain", "--driver", "e") == ["engine"]
    assert "fake-driver" in complete("driver", "use", "")
    assert complete("agent", "remove", "") == ["coder"]
    assert complete("provider", "test", "d") == ["deepseek"]
    assert complete("session", "run", "--provider", "o") == ["openai"]
    assert "deepseek/deepseek-flash" in complete("session", "run", "--model", "deep")
    assert "code" in complete("loop", "unroute", "")
    assert complete("loop", "use", "--layer", "") == ["profile", "home"]
    assert complete("profile", "set", "--layer", "h") == ["home"]


def test_presets_and_sessions_are_offered_where_they_are_named() -> None:
    dshloop("session", "run", "hi", "--driver", "fake", "--session-id", "mine")
    for words in (["loop", "explain", "--preset"], ["session", "run", "--preset"]):
        assert complete(*words, "mi") == ["minimal"]
    assert complete("loop", "route", "mi") == ["minimal"]
    assert complete("loop", "route", "--session", "") == ["mine"]
    assert complete("loop", "explain", "--session", "") == ["last", "mine"]
    assert complete("agent", "add", "x", "--resume-session-id", "m") == ["mine"]


def packages(folder: Path, loops: str = "theirs = their_package:loop") -> dict[str, str]:
    """Install a package that offers a loop and a driver; give the variables that make it seen."""
    info = folder / "site" / "their_package-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: their-package\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        f"[dshloop.loops]\n{loops}\n[dshloop.drivers]\nengine = their_package:Driver\n"
    )
    os.utime(info.parent, (1_700_000_000, 1_700_000_000))
    return {"PYTHONPATH": str(info.parent)}


def test_what_packages_offer_is_completed_everywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", packages(tmp_path)["PYTHONPATH"])
    for words in (["loop", "use"], ["loop", "show"], ["session", "run", "--loop"]):
        assert complete(*words, "th") == ["theirs"]
    assert complete("loop", "route", "code", "theirs+e") == ["theirs+engine"]
    for words in (["driver", "use"], ["driver", "show"], ["loop", "explain", "--driver"]):
        assert complete(*words, "") == ["engine", "default", "fake-driver", "dsh", "acp"]
    names = ["fake-driver", "fake", "default", "headless", "ping", "dsh", "acp"]
    assert complete("session", "run", "--driver", "") == ["engine", *names]


def test_names_that_are_no_ids_are_not_offered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = packages(tmp_path, "Evil\x1b[2J = a:b\nupper.OK = a:b\nfine = a:b")
    monkeypatch.setenv("PYTHONPATH", found["PYTHONPATH"])
    assert complete("loop", "use", "") == ["fine", "standard"]


def test_a_broken_loops_file_leaves_the_other_places(monkeypatch: pytest.MonkeyPatch) -> None:
    dshloop("profile", "create", "mine", "--template", "empty")
    Path(os.environ["DSH_HOME"], "profiles", "mine", "loops.yml").write_bytes(b"loops: [\xff")
    assert complete("loop", "use", "--profile", "mine", "") == ["standard"]


def test_values_that_a_line_cannot_hold_are_left_out() -> None:
    dshloop("profile", "create", "mine", "--template", "empty")
    dshloop("loop", "route", "two\nlines", "standard", "--profile", "mine", "--yes")
    dshloop("loop", "route", "plain", "standard", "--profile", "mine")
    out = io.StringIO()
    env = Environment(io.StringIO(), out, io.StringIO(), dict(os.environ), Path.cwd())
    assert answer(["loop", "unroute", "--profile", "mine", ""], env) == 0
    offered = [line.partition("\t")[0] for line in out.getvalue().splitlines()]
    assert "plain" in offered
    assert not {"two", "lines"} & {*offered}


def test_a_fault_completes_nothing() -> None:
    assert complete("nope", "nope", "") == []


SHELLS = {
    "bash": (["bash", "--norc", "--noprofile", "-i"], "dshloop.bash", "source"),
    "fish": (["fish", "--no-config"], "dshloop.fish", "source"),
    "zsh": (["zsh", "-f", "-i"], "_dshloop", "autoload -Uz compinit; compinit -u -D; source"),
}


def test_fish_offers_files_only_where_nothing_else_fits(tmp_path: Path) -> None:
    if shutil.which("fish") is None:
        pytest.skip("fish is not installed")
    (tmp_path / "a-file.yml").touch()
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    for line, offered in (
        ("dshloop driver use ", ["acp", "default", "dsh", "fake-driver"]),
        ("dshloop loop register x --from a-", ["a-file.yml"]),
    ):
        ran = subprocess.run(
            [
                "fish",
                "--no-config",
                "-c",
                f"source {SCRIPTS / 'dshloop.fish'}; complete -C '{line}'",
            ],
            env={**os.environ, "PATH": path},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=True,
        )
        assert [each.partition("\t")[0] for each in ran.stdout.splitlines()] == offered


@pytest.mark.parametrize("name", SHELLS)
@pytest.mark.parametrize("typed", ["--profile mi", "--profile=mi"])
def test_tab_completes_in_a_real_shell(name: str, typed: str, tmp_path: Path) -> None:
    command, script, source = SHELLS[name]
    if shutil.which(name) is None:
        pytest.skip(f"{name} is not installed")
    dshloop("profile", "create", "mine", "--template", "empty")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    kept = {key: os.environ[key] for key in ("HOME", "DSH_HOME", "DSHLOOP_DATA", "DSHLOOP_CONFIG")}
    with terminal(
        ["env", f"PATH={path}", *command], cwd=tmp_path, variables=kept, columns=150
    ) as screen:
        screen.type(f"{source} {SCRIPTS / script}; echo rea''dy")
        screen.press("Enter")
        screen.wait("\nready")
        screen.type(f"dshloop plugin list {typed}")
        screen.press("Tab")
        screen.wait(f"dshloop plugin list {typed}ne")
