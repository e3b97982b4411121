"""The quick start of dsh-loop-dock: its bundle, added to a clean web profile, answers offline."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from dshloop.drivers.fake import FAKE_REPLY
from tests.profiles.packages import packed

PATCH = """\
- id: agent-loop
  disabled: true
- insert:
    - id: agent-loop-dock
      name: dsh-loop-dock
      config:
        defaultLoop: standard
        defaultDriver: default
        presetLoops: {standard: standard, minimal: standard, code: standard, cordis: standard}
        sessionLoops: {}
        agents: []
    - id: agent-loop-dock-default-driver
      name: dsh-loop-dock/headless-driver
      config:
        maxParallelToolCalls: 10
        fakeDriver: true
"""
MANIFEST = {
    "name": "dsh-loop-dock",
    "version": "0.1.0",
    "type": "module",
    "main": "index.js",
    "exports": {".": "./index.js", "./headless-driver": "./index.js"},
    "dsh": {"bundle": {"patch": "cordis.patch.yml"}},
}
# A command in a process of its own that ends at once if it opens a socket or binds one.
OFFLINE = """\
import os, sys
def watch(event, arguments):
    if event in ("socket.connect", "socket.bind", "socket.sendto", "socket.getaddrinfo"):
        os.write(2, f"opened a socket: {event} {arguments}\\n".encode())
        os._exit(99)
sys.addaudithook(watch)
from dshloop.entry import main
sys.exit(main())
"""


def dock_archive(folder: Path) -> Path:
    """Pack a stand-in for the original's package, as ``npm pack`` does."""
    package = folder / "dsh-loop-dock"
    package.mkdir()
    (package / "package.json").write_text(json.dumps(MANIFEST), encoding="utf-8")
    (package / "cordis.patch.yml").write_text(PATCH, encoding="utf-8")
    (package / "index.js").write_text("export const name = 'dock'\nexport function apply() {}\n")
    return packed(package)


def offline(*words: str, cwd: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a command that must open no socket."""
    done = subprocess.run(
        [sys.executable, "-c", OFFLINE, *words],
        cwd=cwd,
        env={**os.environ, **variables},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=60,
        check=False,
    )
    assert done.returncode != 99, done.stderr
    return done


def records(text: str) -> list[Any]:
    return [json.loads(line) for line in text.splitlines()]


def follow_quick_start(folder: Path, **variables: str) -> list[Any]:
    """Do what the quick start says; gives the records of the run."""
    archive = dock_archive(folder)
    steps = (
        ("plugin", "add", archive.name, "--profile", "web"),
        ("driver", "use", "fake-driver"),
        ("session", "run", "hello", "--profile", "web"),
    )
    for words in steps:
        done = offline(*words, cwd=folder, **variables)
        assert done.returncode == 0, done.stderr
    assert done.stdout == f"{FAKE_REPLY}\n"
    more = offline("session", "run", "more", "--profile", "web", "--json", cwd=folder, **variables)
    assert more.returncode == 0, more.stderr
    return records(more.stdout)


def test_the_quick_start_answers_without_a_socket(tmp_path: Path, isolated: Path) -> None:
    found = follow_quick_start(tmp_path, PATH="/usr/bin:/bin")
    assert (found[0]["loop"], found[0]["driver"]) == ("standard", "fake-driver")
    (message,) = (one["event"] for one in found if "assistant/message" in str(one.get("event")))
    assert message["data"]["message"]["content"] == [{"type": "text", "text": FAKE_REPLY}]
    manifest = json.loads((isolated / "dsh" / "profiles" / "web" / "package.json").read_text())
    assert "dsh-loop-dock" in manifest["dsh"]["profile"]["bundles"]
    assert "agent-loop-dock" in offline("profile", "dump", "web", cwd=tmp_path).stdout


def test_the_watch_for_sockets_sees_one(tmp_path: Path) -> None:
    probe = OFFLINE.replace(
        "from dshloop.entry import main",
        "import socket\nmain = lambda: socket.socket().bind(('', 0))",
    )
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, check=False)
    assert done.returncode == 99
