"""How long a history is, where it may be cut, and how it reads as text: pure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dshloop.llm.messages import plain_text
from dshloop.transcripts.vocabulary import Event

if TYPE_CHECKING:
    from dshloop.host.agent import Agent

CHARACTERS = 3
"""Characters a token is counted as where nobody says how many there were."""

_COUNTS = ("inputTokens", "cacheReadTokens", "cacheWriteTokens", "outputTokens")
_LONGEST_RESULT = 4000


def route_of(agent: Agent) -> tuple[str | None, str | None]:
    """Say which provider and model a session asks: its agent's, else those of the last request."""
    last = agent.latest.get("request/context", {})
    options = agent.options
    return options.provider or last.get("provider"), options.model or last.get("model")


def tokens_of(nodes: Sequence[Event], header: Mapping[str, Any] | None = None) -> int:
    """Count the tokens of surface nodes with the header they are sent with.

    What the newest answer used counts for all before it, unless something was replaced since.
    """
    newest = max((node["seq"] for node in nodes if _is_replacing(node)), default=-1)
    known, start = 0, 0
    for at, node in enumerate(nodes):
        used = _used(node) if node["seq"] > newest else 0
        known, start = (used, at + 1) if used else (known, start)
    rest = sum(map(estimate, nodes[start:]))
    return known + rest if start else rest + _length(header or {})


def estimate(node: Event) -> int:
    """Guess the tokens of one node by its length."""
    return _length(message_of(node).get("content"))


def _length(value: Any) -> int:
    return -(-len(json.dumps(value, ensure_ascii=False)) // CHARACTERS)


def _used(node: Event) -> int:
    usage = node["data"].get("usage") if node["type"] == "assistant/message" else None
    if not isinstance(usage, Mapping):
        return 0
    counts = [usage.get(name) for name in _COUNTS]
    return sum(count for count in counts if isinstance(count, int))


def _is_replacing(node: Event) -> bool:
    return isinstance(node.get("surfaceOp"), Mapping)


def cut_of(nodes: Sequence[Event], keep: int) -> int:
    """Say how many nodes from the beginning may go so that about ``keep`` tokens stay.

    A call and its results stay together, and so does what came last; 0 when nothing may go, or
    only what is a summary already.
    """
    whole = [at for at, node in enumerate(nodes) if node["type"] != "tool/result"]
    if not whole:
        return 0
    kept, cut = 0, len(nodes)
    for at in range(len(nodes) - 1, -1, -1):
        kept += estimate(nodes[at])
        if kept > keep:
            break
        cut = at
    cut = next((at for at in whole if at >= cut), whole[-1])
    return 0 if cut == 1 and _is_replacing(nodes[0]) else cut


def message_of(node: Event) -> Mapping[str, Any]:
    """Give the message of a surface node."""
    data = node["data"]
    message = data if node["type"] == "user/message" else data.get("message")
    return message if isinstance(message, Mapping) else {}


def as_text(nodes: Sequence[Event], most: int | None = None) -> str:
    """Write a history down, at most so many characters: its middle is left out first."""
    text = "\n\n".join(line for node in nodes for line in _lines(node))
    if most is None or len(text) <= most:
        return text
    half = most // 2
    return f"{text[:half]}\n\n[{len(text) - 2 * half} characters left out]\n\n{text[-half:]}"


def _lines(node: Event) -> Iterator[str]:
    message = message_of(node)
    content = message.get("content")
    for block in content if isinstance(content, list) else []:
        kind = block.get("type")
        if kind == "text" and block.get("text"):
            yield f"[{message.get('role', 'user')}] {block['text']}"
        elif kind == "tool-call":
            yield f"[call of {block.get('name')}] {_short(str(block.get('arguments')))}"
        elif kind == "tool-result":
            how = "failed" if block.get("isError") else "result"
            yield f"[{how}] {_short(plain_text(block.get('content')))}"
        elif kind not in ("reasoning", "text"):
            yield f"[{kind}]"


def _short(text: str) -> str:
    if len(text) <= _LONGEST_RESULT:
        return text
    half = _LONGEST_RESULT // 2
    return f"{text[:half]}\n[{len(text) - 2 * half} characters left out]\n{text[-half:]}"
