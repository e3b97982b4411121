"""The settings with which agents call `dshloop memory hook`."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

SECONDS = 10
"""How long an agent waits for a hook before it goes on without it."""


class Program(NamedTuple):
    """An agent: the file that its hooks are set in, and the events that are worth a call.

    Events before a tool runs say nothing that the one after it doesn't, and are left out.
    """

    file: str
    events: Sequence[str]
    matched: Mapping[str, str]


_TOOLS = {"PostToolUse": "*", "PostToolUseFailure": "*"}
PROGRAMS = {
    "claude-code": Program(
        "~/.claude/settings.json",
        (
            "SessionStart", "UserPromptSubmit", "PostToolUse", "PostToolUseFailure", "PreCompact",
            "SubagentStop", "Stop", "SessionEnd",
        ),
        _TOOLS,
    ),
    "codex": Program(
        "~/.codex/hooks.json",
        (
            "SessionStart", "UserPromptSubmit", "PostToolUse", "PreCompact", "SubagentStop", "Stop",
            "SessionEnd",
        ),
        _TOOLS,
    ),
}  # fmt: skip


def settings(name: str, program: str = "dshloop", options: Sequence[str] = ()) -> dict[str, Any]:
    """Give the settings that have an agent of PROGRAMS call us at each of its events."""
    agent = PROGRAMS[name]
    words = shlex.join([program, "memory", "hook"]), shlex.join(["--agent", name, *options])
    return {
        "hooks": {
            event: [
                {
                    **({"matcher": agent.matched[event]} if event in agent.matched else {}),
                    "hooks": [_command(f"{words[0]} {event} {words[1]}")],
                }
            ]
            for event in agent.events
        }
    }


def _command(line: str) -> dict[str, Any]:
    return {"type": "command", "command": line, "timeout": SECONDS}
