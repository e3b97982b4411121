"""What hooks of Claude Code and Codex tell."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dshloop.errors import HookDataInvalidError, HookEventUnknownError
from dshloop.memory.hook_input import LONGEST, event_named, events, read_hook

ENVELOPE = {
    "session_id": "c1",
    "transcript_path": "/home/dev/.claude/projects/x/c1.jsonl",
    "cwd": "/home/dev/shop",
    "permission_mode": "default",
}


def told(event: str, **members: Any) -> Any:
    return read_hook(None, {**ENVELOPE, "hook_event_name": event, **members})


@pytest.mark.parametrize(
    ("event", "members", "hook", "kept"),
    [
        ("SessionStart", {"source": "startup", "model": "m"}, "session_start", {}),
        ("UserPromptSubmit", {"prompt": "hi"}, "prompt_submit", {"prompt": "hi"}),
        (
            "PreToolUse",
            {"tool_name": "Bash", "tool_input": {"command": "ls"}, "tool_use_id": "t1"},
            "pre_tool_use",
            {"tool_name": "Bash", "tool_input": {"command": "ls"}},
        ),
        (
            "PostToolUse",
            {"tool_name": "Bash", "tool_input": {"command": "ls"}, "tool_response": {"out": "a"}},
            "post_tool_use",
            {"tool_name": "Bash", "tool_input": {"command": "ls"}, "tool_output": {"out": "a"}},
        ),
        (
            "PostToolUse",
            {"tool_name": "Bash", "tool_input": {"command": "ls"}, "tool_response": "a\n",
             "turn_id": "t", "model": "gpt"},
            "post_tool_use",
            {"tool_name": "Bash", "tool_input": {"command": "ls"}, "tool_output": "a\n"},
        ),
        (
            "PostToolUseFailure",
            {"tool_name": "Bash", "tool_input": {"command": "x"}, "error": "127", "turn_id": "t"},
            "post_tool_failure",
            {"tool_name": "Bash", "tool_input": {"command": "x"}, "error": "127"},
        ),
        (
            "PreCompact",
            {"trigger": "auto", "custom_instructions": ""},
            "pre_compact",
            {"trigger": "auto"},
        ),
        (
            "SubagentStop",
            {"agent_id": "a1", "agent_type": "Explore", "last_assistant_message": "found it",
             "stop_hook_active": False},
            "subagent_stop",
            {"agent_type": "Explore", "message": "found it"},
        ),
        ("Stop", {"last_assistant_message": "done"}, "stop", {"message": "done"}),
        ("Stop", {"last_assistant_message": None, "stop_hook_active": True}, "stop", {}),
        ("SessionEnd", {"reason": "clear"}, "session_end", {}),
        (
            "Notification",
            {"message": "waits", "notification_type": "idle_prompt"},
            "notification",
            {"message": "waits"},
        ),
    ],
)  # fmt: skip
def test_each_event_keeps_what_says_something(
    event: str, members: dict[str, Any], hook: str, kept: dict[str, Any]
) -> None:
    call = told(event, **members)
    assert (call.event, call.hook, call.session, call.cwd) == (event, hook, "c1", "/home/dev/shop")
    assert call.data == kept


@pytest.mark.parametrize("name", ["PostToolUse", "post_tool_use", "post-tool-use", "posttooluse"])
def test_an_event_may_be_written_as_either_side_does(name: str) -> None:
    assert event_named(name) == "PostToolUse"
    assert event_named("prompt_submit") == "UserPromptSubmit"
    assert event_named("post_tool_failure") == "PostToolUseFailure"


def test_every_event_is_known_by_its_own_name() -> None:
    assert [event_named(name) for name in events()] == list(events())


def test_the_event_that_is_named_counts_more_than_that_of_the_data() -> None:
    call = read_hook("Stop", {**ENVELOPE, "hook_event_name": "SubagentStop"})
    assert call.event == "Stop"


@pytest.mark.parametrize("value", [None, [], "text", 3, {"hook_event_name": "Stop"}])
def test_data_that_are_no_hook_are_refused(value: Any) -> None:
    with pytest.raises(HookDataInvalidError):
        read_hook("Stop", value)


def test_an_event_is_needed_and_must_be_known() -> None:
    with pytest.raises(HookDataInvalidError):
        read_hook(None, ENVELOPE)
    with pytest.raises(HookEventUnknownError) as raised:
        read_hook("WorktreeCreate", ENVELOPE)
    assert "PostToolUse" in str(raised.value.hint)


@pytest.mark.parametrize(
    "members",
    [
        {"tool_name": "mcp__memory__search_nodes", "tool_input": {"query": "x"}},
        {"tool_name": "mcp__agentmemory__memory_recall", "tool_input": {}},
        {"tool_name": "memory_save", "tool_input": {}},
        {"tool_name": "recall", "tool_input": {"query": "x"}},
        {"tool_name": "Bash", "tool_input": {"command": "cd x && dshloop memory recall deploys"}},
        {"tool_name": "shell", "tool_input": {"command": ["dshloop", "--json", "memory", "list"]}},
        {"tool_name": "shell", "tool_input": '{"command": "dshloop memory list"}'},
    ],
)
def test_what_memory_itself_answers_is_not_kept(members: dict[str, Any]) -> None:
    assert told("PostToolUse", **members, tool_response="old news").data == {}


@pytest.mark.parametrize(
    "members",
    [
        {"tool_name": "Read", "tool_input": {"file_path": "memory.md"}},
        {"tool_name": "Bash", "tool_input": {"command": "free -h # memory"}},
        {"tool_name": "mcp__github__recall_release", "tool_input": {}},
    ],
)
def test_other_tools_about_memory_are_kept(members: dict[str, Any]) -> None:
    assert told("PostToolUse", **members, tool_response="news").data["tool_output"] == "news"


def test_images_are_left_out_and_long_texts_are_cut() -> None:
    image = {"type": "image", "file": {"base64": "iVBORw0KGgo" * 1000, "type": "image/png"}}
    call = told("PostToolUse", tool_name="Read", tool_input={}, tool_response=[image])
    assert call.data["tool_output"][0]["file"] == {
        "base64": "[11000 characters of base64]",
        "type": "image/png",
    }
    text = "word " * LONGEST
    cut = told("PostToolUse", tool_name="Read", tool_input={}, tool_response=text).data
    assert cut["tool_output"] == f"{text[:LONGEST]}\n[and {4 * LONGEST} characters more]"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=12,
)
MEMBERS = st.dictionaries(
    st.sampled_from(["prompt", "tool_name", "tool_input", "tool_response", "error", "cwd",
                     "session_id", "last_assistant_message", "message", "hook_event_name"]),
    JSON,
)  # fmt: skip


@given(st.none() | st.sampled_from(events()) | st.text(max_size=12), MEMBERS | JSON)
def test_any_json_is_read_or_refused_with_a_sentence(event: str | None, value: Any) -> None:
    try:
        call = read_hook(event, value)
    except (HookDataInvalidError, HookEventUnknownError):
        return
    assert call.session
    assert isinstance(call.prompt, str)


def test_what_is_much_in_all_or_deep_is_kept_as_text() -> None:
    many = {f"k{number}": "v" * 50 for number in range(20_000)}
    call = {"session_id": "s", "tool_name": "Bash", "tool_input": {"command": "x"}}
    kept = read_hook("PostToolUse", {**call, "tool_response": many}).data
    assert kept["tool_input"] == {"command": "x"}
    assert kept["tool_output"].startswith('{"k0":"vvvv')
    assert len(kept["tool_output"]) < 5 * LONGEST
    for levels, end in ((300, "[]" + "]" * 236), (5000, "[too deep to be told]")):
        deep: list[object] = []
        for _ in range(levels):
            deep = [deep]
        kept = read_hook("PostToolUse", {**call, "tool_response": deep}).data
        inner = kept["tool_output"]
        while isinstance(inner, list):
            (inner,) = inner
        assert inner.endswith(end)
