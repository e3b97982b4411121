"""Recall messages: what memory plugins answered, as one message for the model (patchouli 6)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dshloop.llm.messages import Message, user_message
from dshloop.lossless_json import NotLossless, js_text, js_trim, snapshot

PLUGIN = "dsh-patchouli-agent-loop"
KIND = "patchouli-memory-results"
SOURCE: Mapping[str, str] = {"kind": "plugin", "plugin": PLUGIN, "form": "recall"}

_COUNTERS = frozenset({"count", "hasMore", "length", "size", "total", "truncated"})

Outcome = Mapping[str, Any]


def is_empty(value: Any, key: str | None = None) -> bool:
    """Whether an answer says nothing; ``key`` is the name that the value stands under.

    0 and false say nothing only under the name of a counter; a list's members have no name.
    """
    pending = [(value, key)]
    while pending:
        item, name = pending.pop()
        if isinstance(item, Mapping):
            pending += [(member, own) for own, member in item.items()]
        elif isinstance(item, list):
            pending += [(member, None) for member in item]
        elif not _says_nothing(item, name):
            return False
    return True


def _says_nothing(item: Any, name: str | None) -> bool:
    if isinstance(item, str):
        return not js_trim(item)
    if isinstance(item, bool | int | float):
        return not item and name in _COUNTERS
    return item is None


def checked(outcomes: Sequence[Outcome]) -> list[Outcome]:
    """Make answers that JSON would change failures of their plugins; the others stay."""
    return [_checked(outcome) for outcome in outcomes]


def _checked(outcome: Outcome) -> Outcome:
    if not outcome["ok"]:
        return outcome
    try:
        return {**outcome, "value": snapshot(outcome["value"])}
    except NotLossless as fault:
        error = f"its answer is not lossless JSON at {fault}"
        return {"pluginId": outcome["pluginId"], "ok": False, "error": error}


def results_of(outcomes: Sequence[Outcome]) -> list[dict[str, Any]]:
    """Give what a recall holds: successes that say something, in their order."""
    return [
        {"pluginId": outcome["pluginId"], "data": outcome["value"]}
        for outcome in outcomes
        if outcome["ok"] and not is_empty(outcome["value"])
    ]


def recall_text(point: str, results: Sequence[Mapping[str, Any]]) -> str:
    """Write the text of a recall message."""
    return js_text({"kind": KIND, "point": point, "results": list(results)})


def recall_message(point: str, results: Sequence[Mapping[str, Any]]) -> Message:
    """Make the message of results, under a new id."""
    return user_message(recall_text(point, results), source=SOURCE)


class Injected:
    """What was injected in the turn that runs, so that nothing comes twice; one a session."""

    def __init__(self) -> None:
        self._turn: object = None
        self._seen: set[tuple[str, str]] = set()

    def turn(self, number: object) -> None:
        """Begin a turn; the one that is under way goes on, and takes what came before the first."""
        if self._turn is not None and number != self._turn:
            self._seen = set()
        self._turn = number

    def news(self, results: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Give the results without what is known; members of lists are looked at one by one."""
        fresh = ({**result, "data": self._without_known(result)} for result in results)
        return [result for result in fresh if not is_empty(result["data"])]

    def keep(self, results: Sequence[Mapping[str, Any]]) -> None:
        """Keep in mind what is injected."""
        for result in results:
            plugin, data = result["pluginId"], result["data"]
            self._seen.add((plugin, js_text(data)))
            self._seen |= {(plugin, js_text(item)) for each in _lists(data) for item in each}

    def _without_known(self, result: Mapping[str, Any]) -> Any:
        plugin, data = result["pluginId"], result["data"]
        if self._knows(plugin, data):
            return None
        if isinstance(data, list):
            return [item for item in data if not self._knows(plugin, item)]
        if not isinstance(data, dict):
            return data
        left = {
            key: [one for one in item if not self._knows(plugin, one)]
            if isinstance(item, list)
            else item
            for key, item in data.items()
        }
        return left if left == data or any(_lists(left)) else None

    def _knows(self, plugin: str, item: Any) -> bool:
        return (plugin, js_text(item)) in self._seen


def _lists(data: Any) -> list[list[Any]]:
    """Give the lists whose members are answers of their own."""
    if isinstance(data, list):
        return [data]
    members = data.values() if isinstance(data, dict) else ()
    return [item for item in members if isinstance(item, list)]


def capped(point: str, results: Sequence[Mapping[str, Any]], limit: int) -> list[dict[str, Any]]:
    """Give results whose message has at most ``limit`` characters (0: any number).

    The first that doesn't fit becomes the beginning of its JSON text, with ``cut``: how many
    characters of it are left out. What stands behind it is left out.
    """
    kept: list[dict[str, Any]] = []
    for result in results:
        if limit and len(recall_text(point, [*kept, result])) > limit:
            return [*kept, *_beginning(point, kept, result, limit)]
        kept.append(dict(result))
    return kept


def _beginning(
    point: str, kept: Sequence[Mapping[str, Any]], result: Mapping[str, Any], limit: int
) -> list[dict[str, Any]]:
    """Give the longest beginning of a result that fits, none where not even a mark does."""
    data = result["data"]
    text = data if isinstance(data, str) else js_text(data)

    def cut(length: int) -> dict[str, Any]:
        return {**result, "data": text[:length] + "…", "cut": len(text) - length}

    fitting, most = -1, len(text)
    while fitting < most:
        length = (fitting + most + 1) // 2
        fits = len(recall_text(point, [*kept, cut(length)])) <= limit
        fitting, most = (length, most) if fits else (fitting, length - 1)
    return [cut(fitting)] if fitting > 0 else []
