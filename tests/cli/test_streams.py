"""Standard streams that are closed, full or have lost their reader."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs a POSIX shell")
needs_full = pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")

COMMANDS = [
    "--help",
    "config list",
    "session run --driver fake hi --json",
]


def shell(line: str) -> subprocess.CompletedProcess[str]:
    """Run ``dshloop LINE`` in a shell."""
    command = f'"{sys.executable}" -m dshloop {line}'
    return subprocess.run(
        ["sh", "-c", command],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize("closed", ["<&-", ">&-", "<&- >&- 2>&-"])
@pytest.mark.parametrize("words", COMMANDS)
def test_a_closed_stream_is_like_the_null_device(words: str, closed: str) -> None:
    ran = shell(f"{words} {closed}")
    assert (ran.returncode, "Traceback" in ran.stderr) == (0, False), ran.stderr


def test_files_never_take_the_number_of_a_closed_stream(tmp_path: Path) -> None:
    database = Path(os.environ["DSHLOOP_DATA"]) / "memory.db"
    assert shell("memory remember 'we deploy on Fridays' >&- 2>&-").returncode == 0
    assert database.read_bytes().startswith(b"SQLite format 3\0")
    assert json.loads(shell("memory recall deploy --json").stdout)


def test_closed_stdin_holds_nothing_to_read() -> None:
    assert "MEMORY_EMPTY" in shell("memory remember - <&-").stderr
    assert "PROMPT_MISSING" in shell("session run --driver fake - <&-").stderr


@needs_full
@pytest.mark.parametrize("words", COMMANDS)
def test_a_full_disk_behind_stdout_is_an_error_of_its_own(words: str) -> None:
    ran = shell(f"{words} >/dev/full")
    assert ran.returncode == 1
    assert "OUTPUT_FAILED" in ran.stderr


@needs_full
def test_a_stream_that_cannot_be_written_ends_with_one_json_error() -> None:
    ran = shell("session run --driver fake hi --json >/dev/full")
    assert ran.returncode == 1
    assert json.loads(ran.stderr)["error"]["code"] == "OUTPUT_FAILED"


@needs_full
def test_notices_that_nobody_can_read_change_nothing() -> None:
    ran = shell("session list 2>/dev/full")
    assert ran.returncode == 0
    assert shell("memory recall nothing 2>/dev/full").returncode == 3
    assert shell("memory show nope 2>/dev/full").returncode == 3
    assert shell("memory remember kept 2>/dev/full").stdout.startswith("mem_")


def test_a_closed_pipe_on_stderr_keeps_answer_and_exit_code() -> None:
    read, write = os.pipe()
    os.close(read)
    try:
        told = subprocess.run(
            [sys.executable, "-m", "dshloop", "memory", "show", "nope"],
            stdin=subprocess.DEVNULL,
            stderr=write,
            timeout=60,
            check=False,
        )
    finally:
        os.close(write)
    assert told.returncode == 3
