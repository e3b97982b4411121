"""Logs of the Codex CLI are read for what happened."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from dshloop.transcripts import codex
from dshloop.transcripts.programs import CODEX, reader_of


def line(kind: str, payload: dict[str, Any], second: int = 1) -> dict[str, Any]:
    return {"timestamp": f"2026-01-18T02:01:{second:02d}.000Z", "type": kind, "payload": payload}


def said(role: str, text: str, second: int) -> dict[str, Any]:
    kind = "input_text" if role == "user" else "output_text"
    content = [{"type": kind, "text": text}]
    return line("response_item", {"type": "message", "role": role, "content": content}, second)


LINES = [
    line("session_meta", {"id": "019b", "cwd": "/home/dev/shop", "cli_version": "0.98.0"}),
    said("user", "<environment_context>\n  <cwd>/home/dev/shop</cwd>\n</environment_context>", 2),
    said("developer", "be brief", 2),
    said("user", "run the tests", 3),
    line("event_msg", {"type": "user_message", "message": "run the tests"}, 3),
    line("turn_context", {"cwd": "/home/dev/shop", "model": "m"}, 3),
    line("response_item", {"type": "reasoning", "summary": []}, 4),
    line("response_item", {"type": "function_call", "name": "shell", "call_id": "c1",
                           "arguments": '{"command":["pytest"]}'}, 5),
    line("response_item", {"type": "function_call_output", "call_id": "c1",
                           "output": '{"output":"1 failed","metadata":{"exit_code":1}}'}, 6),
    line("response_item", {"type": "custom_tool_call", "name": "apply_patch", "call_id": "c2",
                           "input": "*** Begin Patch"}, 7),
    line("response_item", {"type": "custom_tool_call_output", "call_id": "c2",
                           "output": "Success"}, 8),
    said("assistant", "Done.", 9),
]  # fmt: skip


def write(path: Path) -> Path:
    path.write_text("\n".join(map(json.dumps, LINES)) + '\n{"torn', encoding="utf-8")
    return path


def test_prompts_answers_and_calls_are_told_in_order(tmp_path: Path) -> None:
    path = write(tmp_path / "rollout-x.jsonl")
    assert reader_of(path) is CODEX
    told = [(one.kind, one.text or one.tool, one.output, one.failed)
            for one in codex.happenings(path)]  # fmt: skip
    assert told == [
        ("prompt", "run the tests", None, False),
        ("call", "shell", "1 failed", True),
        ("call", "apply_patch", "Success", False),
        ("answer", "Done.", None, False),
    ]


def test_the_session_as_a_whole_is_told(tmp_path: Path) -> None:
    found = codex.outline(write(tmp_path / "rollout-x.jsonl"))
    assert (found.id, found.cwd) == ("019b", "/home/dev/shop")
    assert found.faults == [(13, "it is cut off")]
    assert found.started_at == 1768701661.0
