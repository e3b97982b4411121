"""Logs of the Codex CLI: ``~/.codex/sessions/YYYY/MM/DD/rollout-*.jsonl``.

A line is ``{timestamp, type, payload}``; ``session_meta`` comes first, ``response_item`` carries
messages, calls and their outputs. What ``event_msg`` says is said there too.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from dshloop.transcripts.happenings import MOST_OPEN, Happening, Outline, text_in
from dshloop.transcripts.records import Line, lines, moment

PROGRAM = "codex"
_ENVELOPES = ("session_meta", "response_item", "event_msg", "turn_context", "compacted")
_NO_PROMPTS = (
    "<environment_context>",
    "<user_instructions>",
    "<permissions instructions>",
    "<turn_aborted>",
    "<user_shell_command>",
    "# AGENTS.md instructions",
)
_CALLS = ("function_call", "custom_tool_call", "local_shell_call")
_OUTPUTS = ("function_call_output", "custom_tool_call_output", "local_shell_call_output")


def is_transcript(value: dict[str, Any]) -> bool:
    """Tell by a line."""
    return value.get("type") in _ENVELOPES and isinstance(value.get("payload"), dict)


def outline(path: Path) -> Outline:
    """Tell about the session. Raises SESSION_NOT_FOUND, SESSION_UNREADABLE."""
    found = Outline(path, PROGRAM, id=path.stem)
    met = False
    for line in lines(path):
        if line.fault:
            found.faults.append((line.number, line.fault))
            continue
        found.seen(moment(line.value.get("timestamp")))
        payload = line.value.get("payload")
        if line.value.get("type") == "session_meta" and isinstance(payload, dict) and not met:
            met = True  # of a fork the parent's follows
            found.id = _text(payload, "id") or found.id
            found.cwd = _text(payload, "cwd")
    return found


def happenings(path: Path) -> Iterator[Happening]:
    """Give what happened, each call where its output stands."""
    session = outline(path).id
    open_calls: dict[str, Happening] = {}
    for line in lines(path):
        payload = line.value.get("payload")
        if line.fault or line.value.get("type") != "response_item":
            continue
        if isinstance(payload, dict):
            yield from _item(payload, line, f"{session}:{line.number}", open_calls)
    yield from open_calls.values()


def _item(
    payload: dict[str, Any], line: Line, name: str, open_calls: dict[str, Happening]
) -> Iterator[Happening]:
    kind, at = payload.get("type"), moment(line.value.get("timestamp"))
    if kind == "message":
        yield from _message(payload, name, at)
    elif kind in _CALLS:
        call = Happening("call", name, at, tool=_text(payload, "name") or "shell",
                         input=_input(payload))  # fmt: skip
        open_calls[_text(payload, "call_id") or name] = call
        if len(open_calls) > MOST_OPEN:
            yield open_calls.pop(next(iter(open_calls)))
    elif kind in _OUTPUTS:
        call = open_calls.pop(_text(payload, "call_id"), Happening("call", name, at, tool="tool"))
        output, failed = _output(payload.get("output"))
        yield call._replace(at=at or call.at, output=output, failed=failed)


def _message(payload: dict[str, Any], name: str, at: float | None) -> Iterator[Happening]:
    text = text_in(payload.get("content"))
    if not text.strip():
        return
    if payload.get("role") == "assistant":
        yield Happening("answer", name, at, text=text)
    elif payload.get("role") == "user" and not text.lstrip().startswith(_NO_PROMPTS):
        yield Happening("prompt", name, at, text=text)


def _input(payload: dict[str, Any]) -> Any:
    return next(
        (payload[key] for key in ("arguments", "input", "action") if payload.get(key)), None
    )


def _output(value: Any) -> tuple[Any, bool]:
    """Give what a tool put out and whether it failed; outputs may be JSON within text."""
    if isinstance(value, str) and value.startswith("{"):
        try:
            value = json.loads(value)
        except ValueError:
            return value, False
    if isinstance(value, dict):
        metadata = value.get("metadata")
        code = metadata.get("exit_code") if isinstance(metadata, dict) else None
        failed = value.get("success") is False or code not in (None, 0)
        said = value.get("output", value.get("content", value))
        return text_in(said) if isinstance(said, list) else said, failed
    return (text_in(value) if isinstance(value, list) else value), False


def _text(value: dict[str, Any], key: str) -> str:
    found = value.get(key)
    return found if isinstance(found, str) else ""
