"""`dshloop memory preview`: the calls that a stored session would make."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tests.cli.memory.steps import memory
from tests.plugins.agentmemory.stand_ins import Daemon
from tests.running import dshloop

KEY = "sk-abcdefghij0123456789ABCDEFGHIJ"


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """A folder with a session whose prompt holds a secret."""
    folder = tmp_path / "shop"
    folder.mkdir()
    ran = dshloop("session", "run", f"use {KEY} please", "--driver", "fake", cwd=folder)
    assert ran.code == 0
    return folder


def preview(work: Path, *words: str) -> list[Any]:
    ran = dshloop("memory", "preview", "last", "--json", *words, cwd=work)
    assert ran.code == 0, ran.err
    found: list[Any] = ran.json
    return found


def test_a_session_is_told_with_its_exact_calls(work: Path) -> None:
    calls = preview(work)
    paths = [(one["point"], one["path"].removeprefix("/agentmemory/")) for one in calls]
    assert paths == [
        ("session/created", "session/start"),
        ("user/message", "observe"),
        ("user/message", "context"),
        ("assistant/message", "observe"),
        ("turn/end", "observe"),
        ("session/disposed", "session/end"),
    ]
    start, prompt = calls[:2]
    assert start["body"] | {"sessionId": ""} == {
        "sessionId": "",
        "project": "shop",
        "cwd": str(work),
        "agentId": "dsh",
    }
    assert prompt["body"]["data"]["prompt"] == "use [REDACTED_SECRET] please"
    assert KEY not in json.dumps(calls)
    (end,) = preview(work, "--point", "turn/end")
    assert end == calls[4]
    assert end["body"]["data"]["tool_input"] == f"turn#{end['seq'] + 1}"
    assert preview(work, "--point", "compaction/summary") == []


def test_what_is_previewed_is_what_a_run_sends(work: Path, tmp_path: Path) -> None:
    from tests.runs.test_agentmemory_rows import go

    daemon = Daemon()
    from dshloop.paths import find_places

    places = find_places({"DSHLOOP_DATA": str(tmp_path / "d"), "HOME": str(tmp_path)}, work)
    try:
        go(places, work, "one", "two", baseUrl=daemon.url, enableSessionStartEnd=False)
    finally:
        daemon.close()
    ran = dshloop(
        "memory", "preview", "last", "--json", cwd=work,
        variables={"DSHLOOP_DATA": str(tmp_path / "d")},
    )  # fmt: skip
    told = [one["body"] for one in ran.json if one["path"].endswith("/observe")]
    assert told == daemon.bodies("/observe")


def test_patchouli_is_asked_before_steps_and_told_whole_turns(work: Path) -> None:
    (one,) = preview(work, "--point", "session/turn-end")
    assert (one["operation"], one["request"]["meta"]["attributes"]["turn"]) == ("update", 1)
    assert one["request"]["data"]["events"][-1]["type"] == "turn/end"
    (step,) = preview(work, "--point", "agent/pre-step")
    assert step["operation"] == "retrieve"
    assert step["request"]["meta"]["attributes"]["point"] == "agent/pre-step"
    data = step["request"]["data"]
    assert (data["turn"], data["step"], len(data["messages"])) == (1, 1, 1)
    assert KEY in data["messages"][0]["content"][0]["text"]  # Patchouli's plugins get it whole


def test_the_text_is_each_call_over_its_body(work: Path) -> None:
    ran = dshloop("memory", "preview", "last", "--point", "turn/end", cwd=work)
    head, body = ran.out.split("\n", 1)
    assert head.startswith("POST /agentmemory/observe  # event ")
    assert json.loads(body)["data"]["reason"] == "completed"


def test_an_unknown_point_or_session_is_told(work: Path) -> None:
    ran = dshloop("memory", "preview", "last", "--point", "x", "--json", cwd=work)
    assert (ran.code, ran.error["code"]) == (2, "POINT_UNKNOWN")
    assert "session/turn-end" in ran.error["hint"]
    assert memory("preview", "nothing").code == 3


ODD: tuple[Any, ...] = (
    None,
    5,
    "x",
    [],
    {"content": 5},
    {"message": {"content": [5]}},
    {"turn": 1, "reason": 5},
)
"""What stands for the data of an event in no log of ours."""


@pytest.mark.parametrize("point", [None, "agent/pre-step", "session/turn-end"])
def test_events_like_no_others_are_previewed_or_left_out(tmp_path: Path, point: str | None) -> None:
    kinds = (
        "turn/start", "step/start", "user/message", "assistant/message", "tool/call", "tool/result",
        "approval/asked", "compaction/summary", "turn/end",
    )  # fmt: skip
    header = {"type": "session", "version": 0, "id": "odd", "createdAt": 1, "cwd": "/nowhere/shop"}
    odd = [(kind, data) for data in ODD for kind in kinds]
    events = [
        {"seq": seq, "type": kind, "time": 1, "data": data} for seq, (kind, data) in enumerate(odd)
    ]
    log = tmp_path / "odd.jsonl"
    log.write_text("".join(json.dumps(line) + "\n" for line in (header, *events)))
    words = () if point is None else ("--point", point)
    ran = dshloop("memory", "preview", str(log), "--json", *words)
    assert ran.code == 0, ran.err
    assert all(point in (None, one["point"]) for one in ran.json)


def test_a_log_without_a_header_is_nobodys_and_a_damaged_one_is_told(work: Path) -> None:
    (log,) = Path(os.environ["DSHLOOP_DATA"]).rglob("session.jsonl")
    lines = log.read_text().splitlines(keepends=True)
    headless, damaged = work / "headless.jsonl", work / "damaged.jsonl"
    headless.write_text("".join(lines[1:]))
    damaged.write_text("".join([*lines[:-3], "{broken\n", *lines[-3:]]))
    ran = dshloop("memory", "preview", str(headless))
    assert (ran.code, "SESSION_UNREADABLE" in ran.err) == (4, True)
    ran = dshloop("memory", "preview", str(damaged))
    assert ran.code == 0
    assert "warning: " in ran.err
