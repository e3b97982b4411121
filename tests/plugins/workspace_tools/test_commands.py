"""Searches and shell commands: real processes, their limits, and what is left of them."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from dshloop.host.abort import USER, AbortSignal
from dshloop.host.tools import ToolFailure
from dshloop.plugins.workspace_tools import searching
from dshloop.plugins.workspace_tools.shell import shell, without_keys
from dshloop.plugins.workspace_tools.workspace import Workspace


@pytest.fixture
def work(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path)


def run(
    work: Workspace, command: str, seconds: int = 20, environment: Mapping[str, str] | None = None
) -> str:
    given = dict(os.environ) if environment is None else environment
    return asyncio.run(shell(work, command, AbortSignal(), given, seconds))


def fails(work: Workspace, command: str, seconds: int = 20) -> tuple[str, str]:
    with pytest.raises(ToolFailure) as caught:
        run(work, command, seconds)
    return caught.value.fault.code, str(caught.value)


def find(work: Workspace, seconds: float = 20.0, **asked: Any) -> str:
    return asyncio.run(searching.search(work, asked, AbortSignal(), seconds))


def is_alive(pid: int) -> bool:
    """Whether it goes on living; one that is being killed has a moment to be gone."""
    for _ in range(200):
        if not is_running(pid):
            return False
        time.sleep(0.01)
    return True


def is_running(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


def test_a_command_runs_in_the_workspace_without_input(work: Workspace) -> None:
    assert run(work, "pwd; cat; echo bad >&2") == f"{work.root}\nbad"
    assert run(work, "true") == "[no output, exit code 0]"
    assert fails(work, "echo out; exit 3") == ("COMMAND_FAILED", "out\n[exit code 3]")


def test_time_is_limited_and_the_whole_group_ends(work: Workspace) -> None:
    command = "echo begun; trap '' TERM; sh -c 'echo $$ > child; sleep 60' & sleep 60"
    code, said = fails(work, command, 1)
    assert (code, said) == ("TIMEOUT", "begun\n[ended after 1 s]")
    assert not is_alive(int((work.root / "child").read_text()))


def test_what_a_command_leaves_running_ends_with_it(work: Workspace) -> None:
    assert run(work, "sleep 60 & echo $! > child; echo done") == "done"
    assert not is_alive(int((work.root / "child").read_text()))


def test_a_flood_keeps_its_beginning_and_its_end(work: Workspace) -> None:
    said = run(work, "echo first; head -c 3000000 /dev/zero | tr '\\0' x; echo; echo last")
    assert said.startswith("first\nx")
    assert said.endswith("\nlast")
    assert "bytes left out]" in said
    assert len(said) < 31_000


def test_a_flood_without_an_end_is_ended(work: Workspace) -> None:
    code, said = fails(work, "echo $$ > child; yes")
    assert code == "OUTPUT_LIMIT"
    assert said.endswith("[ended: it wrote too much]")
    assert not is_alive(int((work.root / "child").read_text()))


def test_a_cancelled_turn_ends_the_command(work: Workspace) -> None:
    async def cancelled() -> str:
        signal = AbortSignal()
        running = asyncio.ensure_future(
            shell(work, "echo $$ > child; echo begun; sleep 60", signal, os.environ, 60)
        )
        while not (work.root / "child").exists() or not (work.root / "child").read_text():
            await asyncio.sleep(0.01)
        signal.abort(USER)
        with pytest.raises(ToolFailure) as caught:
            await running
        return caught.value.fault.code

    assert asyncio.run(cancelled()) == "ABORTED"
    assert not is_alive(int((work.root / "child").read_text()))


def test_keys_are_not_in_a_commands_environment(work: Workspace) -> None:
    secrets = (
        "DEEPSEEK_API_KEY", "OPENAI_API_KEY", "COMPANY_KEY", "odd", "GITHUB_TOKEN", "MY_SECRET",
        "DB_PASSWORD", "AWS_SECRET_ACCESS_KEY", "api_key", "SOME_KEY_2",
    )  # fmt: skip
    variables = {**dict.fromkeys(secrets, "SECRET-VALUE"), "PATH": os.environ["PATH"], "LANG": "C"}
    said = run(work, "env", environment=without_keys(variables, {"odd"}))
    assert "SECRET-VALUE" not in said
    assert "LANG=C" in said
    harmless = {"KEYBOARD": "x", "MONKEY": "y"}
    assert without_keys(harmless) == harmless


def test_a_search_finds_lines_and_leaves_out_what_git_ignores(work: Workspace) -> None:
    for name, text in {
        "a.py": "def needle():\n    pass\n",
        "sub/b.txt": "a NEEDLE here\n",
        "ignored/c.py": "needle\n",
        "x.bin": "needle\0",
        ".gitignore": "ignored\n",
    }.items():
        path = work.root / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    (work.root / "link").symlink_to("/etc")
    assert find(work, query="needle") == "a.py:1: def needle():"
    everything = find(work, query="needle", ignore_case=True)
    assert everything == "a.py:1: def needle():\nsub/b.txt:1: a NEEDLE here"
    assert find(work, query=r"^def \w+", regex=True) == "a.py:1: def needle():"
    assert (
        find(work, query="needle", ignore_case=True, glob="*.txt") == "sub/b.txt:1: a NEEDLE here"
    )
    assert find(work, query="NEEDLE", path="sub") == "sub/b.txt:1: a NEEDLE here"
    assert find(work, query="NEEDLE", path="sub/b.txt") == "sub/b.txt:1: a NEEDLE here"
    assert find(work, query="nowhere") == "[nothing found]"


def test_a_search_refuses_what_leads_out_and_what_is_no_pattern(work: Workspace) -> None:
    (work.root / "link").symlink_to("/etc")
    for path, code in (
        ("..", "OUTSIDE_WORKSPACE"),
        ("link", "OUTSIDE_WORKSPACE"),
        ("no", "NOT_FOUND"),
    ):
        with pytest.raises(ToolFailure) as caught:
            find(work, query="root", path=path)
        assert caught.value.fault.code == code
    with pytest.raises(ToolFailure) as caught:
        find(work, query="(", regex=True)
    assert caught.value.fault.code == "BAD_PATTERN"


def test_an_expression_that_never_ends_is_ended_with_what_was_found(work: Workspace) -> None:
    (work.root / "a").write_text("aaa\n")
    (work.root / "b").write_text("a" * 64 + "!\n")
    said = find(work, 2.0, query=r"^(a+)+$", regex=True)
    assert said == "a:1: aaa\n[stopped after 2 s; this is what was found until then]"


def test_a_search_has_at_most_so_many_lines(work: Workspace) -> None:
    (work.root / "a").write_text("x\n" * 1000)
    lines = find(work, query="x").splitlines()
    assert len(lines) == searching.MOST + 1
    assert lines[-1].startswith("[more than these")
