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
    ``seconds`` are those of events for which the agent waits less.
    """

    file: str
    events: Sequence[str]
    matched: Mapping[str, str]
    seconds: Mapping[str, int] = {}


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
        {"SessionEnd": 3},  # more is cut to that, with a warning at each start
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
                    "hooks": [
                        {
                            "type": "command",
                            "command": f"{words[0]} {event} {words[1]}",
                            "timeout": agent.seconds.get(event, SECONDS),
                        }
                    ],
                }
            ]
            for event in agent.events
        }
    }
