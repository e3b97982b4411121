"""The commands of README.md and docs/ are run, and print what the page shows.

A block behind ``<!-- run: NAME -->`` is run: ``console`` blocks line by line, ``bash`` blocks as
one script that must succeed. A block behind ``<!-- file: PATH -->`` is a file that the reader has
written; a folder of such files with a pyproject.toml is a package, and installed before the
commands that stand behind it are run. ``DSHLOOP_TEST_WRITE=1 pytest tests/test_documents.py``
writes what was printed into the pages.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"<!-- run: (?P<name>[\w-]+) -->\n```(?P<kind>\w+)\n(?P<body>.*?)```\n", re.S)
FILE = re.compile(r"<!-- file: (?P<path>[\w./-]+) -->\n```\w*\n(?P<body>.*?)```\n", re.S)
# What differs from run to run.
VARIABLE = (
    (re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"), "UUID"),
    (re.compile(r"\b\d{8}-\d{6}(-2)?\b"), "RUN"),
    (re.compile(r"mem_[0-9a-f]{8,}"), "MEMORY"),
    (re.compile(r"obs_[0-9a-f]{8,}"), "OBSERVATION"),
    (re.compile(r"(?<![\d.])[01]\.\d\d(?!\d)"), "SCORE"),
    (re.compile(r"\d+\.\d+ ms"), "MS"),
    (re.compile(r"\d+(\.\d)? KB"), "SIZE"),
    (re.compile(r"\b[0-9a-f]{8}\b"), "ENTRY"),
    (re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d(:\d\d(\.\d+)?Z?)?"), "TIME"),
    (re.compile(r" {2,}"), "  "),
)


def blocks() -> Iterator[object]:
    for page in PAGES:
        for match in BLOCK.finditer(page.read_text(encoding="utf-8")):
            name = f"{page.name}:{match['name']}"
            yield pytest.param(page, match["name"], match["kind"], match["body"], id=name)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home with a checkout's examples in it, as a reader of the page has one."""
    checkout = tmp_path / "dshloop"
    shutil.copytree(ROOT / "examples", checkout / "examples")
    return tmp_path


def write_files(page: Path, block: str, home: Path) -> None:
    """Write the files in front of a block into the reader's folder, and install the packages."""
    folder = home / "dshloop"
    before, _, _ = page.read_text(encoding="utf-8").partition(f"<!-- run: {block} -->")
    for match in FILE.finditer(before):
        file = folder / match["path"]
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(match["body"], encoding="utf-8")
    for manifest in folder.glob("*/pyproject.toml"):
        install(manifest, home / "site")


def install(manifest: Path, site: Path) -> None:
    """Put a package's modules and its entry points where Python finds installed ones."""
    about = tomllib.loads(manifest.read_text(encoding="utf-8"))
    project, modules = about["project"], about["tool"]["setuptools"]["py-modules"]
    name, version = project["name"], project["version"]
    info = site / f"{name.replace('-', '_')}-{version}.dist-info"
    info.mkdir(parents=True)
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
    (info / "METADATA").write_text(metadata, encoding="utf-8")
    points = [
        f"[{group}]\n" + "".join(f"{key} = {target}\n" for key, target in found.items())
        for group, found in project["entry-points"].items()
    ]
    (info / "entry_points.txt").write_text("\n".join(points), encoding="utf-8")
    for module in modules:
        shutil.copy(manifest.parent / f"{module}.py", site)


def run(home: Path, script: str) -> subprocess.CompletedProcess[str]:
    """Run a script as a reader would: in the checkout, our command and no other dsh on PATH."""
    tools = home / "bin"
    tools.mkdir(exist_ok=True)
    for tool in ("bash", "cat", "echo", "jq", "wc", "sh", "grep", "head"):
        found = shutil.which(tool)
        if found and not (tools / tool).exists():
            (tools / tool).symlink_to(found)
    env = {
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{tools}",
        "HOME": str(home),
        "PYTHONPATH": str(home / "site"),
        "PYTHONDONTWRITEBYTECODE": "1",
        "LANG": "C.UTF-8",
    }
    return subprocess.run(
        ["bash", "-e", "-c", script],
        cwd=home / "dshloop",
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=120,
    )


def told(text: str, home: Path) -> str:
    """Give output as a page shows it: the reader's home has a name of its own."""
    return text.replace(str(home), "/home/you")


def steady(text: str) -> str:
    """Replace what differs from run to run."""
    for pattern, word in VARIABLE:
        text = pattern.sub(word, text)
    return text


@pytest.mark.parametrize(("page", "name", "kind", "body"), [*blocks()])
def test_a_page_shows_what_its_commands_print(
    page: Path, name: str, kind: str, body: str, home: Path
) -> None:
    if "jq" in body and not shutil.which("jq"):
        pytest.skip("jq is not installed")
    write_files(page, name, home)
    if kind == "console":
        lines = [line[2:] for line in body.splitlines() if line.startswith("$ ")]
        shown = "".join(f"$ {line}\n{told(run(home, line).stdout, home)}" for line in lines)
        if os.environ.get("DSHLOOP_TEST_WRITE"):
            text = page.read_text(encoding="utf-8")
            page.write_text(text.replace(body, shown, 1), encoding="utf-8")
            return
        assert steady(shown) == steady(body)
        return
    ran = run(home, body)
    assert ran.returncode == 0, ran.stdout
    assert "error" not in ran.stdout.lower()
    assert ran.stdout


def test_every_command_of_the_readme_is_run_or_explained() -> None:
    text = BLOCK.sub("", (ROOT / "README.md").read_text(encoding="utf-8"))
    assert not re.search(r"^(\$ |    )dshloop ", text, re.M), "a command that no test runs"
