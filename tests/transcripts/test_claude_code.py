"""Transcripts of Claude Code are read for what happened."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from dshloop.transcripts import claude_code
from dshloop.transcripts.happenings import Happening
from dshloop.transcripts.programs import CLAUDE_CODE, reader_of

SESSION = "29ccd257-68b1-427f-ae5f-6524b7cb6f20"


def line(kind: str, content: Any, number: int, **more: Any) -> dict[str, Any]:
    return {
        "parentUuid": None, "isSidechain": False, "userType": "external", "cwd": "/home/dev/shop",
        "sessionId": SESSION, "version": "2.1.17", "gitBranch": "main", "type": kind,
        "message": {"role": kind, "content": content}, "uuid": f"uuid-{number}",
        "timestamp": f"2026-01-23T17:20:{number:02d}.000Z", **more,
    }  # fmt: skip


LINES = [
    {"type": "queue-operation", "operation": "dequeue", "sessionId": SESSION},
    {"type": "summary", "summary": "Fixing the tax", "leafUuid": "uuid-9"},
    {"type": "file-history-snapshot", "messageId": "uuid-1", "snapshot": {}},
    line("user", "fix the tax", 1),
    line("user", "<command-name>/clear</command-name>", 2),
    line("user", "Caveat: hidden", 3, isMeta=True),
    line("assistant", [{"type": "thinking", "thinking": "hm", "signature": "s"},
                       {"type": "text", "text": "I look at it."},
                       {"type": "tool_use", "id": "toolu_1", "name": "Read",
                        "input": {"file_path": "/home/dev/shop/tax.py"}}], 4),
    line("assistant", [{"type": "tool_use", "id": "toolu_2", "name": "Bash",
                        "input": {"command": "pytest"}}], 5),
    line("user", [{"type": "tool_result", "tool_use_id": "toolu_1",
                   "content": [{"type": "text", "text": "def tax(): ..."}]}], 6,
         toolUseResult={"file": {}}),
    line("user", [{"type": "tool_result", "tool_use_id": "toolu_2", "content": "1 failed",
                   "is_error": True}], 7),
    line("user", [{"type": "text", "text": "look again"}, {"type": "image", "source": {}}], 8),
    line("user", "This session is being continued from a previous conversation that ran", 9,
         isCompactSummary=True),
    line("assistant", "Done.", 10),
    line("assistant", [{"type": "tool_use", "id": "toolu_3", "name": "Bash", "input": {}}], 11),
]  # fmt: skip


def write(path: Path, lines: list[Any] = LINES) -> Path:
    path.write_text("\n".join(json.dumps(one) for one in lines) + "\n", encoding="utf-8")
    return path


def test_prompts_answers_and_calls_are_told_in_order(tmp_path: Path) -> None:
    path = write(tmp_path / f"{SESSION}.jsonl")
    assert reader_of(path) is CLAUDE_CODE
    told = [
        (one.kind, one.text or one.tool, one.output, one.failed)
        for one in claude_code.happenings(path)
    ]
    assert told == [
        ("prompt", "fix the tax", None, False),
        ("answer", "I look at it.", None, False),
        ("call", "Read", "def tax(): ...", False),
        ("call", "Bash", "1 failed", True),
        ("prompt", "look again", None, False),
        ("answer", "Done.", None, False),
        ("call", "Bash", None, False),
    ]
    assert len({one.id for one in claude_code.happenings(path)}) == len(told)


def test_the_session_as_a_whole_is_told(tmp_path: Path) -> None:
    found = claude_code.outline(write(tmp_path / "x.jsonl"))
    assert (found.id, found.cwd, found.title) == (SESSION, "/home/dev/shop", "Fixing the tax")
    assert (found.started_at, found.updated_at) == (1769188801.0, 1769188811.0)


def test_a_title_that_a_person_gave_counts_more(tmp_path: Path) -> None:
    named = {"type": "custom-title", "customTitle": "Mine", "sessionId": SESSION}
    later = {"type": "ai-title", "aiTitle": "Its own", "sessionId": SESSION}
    found = claude_code.outline(write(tmp_path / "x.jsonl", [*LINES, named, later]))
    assert found.title == "Mine"


def test_torn_lines_and_results_without_a_call_hide_nothing(tmp_path: Path) -> None:
    path = write(tmp_path / "x.jsonl", LINES[5:])
    lost = line("user", [{"type": "tool_result", "tool_use_id": "gone", "content": "lost"}], 12)
    data = b'{"torn\n\0\0\0\n[1]\n' + path.read_bytes() + json.dumps(lost).encode() + b'\n{"type"'
    path.write_bytes(data)
    found = list(claude_code.happenings(path))
    assert [one.output for one in found if one.kind == "call"][-2:] == ["lost", None]
    assert isinstance(found[0], Happening)
    faults = claude_code.outline(path).faults
    assert faults == [(1, "it is no JSON"), (3, "it is no object"), (14, "it is cut off")]
