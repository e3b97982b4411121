"""The config of the row `dsh-agentmemory`: DSH's 17 keys and ours (dsh-agentmemory-bridge 2)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from dshloop.host.rows import ABSENT

AGENT = "AGENT_ID"
LOCAL = "local"
STORES = ("daemon", LOCAL)


@dataclass(frozen=True, slots=True)
class BridgeConfig:
    """What is recorded, injected and offered, and where it goes. Limits are in characters.

    ``secret`` is as it was written; in a row that runs, what that means.

    The last four keys are ours: ``store`` "local" writes to and reads from our own store,
    ``read_only`` injects and recalls without writing, ``isolate_agent`` reads only the agent's own
    rows, ``allow_insecure_http`` lets the secret go over plain HTTP to another machine.
    """

    base_url: str = "http://localhost:3111"
    secret: str = field(default="", repr=False)
    enabled: bool = True
    enable_tools: bool = True
    enable_session_start_end: bool = True
    compaction_bridge: bool = True
    agent_id: str = "dsh"
    curl_timeout_ms: int = 4000
    observe_batch_limit: int = 20
    max_content_chars: int = 4000
    max_args_chars: int = 2000
    inject_context: bool = True
    inject_context_max_chars: int = 6000
    inject_context_on_compaction: bool = True
    inject_semantic: bool = False
    inject_semantic_max_results: int = 8
    inject_semantic_max_chars: int = 3000
    store: str = STORES[0]
    read_only: bool = False
    isolate_agent: bool = False
    allow_insecure_http: bool = False

    @property
    def writes(self) -> bool:
        """Whether sessions are recorded."""
        return self.enabled and not self.read_only

    @property
    def session_rows(self) -> bool:
        """Whether sessions get rows of their own."""
        return self.writes and self.enable_session_start_end

    @property
    def recalls(self) -> bool:
        """Whether the window of a project is put before the model."""
        return self.enabled and self.inject_context

    @property
    def recalls_again(self) -> bool:
        """Whether the window is put before the model once more when a history is compacted."""
        return self.recalls and self.inject_context_on_compaction

    @property
    def searches(self) -> bool:
        """Whether what fits a message is put before the model."""
        return self.enabled and self.inject_semantic

    @property
    def timeout(self) -> float:
        """Seconds that one request may take, and that memory may hold up a turn."""
        return self.curl_timeout_ms / 1000


_KEYS = {
    "".join(part if not at else part.title() for at, part in enumerate(each.name.split("_"))): each
    for each in fields(BridgeConfig)
}
KEYS = tuple(_KEYS)
"""The names of the keys as rows write them, DSH's first."""

_RANGES = {
    "curlTimeoutMs": 60_000,
    "observeBatchLimit": 200,
    "maxContentChars": 100_000,
    "maxArgsChars": 50_000,
    "injectContextMaxChars": 200_000,
    "injectSemanticMaxResults": 50,
    "injectSemanticMaxChars": 100_000,
}
"""The most that a number may be; the least is 1."""


def read_bridge_config(raw: Any) -> BridgeConfig:
    """Check the config of the row; what is left out or null is the default, other keys pass.

    Raises ValueError.
    """
    if raw is ABSENT or raw is None:
        raw = {}
    if not isinstance(raw, Mapping):
        raise ValueError(f"expected object but got {_shown(raw)}")
    given = {
        each.name: _checked(key, raw[key], each.default)
        for key, each in _KEYS.items()
        if raw.get(key) is not None
    }
    config = BridgeConfig(**given)
    if config.store not in STORES:
        raise ValueError(f"$.store expected {' or '.join(STORES)} but got {config.store}")
    return config


def agent_of(config: BridgeConfig, variables: Mapping[str, str]) -> str:
    """Give whose rows a row writes: $AGENT_ID goes before the config."""
    return variables.get(AGENT, "").strip() or config.agent_id


def _checked(key: str, value: Any, default: Any) -> Any:
    if isinstance(default, bool):
        return _of_type(key, value, bool, "boolean")
    if isinstance(default, str):
        return _of_type(key, value, str, "string")
    return _count(key, value)


def _of_type(key: str, value: Any, type_: type, name: str) -> Any:
    if isinstance(value, type_):
        return value
    from dshloop.redact import MARK

    got = MARK if key == "secret" else _shown(value)
    raise ValueError(f"$.{key} expected {name} but got {got}")


def _count(key: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"$.{key} expected number but got {_shown(value)}")
    if value < 1:
        raise ValueError(f"$.{key} expected number >= 1 but got {_shown(value)}")
    if value > _RANGES[key]:
        raise ValueError(f"$.{key} expected number <= {_RANGES[key]} but got {_shown(value)}")
    if value != int(value) if value == value else True:
        raise ValueError(f"$.{key} expected whole number but got {_shown(value)}")
    return int(value)


def _shown(value: Any) -> str:
    """Write a value as the original's messages do; a long one is cut."""
    from dshloop.terminal import one_line

    if isinstance(value, str):
        return one_line(value, 60)
    if isinstance(value, float) and value != value:
        return "NaN"
    import json

    return one_line(json.dumps(value, ensure_ascii=False, default=str), 60)
