"""Whole runs with tools: allowed, denied, asked on a terminal; and what the log says of it."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.fake_model import FakeModel, fake_model
from tests.running import Ran, dshloop, process
from tests.tmux import terminal

KEY = "this-is-the-key-of-the-tests"


@pytest.fixture
def work(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "greeting.txt").write_text("Hello, wrold.\n")
    return folder


def variables(model: FakeModel) -> dict[str, str]:
    return {"DEEPSEEK_API_KEY": KEY, "DEEPSEEK_BASE_URL": model.url}


def run(model: FakeModel, work: Path, *words: str) -> Ran:
    return dshloop(
        "session", "run", "mend it", "--json", "--session-id", "s", *words,
        cwd=work, variables=variables(model),
    )  # fmt: skip


def events(ran: Ran, kind: str) -> list[Any]:
    found = (line["event"] for line in ran.lines if line["type"] == "event")
    return [event["data"] for event in found if event["type"] == kind]


def results(ran: Ran) -> list[tuple[str, str | None]]:
    """Give the text of each result, and its error's code."""
    found = []
    for data in events(ran, "tool/result"):
        (block,) = data["message"]["content"]
        text = "".join(part["text"] for part in block["content"])
        found.append((text, data.get("error", {}).get("code")))
    return found


def call(name: str, **given: Any) -> list[dict[str, Any]]:
    return [{"tool": name, "input": given}]


MEND = call("edit", path="greeting.txt", old="wrold", new="world")
DONE = [{"text": "Done."}]


def test_a_model_reads_and_then_edits_what_is_allowed(tmp_path: Path, work: Path) -> None:
    with fake_model(tmp_path, call("read", path="greeting.txt"), MEND, DONE) as model:
        ran = run(model, work, "--allow", "edit")
        told = model.asked[-1]["body"]["messages"]
    assert ran.code == 0
    assert results(ran) == [
        ("1\tHello, wrold.", None),
        ("changed greeting.txt at line 1", None),
    ]
    assert (work / "greeting.txt").read_text() == "Hello, world.\n"
    assert events(ran, "approval/asked") == []
    assert "changed greeting.txt at line 1" in str(told)
    assert dshloop("session", "fsck", "s", cwd=work).code == 0


def test_a_piped_run_denies_what_was_not_allowed_and_says_why(tmp_path: Path, work: Path) -> None:
    shell = call("shell", command="touch made")
    with fake_model(tmp_path, MEND, shell, DONE) as model:
        ran = run(model, work)
        told = str(model.asked[-1]["body"]["messages"])
    assert ran.code == 0
    assert [code for _, code in results(ran)] == ["TOOL_DENIED", "TOOL_DENIED"]
    assert "--allow edit" in results(ran)[0][0]
    assert "--allow shell" in told
    assert [path.name for path in work.iterdir()] == ["greeting.txt"]
    assert (work / "greeting.txt").read_text() == "Hello, wrold.\n"


def test_no_tool_leads_out_of_the_session_s_folder(tmp_path: Path, work: Path) -> None:
    (tmp_path / "secret").write_text("SECRET")
    (work / "link").symlink_to(tmp_path)
    ways = [
        *call("read", path="../secret"),
        *call("read", path="link/secret"),
        *call("search", query="SECRET", path=".."),
        *call("list", path="link"),
        *call("edit", path="../made", new="x"),
    ]
    with fake_model(tmp_path, ways, DONE) as model:
        ran = run(model, work, "--allow", "edit,shell")
    assert [code for _, code in results(ran)] == ["OUTSIDE_WORKSPACE"] * 5
    assert not (tmp_path / "made").exists()


def test_a_shell_s_variables_hold_no_key(tmp_path: Path, work: Path) -> None:
    with fake_model(tmp_path, call("shell", command="env; pwd"), DONE) as model:
        ran = process(
            "session", "run", "look", "--json", "--allow", "shell",
            cwd=work, env={**variables(model), "COMPANY_KEY": KEY, "GH_TOKEN": KEY},
        )  # fmt: skip
        told = str(model.asked[-1]["body"]["messages"])
    assert ran.returncode == 0, ran.stderr
    assert f"PWD={work}" in told
    assert KEY not in told
    assert KEY not in ran.stdout


@pytest.mark.parametrize("answer", ["y", "n"])
def test_a_person_at_a_terminal_is_asked(tmp_path: Path, work: Path, answer: str) -> None:
    names = ("HOME", "DSH_HOME", "DSHLOOP_DATA", "DSHLOOP_CONFIG")
    surroundings = {name: os.environ[name] for name in names}
    words = [sys.executable, "-m", "dshloop", "session", "run", "mend it", "--session-id", "s"]
    command = ["sh", "-c", '"$@"; echo "left with $?"; sleep 60', "sh", *words]
    with (
        fake_model(tmp_path, MEND, DONE) as model,
        terminal(command, cwd=work, variables={**surroundings, **variables(model)}) as screen,
    ):
        screen.wait("Allow edit")
        screen.type(answer)
        screen.press("Enter")
        screen.wait("left with 0")
    allowed = answer == "y"
    text = "Hello, world.\n" if allowed else "Hello, wrold.\n"
    assert (work / "greeting.txt").read_text() == text
    (log,) = Path(os.environ["DSHLOOP_DATA"]).rglob("session.jsonl")
    found = [json.loads(line) for line in log.read_text().splitlines()]
    asked = [event["data"] for event in found if event["type"] == "approval/asked"]
    decided = [event["data"] for event in found if event["type"] == "approval/decided"]
    assert [one["toolName"] for one in asked] == ["edit"]
    assert decided == [{"id": asked[0]["id"], "outcome": "allowed-once" if allowed else "rejected"}]
    assert dshloop("session", "fsck", "s", cwd=work).code == 0


def test_a_tool_that_nobody_knows_can_t_be_allowed(work: Path) -> None:
    ran = dshloop("session", "run", "x", "--allow", "edit,fly", "--driver", "fake", cwd=work)
    assert ran.code == 2
    assert 'edit and shell, not "fly"' in ran.err
