"""What a hook of Claude Code or Codex tells, read from the JSON that they hand over. Pure.

Both programs use the same names and members: ``session_id``, ``cwd`` and ``hook_event_name`` beside
what each event has of its own. What is not worth keeping (paths of transcripts, ids of calls,
modes) is left out, so that a repeat is known as one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from dshloop.errors import HookDataInvalidError, HookEventUnknownError
from dshloop.memory.observing import FAILURE, PROMPT, SESSION_END, SESSION_START, parsed, text_of

START, SUBMIT, END = "SessionStart", "UserPromptSubmit", "SessionEnd"
INJECTING = (START, SUBMIT)
"""The events whose answer is put before the model."""

LONGEST = 64_000
"""Characters of one text that are kept."""
_WHOLE = 4 * LONGEST  # characters of one member as JSON; what has more is kept as a cut text
_DEEP = 64  # levels; what lies deeper is kept as text

_TOOL = ("tool_name", "tool_input")
_EVENTS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    START: (SESSION_START, ()),
    SUBMIT: (PROMPT, ("prompt",)),
    "PreToolUse": ("pre_tool_use", _TOOL),
    "PostToolUse": ("post_tool_use", (*_TOOL, "tool_response")),
    "PostToolUseFailure": (FAILURE, (*_TOOL, "error")),
    "PreCompact": ("pre_compact", ("trigger", "custom_instructions")),
    "SubagentStart": ("subagent_start", ("agent_type",)),
    "SubagentStop": ("subagent_stop", ("agent_type", "last_assistant_message")),
    "Notification": ("notification", ("title", "message")),
    "TaskCompleted": ("task_completed", ("task_subject", "task_description")),
    "Stop": ("stop", ("last_assistant_message",)),
    END: (SESSION_END, ()),
}
"""An event -> the hook as observations call it (agentmemory 5), and the members that are kept."""

_RENAMED = {"tool_response": "tool_output", "last_assistant_message": "message"}
_MEMORY_TOOL = re.compile(r"(?:.*__)?(?:memory_\w+|remember|recall)|mcp__\w*?(?:memory|dshloop)\w*")
_MEMORY_COMMAND = re.compile(r"\bdshloop\s+(?:-\S+\s+)*memory\b")
_PATCHED = re.compile(r"^\*\*\* (?:Add|Update|Delete) File: (.+?)\s*$", re.MULTILINE)
_BLOB = re.compile(r"[A-Za-z0-9+/_-]{2000,}={0,2}")


class HookCall(NamedTuple):
    """A hook that was called.

    ``data`` is what is to be kept of it, as `observed` takes it; empty when it says nothing.
    """

    event: str
    hook: str
    session: str
    cwd: str
    data: Mapping[str, Any]

    @classmethod
    def made(cls, event: str, session: str, cwd: str, data: Mapping[str, Any]) -> HookCall:
        """Make the call of an event by its name."""
        return cls(event, _EVENTS[event][0], session, cwd, data)

    @property
    def recordable(self) -> bool:
        """Whether there is something to record."""
        return bool(self.data) or self.event in (START, END)

    @property
    def prompt(self) -> str:
        """What the person asked, where that is what happened."""
        return text_of(self.data.get("prompt")) if self.event == SUBMIT else ""

    @property
    def patched(self) -> tuple[str, ...]:
        """The files that a patch of Codex changes; other tools name theirs in their input."""
        if self.data.get("tool_name") != "apply_patch":
            return ()
        return tuple(dict.fromkeys(_PATCHED.findall(_command(self.data))))

    @property
    def forgets(self) -> bool:
        """Whether what the session was told before is out of the model's sight now."""
        return self.event in (START, END)


def read_hook(event: str | None, value: Any) -> HookCall:
    """Read a hook's JSON; without a name the event is what ``hook_event_name`` says.

    Raises HOOK_DATA_INVALID and HOOK_EVENT_UNKNOWN.
    """
    if not isinstance(value, Mapping):
        raise HookDataInvalidError("a hook's data must be a JSON object")
    name = event_named(event or _text(value, "hook_event_name"))
    session = _text(value, "session_id") or _text(value, "sessionId")
    if not session:
        raise HookDataInvalidError("the data name no session", hint="They need a session_id.")
    members = _EVENTS[name][1]
    found = {_RENAMED.get(key, key): _member(value[key]) for key in members if key in value}
    data = {key: told for key, told in found.items() if told not in (None, "")}
    if is_memorys_own(data):
        data = {}
    return HookCall.made(name, session, _text(value, "cwd"), data)


def event_named(name: str) -> str:
    """Give the event that a name means: as the programs write it, or as observations do."""
    if not name:
        raise HookDataInvalidError(
            "the data name no event", hint="Give it: dshloop memory hook EVENT."
        )
    plain = _plain(name)
    for event, (hook, _) in _EVENTS.items():
        if plain in (_plain(event), _plain(hook)):
            return event
    known = ", ".join(_EVENTS)
    raise HookEventUnknownError(
        f'there is no hook event "{name}"', hint=f"Events: {known}.", event=name
    )


def events() -> tuple[str, ...]:
    """Name all events that are known."""
    return tuple(_EVENTS)


def is_memorys_own(data: Mapping[str, Any]) -> bool:
    """Whether a tool was used to ask or tell memory something: what it answers is no news."""
    if _MEMORY_TOOL.fullmatch(text_of(data.get("tool_name"))):
        return True
    return _MEMORY_COMMAND.search(_command(data)) is not None


def _command(data: Mapping[str, Any]) -> str:
    """Give the command of a tool's input, which may be a list of words."""
    given = parsed(data.get("tool_input"))
    command = given.get("command") if isinstance(given, Mapping) else None
    return " ".join(map(text_of, command)) if isinstance(command, list) else text_of(command)


def _member(value: Any) -> Any:
    """Give what is kept of a member: as it is, or as a cut text where it is too much in all."""
    kept = _kept(value)
    text = text_of(kept)
    return kept if len(text) <= _WHOLE else _cut(text, _WHOLE)


def _kept(value: Any, deep: int = 0) -> Any:
    """Give a value without images and other encoded bytes, long texts cut."""
    if isinstance(value, str):
        return _cut(value)
    if deep == _DEEP and isinstance(value, Mapping | list):
        return _flat(value)
    if isinstance(value, Mapping):
        return {key: _kept(each, deep + 1) for key, each in value.items()}
    if isinstance(value, list):
        return [_kept(each, deep + 1) for each in value]
    return value


def _flat(value: Any) -> str:
    try:
        return _cut(text_of(value))
    except RecursionError:
        return "[too deep to be told]"


def _cut(text: str, longest: int = LONGEST) -> str:
    if len(text) >= 2000 and _BLOB.fullmatch(text):
        return f"[{len(text)} characters of base64]"
    if len(text) > longest:
        return f"{text[:longest]}\n[and {len(text) - longest} characters more]"
    return text


def _text(value: Mapping[str, Any], key: str) -> str:
    found = value.get(key)
    return found.strip() if isinstance(found, str) else ""


def _plain(name: str) -> str:
    return re.sub(r"[\W_]+", "", name).casefold()
