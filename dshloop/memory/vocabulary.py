"""The hooks that observations come from, and their types (agentmemory 5)."""

from __future__ import annotations

HOOKS = (
    "session_start",
    "prompt_submit",
    "pre_tool_use",
    "post_tool_use",
    "post_tool_failure",
    "pre_compact",
    "subagent_start",
    "subagent_stop",
    "notification",
    "task_completed",
    "stop",
    "session_end",
)
"""The hooks that agents are known to have; others are taken too."""

OBSERVATION_TYPES = (
    "file_read",
    "file_write",
    "file_edit",
    "command_run",
    "search",
    "web_fetch",
    "conversation",
    "error",
    "decision",
    "discovery",
    "subagent",
    "notification",
    "task",
    "image",
    "other",
)
"""The types of observations, those that only a language model would give among them."""
