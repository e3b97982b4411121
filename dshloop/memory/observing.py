"""An observation made of what a hook tells: pure (agentmemory 5, with D4 to D7 and D21 mended)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from dshloop.memory.entries import NewObservation
from dshloop.redact import redact

TITLE_UNITS = 80
SUBTITLE_UNITS = 120
"""UTF-16 units, an ellipsis included (agentmemory 4)."""

PROMPT = "prompt_submit"
FAILURE = "post_tool_failure"
SESSION_START = "session_start"
SESSION_END = "session_end"
TOOL_HOOKS = ("pre_tool_use", "post_tool_use", FAILURE)
_RESULT_HOOKS = ("post_tool_use", FAILURE)

_FILE_KEYS = ("file_path", "filepath", "path", "filePath", "file", "pattern")
_LONGEST_FILE = 512
_JOINT = " | "
# Members of other hooks' data whose name adds nothing to what they say.
_TEXT_KEYS = ("prompt", "message", "content", "text", "summary", "body")
_TYPES_BY_HOOK = {
    FAILURE: "error",
    PROMPT: "conversation",
    "subagent_stop": "subagent",
    "task_completed": "subagent",
    "notification": "notification",
}
_TYPES_BY_NAME = (
    ("web_fetch", ("fetch", "http", "web")),
    ("search", ("grep", "search", "glob", "find")),
    ("command_run", ("bash", "shell", "exec", "run")),
    ("file_edit", ("edit", "update", "patch", "replace")),
    ("file_write", ("write", "create")),
    ("file_read", ("read", "view")),
    ("subagent", ("task", "agent")),
)
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_NOT_WORD = re.compile(r"[^A-Za-z0-9]+")


def observed(
    hook: str,
    data: Any,
    *,
    session: str,
    project: str,
    cwd: str = "",
    at: float | None = None,
    agent: str | None = None,
    allow_secrets: bool = False,
) -> NewObservation:
    """Make the observation of a hook's data (a JSON value; None is nothing).

    The content is whole; title and subtitle are short. The key comes of the data as they are, so
    that two calls that differ only in a secret are two.
    """
    key = key_of(hook, data)
    found = 0
    if not allow_secrets:
        clean = redact(data, private=True)
        data, found = clean.value, clean.found
    members = data if isinstance(data, Mapping) else {}
    name = _name(members)
    input_text = text_of(members.get("tool_input")) if hook != PROMPT else ""
    return NewObservation(
        session=session,
        project=project,
        hook=hook,
        title=cut(name if hook in _RESULT_HOOKS and name else hook, TITLE_UNITS),
        subtitle=cut(input_text, SUBTITLE_UNITS),
        content=content_of(hook, data),
        key=key,
        type=type_of(hook, name),
        files=files_of(members.get("tool_input")),
        agent=agent,
        cwd=cwd,
        source=_source(hook, name),
        at=at,
        prompt=_prompt(hook, members),
        redacted=found,
    )


def key_of(hook: str, data: Any) -> str:
    """Tell a repeat from news within a session: name, whole input, output and error (D4).

    An object and its JSON text are the same; without an input the whole data are the input.
    """
    members = data if isinstance(data, Mapping) else {}
    whole = "tool_input" not in members
    parts = [
        _name(members) or hook,
        _canonical(({} if data is None else data) if whole else members["tool_input"]),
        *(_canonical(members.get(part)) for part in ("prompt", "tool_output", "error")),
    ]
    return "\0".join(parts)


def content_of(hook: str, data: Any) -> str:
    """Give all that was said, done and answered, in this order, joined by bars (D6)."""
    if not isinstance(data, Mapping):
        return text_of(data)
    if hook == PROMPT and text_of(data.get("prompt")):
        return text_of(data["prompt"])
    output = text_of(data.get("tool_output")) or text_of(data.get("error"))
    told = [text_of(data.get("prompt")), text_of(data.get("tool_input")), output]
    if hook not in _RESULT_HOOKS or not any(told):
        told = list(_everything(data))
    return _JOINT.join(text for text in told if text)


def type_of(hook: str, name: str) -> str:
    """Give the type of an observation by its hook, else by the tool's name (agentmemory 5)."""
    if hook in _TYPES_BY_HOOK:
        return _TYPES_BY_HOOK[hook]
    whole = _NOT_WORD.sub("", name).lower()
    words = set(_NOT_WORD.sub(" ", _HUMP.sub(" ", name)).lower().split())
    for type_, marks in _TYPES_BY_NAME:
        for mark in marks:
            if mark in words or whole.startswith(mark) or whole.endswith(mark):
                return type_
    return "other"


def files_of(tool_input: Any) -> tuple[str, ...]:
    """Give the files that an input names; a JSON text is read as what it says (D7)."""
    members = parsed(tool_input)
    if not isinstance(members, Mapping):
        return ()
    named = (members.get(key) for key in _FILE_KEYS)
    files = (name for name in named if isinstance(name, str) and 0 < len(name) < _LONGEST_FILE)
    return tuple(dict.fromkeys(files))


def text_of(value: Any) -> str:
    """Give a text as it is, any other value as compact JSON, nothing as nothing."""
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def parsed(value: Any) -> Any:
    """Read a text that is a JSON object or array; give anything else as it is."""
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return value
    return value


def cut(text: str, units: int) -> str:
    """Cut a text to UTF-16 units, the last one an ellipsis; no character is split."""
    head = text[: units + 1]
    if len(head) + sum(character > "\uffff" for character in head) <= units:
        return text
    while len(head) + sum(character > "\uffff" for character in head) > units - 1:
        head = head[:-1]
    return head + "…"


def _name(members: Mapping[Any, Any]) -> str:
    """Give the tool's name as text, whatever it came as (D21)."""
    return text_of(members.get("tool_name")).strip()


def _everything(data: Mapping[Any, Any]) -> Iterator[str]:
    """Yield each member once: what says something by itself, the others behind their names."""
    seen: set[str] = set()
    first = ("tool_name", "prompt", "tool_input", "tool_output", "error")
    for key in dict.fromkeys([*(key for key in first if key in data), *data]):
        text = text_of(data[key])
        if text and text not in seen:
            seen.add(text)
            plain = key in first or key in _TEXT_KEYS or len(data) == 1
            yield text if plain else f"{key}: {text}"


def _prompt(hook: str, members: Mapping[Any, Any]) -> str | None:
    return (text_of(members.get("prompt")) or None) if hook == PROMPT else None


def _source(hook: str, name: str) -> dict[str, str]:
    channel = "user" if hook == PROMPT else "tool" if hook in TOOL_HOOKS else "agent"
    source = {"kind": "hook", "channel": channel}
    return {**source, "detail": name} if name else source


def _canonical(value: Any) -> str:
    value = parsed(value)
    if isinstance(value, str):
        return value
    return json.dumps(value, sort_keys=True, separators=(",", ":"))
