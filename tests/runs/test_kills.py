"""kill -9 at random points of whatever writes sessions: all or nothing, and no word is lost.

``DSHLOOP_TEST_KILLS=500`` kills so many times; a few of them are in every run of the tests.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dshloop.sessions.fsck import check_log
from dshloop.transcripts.dsh import read_transcript
from tests.running import dshloop
from tests.sessions.logs import conversation
from tests.transcripts.logs import HEADER, event, line

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="sends a POSIX signal"),
]

KILLS = int(os.environ.get("DSHLOOP_TEST_KILLS", "30"))
SCRIPT = """\
after: repeat
turns:
  - steps:
      - {reasoning: let me see, text: I look it up., calls: [{name: look, arguments: {at: 1}}]}
      - {text: The answer is seven and this takes a while to say.}
  - {text: Another answer that is a little longer than the one before it.}
  - {error: {message: busy, code: RATE_LIMIT, times: 1}, text: That took two tries.}
"""
COMMAND = [sys.executable, "-m", "dshloop", "session"]


def snapshot(root: Path) -> dict[str, str]:
    """Every file under a folder with its content's hash; locks and caches are no content."""
    return {
        str(path.relative_to(root)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(root.rglob("*"))
        if path.is_file() and path.name != "session.lock" and "cache" not in path.parts
    }


def killed(words: list[str], delay: float, prompts: int = 0) -> list[bytes]:
    """Run a command and kill it after a while; give the whole lines it printed."""
    run = subprocess.Popen(
        [*COMMAND, *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert run.stdin is not None
    assert run.stdout is not None
    if prompts:
        run.stdin.write(b"".join(b"prompt %d\n" % number for number in range(prompts)))
        run.stdin.flush()
        first = run.stdout.readline()
    else:
        first = b""
    time.sleep(delay)
    run.send_signal(signal.SIGKILL)
    lines = [first, *run.stdout]
    run.stdin.close()
    run.stdout.close()
    run.wait(30)
    return [each for each in lines if each.endswith(b"\n")]


def stored_log(home: Path, session_id: str) -> Path | None:
    return next((home / "data" / "sessions").glob(f"*/{session_id}/session.jsonl"), None)


@pytest.fixture
def bystander(isolated: Path) -> Path:
    """Another session, which nothing may change."""
    assert dshloop("session", "run", "--driver", "fake", "--session-id", "other", "hi").code == 0
    path = stored_log(isolated, "other")
    assert path is not None
    return path


def test_every_acknowledged_event_of_a_scripted_session_survives(
    isolated: Path, tmp_path: Path, bystander: Path
) -> None:
    dice, untouched = random.Random(11), bystander.read_bytes()
    script = tmp_path / "script.yml"
    script.write_text(SCRIPT, encoding="utf-8")
    run = ["run", "--json", "--input-format", "lines", "--script", str(script)]
    for round_ in range(max(1, KILLS // 3)):
        name = f"s{round_ // 6}"  # each session lives through some kills
        known = stored_log(isolated, name) is not None
        words = [*run, "--resume" if known else "--session-id", name]
        printed = killed(words, dice.uniform(0, 0.25), prompts=3000)
        path = stored_log(isolated, name)
        records: list[dict[str, Any]] = list(map(json.loads, printed))
        said = [record["event"] for record in records if record["type"] == "event"]
        if path is None:
            assert said == []
            continue
        read = read_transcript(path)
        assert [read.events[each["seq"]] for each in said] == said
        assert {finding.code for finding in read.findings} <= {"TORN_TAIL"}
        assert check_log(path).counts.keys() <= {"TORN_TAIL"}
    for path in (isolated / "data" / "sessions").glob("*/*/session.jsonl"):
        before = read_transcript(path).events
        title = dshloop("session", "rename", path.parent.name, "opened again")
        assert title.code == 0, title.err
        checked = check_log(path, stored=True)
        assert (checked.counts, checked.open) == ({}, False)
        assert read_transcript(path).events[: len(before)] == before
        names = sorted(each.name for each in path.parent.iterdir())
        assert names == ["session.jsonl", "session.lock"]
    assert bystander.read_bytes().startswith(untouched)


@pytest.fixture
def long_log(isolated: Path) -> Path:
    """A stored session of some megabytes, which takes a while to copy."""
    folder = isolated / "data" / "sessions" / "--home-dev--" / "long"
    folder.mkdir(parents=True)
    path = folder / "session.jsonl"
    events = conversation(60, calls=3, text="words " * 300)
    path.write_bytes(b"".join([line({**HEADER, "id": "long"}), *map(line, events)]))
    return path


def moments(share: int) -> Iterator[float]:
    """When to kill: over the whole of a command's life, and a little longer."""
    dice = random.Random(share)
    for _ in range(max(1, KILLS // share)):
        yield dice.uniform(0.05, 0.7)


def test_a_killed_fork_is_there_whole_or_not_at_all(isolated: Path, long_log: Path) -> None:
    untouched = snapshot(isolated / "data")
    for number, delay in enumerate(moments(6)):
        killed(["fork", "long", "--session-id", f"copy{number}"], delay)
        made = stored_log(isolated, f"copy{number}")
        if made is not None:
            checked = check_log(made, stored=True)
            assert checked.findings == []
            assert checked.events == len(read_transcript(long_log).events) + 1
        else:
            assert dshloop("session", "show", f"copy{number}").code == 3
    after = snapshot(isolated / "data")
    assert {name: after[name] for name in untouched} == untouched
    for name in after.keys() - untouched.keys():
        assert "/copy" in name
    ids = {row["id"] for row in dshloop("session", "list", "--all", "--limit", "0", "--json").json}
    assert ids == {path.parent.name for path in (isolated / "data").rglob("session.jsonl")}


def test_a_killed_repair_or_export_leaves_a_whole_file_or_none(
    isolated: Path, long_log: Path, tmp_path: Path
) -> None:
    lines = long_log.read_bytes().splitlines(keepends=True)
    long_log.write_bytes(b"".join([*lines[:50], b"\0" * 40 + lines[50], *lines[53:]]))
    untouched = snapshot(isolated / "data")
    whole = tmp_path / "whole.html"
    words = ("session", "export", "long", "--format", "html", "--out")
    assert dshloop(*words, str(whole)).code == 0
    for number, delay in enumerate(moments(6)):
        mended, page = tmp_path / f"{number}.jsonl", tmp_path / f"{number}.html"
        if number % 2:
            killed(["repair", "long", "--out", str(mended)], delay)
        else:
            killed([*words[1:], str(page)], delay)
        assert not mended.exists() or check_log(mended).findings == []
        assert not page.exists() or page.read_bytes() == whole.read_bytes()
    assert snapshot(isolated / "data") == untouched
    if hasattr(os, "O_TMPFILE"):
        assert not [each for each in tmp_path.iterdir() if each.name.startswith(".")]


def test_a_killed_delete_or_restore_has_done_all_of_it_or_nothing(
    isolated: Path, long_log: Path
) -> None:
    content = long_log.read_bytes()
    for delay in moments(6):
        here = long_log.exists()
        killed(["delete" if here else "restore", "long"], delay / 2)
        trashed = list((isolated / "data" / "trash").glob("*/*/long/session.jsonl"))
        assert long_log.exists() is not bool(trashed)
        assert (trashed or [long_log])[0].read_bytes() == content
        rows = dshloop("session", "list", "--all", "--json").json
        assert [row["id"] for row in rows] == (["long"] if long_log.exists() else [])


def test_a_killed_search_leaves_an_index_that_works(isolated: Path, long_log: Path) -> None:
    for delay in moments(6):
        killed(["search", "answer"], delay)
        long_log.write_bytes(long_log.read_bytes() + line(event("todo/write", 0, {"todos": []})))
    hits = dshloop("session", "search", "answer", "--limit", "100", "--json").json
    assert len(hits) == 60
