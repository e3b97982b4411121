"""What may be imported on the way to an answer: the contract that keeps every command quick."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
import typer

from dshloop.cli.app import app
from dshloop.loops.discovery import SETTLED
from tests.running import dshloop

HEAVY = {
    "asyncio",
    "httpx",
    "importlib.metadata",
    "numpy",
    "prompt_toolkit",
    "pydantic",
    "rich",
    "ssl",
    "zstandard",
}
CLI = {"typer", "subprocess"}  # Typer itself imports subprocess


@pytest.fixture
def small_home() -> None:
    assert dshloop("profile", "create", "small", "--template", "empty").code == 0
    assert dshloop("memory", "remember", "We deploy on Fridays").code == 0


def imported(words: list[str], **variables: str) -> set[str]:
    """Run a command with an import hook and give the modules it had at the end."""
    probe = (
        "import sys, atexit; "
        "atexit.register(lambda: open(sys.argv.pop(), 'w').write(chr(10).join(sys.modules))); "
        "from dshloop.entry import main; out = sys.argv[-1]; "
        "sys.argv[:] = ['dshloop', *sys.argv[1:-1]]; code = main(); sys.argv.append(out); "
        "sys.exit(code)"
    )
    listing = Path(os.environ["HOME"]) / "modules.txt"
    ran = subprocess.run(
        [sys.executable, "-c", probe, *words, str(listing)],
        capture_output=True,
        text=True,
        env={**os.environ, **variables},
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    modules = set(listing.read_text().split())
    return modules | {name.partition(".")[0] for name in modules}


@pytest.mark.parametrize("word", ["--version", "--help"])
def test_ready_answers_import_almost_nothing(word: str) -> None:
    modules = imported([word])
    ours = {name for name in modules if name.startswith("dshloop.")}
    assert ours <= {"dshloop.entry", "dshloop.root_help"}
    assert not modules & (
        HEAVY | CLI | {"yaml", "sqlite3", "typing", "pathlib", "dataclasses", "re"}
    )


@pytest.mark.usefixtures("small_home")
@pytest.mark.parametrize(
    ("words", "more"),
    [
        (["plugin", "list", "--profile", "small"], {"sqlite3", "yaml"}),
        (["memory", "recall", "when do we deploy"], {"yaml"}),
        (["profile", "dump", "small"], {"sqlite3"}),
        (["session", "list"], {"sqlite3", "yaml"}),
    ],
)
def test_plain_commands_stay_light(words: list[str], more: set[str]) -> None:
    assert not imported(words) & (HEAVY | more)


def test_a_turn_on_the_built_in_profile_needs_no_yaml_and_no_metadata() -> None:
    modules = imported(["session", "run", "hi", "--driver", "fake"])
    needed = {"asyncio", "ssl"}  # asyncio itself imports ssl
    assert not modules & ((HEAVY - needed) | {"sqlite3", "yaml", "fastjsonschema"})


def test_a_turn_without_model_and_profile_imports_only_what_it_runs() -> None:
    modules = imported(["session", "run", "hi", "--driver", "fake"])
    assert not modules & {
        "concurrent.futures.thread",
        "dshloop.dsh_yaml",
        "dshloop.llm.credentials",
        "dshloop.llm.providers",
        "dshloop.loops.catalog",
        "dshloop.loops.loops_file",
        "dshloop.memory",
        "dshloop.plugins.compaction.compacting",
        "dshloop.plugins.local_memory.recalling",
        "dshloop.plugins.local_memory.recording",
        "dshloop.profiles",
        "dshloop.runs.talking.approving",
        "dshloop.transcripts.dsh",
    }
    own = "dshloop.plugins.workspace_tools"
    tools = {name for name in modules if name.startswith(own)}
    assert tools == {own, f"{own}.offered", f"{own}.row", f"{own}.tools"}


@pytest.mark.parametrize(
    ("words", "built"),
    [
        (["driver", "list"], {"list"}),
        (["config", "list"], {"list"}),
        (["undo", "redo"], {"undo"}),
    ],
)
def test_only_the_verb_that_is_called_is_built(words: list[str], built: set[str]) -> None:
    root = typer.main.get_command(app)
    _, found, _ = root.resolve_command(typer.Context(root), words)
    assert set(getattr(found, "commands", {found.name: found})) == built
    _, found, _ = root.resolve_command(typer.Context(root), ["session", "--json", "run"])
    assert len(found.commands) > 10


@pytest.mark.parametrize(("group", "verb"), [("session", "run"), ("memory", "recall")])
def test_only_the_module_of_the_verb_that_is_called_is_imported(group: str, verb: str) -> None:
    modules = imported([group, verb, "--help"])
    table = importlib.import_module(f"dshloop.cli.{group}").VERBS
    package = f"dshloop.cli.{group}."
    verbs = modules & {package + module for module in table.values()}
    assert verbs == {package + table[verb]}


@pytest.mark.usefixtures("small_home")
def test_completion_imports_no_more_than_a_command() -> None:
    modules = imported(["plugin", "list", "--profile", ""], _DSHLOOP_COMPLETE="bash")
    assert not modules & (HEAVY | {"sqlite3", "yaml"})


@pytest.mark.parametrize(
    "words",
    [["loop", "use", ""], ["driver", "use", ""], ["session", "run", "--loop", ""]],
)
def test_completion_of_loops_asks_packages_only_when_something_changed(
    words: list[str], tmp_path: Path
) -> None:
    site = tmp_path / "site"
    info = site / "pack-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "entry_points.txt").write_text("[dshloop.loops]\n[dshloop.drivers]\n")
    os.utime(site, (1_700_000_000, 1_700_000_000))
    about = {"_DSHLOOP_COMPLETE": "bash", "PYTHONPATH": str(site)}
    _wait_until_settled()
    assert "importlib.metadata" in imported(words, **about)
    assert not imported(words, **about) & (HEAVY | {"sqlite3", "yaml"})
    os.utime(site, (1_700_000_001, 1_700_000_001))
    assert "importlib.metadata" in imported(words, **about)


def _wait_until_settled() -> None:
    """Wait until no folder of packages, the checkout among them, has just been changed."""
    folders = [Path(entry) for entry in (*sys.path, Path(__file__).parents[2])]
    changed = max(folder.stat().st_mtime for folder in folders if folder.exists())
    time.sleep(max(0, changed + SETTLED + 0.1 - time.time()))


def test_a_file_in_the_working_directory_is_never_imported(tmp_path: Path) -> None:
    for name in ("typer", "yaml", "json", "platformdirs"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('imported from the cwd')\n")
    ran = subprocess.run(
        [sys.executable, "-m", "dshloop", "config", "list"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
