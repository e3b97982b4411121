"""What a host's objects look like in observations: agents, calls, results, errors (patchouli 3.2).

Values that are mappings already, as DSH or a stored session gives them, stay as they are.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from dshloop.lossless_json import NotLossless, snapshot
from dshloop.plugins.patchouli.points import Seen

if TYPE_CHECKING:
    from dshloop.host.agent import Agent
    from dshloop.host.tools import Execution, ToolResult

_OPTIONS = (
    ("provider", "provider"),
    ("model", "model"),
    ("maxTokens", "max_tokens"),
    ("reasoningEffort", "reasoning_effort"),
)
_NO_CODE = "UNKNOWN"


def seen(agent: Agent) -> Seen:
    """Give an agent and its session."""
    return Seen(agent_value(agent), agent.session.header.raw)


def agent_value(agent: Agent) -> dict[str, Any]:
    """Give an agent: id, status and options."""
    return {"id": agent.id, "status": agent.status, "options": options_value(agent.options)}


def absent_agent(session_id: str) -> dict[str, Any]:
    """Give what stands for an agent that nobody has registered."""
    return {"id": session_id, "options": {}}


def options_value(options: Any) -> Any:
    """Give an agent's options under DSH's names, without those that aren't set."""
    if isinstance(options, Mapping):
        return dict(options)
    found = ((name, getattr(options, ours, None)) for name, ours in _OPTIONS)
    return {name: value for name, value in found if value is not None}


def execution_value(execution: Execution) -> dict[str, Any]:
    """Give a tool call; it is nested when another call made it."""
    arguments: Any = execution.arguments
    if arguments is None and execution.raw_arguments.strip():
        arguments = _parsed(execution.raw_arguments)
    return {
        "callId": execution.call_id,
        "rootCallId": getattr(execution, "root_call_id", None) or execution.call_id,
        "name": execution.name,
        "arguments": {} if arguments is None else arguments,
        "nested": getattr(execution, "parent", None) is not None,
    }


def _parsed(text: str) -> Any:
    """Read arguments that never passed; what is no JSON is its text."""
    import json

    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def result_value(result: ToolResult | Mapping[str, Any]) -> dict[str, Any]:
    """Give a tool's result, of a success or of a failure."""
    if isinstance(result, Mapping):
        return dict(result)
    content = [dict(block) for block in result.content]
    shown: dict[str, Any] = {"isError": result.is_error}
    if result.is_error:
        shown["error"] = _failure(result, content)
    shown["content"] = content
    if result.meta is not None:
        shown["meta"] = result.meta
    if result.additional_contexts:
        shown["additionalContexts"] = [*result.additional_contexts]
    if result.concludes_turn:
        shown["concludesTurn"] = True
    return shown if result.is_error else {**shown, "value": result.value}


def _failure(result: ToolResult, content: list[dict[str, Any]]) -> dict[str, Any]:
    texts = [str(block["text"]) for block in content if "text" in block]
    failure: dict[str, Any] = {"message": "\n".join(texts).removeprefix("Error: ")}
    if result.error is not None and result.error.code != _NO_CODE:
        failure["info"] = {"name": result.error.name, "code": result.error.code}
    return failure


class Undefined:
    """Stands for no value at all, which is not null."""

    def __str__(self) -> str:
        return "undefined"


UNDEFINED = Undefined()


def error_value(error: Any) -> Any:
    """Give an error: lossless JSON as it is, an exception as name, message and stack, else text."""
    try:
        return snapshot(error)
    except NotLossless:
        pass
    if isinstance(error, BaseException):
        return _exception(error)
    if isinstance(error, float):
        return _number(error)
    return str(error)


def _exception(error: BaseException) -> dict[str, Any]:
    recorded = getattr(error, "recorded", None)  # as it was in another runtime, when replayed
    if isinstance(recorded, Mapping):
        return {key: recorded[key] for key in ("name", "message", "stack") if key in recorded}
    shown = {"name": type(error).__name__, "message": str(error)}
    if error.__traceback__ is not None:
        import traceback

        shown["stack"] = "".join(traceback.format_exception(error)).rstrip("\n")
    return shown


def _number(number: float) -> str:
    if math.isnan(number):
        return "NaN"
    if math.isinf(number):
        return "Infinity" if number > 0 else "-Infinity"
    return "0"  # negative zero, as JavaScript writes it
