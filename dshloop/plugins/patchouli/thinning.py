"""Leaving things out of a turn before it is delivered; off unless the row asks for it. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from dshloop.lossless_json import js_text
from dshloop.plugins.patchouli.loop_config import Thinning
from dshloop.plugins.patchouli.points import Request
from dshloop.plugins.patchouli.recall import PLUGIN

Event = Mapping[str, Any]


def thinned(request: Request, wanted: Thinning) -> Request:
    """Give the request of a turn end without what isn't wanted; its data's ``dropped`` counts it.

    The last event stays, and is the one the request names.
    """
    if not wanted.wanted:
        return request
    dropped: Counter[str] = Counter()
    events = [
        _event(event, wanted, dropped)
        for event in request["data"]["events"]
        if not (wanted.drop_recall and _is_recall(event, dropped))
    ]
    return {**request, "data": {**request["data"], "events": events, "dropped": dict(dropped)}}


def _is_recall(event: Event, dropped: Counter[str]) -> bool:
    data = event["data"]
    source = data.get("source") if isinstance(data, Mapping) else None
    found = isinstance(source, Mapping) and source.get("plugin") == PLUGIN
    dropped["recall"] += found
    return found


def _event(event: Event, wanted: Thinning, dropped: Counter[str]) -> Event:
    message = event["data"].get("message") if isinstance(event["data"], Mapping) else None
    if not isinstance(message, Mapping) or not isinstance(message.get("content"), list):
        return event
    content = _blocks(message["content"], wanted, dropped)
    if content == message["content"]:
        return event
    return {**event, "data": {**event["data"], "message": {**message, "content": content}}}


def _blocks(content: Sequence[Any], wanted: Thinning, dropped: Counter[str]) -> list[Any]:
    kept = []
    for block in content:
        kind = block.get("type") if isinstance(block, Mapping) else None
        if kind == "reasoning" and wanted.drop_reasoning:
            dropped["reasoning"] += 1
        elif kind == "tool-result" and _is_long(block, wanted.tool_result_limit):
            dropped["toolResults"] += 1
            kept.append({**block, "content": []})
        else:
            kept.append(block)
    return kept


def _is_long(block: Mapping[str, Any], limit: int) -> bool:
    return 0 < limit < len(js_text(block.get("content")))
