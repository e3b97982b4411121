"""The config of the row `dsh-patchouli-agent-loop` (patchouli 2), and what we add to it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dshloop.plugins.patchouli.config import Keys

FLUSH_TIMEOUT_MS = 5_000
RECALL_LIMIT = 32_000

RETRIEVE = {"sessionStart": False, "preStep": True, "turnStopping": False, "toolPostExecute": False}
STORE = {
    "agentCreated": False,
    "agentDisposed": False,
    "requestError": False,
    "agentError": False,
    "turnEnd": True,
    "toolResult": False,
}
MODEL_TOOLS = {"retrieve": True, "update": True}


@dataclass(frozen=True, slots=True)
class Thinning:
    """What is left out of the turns that are delivered; 0 keeps tool results of any length."""

    drop_recall: bool = False
    drop_reasoning: bool = False
    tool_result_limit: int = 0

    @property
    def wanted(self) -> bool:
        """Whether anything is left out."""
        return self.drop_recall or self.drop_reasoning or self.tool_result_limit > 0


@dataclass(frozen=True, slots=True)
class LoopConfig:
    """Which points are observed.

    ``strict`` raises for values that are no lossless JSON, as the original does. ``recall_limit``
    is in characters of a message, 0 for any; ``repeat_recall`` injects again what this turn has.
    ``flush_timeout_ms`` is how long memory may hold up a flush or the end of the row, 0 for ever.
    """

    retrieve: frozenset[str]
    store: frozenset[str]
    tools: frozenset[str]
    strict: bool = False
    recall_limit: int = RECALL_LIMIT
    repeat_recall: bool = False
    first_step_only: bool = False
    flush_timeout_ms: float = FLUSH_TIMEOUT_MS
    thinning: Thinning = Thinning()


def read_loop_config(raw: Any) -> LoopConfig:
    """Check the config of the row. Raises ValueError."""
    keys = Keys(raw, "")
    recall, turns = keys.group("recall"), keys.group("turns")
    config = LoopConfig(
        retrieve=_switches(keys.group("retrieve"), RETRIEVE),
        store=_switches(keys.group("store"), STORE),
        tools=_switches(keys.group("modelTools"), MODEL_TOOLS),
        strict=keys.flag("strict", False),
        recall_limit=recall.count("limit", RECALL_LIMIT, least=0),
        repeat_recall=recall.flag("repeat", False),
        first_step_only=recall.flag("firstStepOnly", False),
        flush_timeout_ms=keys.number("flushTimeoutMs", FLUSH_TIMEOUT_MS, least=0),
        thinning=Thinning(
            drop_recall=turns.flag("dropRecall", False),
            drop_reasoning=turns.flag("dropReasoning", False),
            tool_result_limit=turns.count("toolResultLimit", 0, least=0),
        ),
    )
    _refuse_aggregation(keys.group("aggregation"))
    for each in (recall, turns, keys):
        each.finish()
    return config


def _switches(keys: Keys, defaults: dict[str, bool]) -> frozenset[str]:
    on = frozenset(name for name, default in defaults.items() if keys.flag(name, default))
    keys.finish()
    return on


def _refuse_aggregation(keys: Keys) -> None:
    """Refuse what a later revision of the original does with a second model (patchouli 15)."""
    if keys.flag("enabled", False):
        raise ValueError("aggregation can't be enabled here: recalls are injected as they are")
