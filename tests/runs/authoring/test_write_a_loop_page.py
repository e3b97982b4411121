"""docs/write-a-loop.md is followed from top to bottom, in one home, with a real pip and pytest.

``DSHLOOP_TEST_WRITE=1`` writes what was printed into the page.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from tests.test_documents import ROOT, run, steady, told

PAGE = ROOT / "docs" / "write-a-loop.md"
PART = re.compile(
    r"<!-- (?P<kind>step|file): (?P<name>[\w./-]+) -->\n```\w+\n(?P<body>.*?)```\n", re.S
)
# pip builds with what is installed, in the place of what it would fetch, and installs beside it.
OFFLINE = "PIP_NO_INDEX=1 PIP_NO_BUILD_ISOLATION=0 PIP_NO_DEPS=1 PIP_DISABLE_PIP_VERSION_CHECK=1"
SECONDS = re.compile(r"in \d+\.\d+s")


@pytest.mark.slow
def test_the_page_can_be_followed(tmp_path: Path) -> None:
    folder = tmp_path / "dshloop"
    folder.mkdir()
    text = PAGE.read_text(encoding="utf-8")
    seen = []
    for part in PART.finditer(text):
        if part["kind"] == "file":
            (folder / part["name"]).write_text(part["body"], encoding="utf-8")
            continue
        seen.append(part["name"])
        shown = follow(tmp_path, part["body"])
        if os.environ.get("DSHLOOP_TEST_WRITE"):
            page = PAGE.read_text(encoding="utf-8")
            PAGE.write_text(page.replace(part["body"], shown, 1), encoding="utf-8")
        else:
            assert steady(SECONDS.sub("", shown)) == steady(SECONDS.sub("", part["body"]))
    assert seen == ["new", "look", "test", "broken", "pytest", "install", "driver"]


def follow(home: Path, body: str) -> str:
    """Run the commands of a block; give it as the page shows it."""
    lines = [line[2:] for line in body.splitlines() if line.startswith("$ ")]
    site = f"PIP_TARGET={home / 'site'}"
    quiet = "PYTEST_ADDOPTS='-p no:cacheprovider'"
    shown = []
    for line in lines:
        ran = run(home, f"export {OFFLINE} {site} {quiet}; {line}")
        shown.append(f"$ {line}\n{told(ran.stdout, home)}")
    return "".join(shown)


def test_every_command_of_the_page_is_run() -> None:
    text = PART.sub("", PAGE.read_text(encoding="utf-8"))
    assert not re.search(r"^\$ ", text, re.M)
